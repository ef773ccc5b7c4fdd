"""Projected conjugate gradient: the numerical QP inside chunking and decomposition.

Solves   min 1/2 b'Q b + c'b + sum e |b|  on q variables with Q = K + D dense, within the box, the sums of the groups
         kept
Given    a working set: Q, the gradient f = Q b + c at the start b, the box, the groups; f and b are changed in place
Returns  the number of steps
Step     on the face of the variables that may move: the gradient loses its mean in every group, so that directions keep
         the sums; conjugate directions (Polak-Ribiere); the exact minimum along the line, or the first bound that is
         hit. Then that variable is fixed and the directions are restarted.
Release  when the face is solved (or the improvement is small), fixed variables whose slope points inside are freed, all
         together, except those that the new mean would push out again; if there are none, the minimum is found.
Ends     when a step improves the objective by less than `threshold` relative to it, or the face is done, and no
         variable is to be released; or at the limit of steps or time of the run
Kink     a variable at zero is fixed like one at a bound, and released to the side along which it falls
See      Gill, Murray & Wright (1981), chapter 5; Burges (1998) for its use in SVMs; the threshold is the one that
         Platt (1998), section 3, calls the stopping threshold of the projected conjugate gradient.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.monitor import clock
from widemargin.problems.optimality import free_of, scan_groups
from widemargin.solvers.reference.passes import Run, Vector
from widemargin.solvers.reference.working_set import WorkingSet, slopes_of

MOST_STEPS = 50  # steps per variable: beyond, rounding is assumed to prevent convergence
FACE_SHARE, RELEASE_SHARE = 0.05, 0.45  # of tol: a face within the one, no release beyond the other: 2 (a + b) = 1
TINY_CURVATURE = 1e-14  # of the largest diagonal entry: along flat directions a step goes to the next bound


class Face:
    """The variables that may move, each within one segment of its box, and their slopes there."""

    def __init__(self, at: WorkingSet, n_groups: int) -> None:
        self.at, self.n_groups = at, n_groups
        self.starts = np.searchsorted(at.group, np.arange(n_groups + 1))
        self.side = np.where(at.epsilon > 0.0, np.sign(at.beta), 0.0)  # of a variable with a kink; 0 without one
        self.free = free_of(at.beta, at.lower, at.upper, at.epsilon)

    def ends(self) -> tuple[Vector, Vector]:
        """The segment of each variable: its box, cut at zero where there is a kink."""
        at = self.at
        low = np.where(self.side > 0.0, np.maximum(at.lower, 0.0), at.lower)
        return low, np.where(self.side < 0.0, np.minimum(at.upper, 0.0), at.upper)

    def slope(self) -> Vector:
        """Derivative of the objective along each variable, on its side of the kink."""
        return self.at.f + self.at.epsilon * self.side

    def thresholds(self) -> Vector:
        """Mean slope of the free variables of each group, repeated for every variable; zeros without groups.

        Without free variables: halfway between the lowest slope that can rise and the highest that can fall.
        """
        at = self.at
        if self.n_groups == 0:
            return np.zeros(len(at.f))
        count = np.bincount(at.group[self.free], minlength=self.n_groups)
        total = np.bincount(at.group[self.free], weights=self.slope()[self.free], minlength=self.n_groups)
        table = scan_groups(at.f, at.beta, at.lower, at.upper, at.epsilon, self.starts, self.n_groups)
        with np.errstate(invalid="ignore"):
            middle = 0.5 * (table[:, 0] + table[:, 1])
        middle[~np.isfinite(middle)] = 0.0
        return np.divide(total, count, out=middle, where=count > 0)[at.group]

    def residual(self) -> Vector:
        """Minus the projected gradient: zero on fixed variables, without mean in every group.

        Variables at an end that it would push outwards are fixed first; that changes the mean, so it is repeated.
        """
        low, high = self.ends()
        while True:
            residual = np.where(self.free, self.thresholds() - self.slope(), 0.0)
            out = ((self.at.beta <= low) & (residual < 0.0)) | ((self.at.beta >= high) & (residual > 0.0))
            if not out.any():
                return residual
            self.free[out] = False

    def release(self, tol: float) -> bool:
        """Free the fixed variables whose slope points inside by more than tol; return whether there were any."""
        at, threshold = self.at, self.thresholds()
        rise, fall = slopes_of(at.beta, at.f, at)
        up = (threshold - rise > tol) & ~self.free
        down = (fall - threshold > tol) & ~self.free & ~up
        self.free |= up | down
        at_kink = (at.epsilon > 0.0) & (at.beta == 0.0)
        self.side = np.where(at_kink & up, 1.0, np.where(at_kink & down, -1.0, self.side))
        return bool(up.any() or down.any())

    def longest(self, direction: Vector) -> tuple[float, NDArray[np.bool_], Vector]:
        """Return the largest step along the direction within all segments, the limiting variables, and their ends."""
        low, high = self.ends()
        end = np.where(direction > 0.0, high, low)
        room = np.full(len(end), np.inf)
        np.divide(end - self.at.beta, direction, out=room, where=direction != 0.0)
        longest = float(room.min(initial=np.inf))
        return longest, room <= longest, end


def minimise(at: WorkingSet, run: Run, threshold: float) -> int:
    """Projected conjugate gradient on some variables of a run; `at.K` is Q."""
    face, tol = Face(at, run.dual.n_groups), run.tol
    objective = run.dual.objective(run.beta, run.Kb)
    flat = TINY_CURVATURE * float(np.abs(np.diagonal(at.K)).max(initial=0.0))
    direction = before = np.zeros(len(at.f))
    restart = True
    most_steps = min(MOST_STEPS * len(at.f) + 100, run.steps_left())
    for steps in range(most_steps):
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
        along = _product(at.K, direction)
        square = float(direction @ direction)
        curvature = float(direction @ along)
        longest, hit, end = face.longest(direction)
        length = min(longest, -slope / curvature if curvature > flat * square else np.inf)
        if not np.isfinite(length):  # flat and unbounded: one long step reveals that there is no hard margin
            length = -slope / max(flat * square, np.finfo(float).tiny)
        at.beta[:] += length * direction
        at.f[:] += length * along
        improvement = -(slope * length + 0.5 * curvature * length * length)
        objective -= improvement
        before, restart = residual, length == longest
        if restart:  # variables at their ends leave the face
            at.beta[hit] = end[hit]
            face.free[hit] = False
        elif improvement <= threshold * abs(objective):
            if not face.release(RELEASE_SHARE * tol):
                return steps + 1
            restart = True
        if clock.now() >= run.deadline:  # it may take longer than the remaining time
            return steps + 1
    return most_steps


def _product(Q: NDArray, direction: Vector) -> Vector:
    """Q times a direction; only the rows of variables that move are read where they are few."""
    moving = np.flatnonzero(direction)
    if 4 * len(moving) < len(direction):
        return direction[moving] @ Q[moving]
    return Q @ direction
