"""Warm start: move the multipliers of an earlier fit into the box of the new problem and restore its sums.

scaled    b * (C_new / C_old): along a path of C the bounded multipliers stay bounded and the sums stay zero; where few
          are bounded, the others are better left as they are
clipped   to lower <= b <= upper; values within a rounding error of a bound are moved to it exactly
repaired  each group's sum is restored to the value of the problem, by moving first the multipliers inside their
          box, each in proportion to the room it has
"""

from __future__ import annotations

import numpy as np

from widemargin._jit import jit
from widemargin.linalg.arrays import Vector
from widemargin.problems.dual import SignedDual

MOSTLY_BOUNDED = 8  # bounded multipliers for each free one, from which all are scaled; 1 to 16 differ little
SAME = 1e-13  # relative distance due to rounding: a multiplier is at its bound, a sum needs no repair


def restart(dual: SignedDual, previous: Vector, scale: float = 1.0) -> Vector | None:
    """Return a feasible point of `dual` near `scale` times `previous`, or None if the sums cannot be restored."""
    if previous.shape != dual.linear_term.shape:
        return None
    beta = np.empty(len(previous))
    found = nearest_feasible(previous, scale, dual.lower, dual.upper, sums_of(dual), dual.group_starts, beta)
    return beta if found else None


def scale_along_path(dual: SignedDual, previous: Vector, ratio: float) -> float:
    """Return the factor on the multipliers of a neighbour on a path of C whose box is `ratio` times smaller."""
    bounded, free = count_bounded(previous, ratio, dual.lower, dual.upper)
    return ratio if bounded > MOSTLY_BOUNDED * free and 0.0 < ratio < np.inf else 1.0


@jit
def count_bounded(previous, ratio, lower, upper):
    """Count the multipliers that `ratio` moves to a bound of the box, and all others that are not zero."""
    bounded = free = 0
    for t in range(previous.shape[0]):
        if previous[t] != 0.0:
            end = upper[t] if previous[t] > 0.0 else lower[t]
            if np.isfinite(end) and abs(previous[t] * ratio - end) <= SAME * abs(end):
                bounded += 1
            else:
                free += 1
    return bounded, free


def sums_of(dual: SignedDual) -> Vector:
    """Return the sum of the multipliers of each group."""
    if dual.n_groups == 0:
        return np.zeros(0)
    return np.add.reduceat(dual.start, dual.group_starts[:-1]) if len(dual) else np.zeros(dual.n_groups)


@jit
def nearest_feasible(previous, scale, lower, upper, sums, starts, beta):
    """Fill `beta`; return False if a value is not finite or the box does not allow a group's sum.

    Compiled, because every fold of every pair of classes starts here.
    """
    for t in range(beta.shape[0]):
        b = previous[t] * scale
        if not np.isfinite(b):
            return False
        if np.isfinite(lower[t]) and b - lower[t] <= SAME * abs(lower[t]):
            b = lower[t]
        if np.isfinite(upper[t]) and upper[t] - b <= SAME * abs(upper[t]):
            b = upper[t]
        beta[t] = b
    found = True
    for g in range(sums.shape[0]):
        found = found and restore_sum(beta, lower, upper, starts[g], starts[g + 1], sums[g])
    return found


@jit
def restore_sum(beta, lower, upper, first, last, target):
    """Move beta[first:last] within its box so that it sums to `target`; return False if the box does not allow it.

    Three kinds of room in turn: towards zero by the multipliers inside their box, which keeps the number of support
    vectors; towards zero by all; then wherever there is room.
    """
    total, size = 0.0, 0.0
    for t in range(first, last):
        total += beta[t]
        size += abs(beta[t])
    missing = target - total
    if abs(missing) <= SAME * (abs(target) + size):
        return True
    for kind in range(3):
        available = 0.0
        for t in range(first, last):
            available += room_of(beta[t], lower[t], upper[t], missing, kind)
        if abs(available) >= abs(missing):
            share = missing / available
            for t in range(first, last):
                moved = beta[t] + room_of(beta[t], lower[t], upper[t], missing, kind) * share
                beta[t] = min(max(moved, lower[t]), upper[t])
            return True
    return False


@jit
def room_of(b, lower, upper, missing, kind):
    """Return how far a multiplier may move in the direction of `missing`."""
    if kind == 2:
        end = upper if missing > 0.0 else lower
        return end - b if np.isfinite(end) else missing
    if kind == 0 and not (lower < b < upper):
        return 0.0
    end = min(upper, 0.0) if missing > 0.0 else max(lower, 0.0)
    return end - b if (end - b) * missing > 0.0 else 0.0
