"""An interior-point method on a block: the tool for C K so large that pair steps would need millions.

Solves   the signed dual restricted to a block, min 1/2 b'(K + D)b + g'b + e|b|, box and group sums, in b = p - m with
         0 <= p <= upper and 0 <= m <= -lower, so that the kink is a plain linear term.
Given    the block K, the gradient f at beta, and beta with its box
Returns  the minimiser, clipped to box and sums, or None where it did not lower the objective
How      Mehrotra's predictor-corrector on the parts x = (p, m) with multipliers z of x >= 0 and y of x <= u. With
         Theta = z/x + y/(upper - x) and tau the sum of 1/Theta over the parts of a variable, one Cholesky factor of
         K + D + diag(1/tau) per iteration serves both steps; the group sums are kept by a Schur complement.
         15-40 iterations whatever the condition of K: along directions that K does not feel, where pair steps creep by
         1/K at a time, the barrier walks straight to the bound.
See      Ferris & Munson (2002), SIAM J. Optim. 13; Fine & Scheinberg (2001), JMLR 2; Mehrotra (1992).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from widemargin.costs import COSTS

ITERATIONS = 50
LARGEST = 2048  # variables: a factor of this size takes about 0.2 s
TO_BOUNDARY = 0.995  # share of the way to the nearest bound that a step may go
CLOSE = 1e-13  # complementarity relative to the objective at which it ends
SNAP = 1e-7  # share of a segment below which a part with a larger multiplier is on its bound
TINY = 1e-300  # keeps divisors away from zero

Vector = NDArray[np.float64]


def interior_cost(n: int) -> float:
    """About how many nanoseconds a solve takes."""
    return COSTS.interior_cube * n**3


def interior_point(
    K: NDArray,
    f: NDArray,
    beta: Vector,
    lower: Vector,
    upper: Vector,
    epsilon: Vector,
    diagonal: Vector,
    starts: NDArray,
) -> Vector | None:
    """Minimise the block; see the module's header."""
    curvature = max(float(np.abs(np.diagonal(K)).mean()), TINY)
    slope = max(float(np.abs(f).max()), TINY)
    unit = slope / curvature  # of beta: in these units the matrix and the gradient are of size one
    if not 0.0 < unit < np.inf:
        return None
    M = K.astype(np.float64) / curvature
    M[np.diag_indices(len(M))] += diagonal / curvature
    with np.errstate(all="ignore"):  # what overflows is caught by the tests for finite numbers
        barrier = Barrier(
            M, f.astype(np.float64) / slope, beta / unit, lower / unit, upper / unit, epsilon / slope, sum_rows(starts)
        )
        b = barrier.minimise()
    if b is None:
        return None
    found = np.where(b == lower / unit, lower, np.where(b == upper / unit, upper, b * unit))
    return found if np.isfinite(found).all() else None


def sum_rows(starts: NDArray) -> NDArray[np.float64]:
    """The matrix A of the constraints A b = const: one row of ones per group that has variables in the block."""
    A = np.zeros((len(starts) - 1, int(starts[-1]) if len(starts) > 1 else 0))
    for g, (first, last) in enumerate(zip(starts[:-1], starts[1:], strict=True)):
        A[g, first:last] = 1.0
    return A[A.any(axis=1)]


class Barrier:
    """State of one minimisation: parts x, their room w below the upper bounds, multipliers z, y and nu."""

    def __init__(
        self, M: NDArray, f: Vector, beta: Vector, lower: Vector, upper: Vector, epsilon: Vector, A: NDArray
    ) -> None:
        self.M, self.beta, self.lower, self.upper, self.epsilon = M, beta, lower, upper, epsilon
        self.A = A if len(A) else np.zeros((0, len(beta)))
        self.total = self.A @ beta
        self.linear = f - M @ beta  # gradient = M b + linear
        up, down = np.flatnonzero(upper > 0.0), np.flatnonzero(lower < 0.0)
        self.of = np.concatenate([up, down])
        self.sign = np.concatenate([np.ones(len(up)), -np.ones(len(down))])
        self.part_upper = np.concatenate([upper[up], -lower[down]])
        self.bounded = np.isfinite(self.part_upper)
        self.scale = max(float(np.abs(np.diagonal(M)).mean()), TINY)
        largest = max(float(np.abs(beta).max()), float(np.abs(f).max()) / self.scale, TINY)
        self.x = np.where(self.bounded, 0.5 * self.part_upper, largest)
        self.w = np.where(self.bounded, self.part_upper - self.x, 1.0)
        self.level = max(float(np.abs(M @ self.assemble(self.x) + self.linear).max()), TINY)
        self.z = np.full(len(self.x), self.level)
        self.y = np.where(self.bounded, self.level, 0.0)
        self.nu = np.zeros(len(self.A))
        self.count = len(self.x) + int(self.bounded.sum())

    def assemble(self, parts: Vector) -> Vector:
        """b = p - m."""
        return np.bincount(self.of, weights=self.sign * parts, minlength=len(self.beta)).astype(np.float64)

    def value(self, b: Vector) -> float:
        return 0.5 * float(b @ (self.M @ b)) + float(self.linear @ b) + float(self.epsilon @ np.abs(b))

    def minimise(self) -> Vector | None:
        """Iterate until the complementarity is gone; the last point that kept the sums, on its bounds where close."""
        if not len(self.of):
            return None
        best: Vector | None = None
        for _ in range(ITERATIONS):
            b = self.assemble(self.x)
            slope = self.sign * (self.M @ b + self.linear - self.A.T @ self.nu)[self.of] + self.epsilon[self.of]
            self.dual_residual = slope - self.z + self.y
            self.sum_residual = self.total - self.A @ b
            self.mu = self.complementarity(self.x, self.w, self.z, self.y)
            inside = np.abs(self.sum_residual).max(initial=0.0) <= 1e-9 * max(np.abs(b).sum(), TINY)
            flat = np.abs(self.dual_residual).max() <= 1e-9 * self.level
            if inside:
                best = self.x.copy()
            if inside and flat and self.mu * self.count <= CLOSE * max(abs(self.value(b)), TINY):
                break
            if not self.factorise() or not self.step():
                break
        return None if best is None else self.restore(self.snap(best))

    def complementarity(self, x: Vector, w: Vector, z: Vector, y: Vector) -> float:
        return float(x @ z + (w * y)[self.bounded].sum()) / self.count

    def factorise(self) -> bool:
        """Cholesky factor of M + diag(1/tau); False where there is none."""
        q = len(self.beta)
        self.theta = self.z / self.x + np.where(self.bounded, self.y / self.w, 0.0)
        self.tau = np.bincount(self.of, weights=1.0 / self.theta, minlength=q)
        self.stiff = np.where(self.tau > 0.0, 1.0 / np.maximum(self.tau, TINY), 1.0 / TINY)
        system = self.M.copy()
        system[np.diag_indices(q)] += np.minimum(self.stiff, 1e30 * self.scale) + 1e-14 * self.scale
        try:
            self.factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return False
        self.V = cho_solve(self.factor, self.A.T, check_finite=False)
        return True

    def step(self) -> bool:
        """Predictor, corrector, and the longest step that stays inside; False where numbers ran out."""
        nothing = np.zeros(len(self.x))
        d_x, _ = self.direction(nothing, nothing)
        d_z, d_y = self.multipliers(d_x, nothing, nothing)
        a, c = self.longest(d_x, d_z, d_y)
        ahead = self.complementarity(self.x + a * d_x, self.w - a * d_x, self.z + c * d_z, self.y + c * d_y)
        centre = self.mu * min(1.0, ahead / self.mu) ** 3
        target_x, target_w = centre - d_x * d_z, centre + d_x * d_y
        d_x, d_nu = self.direction(target_x, target_w)
        d_z, d_y = self.multipliers(d_x, target_x, target_w)
        a, c = (min(1.0, TO_BOUNDARY * length) for length in self.longest(d_x, d_z, d_y))
        self.x = self.x + a * d_x
        self.w = self.w - np.where(self.bounded, a * d_x, 0.0)
        self.z, self.y, self.nu = self.z + c * d_z, self.y + c * d_y, self.nu + c * d_nu
        return bool(np.isfinite(self.x).all() and np.isfinite(self.z).all())

    def direction(self, target_x: Vector, target_w: Vector) -> tuple[Vector, Vector]:
        """Newton direction of x and nu towards x z = target_x and w y = target_w."""
        residual = self.dual_residual + self.z - target_x / self.x
        residual -= np.where(self.bounded, self.y - target_w / self.w, 0.0)
        rho = -np.bincount(self.of, weights=self.sign * residual / self.theta, minlength=len(self.beta))
        base = cho_solve(self.factor, rho * np.where(self.tau > 0.0, self.stiff, 0.0), check_finite=False)
        d_nu = np.zeros(len(self.A))
        if len(self.A):
            d_nu = np.linalg.lstsq(self.A @ self.V, self.sum_residual - self.A @ base, rcond=None)[0]
        d_b = base + self.V @ d_nu
        h = ((rho - d_b) * self.stiff)[self.of]  # not M d_b - A'd_nu, whose rounding a small Theta would blow up
        return (-residual - self.sign * h) / self.theta, d_nu

    def multipliers(self, d_x: Vector, target_x: Vector, target_w: Vector) -> tuple[Vector, Vector]:
        """Directions of z and y that go with d_x."""
        d_z = (target_x - self.z * d_x) / self.x - self.z
        d_y = np.where(self.bounded, (target_w + self.y * d_x) / self.w - self.y, 0.0)
        return d_z, d_y

    def longest(self, d_x: Vector, d_z: Vector, d_y: Vector) -> tuple[float, float]:
        """Longest steps, at most one, that keep x and w, and z and y, from leaving zero behind."""
        rising, falling = self.bounded & (d_x > 0.0), self.bounded & (d_y < 0.0)
        primal = np.concatenate([[1.0], (-self.x / d_x)[d_x < 0.0], (self.w / d_x)[rising]])
        dual = np.concatenate([[1.0], (-self.z / d_z)[d_z < 0.0], (-self.y / d_y)[falling]])
        return float(primal.min()), float(dual.min())

    def snap(self, x: Vector) -> Vector:
        """Put parts on their bounds that are close to them and whose multiplier says so; returns b."""
        width = np.where(self.bounded, self.part_upper, max(float(x.max()), TINY))
        room = self.part_upper - x
        x = np.where((x <= SNAP * width) & (x * self.scale < self.z), 0.0, x)
        return self.assemble(
            np.where(self.bounded & (room <= SNAP * width) & (room * self.scale < self.y), self.part_upper, x)
        )

    def restore(self, b: Vector) -> Vector | None:
        """Clip to the box, repair the sums on a variable inside it, and keep the result only if it is better."""
        b = np.clip(b, self.lower, self.upper)
        for row, total in zip(self.A > 0, self.total, strict=True):
            for _ in range(3):
                missing = total - b[row].sum()
                room = np.where(row, self.upper - b if missing > 0 else b - self.lower, 0.0)
                free = (b > self.lower) & (b < self.upper) & row & (room > abs(missing))
                if not missing or not free.any():
                    break
                b[int(np.argmax(np.where(free, room, -1.0)))] += missing
            if abs(total - b[row].sum()) > 1e-12 * max(np.abs(b).sum(), TINY):
                return None
        return b if self.value(b) < self.value(self.beta) else None
