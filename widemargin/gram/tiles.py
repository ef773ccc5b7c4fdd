"""Products K V with a kernel matrix that need not fit the memory.

The matrix is divided into square tiles; by symmetry only tiles on and above the diagonal are computed and used twice,

    (K V)_i += K_ij V_j        (K V)_j += K_ij' V_i.

As many tiles as the memory budget allows are kept; all others are recomputed in every product. Tiles may be
float32; vectors and sums are float64. Sums are collected in a number of parts that depends on the sizes only, never on
the number of threads, so that the same data give the same answer to the last bit.

Products whose errors are to be bounded are summed in float64 and in an order of our own: within a tile a term goes
through at most ALONG_ROWS or ALONG_COLUMNS roundings, its product included, and tiles are added one after the other. A
sum of n terms in unknown order may take n roundings (Higham 2002, section 4.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin._jit import CONTRACT, REASSOCIATE, jit
from widemargin.gram.gram import COLUMN_TILE, evaluate_tile, visit_tiles
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.linalg.arrays import Matrix
from widemargin.monitor import clock
from widemargin.monitor.interrupt import StopRequested
from widemargin.monitor.status import Status
from widemargin.parallel.tiles import run_tiles, single_threaded_blas

TILE = COLUMN_TILE  # samples per side: kernels prepare their samples for this multiple
PARTS = 16  # partial sums of a product: as many cores can work in parallel
PART_MEMORY = 1 << 28  # bytes of partial sums above which their number is reduced, for many right-hand sides
LANES = 64  # parallel sums along a row, which are then added in pairs
FIRST, SECOND = 8, 64  # rows after which sums along columns are passed on, and passed on again
ALONG_ROWS = TILE // LANES + int(math.log2(LANES))  # roundings: 16 in a lane, 6 between lanes
ALONG_COLUMNS = FIRST + SECOND // FIRST + TILE // SECOND  # roundings: 8 terms, 8 sums of them, 16 sums of those


class KernelTiles:
    """The kernel matrix of n samples as an operator.

    Parameters
    ----------
    kernel : Kernel
    samples : Samples prepared in `dtype`
    dtype : float32 or float64
    budget : int
        Bytes of tiles that may be kept.
    n_threads : int
    """

    def __init__(self, kernel: Kernel, samples: Samples, dtype: DTypeLike, budget: int, n_threads: int) -> None:
        self.kernel, self.samples, self.dtype = kernel, samples, np.dtype(dtype)
        self.n_threads = n_threads if kernel.releases_gil else 1
        n = len(samples)
        edges = [slice(start, min(n, start + TILE)) for start in range(0, n, TILE)]
        self.places = [(rows, columns) for number, rows in enumerate(edges) for columns in edges[number:]]
        self.kept: list[NDArray | None] = [None] * len(self.places)
        sizes = [(rows.stop - rows.start) * (columns.stop - columns.start) for rows, columns in self.places]
        self.n_kept = int(np.searchsorted(np.cumsum(sizes), budget // self.dtype.itemsize, side="right"))
        self.products = 0  # how often the whole matrix was multiplied, for reports

    def __len__(self) -> int:
        return len(self.samples)

    @staticmethod
    def bytes_needed(n: int, dtype: DTypeLike) -> int:
        """Bytes with which every tile of n samples is kept."""
        return n * (n + TILE) // 2 * np.dtype(dtype).itemsize

    def product(self, V: Matrix, deadline: float = math.inf) -> Matrix:
        """K V for V of shape (n, m); raises StopRequested between two tiles if the clock has passed the deadline."""
        n, m = V.shape
        vectors = np.ascontiguousarray(V if m == 1 else V.astype(self.dtype, copy=False))

        def add(tile: NDArray, rows: slice, columns: slice, sums: NDArray) -> None:
            other = sums[columns] if rows != columns else np.zeros_like(sums[columns])  # not needed on the diagonal
            if m == 1:
                add_both(tile, vectors[rows, 0], vectors[columns, 0], sums[rows, 0], other[:, 0])
                return
            sums[rows] += tile @ vectors[columns]
            if rows != columns:
                other += tile.T @ vectors[rows]

        return self._sum((n, m), add, deadline)

    def bounded_product(self, V: Matrix) -> tuple[Matrix, Matrix]:
        """K V, each term through at most `roundings` of them, and |K| |V|, for values of K as computed."""
        if not V.any():  # of an answer that made no step
            return np.zeros(V.shape), np.zeros(V.shape)
        V = np.asfortranarray(V, np.float64)

        def add(tile: NDArray, rows: slice, columns: slice, sums: NDArray) -> None:
            values = tile.astype(np.float64, copy=False)
            add_along_rows(values, V[columns].T, sums[0, rows], sums[1, rows])
            if rows != columns:
                add_along_columns(values, V[rows].T, sums[0, columns], sums[1, columns])

        product, sizes = self._sum((2, *V.shape), add)
        return product, sizes

    def _sum(
        self,
        shape: tuple[int, ...],
        add: Callable[[NDArray, slice, slice, NDArray], None],
        deadline: float = math.inf,
    ) -> NDArray:
        """Return the sums that `add(tile, rows, columns, sums)` accumulates over all tiles, in parts on threads."""
        self.products += 1
        parts = int(min(PARTS, len(self.places), max(2, PART_MEMORY // (8 * math.prod(shape)))))
        sums = np.zeros((parts, *shape))
        bounds = np.linspace(0, len(self.places), parts + 1).astype(int)

        def add_part(part: int) -> None:
            buffer = None
            for number in range(bounds[part], bounds[part + 1]):
                if clock.now() > deadline:
                    raise StopRequested(Status.TIME_LIMIT)
                tile, buffer = self._tile(number, buffer)
                add(tile, *self.places[number], sums[part])

        with single_threaded_blas():
            run_tiles(add_part, parts, self.n_threads)
        for part in range(1, parts):
            sums[0] += sums[part]
        return sums[0]

    @property
    def roundings(self) -> int:
        """Largest number of roundings of a term of `bounded_product`."""
        return (ALONG_COLUMNS if len(self) > TILE else ALONG_ROWS) + -(-len(self) // TILE)

    def _tile(self, number: int, buffer: NDArray | None) -> tuple[NDArray, NDArray | None]:
        """Return the tile at a position, stored or computed now, and the buffer for tiles that are not stored."""
        rows, columns = self.places[number]
        height, width = rows.stop - rows.start, columns.stop - columns.start
        tile = self.kept[number]
        if tile is not None:
            return tile, buffer
        if number < self.n_kept:
            try:
                tile = self.kept[number] = np.empty((height, width), self.dtype)
            except MemoryError:  # keep half of what was kept so far
                self.n_kept = number // 2
                self.kept[self.n_kept :] = [None] * (len(self.places) - self.n_kept)
        if tile is None:
            buffer = np.empty((TILE, TILE), self.dtype) if buffer is None else buffer
            tile = buffer[:height, :width]
        return evaluate_tile(self.kernel, self.samples, self.samples, rows, columns, tile), buffer


def roundings_of(n_terms: int) -> int:
    """Largest number of roundings of a term of `bounded_cross_product`: along a row of a tile, and between tiles."""
    return ALONG_ROWS + -(-n_terms // TILE)


@jit(fastmath=CONTRACT)
def add_along_rows(block, vectors, sums, sizes):
    """sums += block V and sizes += |block| |V| for V = vectors', in LANES sums per row that are added in pairs."""
    rows, terms = block.shape
    whole = terms - terms % LANES
    lanes, large = np.empty(LANES), np.empty(LANES)
    for i in range(rows):
        row = block[i]
        for c in range(vectors.shape[0]):
            vector = vectors[c]
            for lane in range(LANES):
                lanes[lane] = 0.0
                large[lane] = 0.0
            for start in range(0, whole, LANES):
                for lane in range(LANES):
                    value = row[start + lane] * vector[start + lane]
                    lanes[lane] += value
                    large[lane] += abs(value)
            for j in range(whole, terms):
                value = row[j] * vector[j]
                lanes[j - whole] += value
                large[j - whole] += abs(value)
            width = LANES // 2
            while width > 0:
                for lane in range(width):
                    lanes[lane] += lanes[lane + width]
                    large[lane] += large[lane + width]
                width //= 2
            sums[i, c] += lanes[0]
            sizes[i, c] += large[0]


@jit(fastmath=CONTRACT)
def add_along_columns(block, vectors, sums, sizes):
    """sums += block' V and sizes += |block|' |V| for V = vectors', rows in groups of FIRST and groups of SECOND."""
    rows, columns = block.shape
    first, second, third, large = np.empty(columns), np.empty(columns), np.empty(columns), np.empty(columns)
    for c in range(vectors.shape[0]):
        vector = vectors[c]
        for j in range(columns):
            first[j] = second[j] = third[j] = large[j] = 0.0
        for i in range(rows):
            row, weight = block[i], vector[i]
            for j in range(columns):
                value = weight * row[j]
                first[j] += value
                large[j] += abs(value)
            if (i + 1) % FIRST == 0:
                for j in range(columns):
                    second[j] += first[j]
                    first[j] = 0.0
            if (i + 1) % SECOND == 0:
                for j in range(columns):
                    third[j] += second[j]
                    second[j] = 0.0
        for j in range(columns):
            sums[j, c] += third[j] + (second[j] + first[j])
            sizes[j, c] += large[j]


@jit(fastmath=REASSOCIATE)
def add_both(tile, own, other, own_sums, other_sums):
    """own_sums += tile other and other_sums += tile' own, in one pass over the tile, four rows at a time.

    The pass is bound by reading the tile from memory: two products one after the other would read it twice.
    """
    rows, columns = tile.shape
    for i in range(0, rows - rows % 4, 4):
        r0, r1, r2, r3 = tile[i], tile[i + 1], tile[i + 2], tile[i + 3]
        c0, c1, c2, c3 = own[i], own[i + 1], own[i + 2], own[i + 3]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(columns):
            v = other[j]
            s0 += r0[j] * v
            s1 += r1[j] * v
            s2 += r2[j] * v
            s3 += r3[j] * v
            other_sums[j] += (c0 * r0[j] + c1 * r1[j]) + (c2 * r2[j] + c3 * r3[j])
        own_sums[i] += s0
        own_sums[i + 1] += s1
        own_sums[i + 2] += s2
        own_sums[i + 3] += s3
    for i in range(rows - rows % 4, rows):
        row = tile[i]
        total = 0.0
        for j in range(columns):
            total += row[j] * other[j]
            other_sums[j] += own[i] * row[j]
        own_sums[i] += total


def bounded_cross_product(
    kernel: Kernel, left: Samples, right: Samples, V: Matrix, n_threads: int
) -> tuple[Matrix, Matrix]:
    """k(left, right) V, each term through at most `roundings_of(len(right))` roundings, and |k| |V|, in float64."""
    V = np.asfortranarray(V)
    out, sizes = np.zeros((len(left), V.shape[1])), np.zeros((len(left), V.shape[1]))

    def add(rows: slice, columns: slice) -> None:
        block = np.empty((rows.stop - rows.start, columns.stop - columns.start))
        evaluate_tile(kernel, left, right, rows, columns, block)
        add_along_rows(block, V[columns].T, out[rows], sizes[rows])

    with single_threaded_blas():
        visit_tiles(len(left), len(right), add, n_threads if kernel.releases_gil else 1)
    return out, sizes


def cross_block(kernel: Kernel, left: Samples, right: Samples, n_threads: int) -> Matrix:
    """Return the whole matrix k(left, right), filled by rows on threads."""
    out = np.empty((len(left), len(right)))

    def fill(rows: slice, columns: slice) -> None:
        evaluate_tile(kernel, left, right, rows, columns, out[rows, columns])

    with single_threaded_blas():
        visit_tiles(len(left), len(right), fill, n_threads if kernel.releases_gil else 1)
    return out
