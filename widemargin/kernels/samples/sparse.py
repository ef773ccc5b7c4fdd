"""Sparse vectors: frequent features dense, the rest by an inverted index.

A feature present in many samples is cheaper in a small dense matrix product than through lists; a rare one costs next
to nothing in the lists. The split is made once and kept by everything prepared `like` these samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from widemargin.kernels.kernel import Samples
from widemargin.kernels.samples.raw import Matrix, as_sparse
from widemargin.kernels.scatter import InvertedIndex, invert_rows, take_lists

FREQUENT = 0.14  # share of the samples from which a feature goes to the dense part; measured flat between 0.07 and 0.3
WHOLE_PART = 1 << 12  # values looked at in one go for whole numbers
STRIDE = 1024  # samples between two marks of the inverted index: the width of the tiles that callers cut


@dataclass(eq=False)
class SparseStore:
    """The data behind `SparseRows`: what is shared by all tiles of one preparation.

    Attributes
    ----------
    indptr, indices, values : CSR of the rare features; int64, uint32 and the precision
    frequent : (n, n_frequent) dense values of the frequent features
    squares, sums : |x|^2 and |x|_1 of each sample, float64
    frequent_columns : which features are frequent, ascending
    n_terms : most nonzero values of a sample
    whole : whether all values are whole numbers, which products of samples then are exactly
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: NDArray
    frequent: NDArray
    squares: NDArray[np.float64]
    sums: NDArray[np.float64]
    frequent_columns: NDArray[np.int64]
    n_features: int
    n_terms: int
    whole: bool
    inverted: InvertedIndex | None = None

    @property
    def stride(self) -> int:
        """Samples between two marks of the inverted index; wider when the table of marks would outweigh the data."""
        stride = STRIDE
        while stride < len(self.squares) and len(self.squares) / stride * self.n_features > len(self.values):
            stride *= 2
        return stride

    def inverted_index(self) -> InvertedIndex:
        """Build the index on first use. Two threads may build it twice; both results are the same."""
        if self.inverted is None:
            self.inverted = invert_rows(self.indptr, self.indices, self.values, self.n_features, self.stride)
        return self.inverted


@dataclass(frozen=True, eq=False)
class SparseRows(Samples):
    """Samples start:stop of a `SparseStore`."""

    store: SparseStore
    start: int
    stop: int

    @property
    def dtype(self) -> np.dtype:
        return self.store.values.dtype

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

    def __len__(self) -> int:
        return self.stop - self.start

    def take(self, index: NDArray[np.int64]) -> SparseRows:
        store = self.store
        inside = np.asarray(index, np.int64) + self.start
        indptr, indices, values = take_lists(store.indptr, store.indices, store.values, inside)
        taken = replace(
            store,
            indptr=indptr,
            indices=indices,
            values=values,
            frequent=store.frequent[inside],
            squares=store.squares[inside],
            sums=store.sums[inside],
            inverted=None,
        )
        return SparseRows(taken, 0, len(inside))

    def tile(self, start: int, stop: int) -> SparseRows:
        return SparseRows(self.store, self.start + start, self.start + stop)

    def adopt(self, matrix: Matrix) -> SparseRows:
        """Split new data, dense or sparse, as these samples are split."""
        return _split(as_sparse(matrix), self.dtype, self.store.frequent_columns)


def sparse_rows(matrix: sparse.csr_array, dtype: DTypeLike, *, split: bool) -> SparseRows:
    """Prepare CSR data; without `split` all features stay in the lists."""
    n, d = matrix.shape
    present = np.bincount(matrix.indices, minlength=d)
    frequent_columns = np.flatnonzero(present > FREQUENT * n) if split else np.empty(0, np.int64)
    samples = _split(matrix, np.dtype(dtype), frequent_columns)
    samples.store.inverted_index()
    return samples


def _split(matrix: sparse.csr_array, dtype: np.dtype, frequent_columns: NDArray[np.int64]) -> SparseRows:
    """Cut the frequent columns out of a CSR matrix."""
    n, d = matrix.shape
    with np.errstate(over="ignore"):  # values beyond float32 become infinite; `rounding` then says so
        values = matrix.data.astype(dtype, copy=False)
    indptr = matrix.indptr.astype(np.int64)
    squares, sums = _row_sums(values, indptr)
    n_terms = int(np.diff(indptr).max(initial=0))
    frequent = np.zeros((n, len(frequent_columns)), dtype)
    indices = matrix.indices.astype(np.uint32)
    if len(frequent_columns):
        place = np.full(d, -1, np.int64)
        place[frequent_columns] = np.arange(len(frequent_columns))
        column = place[matrix.indices]
        row = np.repeat(np.arange(n), np.diff(indptr))
        dense, rare = column >= 0, column < 0
        frequent[row[dense], column[dense]] = values[dense]
        indptr = np.concatenate(([0], np.cumsum(np.bincount(row[rare], minlength=n)))).astype(np.int64)
        indices, values = indices[rare], values[rare]
    values = values if values.flags.writeable else values.copy()
    whole = _are_whole(matrix.data)
    store = SparseStore(indptr, indices, values, frequent, squares, sums, frequent_columns, d, n_terms, whole)
    return SparseRows(store, 0, n)


def _are_whole(values: NDArray) -> bool:
    """Whether all values are whole numbers, as given; the first part decides for nearly all data where they are not."""
    parts = (values[start : start + WHOLE_PART] for start in range(0, len(values), WHOLE_PART))
    with np.errstate(invalid="ignore"):
        return all(bool((part == np.rint(part)).all()) for part in parts)


def _row_sums(values: NDArray, indptr: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """|x|^2 and |x|_1 of each row, in float64."""
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    wide = values.astype(np.float64, copy=False)
    n = len(indptr) - 1
    with np.errstate(over="ignore"):  # infinite squares are honest: `rounding` then says that they cannot be used
        squares, sums = np.bincount(row, wide * wide, minlength=n), np.bincount(row, np.abs(wide), minlength=n)
    return squares.astype(np.float64, copy=False), sums.astype(np.float64, copy=False)
