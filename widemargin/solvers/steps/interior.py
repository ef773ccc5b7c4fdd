"""An interior-point method on a block, for C K so large that pair steps would need millions.

Solves   the signed dual restricted to a block, min 1/2 b'(K + D)b + g'b + e|b|, box and group sums, in b = p - m with
         0 <= p <= upper and 0 <= m <= -lower, so that epsilon |b| is linear.
Given    a Block
Returns  the minimiser, clipped to box and sums, or None where it did not lower the objective
How      Mehrotra's predictor-corrector on the parts x = (p, m) with multipliers z of x >= 0 and y of x <= u. With
         Theta = z/x + y/(upper - x) and tau the sum of 1/Theta over the parts of a variable, one Cholesky factor of
         K + D + diag(1/tau) per iteration serves both steps; the group sums are kept by a Schur complement.
         15-40 iterations whatever the condition of K: along directions in which K is nearly zero, where pair steps
         are short, the barrier method goes straight to the bound.
See      Ferris & Munson (2002), SIAM J. Optim. 13; Fine & Scheinberg (2001), JMLR 2; Mehrotra (1992).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from widemargin.costs import COSTS
from widemargin.linalg.arrays import Vector
from widemargin.problems.dual import Terms
from widemargin.solvers.steps.block import Block

ITERATIONS = 50
LARGEST = 2048  # variables: a factor of this size takes about 0.2 s
TO_BOUNDARY = 0.995  # share of the distance to the nearest bound that a step may cover
RESIDUAL = 1e-9  # relative error of sums and gradient at which an iterate counts as feasible
CLOSE = 1e-13  # complementarity, relative to the objective, at which the iteration ends
SNAP = 1e-7  # share of a segment below which a part with a larger multiplier is on its bound
TINY = 1e-300  # keeps divisors away from zero


def interior_cost(n: int) -> float:
    """Estimate the nanoseconds that a solve takes."""
    return COSTS.interior_cube * n**3


def interior_point(block: Block) -> Vector | None:
    """Minimise the block; see the module's header."""
    terms = block.terms
    curvature = max(float(np.abs(np.diagonal(block.K)).mean()), TINY)
    slope = max(float(np.abs(block.f).max()), TINY)
    unit = slope / curvature  # of beta: in these units the matrix and the gradient are of size one
    if not 0.0 < unit < np.inf:
        return None
    M = block.K.astype(np.float64) / curvature
    M[np.diag_indices(len(M))] += terms.diagonal / curvature
    beta, lower, upper = block.beta / unit, terms.lower / unit, terms.upper / unit
    with np.errstate(all="ignore"):  # overflow is caught by tests for finite numbers
        split = split_problem(M, block.f.astype(np.float64) / slope - M @ beta, terms.epsilon / slope, lower, upper)
        A = sum_rows(terms)
        total = A @ beta
        parts = minimise(split, A, total, starting_iterate(split, A, beta))
        b = None if parts is None else restored(A, total, np.clip(parts, lower, upper), lower, upper)
        if b is None or not split.value(b) < split.value(beta):
            return None
    found = np.where(b == lower, terms.lower, np.where(b == upper, terms.upper, b * unit))
    return found if np.isfinite(found).all() else None


def sum_rows(terms: Terms) -> NDArray[np.float64]:
    """The matrix A of the constraints A b = const: one row of ones per group that has variables in the block."""
    A = np.zeros((terms.n_groups, len(terms.lower)))
    for g in range(terms.n_groups):
        A[g, terms.starts[g] : terms.starts[g + 1]] = 1.0
    return A[A.any(axis=1)]


class Split(NamedTuple):
    """The problem in the parts x = (p, m) of b = p - m: min 1/2 b'Mb + linear'b + epsilon'|b|, 0 <= x <= upper.

    of, sign : variable of each part, and +1 or -1
    upper, bounded : of each part, and whether it is finite
    """

    M: NDArray[np.float64]
    linear: Vector
    epsilon: Vector
    of: NDArray[np.int64]
    sign: Vector
    upper: Vector
    bounded: NDArray[np.bool_]

    def assemble(self, parts: Vector) -> Vector:
        """b = p - m."""
        return np.bincount(self.of, weights=self.sign * parts, minlength=len(self.linear)).astype(np.float64)

    def value(self, b: Vector) -> float:
        """The objective at b."""
        return 0.5 * float(b @ (self.M @ b)) + float(self.linear @ b) + float(self.epsilon @ np.abs(b))

    @property
    def scale(self) -> float:
        """Size of the diagonal of M."""
        return max(float(np.abs(np.diagonal(self.M)).mean()), TINY)

    def complementarity(self, point: Iterate) -> float:
        """Mean of x z and w y over all bounds."""
        x, w, z, y, _ = point
        return float(x @ z + (w * y)[self.bounded].sum()) / (len(x) + int(self.bounded.sum()))


class Iterate(NamedTuple):
    """Parts x, their room w below the upper bounds, multipliers z of x >= 0, y of x <= upper, nu of the sums."""

    x: Vector
    w: Vector
    z: Vector
    y: Vector
    nu: Vector


def split_problem(M: NDArray, linear: Vector, epsilon: Vector, lower: Vector, upper: Vector) -> Split:
    """Return the problem in its parts; a variable whose box is on one side of zero has one part."""
    up, down = np.flatnonzero(upper > 0.0), np.flatnonzero(lower < 0.0)
    part_upper = np.concatenate([upper[up], -lower[down]])
    sign = np.concatenate([np.ones(len(up)), -np.ones(len(down))])
    return Split(M, linear, epsilon, np.concatenate([up, down]), sign, part_upper, np.isfinite(part_upper))


def starting_iterate(split: Split, A: NDArray, beta: Vector) -> Iterate:
    """Parts in the middle of their segments, multipliers as large as the gradient there."""
    largest = max(float(np.abs(beta).max()), float(np.abs(split.M @ beta + split.linear).max()) / split.scale, TINY)
    x = np.where(split.bounded, 0.5 * split.upper, largest)
    w = np.where(split.bounded, split.upper - x, 1.0)
    level = max(float(np.abs(split.M @ split.assemble(x) + split.linear).max()), TINY)
    return Iterate(x, w, np.full(len(x), level), np.where(split.bounded, level, 0.0), np.zeros(len(A)))


def minimise(split: Split, A: NDArray, total: Vector, point: Iterate) -> Vector | None:
    """Iterate until complementarity vanishes; return the last b that kept the sums A b, moved to bounds where close."""
    if not len(split.of):
        return None
    level = float(point.z.max())
    best: Iterate | None = None
    for _ in range(ITERATIONS):
        b = split.assemble(point.x)
        slope = split.sign * (split.M @ b + split.linear - A.T @ point.nu)[split.of] + split.epsilon[split.of]
        residual = BarrierResidual(slope - point.z + point.y, total - A @ b)
        inside = np.abs(residual.sums).max(initial=0.0) <= RESIDUAL * max(np.abs(b).sum(), TINY)
        flat = np.abs(residual.dual).max() <= RESIDUAL * level
        mu = split.complementarity(point)
        if inside:
            best = point
        if inside and flat and mu * (len(point.x) + int(split.bounded.sum())) <= CLOSE * max(abs(split.value(b)), TINY):
            break
        system = factorise(split, A, point)
        after = None if system is None else predict_and_correct(split, system, point, residual, mu)
        if after is None:
            break
        point = after
    return None if best is None else snapped(split, best)


class BarrierResidual(NamedTuple):
    """Residuals of the optimality conditions: of the gradient, per part, and of the sums."""

    dual: Vector
    sums: Vector


class System(NamedTuple):
    """Cholesky factor of M + diag(stiff) with stiff = 1 / tau, V = its inverse times A', and theta of each part."""

    factor: tuple
    A: NDArray
    V: NDArray
    theta: Vector
    stiff: Vector
    movable: NDArray[np.bool_]


def factorise(split: Split, A: NDArray, point: Iterate) -> System | None:
    """Return the system of a Newton direction; None if there is no Cholesky factor."""
    q = len(split.linear)
    theta = point.z / point.x + np.where(split.bounded, point.y / point.w, 0.0)
    tau = np.bincount(split.of, weights=1.0 / theta, minlength=q)
    stiff = np.where(tau > 0.0, 1.0 / np.maximum(tau, TINY), 1.0 / TINY)
    matrix = split.M.copy()
    matrix[np.diag_indices(q)] += np.minimum(stiff, 1e30 * split.scale) + 1e-14 * split.scale
    try:
        factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    return System(factor, A, cho_solve(factor, A.T, check_finite=False), theta, stiff, tau > 0.0)


def predict_and_correct(
    split: Split, system: System, point: Iterate, residual: BarrierResidual, mu: float
) -> Iterate | None:
    """Return the iterate after predictor and corrector with the longest interior steps; None on overflow."""
    nothing = np.zeros(len(point.x))
    ahead = direction(split, system, point, residual, (nothing, nothing))
    centre = mu * min(1.0, split.complementarity(moved(split, point, ahead, 1.0)) / mu) ** 3
    targets = (centre - ahead.x * ahead.z, centre + ahead.x * ahead.y)
    after = moved(split, point, direction(split, system, point, residual, targets), TO_BOUNDARY)
    return after if bool(np.isfinite(after.x).all() and np.isfinite(after.z).all()) else None


def direction(
    split: Split, system: System, point: Iterate, residual: BarrierResidual, targets: tuple[Vector, Vector]
) -> Iterate:
    """Newton direction towards x z = targets[0] and w y = targets[1]."""
    x, w, z, y, _ = point
    slack = residual.dual + z - targets[0] / x
    slack -= np.where(split.bounded, y - targets[1] / w, 0.0)
    rho = -np.bincount(split.of, weights=split.sign * slack / system.theta, minlength=len(split.linear))
    base = cho_solve(system.factor, rho * np.where(system.movable, system.stiff, 0.0), check_finite=False)
    d_nu = np.zeros(len(system.A))
    if len(system.A):
        d_nu = np.linalg.lstsq(system.A @ system.V, residual.sums - system.A @ base, rcond=None)[0]
    d_b = base + system.V @ d_nu
    h = ((rho - d_b) * system.stiff)[split.of]  # not M d_b - A'd_nu, whose rounding a small theta would amplify
    d_x = (-slack - split.sign * h) / system.theta
    d_z = (targets[0] - z * d_x) / x - z
    d_y = np.where(split.bounded, (targets[1] + y * d_x) / w - y, 0.0)
    return Iterate(d_x, np.where(split.bounded, -d_x, 0.0), d_z, d_y, d_nu)


def moved(split: Split, point: Iterate, step: Iterate, share: float) -> Iterate:
    """Return the point after a share of the longest steps, at most one, that keep x, w, z and y nonnegative."""
    rising, falling = split.bounded & (step.x > 0.0), split.bounded & (step.y < 0.0)
    primal = np.concatenate([[1.0], (-point.x / step.x)[step.x < 0.0], (point.w / step.x)[rising]])
    dual = np.concatenate([[1.0], (-point.z / step.z)[step.z < 0.0], (-point.y / step.y)[falling]])
    a, c = (min(1.0, share * float(lengths.min())) for lengths in (primal, dual))
    return Iterate(
        point.x + a * step.x, point.w + a * step.w, point.z + c * step.z, point.y + c * step.y, point.nu + c * step.nu
    )


def snapped(split: Split, point: Iterate) -> Vector:
    """Return b of a point; parts close to a bound are moved to it if their multiplier agrees."""
    x = point.x
    width = np.where(split.bounded, split.upper, max(float(x.max()), TINY))
    room = split.upper - x
    x = np.where((x <= SNAP * width) & (x * split.scale < point.z), 0.0, x)
    on_upper = split.bounded & (room <= SNAP * width) & (room * split.scale < point.y)
    return split.assemble(np.where(on_upper, split.upper, x))


def restored(A: NDArray, total: Vector, b: Vector, lower: Vector, upper: Vector) -> Vector | None:
    """Return b within its box, with the sums repaired on variables inside it; None if there is no room."""
    for row, target in zip(A > 0, total, strict=True):
        for _ in range(3):
            missing = target - b[row].sum()
            room = np.where(row, upper - b if missing > 0 else b - lower, 0.0)
            free = (b > lower) & (b < upper) & row & (room > abs(missing))
            if not missing or not free.any():
                break
            b[int(np.argmax(np.where(free, room, -1.0)))] += missing
        if abs(target - b[row].sum()) > 1e-12 * max(np.abs(b).sum(), TINY):
            return None
    return b
