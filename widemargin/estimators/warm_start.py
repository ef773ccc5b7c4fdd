"""Going on from the multipliers of an earlier fit: bring them into the box of the new problem and restore its sums.

scaled    b * (C_new / C_old): along a path of C the bounded multipliers stay bounded and the sums stay zero
clipped   to lo <= b <= hi; values that scaling left a rounding error off a bound are put on it exactly
repaired  each group's sum is brought back to what the problem asks, by moving first the multipliers inside their
          box, each in proportion to the room it has
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.dual import SignedDual

SNAP = 1e-12  # relative distance to a bound below which a multiplier is on it: a few roundings of the scaling
SUM_ROUNDING = 1e-13  # relative error of a sum that needs no repair, so that a restart at the optimum changes nothing

Vector = NDArray[np.float64]


def restart(dual: SignedDual, previous: Vector, scale: float = 1.0) -> Vector | None:
    """A feasible point of `dual` near `scale` times `previous`, or None if the sums cannot be restored."""
    if previous.shape != dual.shift.shape or not np.isfinite(previous).all():
        return None
    beta = previous * scale
    for bound in (dual.lo, dual.hi):
        beta = np.where(np.isfinite(bound) & (np.abs(beta - bound) <= SNAP * np.abs(bound)), bound, beta)
    beta = np.clip(beta, dual.lo, dual.hi)
    starts = dual.group_starts
    for number in range(dual.n_groups):
        part = slice(starts[number], starts[number + 1])
        if not _restore_sum(beta[part], dual.lo[part], dual.hi[part], float(dual.start[part].sum())):
            return None
    return beta


def _restore_sum(beta: Vector, lo: Vector, hi: Vector, target: float) -> bool:
    """Move `beta` in place within its box so that it sums to `target`; False if the box does not allow it."""
    missing = target - beta.sum()
    if abs(missing) <= SUM_ROUNDING * (abs(target) + np.abs(beta).sum()):
        return True
    bound = hi if missing > 0 else lo
    # towards zero first: that keeps the number of support vectors; then wherever there is room
    nearer = np.minimum(hi, 0.0) if missing > 0 else np.maximum(lo, 0.0)
    inside = (beta > lo) & (beta < hi)
    to_zero = np.where((nearer - beta) * missing > 0, nearer - beta, 0.0)
    for room in (np.where(inside, to_zero, 0.0), to_zero, np.where(np.isfinite(bound), bound - beta, missing)):
        available = room.sum()
        if abs(available) >= abs(missing):
            beta += room * (missing / available)
            np.clip(beta, lo, hi, out=beta)
            return True
    return False
