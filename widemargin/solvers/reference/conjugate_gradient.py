"""Projected conjugate gradient: the numerical QP inside chunking and decomposition.

Solves   min 1/2 b'Q b + c'b + sum e |b|  on q variables with Q = K + D dense, within the box, the sums of the groups
         kept
Given    Q, the gradient f = Q b + c at the start b, the box, the groups; changed in place
Returns  the number of steps
Step     on the face of the variables that may move: the gradient loses its mean in every group, so that directions keep
         the sums; conjugate directions (Polak-Ribiere); the exact minimum along the line, or the first bound that is
         hit. Then that variable is fixed and the directions start anew.
Release  where the face is done (or the improvement is small), fixed variables whose slope points inside come back, all
         at once, except those that the new mean would push out again; if there are none, the minimum is found.
Ends     when a step improves the objective by less than `threshold` relative to it, or the face is done, and no
         variable is to be released; or when `out_of_time` says so
Kink     a variable at zero is fixed like one at a bound, and released to the side along which it falls
See      Gill, Murray & Wright (1981), chapter 5; Burges (1998) for its use in SVMs; the threshold is the one that
         Platt (1998), section 3, calls the stopping threshold of the projected conjugate gradient.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from widemargin.solvers.reference.passes import Vector

MOST_STEPS = 50  # per variable: beyond, rounding must be the reason that it does not end
FACE_SHARE, RELEASE_SHARE = (
    0.05,
    0.45,
)  # of tol: a face within the one and no release beyond the other give 2 (a + b) = 1
TINY_CURVATURE = 1e-14  # of the largest diagonal entry: flat directions are walked to the next bound


class Face:
    """Which variables may move, each within one segment of its box, and their slopes there."""

    def __init__(
        self, beta: Vector, f: Vector, lower: Vector, upper: Vector, epsilon: Vector, group: NDArray, n_groups: int
    ) -> None:
        self.beta, self.f, self.lower, self.upper, self.epsilon = beta, f, lower, upper, epsilon
        self.group, self.n_groups = group, n_groups
        self.side = np.where(epsilon > 0.0, np.sign(beta), 0.0)  # of a variable with a kink; 0 without one
        self.free = (beta > lower) & (beta < upper) & ((beta != 0.0) | (epsilon == 0.0))
        self.ends()

    def ends(self) -> None:
        """The segment of each variable: its box, cut at zero where there is a kink."""
        self.low = np.where((self.epsilon > 0.0) & (self.side > 0.0), np.maximum(self.lower, 0.0), self.lower)
        self.high = np.where((self.epsilon > 0.0) & (self.side < 0.0), np.minimum(self.upper, 0.0), self.upper)

    def levels(self, slope: Vector) -> Vector:
        """Mean slope of the free variables of each group, as every variable sees it; zeros without groups."""
        if self.n_groups == 0:
            return np.zeros(len(slope))
        count = np.bincount(self.group[self.free], minlength=self.n_groups)
        total = np.bincount(self.group[self.free], weights=slope[self.free], minlength=self.n_groups)
        mean = np.divide(total, count, out=self._levels_without_free(slope), where=count > 0)
        return mean[self.group]

    def _levels_without_free(self, slope: Vector) -> Vector:
        """Halfway between the lowest slope that can rise and the highest that can fall."""
        mean = np.zeros(self.n_groups)
        rise = np.where(
            self.beta < self.upper, self.f + np.where(self.beta >= 0.0, self.epsilon, -self.epsilon), np.inf
        )
        fall = np.where(
            self.beta > self.lower, self.f + np.where(self.beta > 0.0, self.epsilon, -self.epsilon), -np.inf
        )
        for g in range(self.n_groups):
            members = self.group == g
            low, high = rise[members].min(initial=np.inf), fall[members].max(initial=-np.inf)
            mean[g] = 0.5 * (low + high) if np.isfinite(low) and np.isfinite(high) else 0.0
        return mean

    def residual(self) -> Vector:
        """Minus the projected gradient: zero on fixed variables, without mean in every group.

        Variables on an end that it would push out are fixed first; that changes the mean, so it is repeated.
        """
        slope = self.f + self.epsilon * self.side
        while True:
            residual = np.where(self.free, self.levels(slope) - slope, 0.0)
            out = ((self.beta <= self.low) & (residual < 0.0)) | ((self.beta >= self.high) & (residual > 0.0))
            if not out.any():
                return residual
            self.free[out] = False

    def release(self, tol: float) -> bool:
        """Free the fixed variables that want to move inside by more than tol; whether there were any."""
        level = self.levels(self.f + self.epsilon * self.side)
        up = (self.beta < self.upper) & (
            level - (self.f + np.where(self.beta >= 0.0, self.epsilon, -self.epsilon)) > tol
        )
        down = (self.beta > self.lower) & (
            self.f + np.where(self.beta > 0.0, self.epsilon, -self.epsilon) - level > tol
        )
        up &= ~self.free
        down &= ~self.free & ~up
        self.free |= up | down
        at_kink = (self.epsilon > 0.0) & (self.beta == 0.0)
        self.side = np.where(at_kink & up, 1.0, np.where(at_kink & down, -1.0, self.side))
        self.ends()
        return bool(up.any() or down.any())

    def longest(self, direction: Vector) -> tuple[float, NDArray]:
        """Largest step along the direction inside all segments, and the variables that stop it."""
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(
                direction > 0.0,
                (self.high - self.beta) / direction,
                np.where(direction < 0.0, (self.low - self.beta) / direction, np.inf),
            )
        longest = float(room.min(initial=np.inf))
        return longest, np.flatnonzero(room <= longest)

    def fix(self, hit: NDArray, direction: Vector) -> None:
        """Put the variables that were hit exactly on their ends and take them off the face."""
        self.beta[hit] = np.where(direction[hit] > 0.0, self.high[hit], self.low[hit])
        self.free[hit] = False


def minimise(
    Q: NDArray,
    f: Vector,
    beta: Vector,
    lower: Vector,
    upper: Vector,
    epsilon: Vector,
    group: NDArray[np.int64],
    n_groups: int,
    objective: float,
    threshold: float,
    tol: float,
    out_of_time: Callable[[], bool] = lambda: False,
) -> int:
    """Projected conjugate gradient; beta and f change in place. `objective` is the value at the start."""
    face = Face(beta, f, lower, upper, epsilon, group, n_groups)
    flat = TINY_CURVATURE * float(np.abs(np.diagonal(Q)).max(initial=0.0))
    direction = before = np.zeros(len(f))
    restart = True
    for steps in range(MOST_STEPS * len(f) + 100):
        residual = face.residual()
        if np.abs(residual).max(initial=0.0) <= FACE_SHARE * tol:
            if not face.release(RELEASE_SHARE * tol):
                return steps
            residual, restart = face.residual(), True
        turn = 0.0 if restart else float(residual @ (residual - before)) / float(before @ before)
        direction = residual + max(0.0, turn) * direction
        slope = -float(residual @ direction)
        if slope >= 0.0:  # conjugacy is lost to rounding
            direction, slope = residual, -float(residual @ residual)
        along = _product(Q, direction)
        square = float(direction @ direction)
        curvature = float(direction @ along)
        longest, hit = face.longest(direction)
        length = min(longest, -slope / curvature if curvature > flat * square else np.inf)
        if not np.isfinite(length):  # flat without end: a hard margin that does not exist shows by one long step
            length = -slope / max(flat * square, np.finfo(float).tiny)
        beta += length * direction
        f += length * along
        improvement = -(slope * length + 0.5 * curvature * length * length)
        objective -= improvement
        before, restart = residual, length == longest
        if restart:
            face.fix(hit, direction)
        elif improvement <= threshold * abs(objective):
            if not face.release(RELEASE_SHARE * tol):
                return steps + 1
            restart = True
        if out_of_time():
            return steps + 1
    return MOST_STEPS * len(f) + 100


def _product(Q: NDArray, direction: Vector) -> Vector:
    """Q times a direction; only the rows of variables that move are read where they are few."""
    moving = np.flatnonzero(direction)
    if 4 * len(moving) < len(direction):
        return direction[moving] @ Q[moving]
    return Q @ direction
