"""Products K V with a kernel matrix that need not fit the memory.

The matrix is cut into square tiles; by symmetry only those on and above the diagonal are made, and each serves twice,

    (K V)_i += K_ij V_j        (K V)_j += K_ij' V_i.

As many tiles as the memory budget allows are kept, the others are evaluated anew in every product. Tiles may be
float32; vectors and sums are float64. Sums are collected in a number of parts that depends on the sizes only, never on
the number of threads, so that the same data give the same answer to the last bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin._jit import REASSOCIATE, jit
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.threads import run_tiles, single_threaded_blas

TILE = 1024  # samples per side: kernels prepare their samples for this multiple
PARTS = 16  # partial sums of a product: enough for as many cores, and few to add up
PART_MEMORY = 1 << 28  # bytes of partial sums above which there are fewer of them, for many right-hand sides
ROW_TILE = 256  # rows per task of a product between two sets of samples

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
                tile = self.kept[number]
                if tile is None:
                    if number < self.n_kept:
                        tile = self.kept[number] = np.empty((bottom - top, right - left), self.dtype)
                    else:
                        buffer = np.empty((TILE, TILE), self.dtype) if buffer is None else buffer
                        tile = buffer[: bottom - top, : right - left]
                    self.kernel.block(self.samples.tile(top, bottom), self.samples.tile(left, right), tile)
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


def cross_product(kernel: Kernel, left: Samples, right: Samples, V: Matrix, n_threads: int) -> Matrix:
    """k(left, right) V in float64 tiles, shape (len(left), m); the matrix is never held as a whole."""
    n, m = len(left), len(right)
    out = np.empty((n, V.shape[1]))

    def fill(number: int) -> None:
        rows = slice(number * ROW_TILE, min(n, (number + 1) * ROW_TILE))
        part = left.tile(rows.start, rows.stop)
        buffer = np.empty((rows.stop - rows.start, min(TILE, m)))
        total = np.zeros((rows.stop - rows.start, V.shape[1]))
        for first in range(0, m, TILE):
            last = min(m, first + TILE)
            block = kernel.block(part, right.tile(first, last), buffer[:, : last - first])
            total += block @ V[first:last]
        out[rows] = total

    with single_threaded_blas():
        run_tiles(fill, -(-n // ROW_TILE), n_threads if kernel.releases_gil else 1)
    return out


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
