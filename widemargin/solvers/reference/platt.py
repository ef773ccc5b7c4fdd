"""Sequential Minimal Optimization as the report of 1998 gives it.

Solves   the signed dual with one sum: 1- and 2-norm soft margin, hard margin, both eps-insensitive losses, one-class
Given    a Gram. A linear kernel is worked with its weight vector, so an evaluation is one dot product; a Gaussian or
         polynomial kernel on points in dense, sparse or sparse binary form, no matrix and no rows kept; any other
         kernel from its matrix
Returns  a Solution; a step is one joint optimisation of two multipliers
Loop     first choice    all points, then the non-bound ones again and again until they obey the conditions within tol,
                         then all points, ..., until a pass over all points changes nothing
         second choice   the non-bound point with the largest |E_1 - E_2|; else all non-bound points from a random
                         place; else all points from a random place
         step            (13)-(19), and Theorem 7.18 for regression                                     (pair_move.py)
         threshold       (20) or (21) where a multiplier is not at a bound, else halfway between them
Use      to read, to compare with the report, and where memory must stay linear in n. It costs one evaluation of the
         machine per look at a bound point: n x support vectors kernel values per full pass, unless the kernel is
         linear.
See      Platt (1998), MSR-TR-98-14, sections 2.1-2.5; regression: Cristianini & Shawe-Taylor (2000), Theorem 7.18.

Platt checks each example to within tol of its threshold, which allows two examples to differ by 2 tol. Here tol bounds
that difference, as in LIBSVM, so his 1e-3 is our 2e-3.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from widemargin._jit import jit
from widemargin.gram.kernel_values import kernel_value, load, unload, values_of
from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual
from widemargin.solvers.reference.pair_move import ETA_FLOOR, open_slopes, pair_move
from widemargin.solvers.reference.passes import PASS, SLICE, Passes, ReferenceSolver, Run
from widemargin.solvers.reference.smo_state import (
    BOUND,
    CURVATURE,
    DECREASE,
    EVALUATIONS,
    LEVEL,
    N_FREE,
    STEPS,
    WORST,
    carry_out,
    gradient_at,
    new_state,
    random_below,
    refresh,
    refuse_several_groups,
)

WORK_PER_SLICE = 2**23  # kernel values between two looks at the clock: about a tenth of a second
RETRIES = 3  # times a finished run is taken up again, from gradients computed afresh and the best threshold


@jit
def new_threshold(s, i, j):
    """Equations (20) and (21): the threshold that puts a non-bound point of the step on its margin, else halfway."""
    one = s.gradient[i] + s.epsilon[i] * np.sign(s.beta[i])
    two = s.gradient[j] + s.epsilon[j] * np.sign(s.beta[j])
    if s.place[i] != BOUND:
        return one
    if s.place[j] != BOUND:
        return two
    return 0.5 * (one + two)


@jit
def take_step(values, s, i1, i2, f2, eps):
    """Optimise a pair; whether it moved by more than rounding."""
    if i1 == i2:
        return False
    f1 = gradient_at(values, s, i1)
    load(values, i1, s.work)
    k12 = kernel_value(values, s.work, i1, i2)
    scale = s.total_diagonal[i1] + s.total_diagonal[i2]
    eta = scale - 2.0 * k12
    if eta < -1e3 * ETA_FLOOR * scale:
        s.numbers[CURVATURE] = min(s.numbers[CURVATURE], eta)
    b1, b2, decrease = pair_move(
        s.beta[i1],
        s.beta[i2],
        f2 - f1,
        eta,
        scale,
        s.lower[i1],
        s.upper[i1],
        s.lower[i2],
        s.upper[i2],
        s.epsilon[i1],
        s.epsilon[i2],
    )
    # The report adds eps inside the bracket, for multipliers of size one; theirs may have any size here.
    moves = decrease > 0.0 and abs(b2 - s.beta[i2]) >= eps * (abs(b2) + abs(s.beta[i2]))
    if moves:
        load(values, i2, s.other_work)
        carry_out(values, s, i1, b1, f1, i2, b2, f2)
        unload(values, i2, s.other_work)
        s.numbers[LEVEL] = new_threshold(s, i1, i2)
        s.numbers[DECREASE] += decrease
    unload(values, i1, s.work)
    return moves


@jit
def examine(values, s, i2, tol, eps):
    """Second choice for a first point that violates its condition; whether a step was made."""
    f2 = gradient_at(values, s, i2)
    rise, fall = open_slopes(f2, s.beta[i2], s.lower[i2], s.upper[i2], s.epsilon[i2])
    violation = max(s.numbers[LEVEL] - rise, fall - s.numbers[LEVEL])
    if violation <= tol:
        return False
    s.numbers[WORST] = max(s.numbers[WORST], violation)
    n, n_free = s.beta.shape[0], s.counts[N_FREE]
    first_free = random_below(s.random, max(1, n_free))
    first = random_below(s.random, n)
    for attempt in range(-1, n_free + n):
        if attempt < 0:
            i1 = farthest(s, fall - s.numbers[LEVEL] > tol) if n_free > 1 else i2
        elif attempt < n_free:
            i1 = s.free[(first_free + attempt) % n_free]
        else:
            i1 = (first + attempt - n_free) % n
            if s.place[i1] != BOUND:
                continue
        if take_step(values, s, i1, i2, f2, eps):
            return True
    return False


@jit
def farthest(s, above):
    """The non-bound point with the largest |E_1 - E_2|: the smallest E_1 for E_2 > 0 (above), else the largest."""
    sign = 1.0 if above else -1.0
    lowest, chosen = np.inf, -1
    for place in range(s.counts[N_FREE]):
        k = s.free[place]
        error = sign * (s.gradient[k] + s.epsilon[k] * np.sign(s.beta[k]))
        if error < lowest:
            lowest, chosen = error, k
    return chosen


@jit
def sweep(values, s, points, first, tol, eps, max_steps, max_work):
    """Examine points[first:], until steps or work run out; where to go on, and how many changed."""
    changed = 0
    steps_before, work = s.counts[STEPS], 0
    n = s.beta.shape[0]
    for place in range(first, points.shape[0]):
        evaluations, steps = s.counts[EVALUATIONS], s.counts[STEPS]
        changed += examine(values, s, points[place], tol, eps)
        work += 1 + n * (s.counts[EVALUATIONS] - evaluations) + 2 * s.counts[N_FREE] * (s.counts[STEPS] - steps)
        if s.counts[STEPS] - steps_before >= max_steps or work >= max_work:
            return place + 1, changed
    return points.shape[0], changed


@dataclass(frozen=True)
class Platt(ReferenceSolver):
    """Platt's SMO of 1998, with both choice heuristics, error cache and weight vector.

    Parameters
    ----------
    form : {"auto", "dense", "sparse", "binary", "matrix"}, default "auto"
        How the points are held; "auto" keeps the form of the data, and reads a matrix that is in memory anyway.
    eps : float, default 1e-8
        Smallest relative change of a multiplier that counts as a step.
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

    max_passes: int = field(default=1_000_000, kw_only=True)
    form: str = "auto"
    eps: float = 1e-8
    seed: int = 0

    def check(self, dual: SignedDual) -> None:
        refuse_several_groups(dual, "platt")

    def passes(self, run: Run) -> Passes:
        values = values_of(run.gram, self.form)
        run.point = (run.beta, run.function)
        s = new_state(run, values, self.seed)
        s.numbers[LEVEL] = 0.0 if not s.beta.any() else _middle(run)
        objective = run.dual.objective(run.beta, run.function)
        everything = np.arange(len(run.dual), dtype=np.int64)
        retries = 0
        examine_all = True
        while True:
            points = everything if examine_all else s.free[: s.counts[N_FREE]].copy()
            done = changed = 0
            s.numbers[WORST] = 0.0
            while done < len(points):
                steps = s.counts[STEPS]
                done, count = sweep(
                    values, s, points, done, 0.5 * run.stopping.tol, self.eps, run.steps_left(), WORK_PER_SLICE
                )
                changed += count
                run.iterations += int(s.counts[STEPS] - steps)
                run.lowest_curvature = min(run.lowest_curvature, s.numbers[CURVATURE])
                run.point = (s.beta, None)
                if done < len(points):
                    yield SLICE
            run.seen = (2.0 * s.numbers[WORST], objective - s.numbers[DECREASE])
            if changed:
                retries = 0
                yield PASS
            if examine_all and not changed:
                # Nothing moves. The threshold came from the last step and may not be the best one: look again from it.
                table = run.table()
                if table[0, 1] - table[0, 0] <= run.stopping.tol or retries == RETRIES:
                    return Status.STALLED
                retries += 1
                refresh(values, s, run.gradient())
                s.numbers[LEVEL] = _middle(run)
            elif examine_all:
                examine_all = False
            elif not changed:
                examine_all = True


def _middle(run: Run) -> float:
    """The threshold halfway between the two that the conditions leave, where both exist."""
    lowest, highest = run.table()[0, :2]
    middle = 0.5 * (lowest + highest)
    return float(middle) if np.isfinite(middle) else 0.0
