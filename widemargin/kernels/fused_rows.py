"""Fused rows: kernel values evaluated, and summed or stored, inside one compiled call.

A call of `Kernel.block` costs some ten microseconds of Python, and a matrix product of a few rows spends most of its
time rearranging the other operand. That matters where values are cheap, and where a solver requests a handful of rows
at a time. `Kernel.fused_rows` returns two sets of samples with the rule for their values:

    Squared, Absolute, Chi    exp(-scale * distance) by direct differences (kernels/distances.py)
    Different, Common         a table over counts of 0/1 features (kernels/popcount.py)
    Products                  the Gaussian from inner products of samples by rows
    SparseProducts            the same from samples of which most values are zero

Each rule is a value of its own class, so that only the loops in use are compiled; its first field has the precision
of the values. Sums and squares are one compiled call per thread; an atomic counter divides the work among the threads
(parallel/atomics.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from widemargin._jit import CONTRACT, REASSOCIATE, jit
from widemargin.kernels.distances import Absolute, Chi, Squared, rows_of_distances
from widemargin.kernels.exponential import exp_of_row
from widemargin.kernels.mirror import mirror
from widemargin.kernels.popcount import Common, Different, table_rows
from widemargin.kernels.row_view import flat_rows
from widemargin.kernels.samples.binary import BinaryRows
from widemargin.kernels.samples.dense import DenseColumns
from widemargin.kernels.samples.layouts import SPARSE_TILE
from widemargin.linalg.row_sums import add_weighted_rows
from widemargin.parallel.atomics import next_turn
from widemargin.parallel.tiles import run_tiles

HEIGHT, WIDTH = 128, 512  # rows and columns evaluated at a time: 256 KB of float32, half a second-level cache
SQUARE_HEIGHT = 64  # rows of a square at a time: enough tasks for several threads in blocks of 1,000
RIGHT = 32  # right samples that stay in cache while all requested rows are evaluated on them


class Products(NamedTuple):
    """exp(scale x'z - |x|^2 - |z|^2), the squares as the samples give them; scale in the precision of the samples."""

    scale: np.floating


class SparseProducts(NamedTuple):
    """`Products` for samples of which most values are zero."""

    scale: np.floating


class FusedSamples(NamedTuple):
    """Samples in the form of the compiled loops.

    rows : where the loops of a rule find left samples
    columns, start, stop : where they find right samples, and the numbers of these there
    """

    rows: Any
    columns: Any
    start: int
    stop: int


class FusedLayout(NamedTuple):
    """Samples laid out for a few rows at a time, and the rule for their values."""

    rule: Any
    samples: FusedSamples


class FusedRows(NamedTuple):
    """Two sets of samples whose kernel values compiled code can evaluate, and the rule for these."""

    rule: Any
    first: FusedSamples
    second: FusedSamples

    @classmethod
    def of(cls, rule: Any, rows: BinaryRows | DenseColumns, columns: BinaryRows | DenseColumns) -> FusedRows:
        """Return the rows for sums and squares, with the first set of samples as prepared."""
        nothing = columns.tile(0, 0).by_row()
        return cls(rule, FusedSamples(rows.by_row(), *rows.by_column()), FusedSamples(nothing, *columns.by_column()))

    def add_rows(self, weights: NDArray[np.float64], target: NDArray[np.float64], n_threads: int = 1) -> None:
        """target[j] += sum_i weights[i] k(first_i, second_j), summed in float64."""
        turn, dtype = np.zeros(1, np.int64), self.rule[0].dtype
        run_tiles(
            lambda _: add_rows(self, weights, target, np.empty((HEIGHT, WIDTH), dtype), turn), n_threads, n_threads
        )

    def fill_square(self, out: NDArray, n_threads: int = 1) -> NDArray:
        """out[i, j] = k(first_i, first_j), half of it evaluated; `out` is C-contiguous."""
        turn = np.zeros(1, np.int64)
        run_tiles(lambda _: fill_square(self.rule, self.first, out, turn), n_threads, n_threads)
        return out


def fill_block(rule: Any, left: BinaryRows | DenseColumns, right: BinaryRows | DenseColumns, out: NDArray) -> NDArray:
    """out[i, j] = value of left_i and right_j."""
    if out.size:
        flat, step = flat_rows(out)
        z, start, stop = right.by_column()
        order = np.arange(len(out))
        fill(rule, left.by_row(), order, z, (start, stop), flat, step * order)
    return out


@jit(interpret_first=True)
def add_rows(source, weights, target, values, turn):
    """target[j] += sum_i weights[i] k(first_i, second_j); `values` is scratch memory for kernel values."""
    x, z = source.first, source.second
    flat, slots, count = values.reshape(-1), np.arange(HEIGHT), len(weights)
    places = WIDTH * slots
    while True:
        first = WIDTH * next_turn(turn)
        if first >= len(target):
            break
        last = min(len(target), first + WIDTH)
        span = z.start + first, z.start + last
        for row in range(0, count, HEIGHT):
            height = min(HEIGHT, count - row)
            fill(source.rule, x.rows, row + slots[:height], z.columns, span, flat, places[:height])
            add_weighted_rows(values, np.int64(0), slots[:height], weights[row : row + height], target[first:last])


@jit(interpret_first=True)
def fill_square(rule, x, matrix, turn):
    """matrix[i, j] = k(x_i, x_j): rows right of the diagonal, transposed while they are in the cache."""
    flat, n = matrix.reshape(-1), len(matrix)
    while True:
        top = SQUARE_HEIGHT * next_turn(turn)
        if top >= n:
            break
        bottom = min(n, top + SQUARE_HEIGHT)
        for left in range(top, n, WIDTH):
            right = min(n, left + WIDTH)
            span, rows = (x.start + left, x.start + right), np.arange(top, bottom)
            fill(rule, x.rows, rows, x.columns, span, flat, n * rows + left)
            mirror(matrix, top, bottom, max(left, bottom), right)


@jit(interpret_first=True)
def fill_rows(source, left, right, index, slots, out, start):
    """out[slots[k], start:] = the values of sample index[k] of set `left` (0 or 1) with all samples of set `right`.

    `out` is whole and C-contiguous: a slice of columns would lose the unit stride.
    """
    x = source.first if left == 0 else source.second
    z = source.first if right == 0 else source.second
    fill(source.rule, x.rows, index, z.columns, (z.start, z.stop), out.reshape(-1), slots * out.shape[1] + start)


def fill(rule, x, index, z, span, flat, places):
    """flat[places[i] + j] = value of x[index[i]] and z[span[0] + j], for all samples z of the span."""
    _LOOPS[type(rule)](rule, x, index, z, span, flat, places)


@overload(fill)
def _choose_loop(rule, x, index, z, span, flat, places):
    loop = _LOOPS[rule.instance_class]
    return lambda rule, x, index, z, span, flat, places: loop(rule, x, index, z, span, flat, places)


@jit
def rows_of_sparse_products(rule, x, index, z, span, flat, places):
    """`fill` for samples in tiles, from the first: a row after the other on a tile, eight values of x to a pass."""
    sums = np.empty(SPARSE_TILE, flat.dtype)
    for first in range(0, span[1], SPARSE_TILE):
        last = min(span[1], first + SPARSE_TILE)
        for k in range(len(index)):
            a, b = x.starts[index[k]], x.starts[index[k] + 1]
            sparse_products(x.features[a:b], x.values[a:b], z.tiles[first // SPARSE_TILE], sums)
            row = flat[places[k] + first : places[k] + last]
            for j in range(len(row)):
                row[j] = sums[j]
            exp_of_row(row, 0, rule.scale, x.squares[index[k]], z.squares[first:last])


@jit(fastmath=CONTRACT)
def sparse_products(features, values, tile, sums):
    """Inner products of a sample, given by its values that are not zero, with all samples of a tile."""
    for j in range(SPARSE_TILE):
        sums[j] = 0.0
    whole = len(features) // 8 * 8
    for k in range(0, whole, 8):
        v0, v1, v2, v3 = values[k], values[k + 1], values[k + 2], values[k + 3]
        v4, v5, v6, v7 = values[k + 4], values[k + 5], values[k + 6], values[k + 7]
        z0, z1, z2, z3 = tile[features[k]], tile[features[k + 1]], tile[features[k + 2]], tile[features[k + 3]]
        z4, z5, z6, z7 = tile[features[k + 4]], tile[features[k + 5]], tile[features[k + 6]], tile[features[k + 7]]
        for j in range(SPARSE_TILE):
            sums[j] += ((v0 * z0[j] + v1 * z1[j]) + (v2 * z2[j] + v3 * z3[j])) + (
                (v4 * z4[j] + v5 * z5[j]) + (v6 * z6[j] + v7 * z7[j])
            )
    for k in range(whole, len(features)):
        value, z0 = values[k], tile[features[k]]
        for j in range(SPARSE_TILE):
            sums[j] += value * z0[j]


@jit
def rows_of_products(rule, x, index, z, span, flat, places):
    """`fill` from inner products, four rows to a pass over RIGHT right samples, which serve all rows while in cache."""
    m = len(index)
    for first in range(span[0], span[1], RIGHT):
        last = min(span[1], first + RIGHT)
        at = first - span[0]
        for k in range(0, m, 4):
            k1, k2, k3 = min(k + 1, m - 1), min(k + 2, m - 1), min(k + 3, m - 1)
            which = index[k], index[k1], index[k2], index[k3]
            targets = places[k] + at, places[k1] + at, places[k2] + at, places[k3] + at
            four_products(x.values, which, z.values, (first, last), flat, targets)
        for k in range(m):
            exp_of_row(flat, places[k] + at, rule.scale, x.squares[index[k]], z.squares[first:last])


@jit(fastmath=REASSOCIATE)
def four_products(x, which, z, span, flat, targets):
    """Inner products of four rows of x with the rows of z in the span, two of these at a time.

    Eight sums at once: with four, each waited for its last addition (measured 1.6 times slower).
    """
    first, last = span
    a, b, c, d = x[which[0]], x[which[1]], x[which[2]], x[which[3]]
    out_a, out_b, out_c, out_d = targets
    zero = z.dtype.type(0.0)
    for j in range(0, last - first, 2):
        after = min(j + 1, last - first - 1)
        u, v = z[first + j], z[first + after]
        a_u = b_u = c_u = d_u = a_v = b_v = c_v = d_v = zero
        for k in range(u.shape[0]):
            a_u += a[k] * u[k]
            b_u += b[k] * u[k]
            c_u += c[k] * u[k]
            d_u += d[k] * u[k]
            a_v += a[k] * v[k]
            b_v += b[k] * v[k]
            c_v += c[k] * v[k]
            d_v += d[k] * v[k]
        flat[out_a + j], flat[out_b + j], flat[out_c + j], flat[out_d + j] = a_u, b_u, c_u, d_u
        flat[out_a + after], flat[out_b + after], flat[out_c + after], flat[out_d + after] = a_v, b_v, c_v, d_v


_LOOPS: dict[type, Any] = {
    Squared: rows_of_distances,
    Absolute: rows_of_distances,
    Chi: rows_of_distances,
    Different: table_rows,
    Common: table_rows,
    Products: rows_of_products,
    SparseProducts: rows_of_sparse_products,
}
