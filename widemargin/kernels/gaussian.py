"""The Gaussian kernel, exp(-gamma |x - z|^2).

two values       a table over the Hamming distance (0/1 features, -1/+1, or any other two)
few features     direct differences: no cancellation, and as fast
more             |x - z|^2 = |x|^2 + |z|^2 - 2 x'z by a matrix product, on data moved to their centre
sparse           the same identity on the inner products of sparse vectors, without a centre

Source: Cristianini & Shawe-Taylor (2000), section 3.3; they write exp(-|x - z|^2 / (2 sigma^2)), see `from_sigma`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin.costs import COSTS
from widemargin.kernels.distances import Squared
from widemargin.kernels.errors import (
    ErrorTerms,
    exponential_by_table,
    gaussian_by_differences,
    gaussian_by_products,
    unit_of,
)
from widemargin.kernels.exponential_distance import ExponentialDistance
from widemargin.kernels.fused_rows import FusedLayout, FusedSamples, Products, SparseProducts
from widemargin.kernels.kernel import Samples
from widemargin.kernels.products import inner_products, is_rounded, n_roundings_of_norms, n_terms_of, squared_norms
from widemargin.kernels.samples.binary import BinaryRows
from widemargin.kernels.samples.choose import represent
from widemargin.kernels.samples.dense import DenseColumns, DenseRows, dense_columns
from widemargin.kernels.samples.layouts import (
    DenseVectors,
    is_mostly_zero,
    longest_sums,
    sparse_tiles_of,
    squares_unmoved,
)
from widemargin.kernels.samples.sparse import SparseRows

DIRECT_FEATURES = 24  # features up to which direct differences were measured as fast as the matrix product
DIRECT_ROWS = 96  # the same for a few rows at a time in compiled code: 1.5 against 4.0 ns per entry with 36 features
LARGEST_LOSS = 1e-11  # error from cancellation beyond which float64 data always use direct differences
LARGEST_LOSS_32 = 1e-4  # the same in float32, where up to DIRECT_ROWS features it is faster than a product in float64


@dataclass(frozen=True)
class Gaussian(ExponentialDistance):
    """k(x, z) = exp(-gamma |x - z|^2), also called RBF.

    Parameters
    ----------
    gamma : float, default 1.0
        Inverse squared width, 0 or more.

    Examples
    --------
    >>> from widemargin.kernels import Gaussian
    >>> Gaussian(gamma=0.5)([[0.0, 0.0]], [[1.0, 1.0]]).round(6).tolist()
    [[0.367879]]
    >>> Gaussian.from_sigma(2.0)
    Gaussian(gamma=0.125)
    """

    gamma: float = 1.0
    distance: ClassVar[type] = Squared

    @classmethod
    def from_sigma(cls, sigma: float) -> Gaussian:
        """Return the kernel exp(-|x - z|^2 / (2 sigma^2))."""
        return cls.from_variance(float(sigma) ** 2)

    @classmethod
    def from_variance(cls, variance: float) -> Gaussian:
        """Return the kernel exp(-|x - z|^2 / (2 variance))."""
        if not variance > 0:
            raise ValueError(f"The width of a Gaussian must be a positive number; its square is {variance!r}.")
        return cls(0.5 / float(variance))

    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> Samples:
        samples = represent(X, dtype, like, centred=True, by_column=DIRECT_FEATURES, any_two=True)
        if like is not None or not isinstance(samples, DenseRows):
            return samples
        double = samples.dtype == np.float64
        may_go_direct = double or samples.n_features <= DIRECT_ROWS
        if may_go_direct and self.rounding(samples) > (LARGEST_LOSS if double else LARGEST_LOSS_32):
            return dense_columns(samples.values, samples.dtype, samples.origin, moved=True)
        return samples

    def representation(self) -> tuple[str, float]:
        return "vectors for squared distances", self.gamma

    def _step(self, samples: BinaryRows) -> float:
        return samples.squared_step

    def _from_common(self, left: Samples, right: Samples, out: NDArray) -> tuple[float, NDArray, NDArray]:
        inner_products(left, right, out)
        with np.errstate(over="ignore"):
            return 2 * self.gamma, self.gamma * squared_norms(left), self.gamma * squared_norms(right)

    def fused_layout(self, samples: Samples) -> tuple[Callable[[Any], Any], ErrorTerms]:
        if not isinstance(samples, DenseRows):
            return super().fused_layout(samples)
        norms = np.sqrt(samples.squares)
        if samples.n_features <= DIRECT_ROWS:
            return lambda some: self._in_strips(some.values), self._by_differences(samples, norms)
        if is_mostly_zero(samples):
            return self._in_sparse_tiles, self._by_sparse_tiles(samples)
        roundings = samples.n_features, n_roundings_of_norms(samples)
        data = unit_of(samples.dtype) * norms
        return self._by_rows, gaussian_by_products(self.gamma, *roundings, norms, samples.dtype, data)

    def _by_rows(self, samples: DenseRows) -> FusedLayout:
        """Return the samples laid out for a few rows at a time, by inner products."""
        vectors = DenseVectors(samples.values, (self.gamma * samples.squares).astype(samples.dtype))
        rule = Products(samples.dtype.type(2 * self.gamma))
        return FusedLayout(rule, FusedSamples(vectors, vectors, 0, len(samples)))

    def _in_sparse_tiles(self, samples: DenseRows) -> FusedLayout:
        """Return samples that are mostly zeros laid out for a few rows at a time."""
        vectors = sparse_tiles_of(samples, self.gamma)
        rule = SparseProducts(samples.dtype.type(2 * self.gamma))
        return FusedLayout(rule, FusedSamples(vectors, vectors, 0, len(samples)))

    def errors(self, samples: Samples) -> ErrorTerms:
        if isinstance(samples, BinaryRows):
            return exponential_by_table(len(samples), self.gamma, samples.squared_step, samples.dtype)
        norms = np.sqrt(squared_norms(samples))
        if isinstance(samples, DenseColumns):
            return self._by_differences(samples, norms)
        vectors = cast(DenseRows | SparseRows, samples)
        data = unit_of(vectors.dtype) * norms if is_rounded(vectors) else 0.0
        roundings = n_terms_of(vectors), n_roundings_of_norms(vectors)
        return gaussian_by_products(self.gamma, *roundings, norms, vectors.dtype, data)

    def _by_differences(self, samples: DenseRows | DenseColumns, norms: NDArray[np.float64]) -> ErrorTerms:
        return gaussian_by_differences(self.gamma, samples.n_features, norms, is_rounded(samples), samples.dtype)

    def _by_sparse_tiles(self, samples: DenseRows) -> ErrorTerms:
        """Errors for samples moved back from their centre: rounded by both moves, and where zero was moved."""
        unit, norms = unit_of(samples.dtype), np.sqrt(squares_unmoved(samples))
        origin = 0.0 if samples.origin is None else float(np.linalg.norm(samples.origin))
        data = unit * (np.sqrt(samples.squares) + norms + origin)
        return gaussian_by_products(self.gamma, *longest_sums(samples), norms, samples.dtype, data)

    def entry_cost(self, samples: Samples) -> float:
        if isinstance(samples, BinaryRows):
            value, word = COSTS.table_value
            return value + word * len(samples.words)
        if not isinstance(samples, DenseColumns | DenseRows):
            return super().entry_cost(samples)
        value, feature = COSTS.direct_value if isinstance(samples, DenseColumns) else COSTS.product_value
        return value + feature * samples.n_features
