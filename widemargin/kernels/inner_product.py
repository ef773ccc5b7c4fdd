"""Kernels that are functions of the inner product x'z.

    Linear       x'z
    Polynomial   (gamma x'z + coef0)^degree

Sources: Cristianini & Shawe-Taylor (2000), section 3.3; the parameters are LIBSVM's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin._jit import CONTRACT, jit
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.kernels.products import inner_products, largest_square, product_error, squared_norms
from widemargin.kernels.row_view import flat_rows
from widemargin.kernels.samples.choose import represent


class InnerProductKernel(Kernel):
    """What the kernels of x'z share: their samples."""

    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> Samples:
        return represent(X, dtype, like)

    def representation(self) -> str:
        return "vectors for inner products"


@dataclass(frozen=True)
class Linear(InnerProductKernel):
    """k(x, z) = x'z.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[11.0]]
    """

    def block(self, left: Samples, right: Samples, out: NDArray) -> NDArray:
        return inner_products(left, right, out)

    def diag(self, samples: Samples) -> NDArray[np.float64]:
        return squared_norms(samples).copy()

    def rounding(self, samples: Samples) -> float:
        return product_error(samples)


@dataclass(frozen=True)
class Polynomial(InnerProductKernel):
    """k(x, z) = (gamma x'z + coef0)^degree, for a whole degree >= 0.

    Examples
    --------
    >>> Polynomial(degree=2, gamma=0.5, coef0=1.0)([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[42.25]]
    """

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        if self.degree != int(self.degree) or self.degree < 0:
            raise ValueError(f"degree must be a whole number, 0 or more; got {self.degree!r}. 2 and 3 are usual.")
        object.__setattr__(self, "degree", int(self.degree))
        object.__setattr__(self, "gamma", float(self.gamma))
        object.__setattr__(self, "coef0", float(self.coef0))

    def block(self, left: Samples, right: Samples, out: NDArray) -> NDArray:
        inner_products(left, right, out)
        if out.size:
            flat, step = flat_rows(out)
            number = out.dtype.type
            _raise(flat, step, *out.shape, number(self.gamma), number(self.coef0), self.degree)
        return out

    def diag(self, samples: Samples) -> NDArray[np.float64]:
        return (self.gamma * squared_norms(samples) + self.coef0) ** self.degree

    def rounding(self, samples: Samples) -> float:
        base = abs(self.gamma) * largest_square(samples) + abs(self.coef0)
        unit = float(np.finfo(samples.dtype).eps)  # type: ignore[attr-defined]
        error_of_base = abs(self.gamma) * product_error(samples) + 2 * unit * base
        if self.degree == 0:
            return unit
        return self.degree * base ** (self.degree - 1) * error_of_base + self.degree * unit * base**self.degree


@jit(fastmath=CONTRACT)
def _raise(flat, step, n_rows, n_columns, gamma, coef0, degree):
    """flat := (gamma * flat + coef0)^degree, by squaring whole rows so that every pass is vectorised."""
    base = np.empty(n_columns, flat.dtype)
    for i in range(n_rows):
        row = flat[i * step : i * step + n_columns]
        if degree == 1:
            for j in range(n_columns):
                row[j] = gamma * row[j] + coef0
        elif degree == 2:
            for j in range(n_columns):
                value = gamma * row[j] + coef0
                row[j] = value * value
        elif degree == 3:
            for j in range(n_columns):
                value = gamma * row[j] + coef0
                row[j] = value * value * value
        else:
            for j in range(n_columns):
                base[j] = gamma * row[j] + coef0
            row[:] = 1.0
            power = degree
            while power > 0:
                if power % 2 == 1:
                    for j in range(n_columns):
                        row[j] *= base[j]
                power //= 2
                if power > 0:
                    for j in range(n_columns):
                        base[j] *= base[j]
