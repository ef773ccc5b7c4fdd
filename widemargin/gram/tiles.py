"""Products K V with a kernel matrix that need not fit the memory.

The matrix is cut into square tiles; by symmetry only those on and above the diagonal are made, and each serves twice,

    (K V)_i += K_ij V_j        (K V)_j += K_ij' V_i.

As many tiles as the memory budget allows are kept, the others are evaluated anew in every product. Tiles may be
float32; vectors and sums are float64. Sums are collected in a number of parts that depends on the sizes only, never on
the number of threads, so that the same data give the same answer to the last bit.

Products whose errors are to be bounded are summed in float64 and in an order of our own: within a tile a term goes
through at most ALONG_ROWS or ALONG_COLUMNS roundings, its product included, and tiles are added one after the other. A
sum of n terms in unknown order may take n roundings (Higham 2002, section 4.2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin._jit import CONTRACT, REASSOCIATE, jit
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.parallel.tiles import run_tiles, single_threaded_blas

TILE = 1024  # samples per side: kernels prepare their samples for this multiple
PARTS = 16  # partial sums of a product: enough for as many cores, and few to add up
PART_MEMORY = 1 << 28  # bytes of partial sums above which there are fewer of them, for many right-hand sides
ROW_TILE = 256  # rows per task of a product between two sets of samples
LANES = 64  # sums that run side by side along a row: TILE / LANES = 16 terms each, then 6 additions in pairs
FIRST, SECOND = 8, 64  # rows after which sums along columns are passed on, and passed on again
ALONG_ROWS = 22  # roundings: 16 in a lane, 6 between lanes
ALONG_COLUMNS = 32  # roundings: 8 terms, 8 sums of them, TILE / SECOND = 16 sums of those

Matrix = NDArray[np.float64]


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
        edges = [(start, min(n, start + TILE)) for start in range(0, n, TILE)]
        self.places = [(rows, columns) for number, rows in enumerate(edges) for columns in edges[number:]]
        self.kept: list[NDArray | None] = [None] * len(self.places)
        self.n_kept = 0
        for rows, columns in self.places:
            budget -= (rows[1] - rows[0]) * (columns[1] - columns[0]) * self.dtype.itemsize
            if budget < 0:
                break
            self.n_kept += 1
        self.products = 0  # how often the whole matrix was multiplied, for reports

    def __len__(self) -> int:
        return len(self.samples)

    @staticmethod
    def bytes_needed(n: int, dtype: DTypeLike) -> int:
        """Bytes with which every tile of n samples is kept."""
        return n * (n + TILE) // 2 * np.dtype(dtype).itemsize

    def product(self, V: Matrix) -> Matrix:
        """K V for V of shape (n, m)."""
        n, m = V.shape
        self.products += 1
        vectors = np.ascontiguousarray(V if m == 1 else V.astype(self.dtype, copy=False))
        parts = int(min(PARTS, len(self.places), max(2, PART_MEMORY // (8 * n * m))))
        sums = np.zeros((parts, n, m))
        bounds = np.linspace(0, len(self.places), parts + 1).astype(int)

        def add(part: int) -> None:
            buffer = None
            for number in range(bounds[part], bounds[part + 1]):
                (top, bottom), (left, right) = self.places[number]
                tile, buffer = self._tile(number, buffer)
                if m == 1:
                    own, other = vectors[top:bottom, 0], vectors[left:right, 0]
                    add_both(tile, own, other, sums[part, top:bottom, 0], sums[part, left:right, 0], top != left)
                    continue
                sums[part, top:bottom] += tile @ vectors[left:right]
                if top != left:
                    sums[part, left:right] += tile.T @ vectors[top:bottom]

        with single_threaded_blas():
            run_tiles(add, parts, self.n_threads)
        for part in range(1, parts):
            sums[0] += sums[part]
        return sums[0]

    def bounded_product(self, V: Matrix) -> tuple[Matrix, Matrix]:
        """K V, each term through at most `roundings` of them, and |K| |V|, for values of K as computed."""
        n, m = V.shape
        self.products += 1
        V = np.asfortranarray(V, np.float64)
        parts = int(min(PARTS, len(self.places), max(2, PART_MEMORY // (16 * n * m))))
        sums = np.zeros((parts, 2, n, m))
        bounds = np.linspace(0, len(self.places), parts + 1).astype(int)

        def add(part: int) -> None:
            buffer = None
            for number in range(bounds[part], bounds[part + 1]):
                (top, bottom), (left, right) = self.places[number]
                tile, buffer = self._tile(number, buffer)
                values = tile.astype(np.float64, copy=False)
                add_along_rows(values, V[left:right].T, sums[part, 0, top:bottom], sums[part, 1, top:bottom])
                if top != left:
                    add_along_columns(values, V[top:bottom].T, sums[part, 0, left:right], sums[part, 1, left:right])

        with single_threaded_blas():
            run_tiles(add, parts, self.n_threads)
        for part in range(1, parts):
            sums[0] += sums[part]
        return sums[0, 0], sums[0, 1]

    @property
    def roundings(self) -> int:
        """Most roundings that a term of `bounded_product` goes through."""
        return (ALONG_COLUMNS if len(self) > TILE else ALONG_ROWS) + -(-len(self) // TILE)

    def _tile(self, number: int, buffer: NDArray | None) -> tuple[NDArray, NDArray | None]:
        """The values at a place, kept or made now, and the buffer for those that are not kept."""
        (top, bottom), (left, right) = self.places[number]
        tile = self.kept[number]
        if tile is not None:
            return tile, buffer
        if number < self.n_kept:
            tile = self.kept[number] = np.empty((bottom - top, right - left), self.dtype)
        else:
            buffer = np.empty((TILE, TILE), self.dtype) if buffer is None else buffer
            tile = buffer[: bottom - top, : right - left]
        self.kernel.block(self.samples.tile(top, bottom), self.samples.tile(left, right), tile)
        return tile, buffer


def roundings_of(n_terms: int) -> int:
    """Most roundings that a term of `bounded_cross_product` goes through: along a row of a tile, and between tiles."""
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
def add_both(tile, own, other, own_sums, other_sums, both):
    """own_sums += tile other and, if `both`, other_sums += tile' own, in one pass over the tile, four rows at a time.

    The pass is bound by reading the tile from memory: two products one after the other would read it twice.
    """
    rows, columns = tile.shape
    for i in range(0, rows - rows % 4, 4):
        r0, r1, r2, r3 = tile[i], tile[i + 1], tile[i + 2], tile[i + 3]
        s0 = s1 = s2 = s3 = 0.0
        if both:
            c0, c1, c2, c3 = own[i], own[i + 1], own[i + 2], own[i + 3]
            for j in range(columns):
                v = other[j]
                s0 += r0[j] * v
                s1 += r1[j] * v
                s2 += r2[j] * v
                s3 += r3[j] * v
                other_sums[j] += (c0 * r0[j] + c1 * r1[j]) + (c2 * r2[j] + c3 * r3[j])
        else:
            for j in range(columns):
                v = other[j]
                s0 += r0[j] * v
                s1 += r1[j] * v
                s2 += r2[j] * v
                s3 += r3[j] * v
        own_sums[i] += s0
        own_sums[i + 1] += s1
        own_sums[i + 2] += s2
        own_sums[i + 3] += s3
    for i in range(rows - rows % 4, rows):
        row = tile[i]
        total = 0.0
        for j in range(columns):
            total += row[j] * other[j]
            if both:
                other_sums[j] += own[i] * row[j]
        own_sums[i] += total


def bounded_cross_product(
    kernel: Kernel, left: Samples, right: Samples, V: Matrix, n_threads: int
) -> tuple[Matrix, Matrix]:
    """k(left, right) V, each term through at most `roundings_of(len(right))` roundings, and |k| |V|, in float64."""
    n, m = len(left), len(right)
    V = np.asfortranarray(V)
    out, sizes = np.zeros((n, V.shape[1])), np.zeros((n, V.shape[1]))

    def fill(number: int) -> None:
        rows = slice(number * ROW_TILE, min(n, (number + 1) * ROW_TILE))
        part = left.tile(rows.start, rows.stop)
        for first in range(0, m, TILE):
            last = min(m, first + TILE)
            block = kernel.block(part, right.tile(first, last), np.empty((rows.stop - rows.start, last - first)))
            add_along_rows(block, V[first:last].T, out[rows], sizes[rows])

    with single_threaded_blas():
        run_tiles(fill, -(-n // ROW_TILE), n_threads if kernel.releases_gil else 1)
    return out, sizes


def cross_block(kernel: Kernel, left: Samples, right: Samples, n_threads: int) -> Matrix:
    """k(left, right) as a whole, filled by rows on threads."""
    n, m = len(left), len(right)
    out = np.empty((n, m))

    def fill(number: int) -> None:
        start, stop = number * ROW_TILE, min(n, (number + 1) * ROW_TILE)
        part = left.tile(start, stop)
        for first in range(0, m, TILE):
            last = min(m, first + TILE)
            kernel.block(part, right.tile(first, last), out[start:stop, first:last])

    run_tiles(fill, -(-n // ROW_TILE), n_threads if kernel.releases_gil else 1)
    return out
