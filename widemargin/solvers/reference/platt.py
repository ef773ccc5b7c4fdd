"""Sequential Minimal Optimization as the report of 1998 gives it.

Solves   the signed dual with one sum: 1- and 2-norm soft margin, hard margin, both eps-insensitive losses, one-class
Given    a Gram. A linear kernel is worked with its weight vector, so an evaluation is one dot product; a Gaussian or
         polynomial kernel on points in dense, sparse or sparse binary form, no matrix and no rows kept; any other
         kernel from its matrix
Returns  a Solution; a step is one joint optimisation of two multipliers
Loop     first choice    all points, then the non-bound ones repeatedly until they meet the conditions within tol,
                         then all points, ..., until a pass over all points changes nothing
         second choice   the non-bound point with the largest |E_1 - E_2|; else all non-bound points from a random
                         place; else all points from a random place
         step            (13)-(19), and Theorem 7.18 for regression                             (smo.py, pair_move.py)
         threshold       (20) or (21) where a multiplier is not at a bound, else halfway between them
Use      to read, to compare with the report, and where memory must stay linear in n. Each visit to a bound point costs
         one evaluation of the model: n x support vectors kernel values per full pass, unless the kernel is linear.
See      Platt (1998), MSR-TR-98-14, sections 2.1-2.5; regression: Cristianini & Shawe-Taylor (2000), Theorem 7.18.

Platt checks each example to within tol of its threshold, which allows two examples to differ by 2 tol. Here tol bounds
that difference, as in LIBSVM, so his 1e-3 is our 2e-3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widemargin._jit import jit
from widemargin.gram.kernel_values import KernelValues
from widemargin.solvers.reference.pair_move import open_slopes, threshold_between
from widemargin.solvers.reference.passes import Run
from widemargin.solvers.reference.smo import (
    Form,
    PairSolver,
    State,
    gradient_at,
    multiplier,
    slice_is_over,
    steps_per_slice,
    take_step,
)
from widemargin.solvers.reference.working_set import Index

EPS_SHARE = 1e-5  # of tol: larger steps must not be refused, or the last of the violation cannot be removed


@jit
def examine(values, s, i2, tol, eps):
    """Apply the second choice to a first point that violates its condition; return whether a step was made."""
    f2 = gradient_at(values, s, i2)
    rise, fall = open_slopes(multiplier(s, i2, f2))
    violation = max(s.scalars[0].threshold - rise, fall - s.scalars[0].threshold)
    if violation <= tol:
        return False
    s.scalars[0].worst = max(s.scalars[0].worst, 2.0 * violation)
    n, n_free = s.beta.shape[0], s.scalars[0].n_free
    first_free = random_below(s.random, max(1, n_free))
    first = random_below(s.random, n)
    for attempt in range(-1, n_free + n):
        if attempt < 0:
            i1 = farthest(s, fall - s.scalars[0].threshold > tol) if n_free > 1 else i2
        elif attempt < n_free:
            i1 = s.free[(first_free + attempt) % n_free]
        else:
            i1 = (first + attempt - n_free) % n
            if s.place[i1] >= 0:
                continue
        if take_step(values, s, i1, i2, f2, eps):
            one, two = multiplier(s, i1, s.gradient[i1]), multiplier(s, i2, s.gradient[i2])
            s.scalars[0].threshold = threshold_between(one, two)
            return True
    return False


@jit
def farthest(s, above):
    """Return the non-bound point with the largest |E_1 - E_2|: smallest E_1 for E_2 > 0 (above), else the largest."""
    sign = 1.0 if above else -1.0
    lowest, chosen = np.inf, -1
    for k in s.free[: s.scalars[0].n_free]:
        error = sign * (s.gradient[k] + s.terms[k, 2] * np.sign(s.beta[k]))
        if error < lowest:
            lowest, chosen = error, k
    return chosen


@jit
def random_below(random, n):
    """Return a number in [0, n) from a xorshift generator, so that a seed gives the same run on every platform."""
    x = random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    random[0] = x
    return np.int64(x >> np.uint64(11)) % n


@jit
def sweep(values, s, points, first, tol, eps, max_steps):
    """Examine points[first:] until steps or work run out; return where to continue, and how many changed."""
    changed = 0
    for place in range(first, points.shape[0]):
        changed += examine(values, s, points[place], tol, eps)
        if changed >= max_steps or slice_is_over(s):
            return place + 1, changed
    return points.shape[0], changed


@dataclass(frozen=True)
class Platt(PairSolver):
    """Platt's SMO of 1998, with both choice heuristics, error cache and weight vector.

    Parameters
    ----------
    form : {"auto", "dense", "sparse", "binary", "matrix"}, default "auto"
        How the points are held; "auto" keeps the form of the data, and reads a matrix that is in memory anyway.
    eps : float, default 1e-8
        Smallest relative change of a multiplier that counts as a step. At most 1e-5 tol is used, whatever is given:
        with larger ones the last of the violation may remain.
    seed : int, default 0
        Of the random places at which the second choice begins.
    max_passes : int, default 1,000,000

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVC
    >>> from widemargin.solvers.reference import Platt
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> SVC(kernel="linear", solver=Platt(seed=1)).fit(X, [0, 0, 1, 1]).coef_.round(3).tolist()
    [[0.5, 0.5]]
    """

    form: Form = "auto"
    eps: float = 1e-8
    seed: int = 0

    def rest_of(self, s: State) -> Index:
        return s.free[: s.scalars[0].n_free].copy()

    def sweep(self, run: Run, values: KernelValues, s: State, points: Index, first: int) -> tuple[int, int]:
        eps = min(self.eps, EPS_SHARE * run.tol)
        return sweep(values, s, points, first, 0.5 * run.tol, eps, steps_per_slice(run))
