"""F_i = sum_j b_j k(x_i, x_j) from the definition of the kernel, with a bound on its own rounding errors.

Every value comes in float64 or in extended precision (80 bits where the machine has them); u is the unit roundoff of
the precision used, gamma_m of Higham (2002, section 3.1) is written m u with one spare unit, d is the number of
features, m the number of support vectors. Any order of summation is allowed for.

rbf         exp(-g sum (x - z)^2), a = g D^2:  |err k| <= k u ((d + 4) a + 4),  k a <= 1/e
laplacian   exp(-g sum |x - z|):               the same
chi2        exp(-g sum (x - z)^2 / (x + z)):   the same with d + 8
cosine      x'z / (|x| |z|), each sample divided by its largest feature first:  |err k| <= (2 d + 16) u
scaled      c0 exp(-g sum (x - z)^2):          c0 times that of rbf, and two roundings
rbf by products, in float64 for many features, about an origin: err of D^2 <= 2 (d + 8) u (|x|^2 + |z|^2)
linear      F = X (Z'b):                       |err F_i| <= (d + m + 2) u |x_i|'(|Z|'|b|)
poly        t^p, T = |g| |x| |z| + |c0| >= |t|:  |err k| <= u p (d + 5) T^p
sigmoid     tanh t, slope <= 1:                |err k| <= u ((d + 4) T + 4)
given       a matrix, or a function that computes each value in the same way whatever the block: exact
The sum adds (m + 2) u sum_j |b_j| |k_ij|.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LONG = np.longdouble
FEW_FEATURES = 24  # up to here float64 distances are summed feature by feature; beyond, products are much faster
TILE = 1 << 21  # entries of a block of kernel values
SAFE_EXPONENT = 0.1  # error of an exponent up to which exp(err) - 1 <= 1.06 err

Vector = NDArray[Any]


@dataclass(frozen=True)
class KernelFormula:
    """A kernel by name and parameters; `given` is a matrix of all values or a function of two blocks."""

    name: str
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    given: Any = None

    @property
    def is_psd(self) -> bool:
        """Whether theory says that it is positive semi-definite on all data."""
        return self.name in ("rbf", "laplacian", "linear", "chi2", "cosine", "scaled") or (
            self.name == "poly" and self.coef0 >= 0.0
        )


def kernel_sums(
    kernel: KernelFormula, X: NDArray, rows: Vector, support: Vector, b: Vector, real: type = np.float64
) -> tuple[Vector, Vector]:
    """F at some rows of X and a bound on its error, both in the precision `real`."""
    u = float(np.finfo(real).eps) / 2.0
    b = b.astype(real)
    if len(support) == 0:
        return np.zeros(len(rows), real), np.zeros(len(rows), real)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if kernel.name == "linear":
            return _linear(X[rows].astype(real), X[support].astype(real), b, u)
        make = _MAKERS[kernel.name]
        if kernel.name == "rbf" and real is np.float64 and X.shape[1] > FEW_FEATURES:
            make = _gaussian_products

        def block(rows: Vector) -> NDArray:
            """What `make` reads of some samples; a user's function gets them as they are, in their own precision."""
            if kernel.name == "precomputed":
                return kernel.given[np.ix_(rows, support)]
            return X[rows] if kernel.name == "callable" else X[rows].astype(real)

        Z = block(support)
        F, error = np.empty(len(rows), real), np.empty(len(rows), real)
        step = max(1, TILE // len(support))
        for start in range(0, len(rows), step):
            A = block(rows[start : start + step])
            F[start : start + step], error[start : start + step] = make(kernel, A, Z, b, u)
    return F, np.where(np.isfinite(F), error, np.inf)


def _finish(K: NDArray, b: Vector, u: float, per_value: float, extra: Any) -> tuple[Vector, Vector]:
    """Sum a block; errors are `per_value` units of each value, the summation's, and `extra` units per row."""
    m, size = K.shape[1], np.abs(b)
    return K @ b, u * ((m + 2 + per_value) * (np.abs(K) @ size) + extra) * 1.0001


def _linear(A: NDArray, Z: NDArray, b: Vector, u: float) -> tuple[Vector, Vector]:
    d, m = A.shape[1], len(b)
    return A @ (Z.T @ b), 1.0001 * (d + m + 2) * u * (np.abs(A) @ (np.abs(Z).T @ np.abs(b)))


def _distances(A: NDArray, Z: NDArray, term: Callable[[NDArray], NDArray]) -> NDArray:
    total = np.zeros((len(A), len(Z)), A.dtype)
    for k in range(A.shape[1]):
        total += term(A[:, k, None] - Z[None, :, k])
    return total


def _gaussian(kernel: KernelFormula, A: NDArray, Z: NDArray, b: Vector, u: float) -> tuple[Vector, Vector]:
    K = np.exp(-kernel.gamma * _distances(A, Z, np.square))
    return _finish(K, b, u, 4.0, 0.37 * (A.shape[1] + 4) * np.abs(b).sum())


def _laplacian(kernel: KernelFormula, A: NDArray, Z: NDArray, b: Vector, u: float) -> tuple[Vector, Vector]:
    K = np.exp(-kernel.gamma * _distances(A, Z, np.abs))
    return _finish(K, b, u, 4.0, 0.37 * (A.shape[1] + 4) * np.abs(b).sum())


def _scaled(kernel: KernelFormula, A: NDArray, Z: NDArray, b: Vector, u: float) -> tuple[Vector, Vector]:
    values, error = _gaussian(kernel, A, Z, b, u)
    factor = b.dtype.type(kernel.coef0)
    return factor * values, factor * (error + 2.0 * u * np.abs(values))


def _chi_squared(kernel: KernelFormula, A: NDArray, Z: NDArray, b: Vector, u: float) -> tuple[Vector, Vector]:
    total = np.zeros((len(A), len(Z)), A.dtype)
    for k in range(A.shape[1]):
        difference, mass = A[:, k, None] - Z[None, :, k], A[:, k, None] + Z[None, :, k]
        total += difference * (difference / np.where(mass > 0, mass, 1))
    return _finish(np.exp(-kernel.gamma * total), b, u, 4.0, 0.37 * (A.shape[1] + 8) * np.abs(b).sum())


def _cosine(kernel: KernelFormula, A: NDArray, Z: NDArray, b: Vector, u: float) -> tuple[Vector, Vector]:
    def normalised(B: NDArray) -> NDArray:
        largest = np.abs(B).max(axis=1, keepdims=True)
        B = B / np.where(largest > 0, largest, 1)
        length = np.sqrt(np.einsum("ij,ij->i", B, B))[:, None]
        return B / np.where(length > 0, length, 1)

    K = normalised(A) @ normalised(Z).T
    return _finish(K, b, u, 0.0, (2 * A.shape[1] + 16) * np.abs(b).sum())


def _gaussian_products(kernel: KernelFormula, A: NDArray, Z: NDArray, b: Vector, u: float) -> tuple[Vector, Vector]:
    origin = Z.mean(axis=0)
    x, z = A - origin, Z - origin
    left, right = np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", z, z)
    unit = 2.0 * (A.shape[1] + 8) * kernel.gamma  # times u (|x|^2 + |z|^2): error of the exponent
    if not unit * u * (left.max() + right.max()) <= SAFE_EXPONENT:
        return _gaussian(kernel, A, Z, b, u)
    K = np.exp(-kernel.gamma * np.maximum(left[:, None] + right - 2.0 * (x @ z.T), 0.0))
    size = np.abs(b)
    extra = 1.06**2 * unit * (left * (K @ size) + K @ (size * right))  # k itself is known up to exp(err)
    return _finish(K, b, u, 4.0, extra)


def _polynomial(kernel: KernelFormula, A: NDArray, Z: NDArray, b: Vector, u: float) -> tuple[Vector, Vector]:
    t = kernel.gamma * (A @ Z.T) + kernel.coef0
    K = np.ones_like(t)
    for _ in range(kernel.degree):
        K *= t
    T = _largest_argument(kernel, A, Z)
    return _finish(K, b, u, 0.0, kernel.degree * (A.shape[1] + 5) * (T**kernel.degree @ np.abs(b)))


def _sigmoid(kernel: KernelFormula, A: NDArray, Z: NDArray, b: Vector, u: float) -> tuple[Vector, Vector]:
    K = np.tanh(kernel.gamma * (A @ Z.T) + kernel.coef0)
    units = (A.shape[1] + 4) * (_largest_argument(kernel, A, Z) @ np.abs(b))
    return _finish(K, b, u, 0.0, units + 4.0 * np.abs(b).sum())


def _largest_argument(kernel: KernelFormula, A: NDArray, Z: NDArray) -> NDArray:
    """T = |g| |x| |z| + |c0|, in float64: a bound needs no more digits."""
    left, right = (np.sqrt(np.einsum("ij,ij->i", B, B)).astype(np.float64) for B in (A, Z))
    return (abs(kernel.gamma) * left[:, None] * right + abs(kernel.coef0)) * 1.0001


def _given(kernel: KernelFormula, A: NDArray, Z: NDArray, b: Vector, u: float) -> tuple[Vector, Vector]:
    K = A if kernel.name == "precomputed" else kernel.given(A, Z)
    return _finish(K.astype(b.dtype), b, u, 0.0, 0.0)


_MAKERS = {
    "rbf": _gaussian,
    "laplacian": _laplacian,
    "chi2": _chi_squared,
    "cosine": _cosine,
    "scaled": _scaled,
    "poly": _polynomial,
    "sigmoid": _sigmoid,
    "precomputed": _given,
    "callable": _given,
}
