"""Squared distances of all pairs of samples, from which the Gaussian kernel matrix of any gamma takes one pass.

    K_ij = exp(-gamma D_ij),     D_ij = |x_i|^2 + |x_j|^2 - 2 x_i'x_j

A search over gamma needs a matrix for each, and with gamma="scale" one for each fold. Distances are computed once in
float64; a value of K then costs a nanosecond, however many features there are. Vectors of two values have whole-number
distances, which index a table.

Errors   D as computed in float64 errs as the products of kernels/errors.py do. Kept in float32, as K is for more than
         gram.full.FULL samples, D errs by u relative to itself, so K by at most u / e, and by u once more when it is
         rounded itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin._jit import CONTRACT, jit
from widemargin.costs import COSTS, threads_for
from widemargin.gram.full import FullGram
from widemargin.gram.gram import COLUMN_TILE, ROW_TILE
from widemargin.gram.memory import ThreadMemory
from widemargin.kernels.errors import LARGEST_WEIGHTED, ErrorTerms, additive, exponential_by_table, stacked, unit_of
from widemargin.kernels.exponential import exp_nonpositive
from widemargin.kernels.fused_rows import fill_block
from widemargin.kernels.gaussian import LARGEST_LOSS, Gaussian
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.kernels.mirror import mirror
from widemargin.kernels.popcount import Different
from widemargin.kernels.products import inner_products, squared_norms
from widemargin.kernels.samples.binary import BinaryRows
from widemargin.kernels.samples.choose import represent
from widemargin.parallel.tiles import run_tiles

MOST_VALUES = 1 << 16  # different distances of vectors of two values that fit 16 bits


class SharedDistances:
    """Distances of all pairs of samples, in 16 bits for vectors of two values, else in the precision of K.

    samples : prepared in float64 (see `of`)
    dtype : precision of the matrices made from them
    """

    def __init__(self, samples: Samples, dtype: np.dtype, n_threads: int) -> None:
        self.samples, self.dtype, n = samples, dtype, len(samples)
        self.counts = isinstance(samples, BinaryRows) and samples.n_features < MOST_VALUES
        self.values: NDArray = np.empty((n, n), np.uint16 if self.counts else dtype)
        strips, memory = range(0, n, ROW_TILE), ThreadMemory()

        def fill(number: int) -> None:
            start, stop = strips[number], min(n, strips[number] + ROW_TILE)
            left = samples.tile(start, stop)
            for first in range(0 if self.counts else start, n, COLUMN_TILE):
                last = min(n, first + COLUMN_TILE)
                tile = memory.array(stop - start, last - first, np.float64)
                self.values[start:stop, first:last] = squared_distances(left, samples.tile(first, last), tile)
                if not self.counts:  # whole numbers are as cheap as copying them
                    mirror(self.values, start, stop, max(first, stop), last)
            if not self.counts:  # products of BLAS are not symmetric to the last bit
                above = np.triu(self.values[start:stop, start:stop], 1)
                self.values[start:stop, start:stop] = above + above.T

        run_tiles(fill, len(strips), n_threads)

    @classmethod
    def of(cls, kernels: Sequence[Kernel], X: Any, dtype: DTypeLike, n_threads: int) -> SharedDistances | None:
        """Return the distances for these kernels; None if one is not Gaussian, or distances would lose its values.

        Distances of points far from the origin cancel; the kernel evaluates those by differences.
        """
        if not all(type(kernel) is Gaussian for kernel in kernels):
            return None
        samples = represent(X, np.float64, centred=True, any_two=True)
        largest = LARGEST_LOSS if np.dtype(dtype) == np.float64 else 0.1 * unit_of(dtype)
        if max(kernel.rounding(samples) for kernel in kernels) > largest:
            return None
        return cls(samples, np.dtype(dtype), n_threads)

    def gram(self, kernel: Gaussian, n_threads: int = 1, memory: FullGram | None = None) -> FullGram:
        """Return the matrix of a Gaussian kernel, with its errors, and with its float32 copy if it is float64.

        memory : a matrix made here that is not needed any more, in whose place this one is put
        """
        n = len(self.values)
        strips = range(0, n, ROW_TILE)
        matrix = np.empty((n, n), self.dtype) if memory is None else memory.matrix
        if self.dtype == np.float32:
            fast = matrix
        else:
            fast = np.empty((n, n), np.float32) if memory is None else memory.fast
        if self.counts:
            samples = self.samples
            assert isinstance(samples, BinaryRows)
            table = np.exp(-kernel.gamma * samples.squared_step * np.arange(samples.n_features + 1.0)).astype(
                self.dtype
            )

        def fill(number: int) -> None:
            some = slice(strips[number], strips[number] + ROW_TILE)
            if self.counts:
                np.take(table, self.values[some], out=matrix[some])
            else:
                exp_of_distances(self.values[some].ravel(), kernel.gamma, matrix[some].reshape(-1))
            if fast is not matrix:
                fast[some] = matrix[some]

        run_tiles(fill, len(strips), threads_for(n * n * COSTS.copied_entry, n_threads))
        gram = FullGram(matrix, 1, np.ones(n))
        gram.kernel, gram.rows_computed, gram.fast = kernel, n, fast
        gram._state_errors = lambda: self.errors(kernel)
        return gram

    def errors(self, kernel: Gaussian) -> ErrorTerms:
        """Bounds on the errors of values made from the distances."""
        n = len(self.values)
        if self.counts:
            assert isinstance(self.samples, BinaryRows)
            return exponential_by_table(n, kernel.gamma, self.samples.squared_step, self.dtype)
        terms = kernel.errors(self.samples)
        if self.dtype == np.float64:
            return terms
        stored = additive(np.full(n, 0.5 * LARGEST_WEIGHTED * unit_of(self.dtype)), terms.size)
        return stacked([terms, stored], terms.size).rounded_to(self.dtype)


def squared_distances(left: Samples, right: Samples, out: NDArray) -> NDArray:
    """Fill out[i, j] = |left_i - right_j|^2; for vectors of two values, the number of features that differ."""
    if isinstance(left, BinaryRows):
        return fill_block(Different(np.arange(left.n_features + 1.0)), left, right, out)  # type: ignore[arg-type]
    inner_products(left, right, out)
    np.multiply(out, -2.0, out=out)
    out += squared_norms(left)[:, None]
    out += squared_norms(right)
    return np.maximum(out, 0.0, out=out)


@jit(fastmath=CONTRACT)
def exp_of_distances(distances, gamma, out):
    """out = exp(-gamma * distances), evaluated in float64."""
    for k in range(len(out)):
        out[k] = exp_nonpositive(-gamma * np.float64(distances[k]))
