"""Bounds on a solution of (K + D) a = y, proven in floating-point arithmetic.

Letters     A = K + D with k and D exact, r = y - A a the exact residual of the coefficients as stored; k~, r~ as
            computed; u = 2^-53, gamma_m = m u / (1 - m u) (Higham 2002, section 3.1)

Residual    Values of the kernel err by at most e_ij (kernels/errors.py, symmetric in i and j), and every term of a sum
            goes through at most m roundings (tiles.py). With q the computed K a + D a

                |r_i - r~_i|  <=  rho_i  =  sum_j e_ij |a_j| + gamma_m sum_j |k~_ij| |a_j|
                                            + u (4 |D_i a_i| + |q_i| + 3 |y_i| + |r~_i|).

            One unit of D a is its product; three more, and three of y, cover earlier scaling: alpha / w,
            1 / (C w), the sum of two noises, normalised targets. Underflow costs the smallest normal number each time.

Energy      If K is positive semi-definite, then for every vector v

                r'A^-1 r  <=  v'K v + (r - K v)'D^-1 (r - K v),

            because the right side, a convex function of v, is least at v = A^-1 r, where both sides are equal. v = 0
            needs only D; after conjugate gradients their preconditioner gives a better v (preconditioner.py).
            Each |r_i - (K v)_i| is taken at the largest that its rounding errors allow.

Prediction  f(x) = k(x)'a and the exact f* differ by k(x)'A^-1 r. As k(x)'A^-1 k(x) <= k(x, x), by Cauchy and Schwarz

                |f(x) - f*(x)|  <=  sqrt( k(x, x) r'A^-1 r ).

Value       Q = y'A^-1 y  =  (y + r)'a + r'A^-1 r, so that it lies between (y + r)'a and that plus the energy.

SECOND_ORDER covers products of roundings and the rounding of these bounds themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from widemargin.certificate.bounds import TINY
from widemargin.gram.tiles import KernelTiles, roundings_of
from widemargin.kernels.errors import SECOND_ORDER, UNIT, ErrorTerms, rounding_of_sum
from widemargin.linalg.arrays import Matrix, Vector

LEAST_SIZE = TINY / UNIT  # of targets: smaller numbers have fewer digits than these bounds assume


@dataclass(frozen=True)
class Residual:
    """y - A a of each target.

    Attributes
    ----------
    value : (n, m) as computed
    error : (n, m) rho, bounds on the distance of `value` from the exact residual; infinite where nothing is proven
    size : (n, m) |K| |a| + D |a|
    curvature : (m,) upper bound on a'K a; if negative, K is proven not to be positive semi-definite
    """

    value: Matrix
    error: Matrix
    size: Matrix
    curvature: Vector

    def largest(self) -> Matrix:
        """Upper bound on |y - A a|, per sample and target."""
        return certain(SECOND_ORDER * (np.abs(self.value) + self.error))

    def of_rounding(self) -> Residual:
        """Return the residual with its computed value set to zero, which leaves only the rounding errors."""
        return replace(self, value=np.zeros_like(self.value))

    def norms(self) -> Vector:
        """Upper bound on |y - A a|_2 of each target."""
        return SECOND_ORDER * lengths(self.largest())


def certain(bound: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the bounds with NaN, where none could be computed, replaced by infinity."""
    return np.where(np.isnan(bound), np.inf, bound)


def lengths(columns: Matrix) -> Vector:
    """|c|_2 of each column, without overflow or underflow in the squares."""
    largest = np.abs(columns).max(axis=0, initial=0.0)
    scale = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
    return certain(scale * np.sqrt(np.square(columns / scale).sum(axis=0)))


def root_mean_squares(targets: Matrix) -> Vector:
    """Root mean square of each target; 0 also for numbers so small that they have lost digits."""
    size = lengths(targets) / np.sqrt(max(len(targets), 1))
    return np.where(size > LEAST_SIZE, size, 0.0)


def over(bound: Vector, size: Vector) -> Vector:
    """Return bound / size, with 0 / 0 = 0 and infinity for any other division by 0."""
    return np.divide(bound, size, out=np.where(bound == 0.0, 0.0, np.inf), where=size > 0.0)


def residual_of(
    tiles: KernelTiles, terms: ErrorTerms, noise: Vector, targets: Matrix, coefficients: Matrix
) -> Residual:
    """Return the residual of the coefficients; `terms` are the errors of the kernel on the samples of the tiles."""
    with np.errstate(over="ignore", invalid="ignore"):
        product, sizes = tiles.bounded_product(coefficients)
        own = noise[:, None] * coefficients
        both = product + own
        value = targets - both
        sums = _sum_errors(terms, terms, np.abs(coefficients), sizes, tiles.roundings)
        error = sums + UNIT * (4.0 * np.abs(own) + np.abs(both) + 3.0 * np.abs(targets) + np.abs(value))
        error = certain(SECOND_ORDER * error)
        error[~np.isfinite(value)] = np.inf
        weights = np.abs(coefficients)
        slack = certain((weights * sums).sum(axis=0))
        slack += rounding_of_sum(len(noise)) * (weights * np.abs(product)).sum(axis=0)
        curvature = (coefficients * product).sum(axis=0) + SECOND_ORDER * slack + TINY * len(noise)
        return Residual(value, error, certain(SECOND_ORDER * (sizes + np.abs(own))), certain(curvature))


def _sum_errors(rows: ErrorTerms, columns: ErrorTerms, weights: Matrix, sizes: Matrix, roundings: int) -> Matrix:
    """Errors of sum_j k(x_i, z_j) a_j for weights |a_j| and sizes sum_j |k~_ij| |a_j|, shape (n, m)."""
    used = np.flatnonzero(weights.any(axis=1))
    with np.errstate(over="ignore", invalid="ignore"):
        error = rows.left @ (columns.right[used].T @ weights[used]) + rounding_of_sum(roundings) * sizes
        return certain(SECOND_ORDER * error + TINY * np.count_nonzero(weights, axis=0))


def energy_by_noise(residual: Residual, noise: Vector, scale: Vector) -> Vector:
    """Upper bound on r'D^-1 r of each target divided by its `scale`: the bound on r'A^-1 r for v = 0."""
    return _energy(residual.largest(), noise, scale)


def _energy(largest: Matrix, noise: Vector, scale: Vector) -> Vector:
    """sum_i largest_i^2 / D_i, relative to the square of the scale."""
    exact = ~largest.any(axis=0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        relative = largest / scale
        energy = SECOND_ORDER * (np.square(relative) / noise[:, None]).sum(axis=0) + TINY * (2 * len(noise))
    energy = certain(energy) if noise.min(initial=np.inf) > 0.0 else np.full(len(scale), np.inf)
    return np.where(exact, 0.0, energy)


def energy_by_trial(
    residual: Residual,
    noise: Vector,
    scale: Vector,
    terms: ErrorTerms,
    pivots: NDArray[np.int64],
    trial: Matrix,
    product: Matrix,
    sizes: Matrix,
) -> Vector:
    """Upper bound on v'K v + (r - K v)'D^-1 (r - K v), relative to scale^2, for v = trial on the pivots.

    product, sizes : K v and |K| |v| by `bounded_cross_product`
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        weights = np.abs(trial)
        error = _sum_errors(terms, terms.take(pivots), weights, sizes, roundings_of(len(pivots)))
        apart = np.abs(residual.value - product)
        largest = certain(SECOND_ORDER * ((1.0 + UNIT) * apart + error + residual.error))
        relative, found = trial / scale, product[pivots] / scale
        slack = rounding_of_sum(len(pivots) + 4) * np.abs(relative * found) + np.abs(relative) * (error[pivots] / scale)
        curvature = (relative * found).sum(axis=0) + SECOND_ORDER * slack.sum(axis=0) + TINY * (4 * len(pivots))
        energy = np.maximum(certain(curvature), 0.0) + _energy(largest, noise, scale)
    return certain(SECOND_ORDER * energy)


def value_bounds(
    targets: Matrix, coefficients: Matrix, residual: Residual, energy: Vector
) -> tuple[Vector, Vector, Vector]:
    """Return (y + r)'a of each target as computed, and lower and upper bounds on Q = y'A^-1 y."""
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.abs(coefficients)
        value = ((targets + residual.value) * coefficients).sum(axis=0)
        count = len(targets) + 5
        rounded = rounding_of_sum(count) * ((np.abs(targets) + np.abs(residual.value)) * weights).sum(axis=0)
        slack = (weights * residual.error).sum(axis=0) + rounded + TINY * np.count_nonzero(weights, axis=0)
        slack = certain(SECOND_ORDER * slack)
        lower = np.where(np.isnan(value), -np.inf, value - slack)
        return value, lower, certain(value + slack + SECOND_ORDER * energy)
