"""Weighted sums of kernel rows into a float64 function: of rows at hand, and of rows evaluated on the way.

Rows may be float32; sums are always float64, because float32 sums lie at large C (claimed 1e-3, true 4e-3 to 23e-3).

Where kernel values are cheap the second kind is one compiled call per thread. Blocks filled and summed by calls from
Python took 15 % longer for 450 rows of cheap values, and twice as long for 50.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from widemargin._jit import REASSOCIATE, jit
from widemargin.kernels.distances import exponential_block
from widemargin.kernels.popcount import Different, table_block
from widemargin.kernels.samples.binary import BinaryRows
from widemargin.kernels.samples.dense import DenseColumns

HEIGHT, WIDTH = 128, 512  # rows and columns evaluated at a time: 256 KB of float32, half a second-level cache
STRIP = 1024  # columns summed at a time: 8 kB of sums stay in the first-level cache


@jit(fastmath=REASSOCIATE)
def add_weighted_rows(rows, offset, slots, coefficients, target):
    """target += sum_k coefficients[k] rows[slots[k], offset:offset+len(target)], four rows per pass.

    `rows` is whole and C-contiguous: a column slice of it would lose the unit stride and run 2.5 times slower.
    """
    n = target.shape[0]
    count = slots.shape[0]
    for start in range(0, n, STRIP):
        stop = start + STRIP if start + STRIP < n else n
        length = stop - start
        sums = target[start:stop]
        k = 0
        while k + 4 <= count:
            c0, c1, c2, c3 = coefficients[k], coefficients[k + 1], coefficients[k + 2], coefficients[k + 3]
            r0 = rows[slots[k], offset + start : offset + stop]
            r1 = rows[slots[k + 1], offset + start : offset + stop]
            r2 = rows[slots[k + 2], offset + start : offset + stop]
            r3 = rows[slots[k + 3], offset + start : offset + stop]
            for t in range(length):
                sums[t] += (c0 * r0[t] + c1 * r1[t]) + (c2 * r2[t] + c3 * r3[t])
            k += 4
        while k < count:
            c0 = coefficients[k]
            r0 = rows[slots[k], offset + start : offset + stop]
            for t in range(length):
                sums[t] += c0 * r0[t]
            k += 1


#: Adds sum_k weights[k] k(rows_k, columns_j) for first <= j < last to target[j - first]: (first, last, weights, target)
RowSums = Callable[[int, int, NDArray[np.float64], NDArray[np.float64]], None]


class Tabled(NamedTuple):
    """Values by the number of features in which two packed samples differ."""

    counted: Different
    table: NDArray


def table_sums(rows: BinaryRows, columns: BinaryRows, table: NDArray) -> RowSums:
    """For kernels that are a table over the number of features in which two samples differ."""
    return _sums(rows, columns, Tabled(Different(len(rows.words)), table))


def exponential_sums(rows: DenseColumns, columns: DenseColumns, distance: tuple) -> RowSums:
    """For kernels exp(-scale * distance) of kernels/distances.py."""
    return _sums(rows, columns, distance)


def _sums(rows: BinaryRows | DenseColumns, columns: BinaryRows | DenseColumns, rule: tuple) -> RowSums:
    """For values by a rule that `fill` knows."""
    x, start, n_rows = rows.location()
    z, begin, _ = columns.location()

    def add(first: int, last: int, weights: NDArray[np.float64], target: NDArray[np.float64]) -> None:
        values = np.empty((HEIGHT, WIDTH), rows.dtype)
        add_rows(rule, x, start, n_rows, z, begin + first, last - first, weights, target, values)

    return add


@jit
def add_rows(rule, x, start, n_rows, z, begin, n, weights, target, values):
    """target[j] += sum_k weights[k] value(x_k, z_j), the samples as in `fill`; `values` is for what is evaluated."""
    flat = values.reshape(-1)
    places = np.arange(HEIGHT)
    for first in range(0, n, WIDTH):
        width = min(WIDTH, n - first)
        for row in range(0, n_rows, HEIGHT):
            height = min(HEIGHT, n_rows - row)
            fill(rule, x, start + row, height, z, begin + first, width, flat, WIDTH)
            add_weighted_rows(values, 0, places[:height], weights[row : row + height], target[first : first + width])


def fill(rule, x, left_start, n_left, z, right_start, n_right, flat, step):
    """Fill rows with the values of a rule; compiled code takes the overload below."""
    if isinstance(rule, Tabled):
        table_block(x, left_start, n_left, z, right_start, n_right, rule.counted, rule.table, flat, step)
    else:
        exponential_block(x, left_start, n_left, z, right_start, n_right, rule, flat, step)


@overload(fill)
def _choose_filling(rule, x, left_start, n_left, z, right_start, n_right, flat, step):
    """Chosen by type, so that only the loops in use are compiled."""
    if rule.instance_class is Tabled:
        return lambda rule, x, left_start, n_left, z, right_start, n_right, flat, step: table_block(
            x, left_start, n_left, z, right_start, n_right, rule.counted, rule.table, flat, step
        )
    return lambda rule, x, left_start, n_left, z, right_start, n_right, flat, step: exponential_block(
        x, left_start, n_left, z, right_start, n_right, rule, flat, step
    )
