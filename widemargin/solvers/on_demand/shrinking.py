"""Shrinking: variables that are unlikely to move are left out temporarily, and their gradient is updated once.

Solves   the signed dual for its active variables only, with all others fixed
Given    a gradient and its thresholds
Returns  which variables are active
Why      near the end a few variables move in every round, and each time rows of full length are evaluated for them.
         With active variables only, rows are short; at the end each variable that moved is added once to the
         gradient of all other variables, however often it moved.
Rule     a variable at a bound whose slope is on the right side of its threshold by half of the present violation is
         left out. Hardly any of these moved later; one that would is found by the following scan of all variables.
See      Joachims (1999) for shrinking; here the variables return all at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.linalg.arrays import Index, Vector
from widemargin.problems.dual import Terms
from widemargin.problems.optimality import slopes_of
from widemargin.solvers.tuning import BlockTuning


class Shrinking:
    """Decides when variables are left out of a solve: not twice at nearly the same violation, nor without effect."""

    def __init__(self, may_shrink: bool, tuning: BlockTuning, tol: float) -> None:
        self.may_shrink, self.tuning, self.tol = may_shrink, tuning, tol
        self.looked_at = self.shrunk_at = np.inf  # violations at the last check, and when variables were last left out

    def is_time(self, violation: float, thresholds: NDArray) -> bool:
        """Whether to determine the active variables now."""
        if not self.may_shrink or violation < self.tuning.shrink_above * self.tol:
            return False
        if not np.isfinite(thresholds[:, :2]).all() or violation > self.tuning.look_again * self.looked_at:
            return False
        self.looked_at = violation
        if violation > 0.5 * self.shrunk_at:  # too many were left out: inactive variables still violate
            self.may_shrink = False
        return self.may_shrink


def active_variables(terms: Terms, f: Vector, beta: Vector, thresholds: Vector, distance: float) -> Index:
    """Return the variables whose slope violates the threshold of their group, or is nearer to it than `distance`."""
    threshold = np.repeat(thresholds, np.diff(terms.starts))
    rise, fall = slopes_of(f, beta, terms.epsilon)
    may_rise = (beta < terms.upper) & (rise < threshold + distance)
    may_fall = (beta > terms.lower) & (fall > threshold - distance)
    return np.flatnonzero(may_rise | may_fall)
