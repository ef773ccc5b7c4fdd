"""Sparse vectors: frequent features dense, the rest by an inverted index.

A feature present in many samples is cheaper in a small dense matrix product than through lists; a rare one costs next
to nothing in the lists. The split is made once and used by all samples prepared `like` these.

Of very wide data only the columns that occur are numbered. Entries of other samples in further columns meet zeros only,
but count in |x|^2 and |x|_1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from widemargin.kernels.kernel import COLUMN_TILE
from widemargin.kernels.row_view import writable
from widemargin.kernels.samples.raw import Matrix, SampleRange, as_sparse, parts_of
from widemargin.kernels.scatter import InvertedIndex, Lists, invert_rows
from widemargin.linalg.arrays import Index
from widemargin.linalg.columns import occurring_columns, only_columns

FREQUENT = 0.14  # share of the samples from which a feature goes to the dense part; measured flat between 0.07 and 0.3


@dataclass(eq=False)
class SparseStore:
    """The data of `SparseRows`, shared by all tiles of one preparation.

    Attributes
    ----------
    rare : values of the rare features, in the columns of `columns`
    frequent : (n, n_frequent) dense values of the frequent features
    squares, sums : |x|^2 and |x|_1 of each sample, float64
    frequent_columns : which columns of `rare` are frequent, ascending
    n_terms : most nonzero values of a sample
    whole : whether all values are whole numbers, which products of samples then are exactly
    n_features : width of the data as given
    columns : which features have a column, ascending; None: all of them
    """

    rare: sparse.csr_array
    frequent: NDArray
    squares: NDArray[np.float64]
    sums: NDArray[np.float64]
    frequent_columns: NDArray[np.int64]
    n_terms: int
    whole: bool
    n_features: int
    columns: Index | None

    @property
    def stride(self) -> int:
        """Samples between two marks of the inverted index: a tile, or more where the marks would outweigh the data."""
        n, d = self.rare.shape
        stride = COLUMN_TILE
        while stride < n and n / stride * d > self.rare.nnz:
            stride *= 2
        return stride

    @cached_property
    def lists(self) -> Lists:
        """The rare features of each sample, for compiled code."""
        indices = self.rare.indices.astype(np.int32, copy=False).view(np.uint32)
        return Lists(self.rare.indptr.astype(np.int64), indices, self.rare.data)

    @cached_property
    def inverted_index(self) -> InvertedIndex:
        """The samples that have a rare feature, for compiled code."""
        return invert_rows(self.lists, self.rare.shape[1], self.stride)


@dataclass(frozen=True, eq=False)
class SparseRows(SampleRange):
    """Samples start:stop of a `SparseStore`."""

    store: SparseStore

    @property
    def dtype(self) -> np.dtype:
        return self.store.rare.dtype

    @property
    def n_features(self) -> int:
        return self.store.n_features

    @property
    def n_terms(self) -> int:
        """Most terms that a sum over common features can have, for bounds on rounding errors."""
        return self.store.n_terms

    @property
    def squares(self) -> NDArray[np.float64]:
        return self.store.squares[self.start : self.stop]

    @property
    def sums(self) -> NDArray[np.float64]:
        return self.store.sums[self.start : self.stop]

    @property
    def frequent(self) -> NDArray:
        """Values of the frequent features, dense."""
        return self.store.frequent[self.start : self.stop]

    def take(self, index: NDArray[np.int64]) -> SparseRows:
        store, inside = self.store, np.asarray(index, np.int64) + self.start
        taken = replace(
            store,
            rare=store.rare[inside],
            frequent=store.frequent[inside],
            squares=store.squares[inside],
            sums=store.sums[inside],
        )
        return SparseRows(0, len(inside), taken)

    def adopt(self, matrix: Matrix) -> SparseRows:
        """Split new data, dense or sparse, as these samples are split."""
        given, columns = as_sparse(matrix), self.store.columns
        listed = given if columns is None else only_columns(given, columns)
        return _split(given, listed, columns, self.dtype, self.store.frequent_columns)


def sparse_rows(matrix: sparse.csr_array, dtype: DTypeLike, *, split: bool) -> SparseRows:
    """Prepare CSR data; without `split` all features stay in the lists."""
    listed, columns = occurring_columns(matrix)
    n, d = listed.shape
    present = np.bincount(listed.indices, minlength=d)
    frequent_columns = np.flatnonzero(present > FREQUENT * n) if split else np.empty(0, np.int64)
    return _split(matrix, listed, columns, np.dtype(dtype), frequent_columns)


def _split(
    matrix: sparse.csr_array,
    listed: sparse.csr_array,
    columns: Index | None,
    dtype: np.dtype,
    frequent_columns: NDArray[np.int64],
) -> SparseRows:
    """Cut the frequent columns out of a CSR matrix; `listed` is the matrix in the given columns."""
    n, d = listed.shape
    with np.errstate(over="ignore"):  # values beyond float32 become infinite, and so does their error bound
        values = matrix.data.astype(dtype, copy=False)
        row = np.repeat(np.arange(n), np.diff(matrix.indptr))
        squares, sums = _row_sums(values, row, n)
        if len(listed.data) < len(values):
            values = listed.data.astype(dtype, copy=False)
            row = np.repeat(np.arange(n), np.diff(listed.indptr))
    n_terms = int(np.diff(matrix.indptr).max(initial=0))
    whole = _are_whole(matrix.data)
    frequent, indices, indptr = np.zeros((n, len(frequent_columns)), dtype), listed.indices, listed.indptr
    if len(frequent_columns):
        place = np.full(d, -1, np.int64)
        place[frequent_columns] = np.arange(len(frequent_columns))
        column = place[indices]
        dense, rare = column >= 0, column < 0
        frequent[row[dense], column[dense]] = values[dense]
        indptr = np.concatenate(([0], np.cumsum(rare)))[indptr]
        indices, values = indices[rare], values[rare]
    lists = sparse.csr_array((writable(values), indices, indptr), shape=(n, d))
    width = matrix.shape[1]
    store = SparseStore(lists, frequent, squares, sums, frequent_columns, n_terms, whole, width, columns)
    return SparseRows(0, n, store)


def _are_whole(values: NDArray) -> bool:
    """Whether all given values are integers; for nearly all other data the first part already decides."""
    with np.errstate(invalid="ignore"):
        return all(bool((values[part] == np.rint(values[part])).all()) for part in parts_of(values))


def _row_sums(values: NDArray, row: NDArray[np.int64], n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """|x|^2 and |x|_1 of each row, in float64."""
    wide = values.astype(np.float64, copy=False)
    with np.errstate(over="ignore"):  # infinite squares make the error bound infinite
        squares, sums = np.bincount(row, wide * wide, minlength=n), np.bincount(row, np.abs(wide), minlength=n)
    return squares.astype(np.float64, copy=False), sums.astype(np.float64, copy=False)
