"""Rows of a kernel matrix evaluated inside compiled code, for solvers that ask for a few rows at a time.

A call of `Kernel.block` costs some ten microseconds of Python, and a matrix product of a few rows spends most of its
time rearranging the other operand (measured on usps: 24 rows at a time ran at a fifth of the speed of whole blocks).
Where a solver of many small problems needs a handful of rows per round, that would be most of its time.

    DirectRows          exp(-scale * distance) of samples in tiles (kernels/distances.py)
    ProductRows         the Gaussian from inner products of samples by rows
    SparseProductRows   the same from samples in tiles that are mostly zeros: on MNIST, a fifth of the products
    NoRows              any other kernel: the solver returns to Python for its rows

Each is given as a value of a class of its own, so that only the loops in use are compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from widemargin._jit import CONTRACT, REASSOCIATE, jit
from widemargin.kernels.distances import ROWS, Squared, padded, rows_on_strip
from widemargin.kernels.exponential import exp_of_row
from widemargin.kernels.samples.tiles import SPARSE_TILE, TILE, SparseTiles, Tiles

RIGHT = 32  # right samples that stay in cache while all rows asked for are evaluated on them


class NoRows(NamedTuple):
    """Rows come from `Kernel.block`."""

    nothing: int = 0


class DirectRows(NamedTuple):
    """Two sets of samples, and their distance."""

    first: Tiles
    second: Tiles
    distance: Squared


class ProductRows(NamedTuple):
    """Two sets of samples by rows, gamma |x|^2 of each, and 2 gamma in their precision."""

    first: NDArray
    second: NDArray
    first_squares: NDArray
    second_squares: NDArray
    twice_gamma: np.floating


class SparseProductRows(NamedTuple):
    """Two sets of samples that are mostly zeros, gamma |x|^2 of each, and 2 gamma in their precision."""

    first: SparseTiles
    second: SparseTiles
    first_squares: NDArray
    second_squares: NDArray
    twice_gamma: np.floating


def can_fill(source: Any) -> bool:
    """Whether rows can be evaluated in compiled code."""
    return not isinstance(source, NoRows)


@overload(can_fill)
def _can_fill(source):
    able = source.instance_class is not NoRows
    return lambda source: able


def fill_rows(source: Any, left: int, right: int, index: Any, slots: Any, out: Any, start: int) -> None:
    """out[slots[k], start:] = the values of sample index[k] of set `left` (0 or 1) with all samples of set `right`.

    `out` is whole and C-contiguous: a slice of columns would lose the unit stride.
    """
    _FILL[type(source)](source, left, right, index, slots, out, start)


@overload(fill_rows)
def _choose_fill(source, left, right, index, slots, out, start):
    """The loops of the given source."""
    if isinstance(source, types.BaseNamedTuple):
        return _FILL[source.instance_class]
    return None


def _fill_nothing(source, left, right, index, slots, out, start):
    """Never reached: solvers ask `can_fill` first."""


def _fill_direct(source, left, right, index, slots, out, start):
    """Four rows to a pass over a tile of right samples, as in kernels/distances.py."""
    x = source.first.rows if left == 0 else source.second.rows
    n = len(source.first.rows) if right == 0 else len(source.second.rows)
    tiles = source.first.tiles if right == 0 else source.second.tiles
    flat = out.reshape(-1)
    which, places = np.empty(padded(len(index)), np.int64), np.empty(padded(len(index)), np.int64)
    for i in range(len(which)):
        k = min(i, len(index) - 1)
        which[i] = index[k]
        places[i] = slots[k] * out.shape[1] + start
    spare = np.empty((ROWS, TILE), out.dtype)
    for number in range(len(tiles)):
        first = number * TILE
        width = min(TILE, n - first)
        rows_on_strip(source.distance, x, which, tiles[number], width, flat, places, first, spare)


def _fill_sparse_products(source, left, right, index, slots, out, start):
    """A row after the other on a tile of right samples, eight values of the left sample to a pass."""
    x = source.first if left == 0 else source.second
    tiles = source.first.tiles if right == 0 else source.second.tiles
    x_squares = source.first_squares if left == 0 else source.second_squares
    z_squares = source.first_squares if right == 0 else source.second_squares
    n = len(z_squares)
    sums = np.empty(SPARSE_TILE, out.dtype)
    for number in range(len(tiles)):
        first = number * SPARSE_TILE
        width = min(SPARSE_TILE, n - first)
        for k in range(len(index)):
            a, b = x.starts[index[k]], x.starts[index[k] + 1]
            sparse_products(x.features[a:b], x.values[a:b], tiles[number], sums)
            row = out[slots[k], start + first : start + first + width]
            for j in range(width):
                row[j] = sums[j]
            exp_of_row(row, 0, source.twice_gamma, x_squares[index[k]], z_squares[first : first + width])


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


def _fill_products(source, left, right, index, slots, out, start):
    """Four rows to a pass over a right sample; a tile of right samples serves all rows while it is in cache."""
    x = source.first if left == 0 else source.second
    z = source.first if right == 0 else source.second
    x_squares = source.first_squares if left == 0 else source.second_squares
    z_squares = source.first_squares if right == 0 else source.second_squares
    n, m = len(z), len(index)
    for first in range(0, n, RIGHT):
        last = min(n, first + RIGHT)
        for k in range(0, m, 4):
            k1, k2, k3 = min(k + 1, m - 1), min(k + 2, m - 1), min(k + 3, m - 1)
            four_products(
                x[index[k]], x[index[k1]], x[index[k2]], x[index[k3]], z, first, last,
                out[slots[k], start:], out[slots[k1], start:], out[slots[k2], start:], out[slots[k3], start:],
            )  # fmt: skip
        for k in range(m):
            exp_of_row(
                out[slots[k], start + first : start + last],
                0,
                source.twice_gamma,
                x_squares[index[k]],
                z_squares[first:last],
            )


@jit(fastmath=REASSOCIATE)
def four_products(a, b, c, d, z, first, last, out_a, out_b, out_c, out_d):
    """Inner products of four vectors with the rows first:last of z, two rows at a time.

    Eight sums at once: with four, each waited for its last addition (measured 1.6 times slower).
    """
    zero = z.dtype.type(0.0)
    for j in range(first, last, 2):
        after = min(j + 1, last - 1)
        u, v = z[j], z[after]
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
        out_a[j], out_b[j], out_c[j], out_d[j] = a_u, b_u, c_u, d_u
        out_a[after], out_b[after], out_c[after], out_d[after] = a_v, b_v, c_v, d_v


_FILL: dict[type, Any] = {
    NoRows: _fill_nothing,
    DirectRows: _fill_direct,
    ProductRows: _fill_products,
    SparseProductRows: _fill_sparse_products,
}
