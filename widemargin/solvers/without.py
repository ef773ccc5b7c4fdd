"""The same problem without some of its samples, from the answer with all of them: the folds behind probabilities.

Solves   the signed dual with the boxes of the samples held out empty, and group sums smaller by their share of the box
Given    the answer to the whole problem and its function F, and the kernel rows that were needed for it
Returns  beta and F; F holds the values of the samples held out under a machine that has not seen them
How      only variables with a row take part: the support vectors, and whatever came near to being one. Their block of
         the kernel is gathered once for all folds. What the others would violate is for the caller to look at.
See      DeCoste & Wagstaff (2000), KDD, for starting a fold from the answer to the whole (alpha seeding).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.gram.full import FullGram
from widemargin.gram.gram import Gram
from widemargin.gram.pair import ABSENT, PairGram
from widemargin.linalg.row_sums import add_weighted_rows
from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import compiled_levels_of, scan_groups, violation_of
from widemargin.problems.warm_start import nearest_feasible, sums_of
from widemargin.solvers.growing import improve
from widemargin.solvers.packed import key_limits
from widemargin.solvers.solution import Solution

LARGEST_FULL = 2048  # variables up to which a whole matrix is used as it is
STEPS = 100_000  # of a fold; what has not ended by then is near enough

Vector = NDArray[np.float64]


class Without:
    """A problem and its answer, to be solved again without the samples of each fold.

    Parameters
    ----------
    fold : number of the fold of each variable, negative for none
    """

    def __init__(self, dual: SignedDual, gram: Gram, whole: Solution, fold: NDArray[np.int64]) -> None:
        self.dual, self.gram, self.whole, self.fold = dual, gram, whole, fold
        self.sums = sums_of(dual)
        self.points = np.empty((0, len(dual)))  # answers on the variables with rows, one row per fold

    def solve_with_rows(self, tol: float, enough: float, values: Vector, levels: Vector) -> NDArray[np.int64]:
        """Solve all folds on the variables with rows, and fill the values of held-out samples and the levels.

        Returns the folds for which that is not enough: variables without a row violate the conditions by more than
        `enough`, or rows are not at hand.
        """
        dual, gram, whole = self.dual, self.gram, self.whole
        left = np.ones(len(levels), np.bool_)
        if not fits(dual, gram):
            return np.flatnonzero(left)
        if isinstance(gram, PairGram):
            active = np.flatnonzero(gram.slot != ABSENT)
            block, rows, slot = gram.block(active), gram.rows, gram.slot
        else:
            active = slot = np.arange(len(dual), dtype=np.int64)
            block = rows = gram.matrix  # type: ignore[attr-defined]
        self.points = np.full((len(levels), len(dual)), np.nan)
        solve_folds(
            block, gram.diag, active, rows, slot, whole.beta, whole.function, whole.level, dual.linear_term,
            dual.lower, dual.upper,
            dual.diagonal, dual.epsilon, dual.group_starts, self.sums, self.fold, tol, enough, STEPS,
            *key_limits(len(active), block.dtype), values, levels, left, self.points,
        )  # fmt: skip
        return np.flatnonzero(left)

    def start(self, number: int) -> tuple[SignedDual, Vector] | None:
        """The problem without a fold, at the best feasible point known, and F there; None if nothing is left."""
        dual, whole = self.dual, self.whole
        lower, upper, sums = np.empty(len(dual)), np.empty(len(dual)), np.empty(len(self.sums))
        empty_boxes(self.fold, number, dual.lower, dual.upper, self.sums, dual.group_starts, lower, upper, sums)
        beta = self.points[number] if number < len(self.points) else np.full(len(dual), np.nan)
        if np.isnan(beta).any() and not nearest_feasible(whole.beta, 1.0, lower, upper, sums, dual.group_starts, beta):
            return None
        coefficients = dual.per_sample(beta - whole.beta)
        moved = np.flatnonzero(coefficients)
        function = whole.function.copy()
        self.gram.add_rows(moved, coefficients[moved], function)
        return replace(dual, lower=lower, upper=upper, start=beta), function


def fits(dual: SignedDual, gram: Gram) -> bool:
    """Whether a problem can be solved on variables with rows: one per sample, groups, and rows at hand."""
    small = isinstance(gram, PairGram) or (isinstance(gram, FullGram) and len(dual) <= LARGEST_FULL)
    return small and dual.row is None and dual.sign is None and dual.n_groups > 0 and len(dual) > 0


@jit
def empty_boxes(fold, number, lower, upper, sums, starts, new_lo, new_hi, new_sums):
    """Fill box and group sums without the variables of a fold.

    Sums that are not zero (nu-machines) shrink with the box that is left, and to what its smallest group can hold.
    """
    for t in range(fold.shape[0]):
        new_lo[t] = 0.0 if fold[t] == number else lower[t]
        new_hi[t] = 0.0 if fold[t] == number else upper[t]
    factor = 1.0
    left = room = 0.0
    for g in range(sums.shape[0]):
        if sums[g] == 0.0:
            continue
        left_here = 0.0
        for t in range(starts[g], starts[g + 1]):
            left_here += new_hi[t] - new_lo[t]
            room += upper[t] - lower[t]
        left += left_here
        factor = min(factor, left_here / abs(sums[g]))
    if room > 0.0:
        factor = min(factor, left / room)
    for g in range(sums.shape[0]):
        new_sums[g] = factor * sums[g]


@jit
def solve_folds(
    K, diag, active, rows, slot, whole, F, level, linear_term, lower, upper, diagonal, epsilon, starts, sums, fold,
    tol, enough,
    max_steps, position, limits, values, levels, left, points,
):  # fmt: skip
    """`solve_active` for every fold; `left` becomes False where its answer violates the conditions by `enough` at most,
    and `points` get the other answers.

    One call for all folds: calls of a tenth of a millisecond each from Python took as long again.
    """
    n = whole.shape[0]
    new_lo, new_hi, new_sums = np.empty(n), np.empty(n), np.empty(sums.shape[0])
    beta, function, new_level = np.empty(n), np.empty(n), np.empty(level.shape[0])
    for number in range(left.shape[0]):
        empty_boxes(fold, number, lower, upper, sums, starts, new_lo, new_hi, new_sums)
        if not nearest_feasible(whole, 1.0, new_lo, new_hi, new_sums, starts, beta):
            continue
        for t in range(n):
            function[t] = F[t]
        for g in range(level.shape[0]):
            new_level[g] = level[g]
        violation = solve_active(
            K, diag, active, rows, slot, whole, linear_term, new_lo, new_hi, diagonal, epsilon, starts, tol, max_steps,
            position, limits, beta, function, new_level,
        )  # fmt: skip
        if violation <= enough:
            left[number] = False
            for g in range(level.shape[0]):
                levels[number, g] = new_level[g]
            for t in range(n):
                if fold[t] == number:
                    values[t] = function[t]
        elif violation < np.inf:
            for t in range(n):
                points[number, t] = beta[t]


@jit
def solve_active(
    K, diag, active, rows, slot, whole, linear_term, lower, upper, diagonal, epsilon, starts, tol, max_steps,
    position, limits, beta, F,
    level,
):  # fmt: skip
    """Improve a feasible beta on the active variables; F and level, given of the whole problem, become those of beta.

    Returns the violation of all variables; infinite, and beta as it was, if the start needs a variable without a row or
    a step has no end.
    """
    n, n_groups = whole.shape[0], level.shape[0]
    moved = np.empty(n, np.int64)
    change = np.empty(n)
    count = 0
    for t in range(n):
        if beta[t] != whole[t]:
            if slot[t] < 0:
                return np.inf
            moved[count] = slot[t]
            change[count] = beta[t] - whole[t]
            count += 1
    add_weighted_rows(rows, 0, moved[:count], change[:count], F)
    _, _, finite = improve(
        K, rows, slot, active, level, diag, F, beta, lower, upper, epsilon, diagonal, linear_term, starts, tol,
        max_steps, position,
        limits,
    )  # fmt: skip
    if not finite:
        return np.inf
    gradient = np.empty(n)
    for t in range(n):
        gradient[t] = F[t] + diagonal[t] * beta[t] + linear_term[t]
    table = scan_groups(gradient, beta, lower, upper, epsilon, starts, n_groups, 0.0)
    found = compiled_levels_of(table, n_groups)
    for g in range(n_groups):
        level[g] = found[g]
    return violation_of(table, n_groups)
