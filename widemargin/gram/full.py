"""The whole kernel matrix in memory, for small problems and for matrices given by the user."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin.costs import COSTS, threads_for
from widemargin.gram.accumulate import gather_rows
from widemargin.gram.gram import ROW_TILE, Gram, summation_error, symmetric_block
from widemargin.gram.memory import ThreadMemory
from widemargin.gram.row_store import FullStore
from widemargin.gram.scores import Scores
from widemargin.kernels.errors import ErrorTerms, unknown
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.linalg.arrays import Index, Vector
from widemargin.linalg.row_sums import add_weighted_rows
from widemargin.parallel.tiles import run_tiles

FULL = 2048  # samples up to which the whole matrix is held in float64: 32 MB
LEAST_FAST, LARGEST_FAST = 1e-15, 1e15  # values of the diagonal between which float32 neither underflows nor overflows
FEW_ENTRIES = 1 << 14  # up to here NumPy takes at most 5 us longer, and saves half a second of compiling in a first fit


class FullGram(Gram):
    """All of K, computed once (half of it, by symmetry); `kernel` and `samples` are set if it was computed here.

    fast : the matrix on which a solver may make its steps, which it corrects by sums from `matrix` (see `add_fast`)
    """

    is_whole = True
    kernel: Kernel | None = None
    _take_samples: Callable[[], Samples] | None = None  # called only by solvers that work on the points themselves
    _state_errors: Callable[[], ErrorTerms] | None = None  # called only for certificates

    def __init__(self, matrix: NDArray, n_threads: int = 1, diag: Vector | None = None) -> None:
        self.matrix, self.dtype, self.n_threads = matrix, matrix.dtype, n_threads
        self.diag = matrix.diagonal().astype(np.float64) if diag is None else diag
        self.fast = matrix
        self.blocks = ThreadMemory()

    @classmethod
    def of(
        cls, kernel: Kernel, samples: Samples, dtype: DTypeLike, n_threads: int = 1, memory: ThreadMemory | None = None
    ) -> FullGram:
        """Evaluate the kernel on all pairs of samples; the matrix is placed in `memory`, if given."""
        n = len(samples)
        matrix = np.empty((n, n), dtype) if memory is None else memory.array(n, n, dtype)
        gram = cls(symmetric_block(kernel, samples, matrix, n_threads), n_threads, kernel.diag(samples))
        gram.kernel, gram._take_samples = kernel, lambda: samples
        gram._state_errors = lambda: kernel.errors(samples)
        gram.rows_computed = n
        return gram

    @classmethod
    def rounded(cls, kernel: Kernel, samples: Samples, n_threads: int = 1) -> FullGram:
        """All pairs of samples prepared in float64, evaluated in float64 and kept in float32."""
        n = len(samples)
        matrix = symmetric_block(kernel, samples, np.empty((n, n), np.float32), n_threads, rounded_from=np.float64)
        gram = cls(matrix, n_threads, kernel.diag(samples))
        gram.rows_computed = n
        gram._state_errors = lambda: kernel.errors(samples).rounded_to(np.float32)
        return gram

    @cached_property
    def store(self) -> FullStore:  # type: ignore[override]
        """All rows."""
        return FullStore(self.matrix, np.arange(len(self), dtype=np.int64), self.diag, self.fast)

    @property
    def samples(self) -> Samples | None:
        """The prepared samples, if the matrix was computed from them."""
        return None if self._take_samples is None else self._take_samples()

    @cached_property
    def errors(self) -> ErrorTerms:  # type: ignore[override]
        return unknown(len(self), self.dtype) if self._state_errors is None else self._state_errors()

    def add_fast(self) -> None:
        """Make a float32 copy, on which steps take half the time, if it holds all values of a float64 matrix."""
        size = np.abs(self.diag)
        if self.dtype != np.float64 or not np.all((size > LEAST_FAST) & (size < LARGEST_FAST)):
            return
        with np.errstate(over="ignore"):
            fast = self.matrix.astype(np.float32)
        if np.isfinite(fast).all():
            self.fast = fast

    def subset(self, index: Index) -> FullGram:
        """Return the matrix of some of the samples, gathered from this one."""
        part = FullGram(gather_block_of(self.matrix, index), self.n_threads, self.diag[index])
        part._state_errors = lambda: self.errors.take(index)
        if self.fast is not self.matrix:
            part.fast = gather_block_of(self.fast, index)
        if self._take_samples is not None:
            whole = self._take_samples
            part.kernel, part._take_samples = self.kernel, lambda: whole().take(index)
        return part

    def block(self, index: Index) -> NDArray:
        if len(index) == len(self) and np.array_equal(index, np.arange(len(self))):
            return self.matrix
        out = self.blocks.array(len(index), len(index), self.dtype)
        return gather_block_of(self.matrix, index, out, self.n_threads)

    def scores(self, coefficients: Vector) -> Scores:
        found = super().scores(coefficients)
        if self.dtype != np.float64 or np.isfinite(self.errors.size).all():
            return found
        support = np.flatnonzero(coefficients)
        sizes = np.abs(coefficients[support]) @ np.abs(self.matrix.take(support, axis=0))
        error = summation_error(sizes, len(support)) + self.errors.of_values(np.abs(coefficients))
        return Scores(found.values, error)

    def add_rows(self, index, coefficients, Kb, keep=None) -> None:  # type: ignore[no-untyped-def]
        self.row_hits += len(index)
        n = len(self)
        if n * len(index) <= FEW_ENTRIES:
            Kb += coefficients @ self.matrix.take(index, axis=0)
            return
        n_threads = threads_for(n * len(index) * COSTS.read_value, self.n_threads)
        width = -(-n // n_threads)

        def add(number: int) -> None:
            part = slice(number * width, (number + 1) * width)
            add_weighted_rows(self.matrix, part.start, index, coefficients, Kb[part])

        run_tiles(add, n_threads, n_threads)


def gather_block_of(matrix: NDArray, index: Index, out: NDArray | None = None, n_threads: int = 1) -> NDArray:
    """Return matrix[index][:, index], in `out` if given."""
    block = np.empty((len(index), len(index)), matrix.dtype) if out is None else out
    starts, places = range(0, len(index), ROW_TILE), np.arange(len(index))

    def gather(number: int) -> None:
        some = slice(starts[number], starts[number] + ROW_TILE)
        gather_rows(matrix, index[some], places[some], index, block)

    run_tiles(gather, len(starts), threads_for(block.size * COSTS.gather_entry, n_threads))
    return block
