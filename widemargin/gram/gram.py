"""The Gram interface of the solvers to rows of K, and sums of rows evaluated directly from a kernel.

Rows of a Gram have errors; `Gram.errors` bounds them in a form that can be summed (kernels/errors.py), which gives a
bound on the error of K b after rows were added to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin.costs import threads_for
from widemargin.gram.accumulate import add_row_products
from widemargin.gram.memory import ThreadMemory
from widemargin.gram.row_store import FullStore, RowStore
from widemargin.gram.scores import Scores
from widemargin.kernels.errors import ErrorTerms, rounding_of_sum
from widemargin.kernels.kernel import COLUMN_TILE, ROW_TILE, Kernel, Samples
from widemargin.kernels.mirror import mirror
from widemargin.linalg.arrays import Index, Vector
from widemargin.parallel.tiles import run_tiles

FEW = 512  # samples up to which NumPy mirrors a block as fast without compiling; with 1,024 it takes three times
# as long, since the rows of a column then fall into the same few sets of the cache


class Gram(ABC):
    """The kernel matrix of n samples as solvers use it: unsigned, by sample, in blocks and in weighted sums of rows.

    Attributes
    ----------
    diag : float64 array of shape (n,)
    errors : bounds on the errors of its values
    dtype : float32 or float64, the precision of blocks and rows
    is_whole : whether all of K is in memory, so that the block of all samples is free
    store : rows in memory for compiled solvers, or None where rows are evaluated on demand
    n_threads : threads that may work on it
    block_limit : variables up to which a block and its factor fit the user's memory budget
    least_block : variables from which on a smaller working set saves nothing, because rounds are expensive
    rows_computed, row_hits : counters of full rows evaluated and of rows served from memory
    """

    diag: Vector
    errors: ErrorTerms
    dtype: np.dtype
    is_whole: bool = False
    store: FullStore | RowStore | None = None
    n_threads: int = 1
    block_limit: float = np.inf
    least_block: int = 0
    rows_computed: int = 0
    row_hits: int = 0

    def __len__(self) -> int:
        return len(self.diag)

    def need(self, index: Index) -> None:  # noqa: B027 - most stores have all rows
        """Evaluate the rows that are missing in the store."""

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Context in which rows are not counted: those that only a listener of a solver asks for."""
        before = self.rows_computed
        try:
            yield
        finally:
            self.rows_computed = before

    @abstractmethod
    def block(self, index: Index) -> NDArray:
        """Return K[index][:, index] as a contiguous array, in memory that the next call may overwrite."""

    @abstractmethod
    def add_rows(self, index: Index, coefficients: Vector, Kb: Vector, keep: NDArray[np.bool_] | None = None) -> None:
        """Kb += sum_k coefficients[k] K[index[k], :]. `keep` marks rows likely to be needed again."""

    def scores(self, coefficients: Vector) -> Scores:
        """Return F = K b from rows, with its error."""
        support = np.flatnonzero(coefficients)
        Kb = np.zeros(len(self))
        if not len(support):
            return Scores(Kb, np.zeros(len(self)))
        self.add_rows(support, coefficients[support], Kb)
        return Scores(Kb, self.errors.of_sums(np.abs(coefficients), len(support)))

    def part(self, index: Index, n_rows: int) -> Gram | None:
        """Return the Gram of some samples, for rounds of about `n_rows` rows each; None if whole rows are as cheap."""
        return None

    def sum_at(self, at: Index, index: Index, coefficients: Vector) -> Vector:
        """sum_k coefficients[k] K[index[k], at]."""
        Kb = np.zeros(len(self))
        self.add_rows(index, coefficients, Kb)
        return Kb[at]


def symmetric_block(
    kernel: Kernel, samples: Samples, out: NDArray, n_threads: int, rounded_from: DTypeLike | None = None
) -> NDArray:
    """out = k(samples, samples), the upper half evaluated in strips of rows and mirrored.

    rounded_from : precision of the samples, where `out` has another one
    """
    n, memory = len(samples), ThreadMemory()
    fused = kernel.fused_rows(samples, samples) if n > FEW and rounded_from is None else None
    if fused is not None:
        return fused.fill_square(out, n_threads)
    strips = [(start, min(n, start + ROW_TILE)) for start in range(0, n, ROW_TILE)]

    def fill(number: int) -> None:
        start, stop = strips[number]
        left = samples.tile(start, stop)
        for first in range(start, n, COLUMN_TILE):
            last = min(n, first + COLUMN_TILE)
            target = out[start:stop, first:last]
            tile = target if rounded_from is None else memory.array(stop - start, last - first, rounded_from)
            kernel.block(left, samples.tile(first, last), tile)
            if tile is not target:
                target[...] = tile
            if n > FEW:  # while the tile is in the cache
                mirror(out, start, stop, max(first, stop), last)
        if n <= FEW:
            out[stop:, start:stop] = out[start:stop, stop:].T

    run_tiles(fill, len(strips), n_threads if n > ROW_TILE else 1)
    return out


def visit_tiles(n: int, m: int, visit: Callable[[slice, slice], None], n_threads: int, height: int = ROW_TILE) -> None:
    """Call `visit(rows, columns)` for all tiles of an n x m matrix; tiles of the same rows in order on one thread."""

    def visit_rows(number: int) -> None:
        rows = slice(number * height, min(n, (number + 1) * height))
        for first in range(0, m, COLUMN_TILE):
            visit(rows, slice(first, min(m, first + COLUMN_TILE)))

    run_tiles(visit_rows, -(-n // height), n_threads)


def evaluate_tile(kernel: Kernel, left: Samples, right: Samples, rows: slice, columns: slice, out: NDArray) -> NDArray:
    """out = k(left, right)[rows, columns]."""
    return kernel.block(left.tile(rows.start, rows.stop), right.tile(columns.start, columns.stop), out)


def kernel_product(
    kernel: Kernel, left: Samples, right: Samples, coefficients: Vector, dtype: np.dtype, n_threads: int
) -> Vector:
    """k(left, right) @ coefficients in tiles, never the whole matrix; one coefficient per sample of `right`."""
    n, m = len(left), len(right)
    result, memory = np.zeros(n), ThreadMemory()
    n_threads = threads_for(n * m * kernel.entry_cost(left), n_threads)
    fused = kernel.fused_rows(right, left)
    if fused is not None:
        fused.add_rows(coefficients, result, n_threads)
        return result

    def add(rows: slice, columns: slice) -> None:
        buffer = memory.array(rows.stop - rows.start, columns.stop - columns.start, dtype)
        evaluate_tile(kernel, left, right, rows, columns, buffer)
        add_row_products(buffer, coefficients[columns], result[rows])

    visit_tiles(n, m, add, n_threads, height=max(1, min(ROW_TILE, -(-n // n_threads))))
    return result


def kernel_scores(
    kernel: Kernel,
    at: Samples,
    vectors: Samples,
    coefficients: Vector,
    n_threads: int = 1,
    errors: tuple[ErrorTerms, ErrorTerms] | None = None,
) -> Scores:
    """Return F = sum_k coefficients[k] k(., vectors_k) at some samples, all prepared in float64, with its error.

    errors : errors of the kernel on both sets of samples, if known
    Where the size of values is not known (a user's kernel), sizes are summed as well.
    """
    if not len(vectors):
        return Scores(np.zeros(len(at)), np.zeros(len(at)))
    left, right = errors or (kernel.errors(at), kernel.errors(vectors))
    if np.isfinite(left.size).all() and np.isfinite(right.size).all():
        values = kernel_product(kernel, at, vectors, coefficients, np.dtype(np.float64), n_threads)
        return Scores(values, left.of_sums(np.abs(coefficients), len(vectors), right))
    values, sizes = np.zeros(len(at)), np.zeros(len(at))

    def add(rows: slice, columns: slice) -> None:
        block = np.empty((rows.stop - rows.start, columns.stop - columns.start))
        evaluate_tile(kernel, at, vectors, rows, columns, block)
        values[rows] += block @ coefficients[columns]
        sizes[rows] += np.abs(block) @ np.abs(coefficients[columns])

    visit_tiles(len(at), len(vectors), add, n_threads=1)
    return Scores(values, summation_error(sizes, len(vectors)) + left.of_values(np.abs(coefficients), right))


def summation_error(sizes: Vector, n_terms: int) -> Vector:
    """Error of sums of exact values, from the sums of their sizes."""
    return rounding_of_sum(2 * n_terms + 8) * sizes
