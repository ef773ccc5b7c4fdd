"""Dense vectors: row by row for inner products, feature by feature for differences.

DenseRows      (n, d), one sample per row; blocks are matrix products, left @ right.T.
DenseColumns   (d, n), one feature per row; the loops of direct differences run along samples that lie side by side.

Either may hold x - origin for x. Distances do not change, but products of centred vectors are smaller and so are their
rounding errors: |x - z|^2 = |x|^2 + |z|^2 - 2 x'z loses about |x|^2 / |x - z|^2 of its digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin.kernels.kernel import Samples
from widemargin.kernels.samples.on_disk import empty_for
from widemargin.kernels.samples.raw import Matrix, SampleRange, as_dense, parts_of


@dataclass(frozen=True, eq=False)
class DenseRows(Samples):
    """Samples as the rows of a C-contiguous matrix.

    Attributes
    ----------
    values : (n, d) float32 or float64
    squares : |x|^2 of each row as stored, float64
    origin : what was subtracted from every row, or None
    """

    values: NDArray
    squares: NDArray[np.float64]
    origin: NDArray[np.float64] | None = None

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    @property
    def n_features(self) -> int:
        return self.values.shape[1]

    @property
    def n_terms(self) -> int:
        """Most terms that a sum over features can have, for bounds on rounding errors."""
        return self.values.shape[1]

    def __len__(self) -> int:
        return len(self.values)

    def take(self, index: NDArray[np.int64]) -> DenseRows:
        return DenseRows(np.take(self.values, index, axis=0), self.squares[index], self.origin)

    def tile(self, start: int, stop: int) -> DenseRows:
        return DenseRows(self.values[start:stop], self.squares[start:stop], self.origin)

    def adopt(self, matrix: Matrix) -> DenseRows:
        """Bring a new matrix into the precision and origin of these samples."""
        return dense_rows(as_dense(matrix), self.dtype, self.origin)


@dataclass(frozen=True, eq=False)
class DenseColumns(SampleRange):
    """Samples start:stop of a C-contiguous matrix that holds one feature per row.

    Attributes
    ----------
    columns : (d, n_total) float32 or float64
    origin : what was subtracted from every sample, or None
    """

    columns: NDArray
    origin: NDArray[np.float64] | None = None

    @property
    def dtype(self) -> np.dtype:
        return self.columns.dtype

    @property
    def n_features(self) -> int:
        return len(self.columns)

    @property
    def n_terms(self) -> int:
        """Most terms that a sum over features can have, for bounds on rounding errors."""
        return self.n_features

    def take(self, index: NDArray[np.int64]) -> DenseColumns:
        inside = np.asarray(index) + self.start
        return DenseColumns(0, len(inside), np.take(self.columns, inside, axis=1), self.origin)

    def adopt(self, matrix: Matrix) -> DenseColumns:
        """Bring a new matrix into the precision and origin of these samples."""
        return dense_columns(as_dense(matrix), self.dtype, self.origin)

    def by_row(self) -> NDArray:
        """Left samples for compiled loops."""
        return np.ascontiguousarray(self.view().T)

    def by_column(self) -> tuple[NDArray, int, int]:
        """Right samples for compiled loops, and their range."""
        return self.columns, self.start, self.stop

    def view(self) -> NDArray:
        """The samples as a (d, n) view."""
        return self.columns[:, self.start : self.stop]

    @cached_property
    def squares(self) -> NDArray[np.float64]:
        """|x|^2 of each sample as stored, for bounds on rounding errors."""
        with np.errstate(over="ignore"):
            return self._total(np.square)

    @cached_property
    def sums(self) -> NDArray[np.float64]:
        """|x|_1 of each sample as stored, for bounds on rounding errors."""
        return self._total(np.abs)

    def _total(self, term: Callable[[NDArray], NDArray]) -> NDArray[np.float64]:
        """Sum of the terms of all features, in float64 and some thousand samples at a time."""
        total, values = np.empty(len(self)), self.view()
        for part in parts_of(total):
            np.sum(term(values[:, part].astype(np.float64)), axis=0, out=total[part])
        return total


def dense_rows(matrix: NDArray, dtype: DTypeLike, origin: NDArray[np.float64] | None = None) -> DenseRows:
    """Return samples by row; a matrix of the right order and precision is not copied."""
    dtype = np.dtype(dtype)
    if origin is None and matrix.dtype == dtype and matrix.flags.c_contiguous:
        values = np.asarray(matrix)
    else:
        values = empty_for(matrix, matrix.shape, dtype)
        _convert(matrix, origin, values)
    return DenseRows(values, row_squares(values), origin)


def dense_columns(
    matrix: NDArray, dtype: DTypeLike, origin: NDArray[np.float64] | None = None, *, moved: bool = False
) -> DenseColumns:
    """Return samples by feature; `moved` means that the origin has already been subtracted."""
    n, d = matrix.shape
    columns = empty_for(matrix, (d, n), dtype)
    _convert(matrix, None if moved else origin, columns.T)
    return DenseColumns(0, n, columns, origin)


def row_squares(values: NDArray) -> NDArray[np.float64]:
    """|x|^2 of each row, summed in float64."""
    squares = np.empty(len(values))
    for part in parts_of(values):
        wide = values[part].astype(np.float64, copy=False)
        with np.errstate(over="ignore"):
            np.einsum("ij,ij->i", wide, wide, out=squares[part])
    return squares


def mean_row(matrix: NDArray) -> NDArray[np.float64]:
    """The centre of the samples, in float64 and without a float64 copy of them."""
    total = np.zeros(matrix.shape[1])
    for part in parts_of(matrix):
        total += matrix[part].sum(axis=0, dtype=np.float64)
    return total / max(1, len(matrix))


def _convert(matrix: NDArray, origin: NDArray[np.float64] | None, target: NDArray) -> None:
    """Write matrix - origin into `target`, subtracting in float64 before rounding to the target's precision."""
    with np.errstate(over="ignore"):  # values beyond float32 become infinite, and so does their error bound
        for part in parts_of(matrix):
            target[part] = matrix[part] if origin is None else matrix[part] - origin
