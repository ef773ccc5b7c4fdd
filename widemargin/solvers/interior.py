"""An interior-point method on a block: the tool for C K so large that pair steps would need millions.

Solves   the signed dual restricted to a block, min 1/2 b'(K + D)b + g'b + e|b|, box and group sums, in b = p - m with
         0 <= p <= hi and 0 <= m <= -lo, so that the kink is a plain linear term.
Given    the block K in float64, the gradient f at beta, and beta with its box
Returns  the minimiser, clipped to box and sums, or None where it did not lower the objective
How      Mehrotra's predictor-corrector. With Theta the barrier's diagonal of the parts and tau = sum over the parts of a
         variable of 1/Theta, one Cholesky factor of K + D + diag(1/tau) per iteration serves both steps; the group sums
         are kept by a Schur complement. 15-40 iterations whatever the condition of K: along directions that K does not
         feel, where pair steps creep by 1/K at a time, the barrier walks straight to the bound.
See      Ferris & Munson (2002), SIAM J. Optim. 13; Fine & Scheinberg (2001), JMLR 2; Mehrotra (1992).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

ITERATIONS = 50
LARGEST = 2048  # variables: a factor of this size takes about 0.2 s
TO_BOUNDARY = 0.995  # share of the way to the nearest bound that a step may go
CLOSE = 1e-13  # complementarity relative to the objective at which it ends
SNAP = 1e-7  # share of a segment below which a part with a larger multiplier is on its bound

Vector = NDArray[np.float64]


def interior_point(
    K: NDArray, f: NDArray, beta: Vector, lo: Vector, hi: Vector, kink: Vector, ridge: Vector, starts: NDArray
) -> Vector | None:
    """Minimise the block; see the module's header."""
    curvature = max(float(np.abs(np.diagonal(K)).mean()), 1e-300)
    slope = max(float(np.abs(f).max()), 1e-300)
    unit = slope / curvature  # of beta: in these units the matrix and the gradient are of size one
    if not 0.0 < unit < np.inf:
        return None
    with np.errstate(all="ignore"):  # what overflows is caught by the tests for finite numbers
        b = _minimise(
            K.astype(np.float64) / curvature,
            f.astype(np.float64) / slope,
            beta / unit,
            lo / unit,
            hi / unit,
            kink / slope,
            ridge / curvature,
            starts,
        )
    if b is None:
        return None
    found = np.where(b == lo / unit, lo, np.where(b == hi / unit, hi, b * unit))
    return found if np.isfinite(found).all() else None


def _minimise(
    M: NDArray, f: Vector, beta: Vector, lo: Vector, hi: Vector, kink: Vector, ridge: Vector, starts: NDArray
) -> Vector | None:
    """The method in units in which matrix and gradient are of size one."""
    q = len(beta)
    M[np.diag_indices(q)] += ridge
    scale = max(float(np.abs(np.diagonal(M)).mean()), 1e-300)
    linear = f - M @ beta  # gradient = M b + linear
    up, down = np.flatnonzero(hi > 0.0), np.flatnonzero(lo < 0.0)
    of = np.concatenate([up, down])
    sign = np.concatenate([np.ones(len(up)), -np.ones(len(down))])
    upper = np.concatenate([hi[up], -lo[down]])
    bounded = np.isfinite(upper)
    A = np.zeros((len(starts) - 1, q))
    for g, (first, last) in enumerate(zip(starts[:-1], starts[1:])):
        A[g, first:last] = 1.0
    A = A[A.any(axis=1)]
    total = A @ beta
    if not len(of):
        return None

    def assemble(parts: Vector) -> Vector:
        return np.bincount(of, weights=sign * parts, minlength=q)

    largest = max(float(np.abs(beta).max()), float(np.abs(f).max()) / scale, 1e-300)
    x = np.where(bounded, 0.5 * upper, largest)
    w = np.where(bounded, upper - x, 1.0)
    level = max(float(np.abs(M @ assemble(x) + linear).max()), 1e-300)
    z = np.full(len(x), level)
    y = np.where(bounded, level, 0.0)
    nu = np.zeros(len(A))
    count = len(x) + int(bounded.sum())
    best: tuple[float, Vector] | None = None
    for _ in range(ITERATIONS):
        b = assemble(x)
        gradient = M @ b + linear
        slope = sign * (gradient - A.T @ nu)[of] + kink[of]
        dual_residual = slope - z + y
        sum_residual = total - A @ b
        mu = (x @ z + (w * y)[bounded].sum()) / count
        value = 0.5 * float(b @ (gradient + linear)) + float(kink @ np.abs(b))
        inside = np.abs(sum_residual).max(initial=0.0) <= 1e-9 * max(np.abs(b).sum(), 1e-300)
        flat = np.abs(dual_residual).max() <= 1e-9 * level
        if inside:
            best = (value, x.copy())
        if mu * count <= CLOSE * max(abs(value), 1e-300) and inside and flat:
            break
        theta = z / x + np.where(bounded, y / w, 0.0)
        tau = np.bincount(of, weights=1.0 / theta, minlength=q)
        stiff = np.where(tau > 0.0, 1.0 / np.maximum(tau, 1e-300), 1e300)
        system = M.copy()
        system[np.diag_indices(q)] += np.minimum(stiff, 1e30 * scale) + 1e-14 * scale
        try:
            factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            break
        V = cho_solve(factor, A.T, check_finite=False)
        schur = A @ V

        def direction(residual: Vector) -> tuple[Vector, Vector]:
            rho = -np.bincount(of, weights=sign * residual / theta, minlength=q)
            base = cho_solve(factor, rho * np.where(tau > 0.0, stiff, 0.0), check_finite=False)  # noqa: B023
            d_nu = np.linalg.lstsq(schur, sum_residual - A @ base, rcond=None)[0] if len(A) else nu  # noqa: B023
            d_b = base + V @ d_nu if len(A) else base  # noqa: B023
            h = ((rho - d_b) * stiff)[of]  # not M d_b - A'd_nu, whose rounding a small Theta would blow up
            return (-residual - sign * h) / theta, d_nu  # noqa: B023

        def longest(d_x: Vector, d_z: Vector, d_y: Vector) -> tuple[float, float]:
            primal = [1.0, *(-x[d_x < 0] / d_x[d_x < 0])]  # noqa: B023
            rising = bounded & (d_x > 0)
            primal.extend(w[rising] / d_x[rising])  # noqa: B023
            dual = [1.0, *(-z[d_z < 0] / d_z[d_z < 0])]  # noqa: B023
            falling = bounded & (d_y < 0)
            dual.extend(-y[falling] / d_y[falling])  # noqa: B023
            return min(primal), min(dual)

        def multipliers(d_x: Vector, target_x: Vector, target_w: Vector) -> tuple[Vector, Vector]:
            d_z = (target_x - z * d_x) / x - z  # noqa: B023
            d_y = np.where(bounded, (target_w + y * d_x) / w - y, 0.0)  # noqa: B023
            return d_z, d_y

        zero = np.zeros(len(x))
        d_x, _ = direction(dual_residual + z - np.where(bounded, y, 0.0))
        d_z, d_y = multipliers(d_x, zero, zero)
        a_primal, a_dual = longest(d_x, d_z, d_y)
        ahead = (x + a_primal * d_x) @ (z + a_dual * d_z)
        ahead += ((w - a_primal * d_x) * (y + a_dual * d_y))[bounded].sum()
        centre = mu * min(1.0, (ahead / count / mu)) ** 3
        target_x, target_w = centre - d_x * d_z, centre + d_x * d_y
        residual = dual_residual + z - target_x / x - np.where(bounded, y - target_w / w, 0.0)
        d_x, d_nu = direction(residual)
        d_z, d_y = multipliers(d_x, target_x, target_w)
        a_primal, a_dual = (min(1.0, TO_BOUNDARY * a) for a in longest(d_x, d_z, d_y))
        x, w = x + a_primal * d_x, w - np.where(bounded, a_primal * d_x, 0.0)
        z, y = z + a_dual * d_z, y + a_dual * d_y
        nu = nu + a_dual * d_nu if len(A) else nu
        if not (np.isfinite(x).all() and np.isfinite(z).all()):
            break
    if best is None:
        return None
    x = best[1]
    width = np.where(bounded, upper, np.maximum(x.max(), 1e-300))
    x = np.where((x <= SNAP * width) & (x * scale < z), 0.0, x)
    x = np.where(bounded & (upper - x <= SNAP * width) & ((upper - x) * scale < y), upper, x)
    return restore(assemble(x), beta, linear, M, lo, hi, kink, A, total)


def restore(
    b: Vector, beta: Vector, linear: Vector, M: NDArray, lo: Vector, hi: Vector, kink: Vector, A: NDArray, total: Vector
) -> Vector | None:
    """Clip to the box, repair the sums on the variables inside it, and keep the result only if it is better than beta."""
    b = np.clip(b, lo, hi)
    for g in range(len(A)):
        for _ in range(3):
            missing = total[g] - b[A[g] > 0].sum()
            room = np.where(A[g] > 0, hi - b if missing > 0 else b - lo, 0.0)
            free = (b > lo) & (b < hi) & (A[g] > 0) & (room > abs(missing))
            if not missing or not free.any():
                break
            widest = int(np.argmax(np.where(free, room, -1.0)))
            b[widest] += missing
        if abs(total[g] - b[A[g] > 0].sum()) > 1e-12 * max(np.abs(b).sum(), 1e-300):
            return None

    def value(point: Vector) -> float:
        return 0.5 * float(point @ (M @ point)) + float(linear @ point) + float(kink @ np.abs(point))

    return b if value(b) < value(beta) else None
