"""The Gaussian kernel, exp(-gamma |x - z|^2).

two values       a table over the Hamming distance (0/1 features, -1/+1, or any other two)
few features     direct differences: nothing cancels, and it is no slower
more             |x - z|^2 = |x|^2 + |z|^2 - 2 x'z by a matrix product, on data moved to their centre
sparse           the same identity on the inner products of sparse vectors, without a centre

Source: Cristianini & Shawe-Taylor (2000), section 3.3; they write exp(-|x - z|^2 / (2 sigma^2)), see `from_sigma`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin.kernels.cheap_values import CheapValues
from widemargin.kernels.compiled_rows import DirectRows, NoRows, ProductRows, SparseProductRows
from widemargin.kernels.distances import Squared, exponential_block
from widemargin.kernels.errors import (
    ErrorTerms,
    exponential_by_table,
    gaussian_by_differences,
    gaussian_by_products,
    unit_of,
)
from widemargin.kernels.exponential import exp_of_products
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.kernels.popcount import Different, table_block
from widemargin.kernels.products import inner_products, is_rounded, n_roundings_of_norms, n_terms_of, squared_norms
from widemargin.kernels.row_view import flat_rows
from widemargin.kernels.samples.binary import BinaryRows
from widemargin.kernels.samples.choose import represent
from widemargin.kernels.samples.dense import DenseColumns, DenseRows, dense_columns
from widemargin.kernels.samples.sparse import SparseRows
from widemargin.kernels.samples.tiles import (
    SparseTiles,
    Tiles,
    is_mostly_zero,
    longest_sums,
    sparse_tiles_of,
    squares_unmoved,
    tiles_of,
)

DIRECT_FEATURES = 24  # up to here direct differences were measured no slower than the matrix product
DIRECT_ROWS = 96  # the same for a few rows at a time in compiled code: 1.5 against 4.0 ns per entry with 36 features
LARGEST_LOSS = 1e-11  # error from cancellation beyond which float64 data with any number of features go direct
LARGEST_LOSS_32 = 1e-4  # the same in float32, where ...
DIRECT_FEATURES_32 = 64  # ... up to so many features direct differences are still faster than a product in float64


@dataclass(frozen=True)
class Gaussian(Kernel):
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", float(self.gamma))
        if not 0 <= self.gamma < np.inf:
            raise ValueError(f"gamma must be a finite number, 0 or more; got {self.gamma!r}. Try 1 / n_features.")

    @classmethod
    def from_sigma(cls, sigma: float) -> Gaussian:
        """The kernel exp(-|x - z|^2 / (2 sigma^2))."""
        return cls.from_variance(float(sigma) ** 2)

    @classmethod
    def from_variance(cls, variance: float) -> Gaussian:
        """The kernel exp(-|x - z|^2 / (2 variance))."""
        if not variance > 0:
            raise ValueError(f"The width of a Gaussian must be a positive number; its square is {variance!r}.")
        return cls(0.5 / float(variance))

    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> Samples:
        samples = represent(X, dtype, like, centred=True, by_column=DIRECT_FEATURES, any_two=True)
        if like is not None or not isinstance(samples, DenseRows):
            return samples
        double = samples.dtype == np.float64
        may_go_direct = double or samples.n_features <= DIRECT_FEATURES_32
        if may_go_direct and self.rounding(samples) > (LARGEST_LOSS if double else LARGEST_LOSS_32):
            return dense_columns(samples.values, samples.dtype, samples.origin, moved=True)
        return samples

    def representation(self) -> tuple[str, float]:
        return "vectors for squared distances", self.gamma

    def block(self, left: Samples, right: Samples, out: NDArray) -> NDArray:
        if not out.size:
            return out
        flat, step = flat_rows(out)
        gamma = out.dtype.type(self.gamma)
        if isinstance(left, BinaryRows) and isinstance(right, BinaryRows):
            table = self._table(left).astype(out.dtype)
            table_block(*left.location(), *right.location(), Different(len(left.words)), table, flat, step)
        elif isinstance(left, DenseColumns) and isinstance(right, DenseColumns):
            exponential_block(*left.location(), *right.location(), Squared(gamma), flat, step)
        else:
            inner_products(left, right, out)
            with np.errstate(over="ignore"):
                own, other = ((self.gamma * squared_norms(side)).astype(out.dtype) for side in (left, right))
            exp_of_products(flat, step, 2 * gamma, own, other)
        return out

    def cheap_values(self, rows: Samples, columns: Samples) -> CheapValues | None:
        if isinstance(rows, BinaryRows) and isinstance(columns, BinaryRows):
            return CheapValues.by_table(rows, columns, self._table(rows))
        if isinstance(rows, DenseColumns) and isinstance(columns, DenseColumns):
            return CheapValues(rows, columns, Squared(rows.dtype.type(self.gamma)))
        return None

    def _table(self, samples: BinaryRows) -> NDArray[np.float64]:
        """Values by the number of features in which two samples differ."""
        return np.exp(-self.gamma * samples.squared_step * np.arange(samples.n_features + 1))

    def row_layout(self, samples: Samples) -> tuple[Callable[[Any], Any], ErrorTerms]:
        if isinstance(samples, DenseColumns):
            return tiles_of, self.errors(samples)
        if isinstance(samples, DenseRows) and samples.n_features <= DIRECT_ROWS:
            return tiles_of, self._by_differences(samples, np.sqrt(samples.squares))
        if isinstance(samples, DenseRows) and is_mostly_zero(samples):
            return sparse_tiles_of, self._by_sparse_tiles(samples)
        if isinstance(samples, DenseRows):
            norms = np.sqrt(samples.squares)
            data = unit_of(samples.dtype) * norms
            return lambda some: some, gaussian_by_products(
                self.gamma, samples.n_features, n_roundings_of_norms(samples), norms, samples.dtype, data
            )
        return super().row_layout(samples)

    def row_source(self, first: Any, second: Any) -> DirectRows | ProductRows | SparseProductRows | NoRows:
        if isinstance(first, Tiles):
            return DirectRows(first, second, Squared(first.rows.dtype.type(self.gamma)))
        if isinstance(first, DenseRows | SparseTiles):
            dtype = first.values.dtype
            own, other = ((self.gamma * side.squares).astype(dtype) for side in (first, second))
            twice_gamma = dtype.type(2 * self.gamma)
            if isinstance(first, SparseTiles):
                return SparseProductRows(first, second, own, other, twice_gamma)
            return ProductRows(first.values, second.values, own, other, twice_gamma)
        return NoRows()

    def diag(self, samples: Samples) -> NDArray[np.float64]:
        return np.ones(len(samples))

    @property
    def is_psd(self) -> bool:
        return True

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
        """Samples moved back from their centre: rounded when moved, when moved back, and where zero was moved."""
        unit, norms = unit_of(samples.dtype), np.sqrt(squares_unmoved(samples))
        origin = 0.0 if samples.origin is None else float(np.linalg.norm(samples.origin))
        data = unit * (np.sqrt(samples.squares) + norms + origin)
        return gaussian_by_products(self.gamma, *longest_sums(samples), norms, samples.dtype, data)

    def entry_cost(self, samples: Samples) -> float:
        if isinstance(samples, BinaryRows):
            return 0.5 + 0.2 * len(samples.words)
        if isinstance(samples, DenseColumns):
            return 0.4 + 0.045 * samples.n_features
        if isinstance(samples, DenseRows):
            return 0.7 + 0.022 * samples.n_features
        return super().entry_cost(samples)
