"""Vectors of two values, 64 features to a machine word: 0/1 vectors, and for kernels of distances any two values.

The words are stored feature group by feature group, (n_words, n_samples), so that the loops over samples run along
contiguous memory. 123 features take 16 bytes per sample instead of 492 in float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from widemargin._jit import jit
from widemargin.kernels.kernel import RepresentationMismatch, Samples
from widemargin.kernels.popcount import popcount
from widemargin.kernels.samples.raw import Matrix, as_dense

WORD = 64  # bits of a machine word
LARGEST_VALUE = 1e100  # whose square is still far from overflow
PACKING_ROWS = 4096  # rows packed at a time, so that the intermediate stays small


@dataclass(frozen=True, eq=False)
class BinaryRows(Samples):
    """Samples start:stop of bit-packed vectors of two values.

    Attributes
    ----------
    words : (n_words, n_total) uint64; bit k of word w is feature 64 w + k
    squares : |x|^2 of samples start:stop, in float64
    dtype : precision of the kernel values
    values : what a clear and a set bit stand for
    """

    words: NDArray[np.uint64]
    n_features: int
    start: int
    stop: int
    squares: NDArray[np.float64]
    dtype: np.dtype
    values: tuple[float, float] = (0.0, 1.0)

    @property
    def squared_step(self) -> float:
        """How much one differing feature adds to a squared distance."""
        return (self.values[1] - self.values[0]) ** 2

    def __len__(self) -> int:
        return self.stop - self.start

    def take(self, index: NDArray[np.int64]) -> BinaryRows:
        words = np.take(self.words, np.asarray(index) + self.start, axis=1)
        return BinaryRows(words, self.n_features, 0, words.shape[1], self.squares[index], self.dtype, self.values)

    def tile(self, start: int, stop: int) -> BinaryRows:
        inside = self.start + start, self.start + stop
        return BinaryRows(self.words, self.n_features, *inside, self.squares[start:stop], self.dtype, self.values)

    def in_precision(self, dtype: DTypeLike) -> BinaryRows:
        return replace(self, dtype=np.dtype(dtype))

    def adopt(self, matrix: Matrix) -> BinaryRows:
        """Pack new data, or say that they hold other values."""
        if not holds_only(matrix, self.values):
            raise RepresentationMismatch(
                f"The samples prepared before hold the values {self.values} only and the new data hold others."
            )
        return binary_rows(matrix, self.dtype, self.values)

    def by_row(self) -> NDArray[np.uint64]:
        """What compiled loops read left samples from."""
        return self.words if self.start == 0 else np.ascontiguousarray(self.words[:, self.start : self.stop])

    def by_column(self) -> tuple[NDArray[np.uint64], int, int]:
        """What compiled loops read right samples from, and their numbers there."""
        return self.words, self.start, self.stop


def holds_only(matrix: Matrix, values: tuple[float, float] = (0.0, 1.0)) -> bool:
    """Whether every entry is one of the two values."""
    if sparse.issparse(matrix):
        return 0.0 in values and _only(matrix.data, values)
    return all(_only(part, values) for _, part in _parts(matrix))


def two_values(matrix: Matrix) -> tuple[float, float] | None:
    """The two values that a matrix consists of; None where there are more."""
    entries = matrix.data if sparse.issparse(matrix) else matrix
    first = entries.flat[:PACKING_ROWS] if entries.size else np.zeros(1)
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
    if sparse.issparse(matrix) and high != 0.0:
        pack_sparse(matrix.indptr, matrix.indices, matrix.data.astype(np.float64, copy=False), high, words, ones)
    else:
        for start, part in _parts(matrix):
            pack_dense(np.ascontiguousarray(as_dense(part), np.float64), start, high, words, ones)
    squares = low**2 * (d - ones) + high**2 * ones
    return BinaryRows(words, d, 0, n, squares.astype(np.float64), np.dtype(dtype), values)


def _parts(matrix: Matrix) -> Iterator[tuple[int, Matrix]]:
    """Some thousand rows at a time, and the number of the first."""
    return ((start, matrix[start : start + PACKING_ROWS]) for start in range(0, matrix.shape[0], PACKING_ROWS))


def _only(entries: NDArray, values: tuple[float, float]) -> bool:
    """Whether an array holds only the two values; the first entries decide most cases."""
    if entries.dtype == bool:
        return values == (0.0, 1.0)
    first = entries.flat[:WORD]
    if not ((first == values[0]) | (first == values[1])).all():
        return False
    return bool(consists_of(np.ascontiguousarray(entries, np.float64).reshape(-1), *values))


@jit
def consists_of(entries, low, high):
    """Whether every entry of a contiguous array is one of the two values."""
    strip = 4096  # a sum without an early end is done with vectors
    for first in range(0, entries.shape[0], strip):
        last = min(entries.shape[0], first + strip)
        others = 0
        for k in range(first, last):
            others += (entries[k] != low) & (entries[k] != high)
        if others:
            return False
    return True


@jit
def pack_dense(matrix, start, high, words, ones):
    """Bit k of words[w, i] says whether feature 64 w + k of sample i is `high`; ones[i] is how many are.

    matrix : samples from `start` on
    """
    n, d = matrix.shape
    for i in range(start, start + n):
        row = matrix[i - start]
        for w in range(words.shape[0]):
            first = w * WORD
            word = np.uint64(0)
            for k in range(min(WORD, d - first)):
                word |= np.uint64(row[first + k] == high) << np.uint64(k)
            words[w, i] = word
            ones[i] += popcount(word)


@jit
def pack_sparse(indptr, indices, data, high, words, ones):
    """The same for a matrix in CSR without duplicates, `high` not zero."""
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            is_high = data[p] == high
            words[indices[p] // WORD, i] |= np.uint64(is_high) << np.uint64(indices[p] % WORD)
            ones[i] += is_high
