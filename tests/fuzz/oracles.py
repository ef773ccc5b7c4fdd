"""What is true of an answer: violation, primal and dual of the signed dual, from their definitions, each with an error.

Solves      minimise 1/2 b'(K + D) b + c'b + sum_i e_i |b_i|,  lo <= b <= hi,  the sums of b over the groups given
Violation   in every group  max{slope : can fall} - min{slope : can rise},  and against the model's own level r
            max{fall} - r and r - min{rise};  without groups each slope against zero
Dual        -(1/2 b'(K + D) b + c'b + e'|b|)
Primal      s^2/2 b'Kb + sum_i loss_i(s F_i - r) - sum_g r_g s_g,  loss_i(t) = max_b -(t + c_i) b - D_i b^2/2 - e_i |b|,
            at the levels given and the best scale s: no certificate taken at these levels can have a lower one

(Letters and formulas as in widemargin/problems/dual.py; nothing is imported from there.) All answers are intervals: F
is known up to e_i, float64 first and extended precision where float64 leaves a claim open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tests.fuzz.kernel_sums import LONG, KernelFormula, Vector, kernel_sums

MOST_LONG_TERMS = 6_000_000  # kernel values times features in extended precision: about a second
SCALES = np.concatenate([[0.0], 2.0 ** np.arange(-12.0, 13.0)])  # where the search for the best s begins
GOLDEN = (LONG(5.0) ** LONG(0.5) - 1) / 2
SEARCH_STEPS = 80  # golden section: the bracket shrinks to 2e-17 of itself, so that kinks of P do not matter

Interval = tuple[float, float]


@dataclass(eq=False)
class Problem:
    """One signed dual with an answer to it.

    row : sample of each variable; sign : +1, -1 where the variable is sign * b; sums : of b over each group
    offset : constant in F, the penalised bias of machines without groups
    rounded_when_stored : whether beta was divided by a margin to be stored, and multiplied back
    levels : candidates for the primal; `level`, if given, is the model's own and must be within tol of the slopes
    sums_error : relative, where the sums are computed here from nu and weights and not taken from a starting point
    slack : relative distance from a bound that counts as on it
    split_known : False where the model tells its multipliers up to overlaps only: slopes cannot be judged
    """

    kernel: KernelFormula
    X: NDArray
    beta: Vector
    linear_term: Vector
    lower: Vector
    upper: Vector
    diagonal: Vector
    epsilon: Vector
    group: NDArray[np.int64]
    n_groups: int
    sums: Vector
    row: NDArray[np.int64] | None = None
    sign: Vector | None = None
    offset: float = 0.0
    level: Vector | None = None
    levels: Sequence[Vector] = ()
    sums_error: float = 0.0
    slack: float = 1e-15
    split_known: bool = True
    rounded_when_stored: bool = False
    F: Vector = field(default_factory=lambda: np.empty(0))
    error: Vector = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        n = len(self.X)
        b = self.beta if self.sign is None else self.sign * self.beta
        self.coefficients = b if self.row is None else np.bincount(self.row, weights=b, minlength=n)
        self.support = np.flatnonzero(self.coefficients)
        self.F, self.error = self._evaluate(np.arange(n), np.float64)
        self.exact = np.zeros(n, bool)
        self.sums = self.sums.astype(LONG)

    def _evaluate(self, rows: Vector, real: type) -> tuple[Vector, Vector]:
        F, error = kernel_sums(self.kernel, self.X, rows, self.support, self.coefficients[self.support], real)
        if self.rounded_when_stored:  # the trained multipliers are not known better than in float64
            error = error * (float(np.finfo(np.float64).eps) / float(np.finfo(real).eps))
        return F + self.offset, error + abs(self.offset) * 1e-15

    def refine(self, rows: Vector) -> bool:
        """Extended precision at some samples; False where that would take too long."""
        rows = rows[~self.exact[rows]]
        cost = len(rows) * max(1, len(self.support)) * max(1, self.X.shape[1])
        if self.kernel.name == "linear":
            cost = (len(rows) + len(self.support)) * self.X.shape[1]
        if cost > MOST_LONG_TERMS:
            return False
        if len(rows):
            self.F, self.error = self.F.astype(LONG), self.error.astype(LONG)
            self.F[rows], self.error[rows] = self._evaluate(rows, LONG)
            self.exact[rows] = True
        return True

    def _seen(self, values: Vector) -> Vector:
        return values if self.row is None else values[self.row]

    # ----- optimality conditions
    def violation(self, tol: float) -> Interval:
        """Bounds on the largest violation, narrow enough to compare with tol where that can be had."""
        if not self.split_known:
            return 0.0, np.inf
        low, high, doubtful = self._violation()
        if low <= tol < high and self.refine(np.unique(doubtful if self.row is None else self.row[doubtful])):
            low, high, doubtful = self._violation()
            if low <= tol < high and self.refine(np.unique(doubtful if self.row is None else self.row[doubtful])):
                low, high, _ = self._violation()
        return low, high

    def _violation(self) -> tuple[float, float, Vector]:
        """Lower and upper bound, and the variables whose errors keep them apart."""
        F, e = self._seen(self.F), self._seen(self.error).astype(np.float64)
        if self.sign is not None:
            F = self.sign * F
        b = self.beta
        f = F + self.diagonal * b + self.linear_term
        e = e + 4e-16 * (np.abs(F) + np.abs(self.diagonal * b) + np.abs(self.linear_term)).astype(np.float64) * (
            1.0 if F.dtype == np.float64 else 1e-3
        )
        size = np.where(
            np.isfinite(self.upper - self.lower), np.maximum(np.abs(self.upper), np.abs(self.lower)), np.abs(b)
        )
        can_rise, can_fall = self.upper - b > self.slack * size, b - self.lower > self.slack * size
        rise = np.where(can_rise, f + np.where(b >= 0, self.epsilon, -self.epsilon), np.inf)
        fall = np.where(can_fall, f + np.where(b > 0, self.epsilon, -self.epsilon), -np.inf)
        low, high, doubtful = 0.0, 0.0, []
        for g in range(max(1, self.n_groups)):
            mine = np.flatnonzero(self.group == g) if self.n_groups > 1 else np.arange(len(b))
            if len(mine) == 0:
                continue
            up_low, up_high = (fall[mine] - e[mine]).max(), (fall[mine] + e[mine]).max()
            down_low, down_high = (rise[mine] - e[mine]).min(), (rise[mine] + e[mine]).min()
            if self.n_groups:
                pairs = [(up_low - down_high, up_high - down_low)]
                if self.level is not None:
                    r = float(self.level[g])
                    off = 8.0 * float(np.finfo(np.float64).eps) * float(np.abs(self.level).max())
                    off = off if self.rounded_when_stored else 0.0
                    pairs += [(up_low - r - off, up_high - r + off), (r - down_high - off, r - down_low + off)]
            else:
                pairs = [(up_low, up_high), (-down_high, -down_low)]
            low = max(low, *(float(p[0]) for p in pairs))
            high = max(high, *(float(p[1]) for p in pairs))
            in_doubt = (fall[mine] + e[mine] >= up_low) | (rise[mine] - e[mine] <= down_high)
            doubtful.append(mine[in_doubt])
        return (low, high, np.concatenate(doubtful)) if not np.isnan(low + high) else (0.0, np.inf, np.arange(len(b)))

    # ----- the two objectives
    def objectives(self, tol: float) -> tuple[Interval, Interval, Interval]:
        """Bounds on primal (at the best scale), dual, and relative gap; extended precision where tol is in doubt."""
        found = self._objectives()
        gap = found[2]
        if not gap[1] - gap[0] <= 1e-3 * tol and self.refine(np.arange(len(self.X))):
            found = self._objectives()
        return found

    def _objectives(self) -> tuple[Interval, Interval, Interval]:
        b, c = self.beta.astype(LONG), self.coefficients.astype(LONG)
        F, e = self.F.astype(LONG), self.error.astype(LONG)
        u = float(np.finfo(LONG).eps) * (len(b) + 8)
        square, square_error = c @ F, np.abs(c) @ (e + u * np.abs(F))
        rest = 0.5 * self.diagonal * b * b + self.linear_term * b + self.epsilon * np.abs(b)
        dual = -(0.5 * square + rest.sum())
        dual_error = 0.5 * square_error + u * np.abs(rest).sum()
        seen, seen_error = self._seen(F), self._seen(e)
        if self.sign is not None:
            seen = self.sign * seen
        primal, off = (LONG(np.inf), LONG(np.inf)), LONG(0.0)
        for level in self.levels or [np.zeros(self.n_groups)]:
            found = self._primal_at_level(seen, seen_error, square, square_error, np.asarray(level, LONG), u)
            primal = min(primal[0], found[0]), min(primal[1], found[1])
            if self.split_known:  # the dual of a point that misses its sums is off by level times the miss
                miss = [b[self.group == g].sum() - self.sums[g] for g in range(self.n_groups)]
                off = max(off, sum((abs(level[g] * miss[g]) for g in range(self.n_groups)), LONG(0.0)))
        dual_error += 2 * off
        if not np.isfinite(primal[1]):
            return (float(primal[0]), np.inf), _around(dual, dual_error), (0.0, np.inf)
        middle, primal_error = (primal[0] + primal[1]) / 2, (primal[1] - primal[0]) / 2
        size = max(abs(middle), abs(dual), LONG(1e-4900))
        gap, gap_error = (middle - dual) / size, 1.01 * (primal_error + dual_error) / size
        low, high = _around(gap, gap_error)
        if low > 1.0:  # objectives of different sign: a larger primal would have a smaller relative gap, down to 1
            low = 1.0
        return _around(middle, primal_error), _around(dual, dual_error), (low, high)

    def _primal_at_level(
        self, F: Vector, e: Vector, square: LONG, square_error: LONG, level: Vector, u: float
    ) -> tuple[LONG, LONG]:
        """Bounds on the smallest primal over the scales s.

        P(s) is at least low(s), all errors in its favour, and at most high(s). Both are convex in s, |v| being convex
        and its error linear, and each has its own smallest value: where errors are large for one s and not for the next
        (a box of 1e8 makes a loss of a margin off by 1e-10), the error at the best s says nothing about the others.
        """
        r = level[self.group] if self.n_groups else LONG(0.0)
        constant = -(level[: self.n_groups] @ self.sums) if self.n_groups else LONG(0.0)
        constant_error = (u + self.sums_error) * (np.abs(level[: self.n_groups]) @ np.abs(self.sums[: self.n_groups]))
        up, down = self.upper.astype(LONG), -self.lower.astype(LONG)

        def bound_at(s: float, side: int) -> LONG:
            """low(s) for side -1, high(s) for side 1."""
            v = -(s * F - r + self.linear_term)
            error = s * e + u * (np.abs(s * F) + np.abs(r) + np.abs(self.linear_term))
            excess = np.abs(v) + side * error - self.epsilon
            end = np.where(np.abs(v) <= error, np.maximum(up, down), np.where(v > 0, up, down))
            with np.errstate(all="ignore"):
                inner = np.where(self.diagonal > 0, np.minimum(excess / self.diagonal, end), end)
                losses = np.where(self.diagonal > 0, (excess - 0.5 * self.diagonal * inner) * inner, excess * inner)
            total = np.where((excess > 0) & (inner > 0), losses, 0).sum() * (1 + side * u)
            return 0.5 * s * s * max(square + side * square_error, LONG(0.0)) + total + constant + side * constant_error

        with np.errstate(over="ignore", invalid="ignore"):
            return _smallest(lambda s: bound_at(s, -1)), _smallest(lambda s: bound_at(s, 1))


def _smallest(convex: Callable[[float], LONG]) -> LONG:
    """The smallest value found of a convex function of the scale."""
    values = [float(convex(s)) for s in SCALES]
    if np.isnan(values).all():
        return LONG(np.inf)
    best = int(np.nanargmin(values))
    a, z = LONG(SCALES[max(0, best - 1)]), LONG(SCALES[min(len(SCALES) - 1, best + 1)])
    inner_left, inner_right = z - GOLDEN * (z - a), a + GOLDEN * (z - a)
    left, right = convex(inner_left), convex(inner_right)
    for _ in range(SEARCH_STEPS):
        if left < right:
            z, inner_right, right = inner_right, inner_left, left
            inner_left = z - GOLDEN * (z - a)
            left = convex(inner_left)
        else:
            a, inner_left, left = inner_left, inner_right, right
            inner_right = a + GOLDEN * (z - a)
            right = convex(inner_right)
    return min(left, right, convex(SCALES[best]), convex(1.0))


def _around(value: LONG, error: LONG) -> Interval:
    """Bounds as float64, rounded outwards."""
    spare = abs(value) * 2.3e-16
    return float(value - error - spare), float(value + error + spare)
