"""Vectors of two values, 64 features to a machine word: 0/1 vectors, and for kernels of distances any two values.

The words are stored feature group by feature group, (n_words, n_samples), so that the loops over samples run along
contiguous memory. 123 features take 16 bytes per sample instead of 492 in float32.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from widemargin.kernels.kernel import RepresentationMismatch
from widemargin.kernels.samples.raw import ROWS_AT_A_TIME, Matrix, SampleRange, as_dense, parts_of

WORD = 64  # bits of a machine word
LARGEST_VALUE = 1e100  # largest value whose square is far from overflow


@dataclass(frozen=True, eq=False)
class BinaryRows(SampleRange):
    """Samples start:stop of bit-packed vectors of two values.

    Attributes
    ----------
    words : (n_words, n_total) uint64; bit k of word w is feature 64 w + k
    all_squares : |x|^2 of all n_total samples, in float64
    dtype : precision of the kernel values
    values : what a clear and a set bit stand for
    """

    words: NDArray[np.uint64]
    n_features: int
    all_squares: NDArray[np.float64]
    dtype: np.dtype
    values: tuple[float, float] = (0.0, 1.0)

    @property
    def squared_step(self) -> float:
        """The contribution of one differing feature to a squared distance."""
        return (self.values[1] - self.values[0]) ** 2

    @property
    def squares(self) -> NDArray[np.float64]:
        return self.all_squares[self.start : self.stop]

    def take(self, index: NDArray[np.int64]) -> BinaryRows:
        inside = np.asarray(index) + self.start
        words, squares = np.take(self.words, inside, axis=1), self.all_squares[inside]
        return replace(self, start=0, stop=len(inside), words=words, all_squares=squares)

    def adopt(self, matrix: Matrix) -> BinaryRows:
        """Pack new data; raise RepresentationMismatch if they contain other values."""
        if not holds_only(matrix, self.values):
            raise RepresentationMismatch(
                f"The samples prepared before hold the values {self.values} only and the new data hold others."
            )
        return binary_rows(matrix, self.dtype, self.values)

    def by_row(self) -> NDArray[np.uint64]:
        """Left samples for compiled loops."""
        return self.words if self.start == 0 else np.ascontiguousarray(self.words[:, self.start : self.stop])

    def by_column(self) -> tuple[NDArray[np.uint64], int, int]:
        """Right samples for compiled loops, and their range."""
        return self.words, self.start, self.stop


def holds_only(matrix: Matrix, values: tuple[float, float] = (0.0, 1.0)) -> bool:
    """Whether every entry is one of the two values; the first part decides most cases."""
    if sparse.issparse(matrix) and 0.0 not in values:
        return False
    entries = matrix.data if sparse.issparse(matrix) else matrix
    return all(bool(np.isin(entries[part], values).all()) for part in parts_of(entries))


def two_values(matrix: Matrix) -> tuple[float, float] | None:
    """Return the two values that a matrix consists of; None if there are more."""
    entries = matrix.data if sparse.issparse(matrix) else matrix
    first = entries.flat[:ROWS_AT_A_TIME] if entries.size else np.zeros(1)
    low, high = float(first.min()), float(first.max())
    if sparse.issparse(matrix):
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        low, high = (low, 1.0) if low == 0.0 else (min(low, 0.0), max(low, 0.0))
    if max(-low, high) > LARGEST_VALUE:
        return None
    return (low, high) if holds_only(matrix, (low, high)) else None


def binary_rows(matrix: Matrix, dtype: DTypeLike, values: tuple[float, float] = (0.0, 1.0)) -> BinaryRows:
    """Pack a matrix of two values, dense or sparse."""
    n, d = matrix.shape
    low, high = values
    words, ones = np.zeros((-(-d // WORD), n), np.uint64), np.zeros(n, np.int64)
    for part in parts_of(matrix):
        is_high = as_dense(matrix[part]) == high
        packed = np.zeros((len(is_high), words.itemsize * len(words)), np.uint8)
        packed[:, : -(-d // 8)] = np.packbits(is_high, axis=1, bitorder="little")
        words[:, part] = packed.view("<u8").T
        ones[part] = is_high.sum(axis=1)
    squares = low**2 * (d - ones) + high**2 * ones
    return BinaryRows(0, n, words, d, squares.astype(np.float64), np.dtype(dtype), values)
