"""Weighted sums of kernel rows into a float64 function: of rows at hand, and of rows evaluated on the way.

Rows may be float32; sums are always float64, because float32 sums lie at large C (claimed 1e-3, true 4e-3 to 23e-3).

Where kernel values are cheap the second kind is one compiled call per thread. Blocks filled and summed by calls from
Python took 15 % longer for 450 rows of cheap values, and twice as long for 50.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
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


def table_sums(rows: BinaryRows, columns: BinaryRows, table: NDArray) -> RowSums:
    """For kernels that are a table over the number of features in which two samples differ."""
    x, start, n_rows = rows.location()
    z, begin, _ = columns.location()
    counted = Different(len(x))
    return lambda first, last, weights, target: add_table_rows(
        x, start, n_rows, z, begin + first, last - first, counted, table, weights, target
    )


def exponential_sums(rows: DenseColumns, columns: DenseColumns, distance: tuple) -> RowSums:
    """For kernels exp(-scale * distance) of kernels/distances.py."""
    x, start, n_rows = rows.location()
    z, begin, _ = columns.location()
    return lambda first, last, weights, target: add_exponential_rows(
        x, start, n_rows, z, begin + first, last - first, distance, weights, target
    )


@jit
def add_table_rows(x, start, n_rows, z, begin, n, counted, table, weights, target):
    """target[j] += sum_k weights[k] table[count of x_k and z_j], the samples as in `table_block`."""
    values = np.empty((HEIGHT, WIDTH), table.dtype)
    flat = values.reshape(-1)
    places = np.arange(HEIGHT)
    for first in range(0, n, WIDTH):
        width = min(WIDTH, n - first)
        for row in range(0, n_rows, HEIGHT):
            height = min(HEIGHT, n_rows - row)
            table_block(x, start + row, height, z, begin + first, width, counted, table, flat, WIDTH)
            add_weighted_rows(values, 0, places[:height], weights[row : row + height], target[first : first + width])


@jit
def add_exponential_rows(x, start, n_rows, z, begin, n, distance, weights, target):
    """target[j] += sum_k weights[k] exp(-scale * distance(x_k, z_j)), the samples as in `exponential_block`."""
    values = np.empty((HEIGHT, WIDTH), z.dtype)
    flat = values.reshape(-1)
    places = np.arange(HEIGHT)
    for first in range(0, n, WIDTH):
        width = min(WIDTH, n - first)
        for row in range(0, n_rows, HEIGHT):
            height = min(HEIGHT, n_rows - row)
            exponential_block(x, start + row, height, z, begin + first, width, distance, flat, WIDTH)
            add_weighted_rows(values, 0, places[:height], weights[row : row + height], target[first : first + width])
