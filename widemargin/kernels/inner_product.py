"""Kernels that are functions of the inner product x'z.

    Linear       x'z
    Polynomial   (gamma x'z + coef0)^degree
    Sigmoid      tanh(gamma x'z + coef0); not positive semi-definite in general (Lin & Lin 2003)
    Cosine       x'z / (|x| |z|), and 0 where a vector is 0

Sources: Cristianini & Shawe-Taylor (2000), section 3.3; the parameters are LIBSVM's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from widemargin._jit import CONTRACT, jit
from widemargin.kernels.errors import ErrorTerms, cosine, power, sigmoid
from widemargin.kernels.exponential import exp_nonpositive
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.kernels.products import inner_products, n_roundings_of_norms, n_terms_of, product_errors, squared_norms
from widemargin.kernels.row_view import flat_rows
from widemargin.kernels.samples.choose import represent
from widemargin.kernels.samples.raw import read_matrix


class InnerProductKernel(Kernel):
    """Base of kernels of x'z: their samples, and values computed from products in place."""

    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> Samples:
        return represent(X, dtype, like)

    def representation(self) -> str:
        return "vectors for inner products"

    def block(self, left: Samples, right: Samples, out: NDArray) -> NDArray:
        inner_products(left, right, out)
        if out.size:
            self._transform(left, right, out)
        return out

    def _transform(self, left: Samples, right: Samples, out: NDArray) -> None:
        """Replace each product by the kernel's value."""


@dataclass(frozen=True)
class Linear(InnerProductKernel):
    """k(x, z) = x'z.

    Examples
    --------
    >>> from widemargin.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[11.0]]
    """

    is_psd = True

    def diag(self, samples: Samples) -> NDArray[np.float64]:
        return squared_norms(samples).copy()

    def errors(self, samples: Samples) -> ErrorTerms:
        return product_errors(samples)


@dataclass(frozen=True)
class Polynomial(InnerProductKernel):
    """k(x, z) = (gamma x'z + coef0)^degree, for a whole degree >= 0.

    Examples
    --------
    >>> from widemargin.kernels import Polynomial
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

    def _transform(self, left: Samples, right: Samples, out: NDArray) -> None:
        number = out.dtype.type
        _raise(*flat_rows(out), *out.shape, number(self.gamma), number(self.coef0), self.degree)

    def diag(self, samples: Samples) -> NDArray[np.float64]:
        return (self.gamma * squared_norms(samples) + self.coef0) ** self.degree

    @property
    def is_psd(self) -> bool:  # type: ignore[override]
        return self.gamma >= 0.0 and self.coef0 >= 0.0

    def errors(self, samples: Samples) -> ErrorTerms:
        norms = np.sqrt(squared_norms(samples))
        return power(self.degree, self.gamma, self.coef0, n_terms_of(samples), norms, samples.dtype)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Sigmoid(InnerProductKernel):
    """k(x, z) = tanh(gamma x'z + coef0), positive semi-definite for some data and parameters only.

    Examples
    --------
    >>> from widemargin.kernels import Sigmoid
    >>> Sigmoid(gamma=0.5, coef0=-5.0)([[1.0, 2.0]], [[3.0, 4.0]]).round(6).tolist()
    [[0.462117]]
    """

    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", float(self.gamma))
        object.__setattr__(self, "coef0", float(self.coef0))

    def _transform(self, left: Samples, right: Samples, out: NDArray) -> None:
        number = out.dtype.type
        _bend(*flat_rows(out), *out.shape, number(self.gamma), number(self.coef0))

    def diag(self, samples: Samples) -> NDArray[np.float64]:
        return np.tanh(self.gamma * squared_norms(samples) + self.coef0)

    def errors(self, samples: Samples) -> ErrorTerms:
        norms = np.sqrt(squared_norms(samples))
        return sigmoid(self.gamma, self.coef0, n_terms_of(samples), norms, samples.dtype)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Cosine(InnerProductKernel):
    """k(x, z) = x'z / (|x| |z|), and 0 where a vector is 0.

    Examples
    --------
    >>> from widemargin.kernels import Cosine
    >>> Cosine()([[3.0, 4.0]], [[4.0, 3.0]]).round(6).tolist()
    [[0.96]]
    """

    is_psd = True

    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> Samples:
        """Return vectors whose |x|^2 is NaN where it underflowed, to distinguish them from zero vectors."""
        samples = represent(X, dtype, like)
        squares = squared_norms(samples)
        zero = np.flatnonzero(squares == 0)
        if len(zero):
            sizes = abs(read_matrix(X)[zero]).max(axis=1)
            squares[zero[np.ravel(sizes.toarray() if sparse.issparse(sizes) else sizes) > 0]] = np.nan
        return samples

    def representation(self) -> str:
        return "vectors for cosines"

    def _transform(self, left: Samples, right: Samples, out: NDArray) -> None:
        out *= _inverse_norms(left).astype(out.dtype)[:, None]
        out *= _inverse_norms(right).astype(out.dtype)
        np.clip(out, -1.0, 1.0, out=out)  # removes rounding errors

    def diag(self, samples: Samples) -> NDArray[np.float64]:
        return (squared_norms(samples) > 0).astype(np.float64)

    def errors(self, samples: Samples) -> ErrorTerms:
        roundings = n_terms_of(samples), n_roundings_of_norms(samples)
        return cosine(*roundings, squared_norms(samples), samples.dtype)  # type: ignore[attr-defined]


def _inverse_norms(samples: Samples) -> NDArray[np.float64]:
    """1 / |x|, and 0 for x = 0."""
    norms = np.sqrt(squared_norms(samples))
    return np.divide(1.0, norms, out=np.zeros(len(norms)), where=norms > 0)


@jit(fastmath=CONTRACT)
def _bend(flat, step, n_rows, n_columns, gamma, coef0):
    """flat := tanh(gamma * flat + coef0), as (1 - e) / (1 + e) with e = exp(-2 |t|), which cannot overflow."""
    one = flat.dtype.type(1.0)
    zero = flat.dtype.type(0.0)
    for i in range(n_rows):
        row = flat[i * step : i * step + n_columns]
        for j in range(n_columns):
            t = gamma * row[j] + coef0
            small = exp_nonpositive(-(abs(t) + abs(t)))
            size = (one - small) / (one + small)
            row[j] = size if t > zero else -size


@jit(fastmath=CONTRACT)
def _raise(flat, step, n_rows, n_columns, gamma, coef0, degree):
    """flat := (gamma * flat + coef0)^degree, by squaring whole rows so that every pass is vectorised."""
    base = np.empty(n_columns, flat.dtype)
    for i in range(n_rows):
        row = flat[i * step : i * step + n_columns]
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
