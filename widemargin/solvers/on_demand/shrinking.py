"""Variables that will hardly move again are left out for a while, and their gradient is brought up to date once.

Solves   the signed dual for its active variables alone, the others held where they are
Given    a gradient and its thresholds
Returns  which variables are active
Why      near the end a few variables move in every round, and each time rows of full length are evaluated for them.
         With the active variables alone rows are short; at the end each variable that moved is added once to the
         gradient of the others, however often it moved.
Rule     a variable at a bound whose slope is on the right side of its threshold by half of the present violation is
         left out. Hardly any of those moved later; one that would is found by the scan over all that follows.
See      Joachims (1999) for shrinking; here the variables return all at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.problems.optimality import slopes
from widemargin.solvers.on_demand.tuning import BlockTuning


class Shrinking:
    """Decides when the others are left out of one solve: not again at nearly the same violation, nor in vain."""

    def __init__(self, may_shrink: bool, tuning: BlockTuning, tol: float) -> None:
        self.may_shrink, self.tuning, self.tol = may_shrink, tuning, tol
        self.looked_at = self.shrunk_at = np.inf  # violations at the last look, and when others were left out last

    def is_time(self, violation: float, thresholds: NDArray) -> bool:
        """Whether to look at which variables are active."""
        if not self.may_shrink or violation < self.tuning.shrink_above * self.tol:
            return False
        if not np.isfinite(thresholds[:, :2]).all() or violation > self.tuning.look_again * self.looked_at:
            return False
        self.looked_at = violation
        if violation > 0.5 * self.shrunk_at:  # too much had been left out: the others go on violating
            self.may_shrink = False
        return self.may_shrink


@jit
def active_variables(terms, f, beta, thresholds, distance):
    """Variables whose slope violates the threshold of their group, or is nearer to it than `distance`."""
    active = np.empty(f.shape[0], np.int64)
    count = 0
    for g in range(thresholds.shape[0]):
        for t in range(terms.starts[g], terms.starts[g + 1]):
            rise, fall = slopes(f[t], beta[t], terms.epsilon[t])
            may_rise = (beta[t] < terms.upper[t]) & (rise < thresholds[g] + distance)
            may_fall = (beta[t] > terms.lower[t]) & (fall > thresholds[g] - distance)
            active[count] = t  # and overwritten by the next unless it counts: no branches
            count += 1 if may_rise | may_fall else 0
    return active[:count]
