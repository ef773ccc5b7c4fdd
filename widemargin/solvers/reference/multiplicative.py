"""Multiplicative updates: exponentiated gradient ascent on the dual.

Solves   machines whose multipliers have one sign each and no kink: SVC with both losses, NuSVC, NuSVR and OneClassSVM,
         with a free or a fixed bias
Given    a Gram, as one matrix Q = K + D in memory
Returns  a Solution; a step multiplies every multiplier at once, with f the gradient of the dual,
             |b_i| <- min(C, |b_i| exp(-rate sgn(b_i) (f_i - r_g))),     r_g such that every group keeps its sum
         which is the gradient step of least relative entropy. The sum grows with r, found by halving an interval.
Rate     raised by a quarter with every step, halved where the objective does not fall
Zero     a multiplier only approaches zero. As the run's point, one that its own slope would carry to a bound within one
         diagonal step is put there, if that lowers the objective; the iteration goes on with the positive ones.
Use      to compare with gradient.py: few steps where few points matter, slow to drive the others to zero. A step costs
         K times a vector, twice.
See      Cristianini & Shawe-Taylor (2000), section 7.8; Cristianini, Campbell & Shawe-Taylor (1999), "Multiplicative
         updatings for support vector machines"; Kivinen & Warmuth (1997) for exponentiated gradients.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from widemargin._jit import jit
from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual
from widemargin.solvers.reference.gradient import HALVINGS, RECOVERY
from widemargin.solvers.reference.passes import PASS, SLICE, Passes, ReferenceSolver, Run, Vector
from widemargin.solvers.reference.qp import keeps_sums, to_bounds
from widemargin.solvers.reference.working_set import move, repair_sums, working_set

LIFT = 1e-3  # of the mean multiplier: zeros of a start are raised to it, since a product never leaves zero
LARGEST_EXPONENT = 700.0  # exp of more overflows
LARGEST_STEP = 30.0  # exponent that a slope may give in one step: a factor of 1e13 is as good as zero


@dataclass(frozen=True)
class Multiplicative(ReferenceSolver):
    """Exponentiated gradient ascent.

    Parameters
    ----------
    max_passes : int, default 20,000

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> SVC(kernel="linear", solver="multiplicative").fit(X, [0, 0, 1, 1]).coef_.round(3).tolist()
    [[0.5, 0.5]]
    """

    max_passes: int = field(default=20_000, kw_only=True)

    def check(self, dual: SignedDual) -> None:
        if np.any(dual.epsilon) or not np.all((dual.lower == 0.0) | (dual.upper == 0.0)):
            raise ValueError(
                "solver='multiplicative' keeps the sign of every multiplier, which SVR's multipliers do not have: use "
                "it for SVC, NuSVC, NuSVR or OneClassSVM, and solver='gradient' for this machine."
            )

    def passes(self, run: Run) -> Passes:
        dual = run.dual
        everything = np.arange(len(dual))
        Q = working_set(run, everything).K.astype(np.float64)
        Q[np.diag_indices(len(Q))] += dual.diagonal
        reach = 1.0 / np.maximum(np.diagonal(Q), np.finfo(float).tiny)

        def value(beta: Vector, Qb: Vector) -> float:
            return 0.5 * float(beta @ Qb) + float(dual.linear_term @ beta)

        beta = _positive(run, Q)
        Qb = Q @ beta
        objective, lowest = value(beta, Qb), dual.objective(run.beta, run.Kb)
        rate = 1.0 / max(float(np.diagonal(Q).max() * np.abs(beta).sum()), np.finfo(float).tiny)
        for _ in range(self.max_passes):
            f = Qb + dual.linear_term
            rate = min(rate, LARGEST_STEP / max(float(np.abs(f).max()), np.finfo(float).tiny))
            for _ in range(HALVINGS):
                new, levels = rescale(dual, beta, -rate * f)
                Qnew = Q @ new
                if value(new, Qnew) < objective:
                    break
                rate *= 0.5
                yield SLICE
            else:
                return Status.STALLED
            thresholds = levels[dual.group] / rate if dual.n_groups else 0.0
            beta, Qb, objective = new, Qnew, value(new, Qnew)
            rate *= RECOVERY
            run.iterations += 1
            point = to_bounds(dual, beta.copy(), Qb + dual.linear_term - thresholds, reach)
            if not keeps_sums(dual, point):
                point = repair_sums(dual, beta.copy())
            reached = value(point, Q @ point)
            if reached < lowest:
                lowest = reached
                move(run, everything, point)
                yield PASS
            else:
                yield SLICE
        return Status.MAX_PASSES


def _positive(run: Run, Q: Vector) -> Vector:
    """Return a start without zeros: the given one with zeros lifted, or equal multipliers at their best scale."""
    dual, size, end = run.dual, np.abs(run.beta), np.maximum(run.dual.upper, -run.dual.lower)
    side = np.where(dual.upper > 0.0, 1.0, -1.0)
    if size.any():
        lifted = np.minimum(np.maximum(size, LIFT * size.mean()), 0.5 * (size + end))
        return rescale(dual, side * lifted, np.zeros(len(dual)))[0]
    equal = 1.0 / max(float(np.diagonal(Q).mean()), np.finfo(float).tiny)
    beta = rescale(dual, side * np.minimum(equal, 0.5 * end), np.zeros(len(dual)))[0]
    bend, room = float(beta @ Q @ beta), 0.9 * float((end / np.maximum(np.abs(beta), np.finfo(float).tiny)).min())
    scale = min(room, -float(dual.linear_term @ beta) / bend) if bend > 0.0 else 1.0
    return scale * beta if scale > 0.0 else beta


def rescale(dual: SignedDual, beta: Vector, exponent: Vector) -> tuple[Vector, Vector]:
    """Multiply |b| by exp(sgn(b) (exponent + level)), cut at the box; return b and the level of each group's sum."""
    side, end = np.where(dual.upper > 0.0, 1.0, -1.0), np.maximum(dual.upper, -dual.lower)
    target, levels = np.empty_like(beta), np.zeros(dual.n_groups)
    if dual.n_groups == 0:
        multiply(np.abs(beta), exponent, 0.0, side, end, target)
    for g in range(dual.n_groups):
        part = slice(*dual.group_starts[g : g + 2])
        total = float(dual.start[part].sum())
        levels[g] = level_of_sum(np.abs(beta[part]), exponent[part], side[part], end[part], total, target[part])
    return target, levels


@jit
def multiply(size, exponent, level, side, end, out):
    """Compute the new multipliers at a level; return their sum, which rises with the level."""
    total = 0.0
    for t in range(size.shape[0]):
        power = min(side[t] * (exponent[t] + level), LARGEST_EXPONENT)
        out[t] = side[t] * min(size[t] * np.exp(power), end[t])
        total += out[t]
    return total


@jit
def level_of_sum(size, exponent, side, end, total, out):
    """Find the level at which the new multipliers sum to `total`."""
    width = 1.0 + np.max(np.abs(exponent))
    low, high = -width, width
    while multiply(size, exponent, low, side, end, out) > total and low > -1e300:
        low *= 2.0
    while multiply(size, exponent, high, side, end, out) < total and high < 1e300:
        high *= 2.0
    while low < 0.5 * (low + high) < high:
        middle = 0.5 * (low + high)
        if multiply(size, exponent, middle, side, end, out) < total:
            low = middle
        else:
            high = middle
    multiply(size, exponent, high, side, end, out)
    return high
