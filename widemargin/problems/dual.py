"""The signed dual: the one problem that every SVM of this package solves.

Solves      minimise    1/2 b'(K + D) b + c'b + sum_i e_i |b_i|
            subject to  lower <= b <= upper,  and the sum of b over each group keeps the value it has at `start`

with the signed multiplier b_i = y_i alpha_i, so that only the builder knows labels and K is the plain kernel matrix.

Names       b   beta      signed multipliers, one per variable        c   linear_term
            D   diagonal  added to K, one per variable                e   epsilon   slope of e|b|, which jumps at zero
            f   gradient  (K + D) b + c, the smooth part              r   threshold minus the bias of a group

Optimal     a variable can rise while b < upper, along the slope  f + e  (b >= 0)  or  f - e  (b < 0);
iff         it can fall while b > lower, along the slope          f + e  (b > 0)   or  f - e  (b <= 0);
            in every group   max{slope : can fall} - min{slope : can rise} <= tol;
            without groups   no slope that can fall is > tol and none that can rise is < -tol.

The primal  of the same pair, for F = K b' of any b' and any thresholds r, is
                1/2 b''K b' + sum_i loss_i(F_i - r_group(i)) - sum_g r_g s_g,     s_g = sum of b over group g,
                loss_i(u) = max{ -(u + c_i) b - D_i b^2 / 2 - e_i |b| : lower_i <= b <= upper_i },
            which is the hinge for classification, the eps-insensitive loss for regression, and so on.

See         the pair of problems: Cristianini & Shawe-Taylor (2000), chapters 5-7; nu-SVMs: Schoelkopf et al. (2000).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.linalg.arrays import Vector


class Terms(NamedTuple):
    """The terms of a dual for compiled code: one entry per variable, and the boundaries of the groups.

    linear_term, lower, upper, diagonal, epsilon : c, box, D and e of the module's header
    start : a point with the sums that the groups must have
    starts : group g has the variables starts[g]:starts[g + 1]; without groups all are between starts[0] and starts[1]
    n_groups : 0 without sums to keep
    """

    linear_term: Vector
    lower: Vector
    upper: Vector
    diagonal: Vector
    epsilon: Vector
    start: Vector
    starts: NDArray[np.int64]
    n_groups: int


@dataclass(frozen=True, eq=False)
class SignedDual:
    """One quadratic programme in signed multipliers; see the module's header for the letters.

    Parameters
    ----------
    linear_term, lower, upper : float64 arrays of shape (n_variables,)
        Linear term and box. `lower` may be -inf and `upper` +inf.
    start : float64 array of shape (n_variables,), default zeros
        A feasible point; it fixes the sums of the groups.
    diagonal, epsilon : float64 arrays of shape (n_variables,), default zeros
        Diagonal D >= 0 and slope jump e >= 0.
    group : int64 array of shape (n_variables,), default all in group 0
        Number of the group of each variable. Variables of one group must be contiguous, groups ascending.
    n_groups : int, default 1
        0 means no equality constraint at all (fixed bias); then `group` is ignored.
    row : int64 array of shape (n_variables,) or None
        Sample of each variable; None means that variable i belongs to sample i.
    sign : float64 array of +1 and -1 of shape (n_variables,) or None
        If given, the variable is a = sign * b, and K is replaced by sign K sign. Only models whose sum constraint
        mixes both signs need it (problems/fixed_bias.py).
    n_samples : int, default n_variables
        Number of samples, the size of K.
    """

    linear_term: Vector
    lower: Vector
    upper: Vector
    start: Vector = None  # type: ignore[assignment]
    diagonal: Vector = None  # type: ignore[assignment]
    epsilon: Vector = None  # type: ignore[assignment]
    group: NDArray[np.int64] = None  # type: ignore[assignment]
    n_groups: int = 1
    row: NDArray[np.int64] | None = None
    sign: Vector | None = None
    n_samples: int = field(default=-1)

    def __post_init__(self) -> None:
        n = len(self.linear_term)
        zeros = np.zeros(n)
        for name in ("start", "diagonal", "epsilon"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, zeros)
        if self.group is None:
            object.__setattr__(self, "group", np.zeros(n, np.int64))
        if self.n_samples < 0:
            object.__setattr__(self, "n_samples", n if self.row is None else int(self.row.max(initial=-1)) + 1)

    def __len__(self) -> int:
        return len(self.linear_term)

    @cached_property
    def group_starts(self) -> NDArray[np.int64]:
        """Boundaries of the groups: group g holds the variables group_starts[g]:group_starts[g + 1]."""
        if self.n_groups <= 1:
            return np.array([0, len(self)], np.int64)
        return np.searchsorted(self.group, np.arange(self.n_groups + 1)).astype(np.int64)

    @cached_property
    def terms(self) -> Terms:
        """For compiled code."""
        box = (self.linear_term, self.lower, self.upper, self.diagonal, self.epsilon)
        return Terms(*box, self.start, self.group_starts, self.n_groups)

    @property
    def is_plain(self) -> bool:
        """Whether variable i is the coefficient of sample i."""
        return self.row is None and self.sign is None

    @cached_property
    def largest_bound(self) -> float:
        """The end of a box that is farthest from zero."""
        return max(float(self.upper.max(initial=0.0)), -float(self.lower.min(initial=0.0)))

    @property
    def largest_cost(self) -> float:
        """The largest C of a sample: the end of its box, or of a squared loss 1 / D; 0 for hard margins."""
        ends = np.maximum(self.upper, -self.lower)
        soft = self.diagonal[self.diagonal > 0.0]
        return max(float(ends[np.isfinite(ends)].max(initial=0.0)), 1.0 / float(soft.min(initial=np.inf)))

    @cached_property
    def hard(self) -> NDArray[np.bool_]:
        """Unbounded variables: an infinite box and no diagonal; empty if there are none."""
        if self.largest_bound < np.inf:
            return np.zeros(0, np.bool_)
        hard = (np.isinf(self.upper) | np.isinf(self.lower)) & (self.diagonal == 0.0)
        return hard if hard.any() else np.zeros(0, np.bool_)

    def restricted(self, variables: NDArray[np.int64], beta: Vector) -> SignedDual:
        """Return the problem of some variables (ascending), all others fixed at `beta`, with its own kernel matrix.

        Its K b includes the contribution of all other variables, so that its linear term is that of the whole problem.
        """
        names = ("linear_term", "lower", "upper", "diagonal", "epsilon", "group")
        parts = {name: getattr(self, name)[variables] for name in names}
        return SignedDual(**parts, start=beta[variables], n_groups=self.n_groups)

    def per_sample(self, beta: Vector) -> Vector:
        """Sum the variables of each sample: the coefficients of the kernel expansion, shape (n_samples,)."""
        if self.sign is not None:
            beta = self.sign * beta
        if self.row is None:
            return beta
        return np.bincount(self.row, weights=beta, minlength=self.n_samples).astype(np.float64)

    def per_variable(self, Kb: Vector) -> Vector:
        """Convert K b from one value per sample to one value per variable."""
        values = Kb if self.row is None else Kb[self.row]
        return values if self.sign is None else self.sign * values

    def gradient(self, beta: Vector, Kb: Vector) -> Vector:
        """f = K b + D b + c, with K b given per sample."""
        return self.per_variable(Kb) + self.diagonal * beta + self.linear_term

    def objective(self, beta: Vector, Kb: Vector) -> float:
        """Value of the minimised dual, with K b given per sample."""
        with np.errstate(over="ignore", invalid="ignore"):  # multipliers that grow without bound
            smooth = 0.5 * float(beta @ (self.per_variable(Kb) + self.diagonal * beta))
            return smooth + float(self.linear_term @ beta) + float(self.epsilon @ np.abs(beta))
