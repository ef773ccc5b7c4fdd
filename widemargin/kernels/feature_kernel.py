"""Kernels that are inner products of explicit sparse features: k(x, z) = phi(x)'phi(z) with phi(x) computed.

Samples may be anything; `explicit` turns them into rows of a sparse matrix. Columns are chosen once, by the training
data: features of new samples that no training sample has would be multiplied by zeros and get no column, but they
still count in the length of phi(x), by which normalised kernels divide.

Models on such kernels are linear models in phi: they train on the matrix, and predict with w = sum b_i phi(x_i).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from widemargin.kernels.errors import ErrorTerms
from widemargin.kernels.kernel import Kernel, RepresentationMismatch, Samples
from widemargin.kernels.products import inner_products, product_errors
from widemargin.kernels.samples.choose import represent


@dataclass(frozen=True, eq=False)
class Features:
    """Samples as explicit sparse vectors.

    Attributes
    ----------
    matrix : CSR, one row per sample
    columns : meaning of the columns, in the form the kernel needs to compute the same columns for new samples
    squares : |phi(x)|^2 of each sample, features without a column included
    """

    matrix: sparse.csr_array
    columns: Any
    squares: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FeatureSamples(Samples):
    """Features prepared for inner products."""

    vectors: Samples
    columns: Any
    squares: NDArray[np.float64]

    @property
    def dtype(self) -> np.dtype:
        return self.vectors.dtype  # type: ignore[attr-defined]

    def __len__(self) -> int:
        return len(self.vectors)

    def take(self, index: NDArray[np.int64]) -> FeatureSamples:
        return FeatureSamples(self.vectors.take(index), self.columns, self.squares[index])

    def tile(self, start: int, stop: int) -> FeatureSamples:
        return FeatureSamples(self.vectors.tile(start, stop), self.columns, self.squares[start:stop])


class FeatureKernel(Kernel):
    """k(x, z) = phi(x)'phi(z) for explicit features."""

    accepts_objects = True
    is_psd = True

    @abstractmethod
    def explicit(self, X: Any, columns: Any = None) -> Features:
        """Return the features of samples; with `columns` of earlier features, in the same columns."""

    def features(self, X: Any) -> sparse.csr_array:
        """The features as a sparse matrix of shape (n_samples, n_features), for any linear method.

        For new samples in the same columns use `explicit(X_new, explicit(X).columns).matrix`.
        """
        return self.explicit(X).matrix

    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> FeatureSamples:
        if like is None:
            found = self.explicit(X)
            return FeatureSamples(represent(found.matrix, dtype), found.columns, found.squares)
        if not isinstance(like, FeatureSamples):
            raise RepresentationMismatch(f"Features cannot follow {type(like).__name__}.")
        found = self.explicit(X, like.columns)
        return FeatureSamples(represent(found.matrix, dtype, like.vectors), like.columns, found.squares)

    def block(self, left: Samples, right: Samples, out: NDArray) -> NDArray:
        return inner_products(cast(FeatureSamples, left).vectors, cast(FeatureSamples, right).vectors, out)

    def diag(self, samples: Samples) -> NDArray[np.float64]:
        return cast(FeatureSamples, samples).squares.copy()

    def errors(self, samples: Samples) -> ErrorTerms:
        """Errors of products of the float64 features, which are taken as exact."""
        return product_errors(cast(FeatureSamples, samples).vectors)
