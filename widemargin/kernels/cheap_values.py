"""Kernel values that cost less than a call from Python per tile: whole sums of rows, and whole squares, compiled.

Each is one compiled call per thread, in which the threads take turns (turns.py). Blocks filled and summed by calls from
Python took 15 % longer for 450 rows of cheap values, and twice as long for 50.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.kernels.distances import exponential_block
from widemargin.kernels.mirror import mirror
from widemargin.kernels.popcount import Different, table_block
from widemargin.kernels.samples.binary import BinaryRows
from widemargin.kernels.samples.dense import DenseColumns
from widemargin.linalg.row_sums import add_weighted_rows
from widemargin.parallel.atomics import next_turn
from widemargin.parallel.tiles import run_tiles

HEIGHT, WIDTH = 128, 512  # rows and columns evaluated at a time: 256 KB of float32, half a second-level cache
SQUARE_HEIGHT = 64  # rows of a square at a time: enough turns for several threads in blocks of 1,000


class Tabled(NamedTuple):
    """Values by the number of features in which two packed samples differ."""

    counted: Different
    table: NDArray


class CheapValues:
    """k(rows_i, columns_j) by a rule that `fill` knows."""

    def __init__(self, rows: BinaryRows | DenseColumns, columns: BinaryRows | DenseColumns, rule: tuple) -> None:
        self.rows, self.columns, self.rule = rows.location(), columns.location(), rule
        self.dtype = rows.dtype

    @classmethod
    def by_table(cls, rows: BinaryRows, columns: BinaryRows, table: NDArray) -> CheapValues:
        """Of kernels that are a table over the number of features in which two samples differ."""
        return cls(rows, columns, Tabled(Different(len(rows.words)), table.astype(rows.dtype)))

    def add_rows(self, weights: NDArray[np.float64], target: NDArray[np.float64], n_threads: int = 1) -> None:
        """target[j] += sum_i weights[i] k(rows_i, columns_j), summed in float64."""
        turn = np.zeros(1, np.int64)

        def add(_: int) -> None:
            add_rows(self.rule, *self.rows, *self.columns, weights, target, np.empty((HEIGHT, WIDTH), self.dtype), turn)

        run_tiles(add, n_threads, n_threads)

    def fill_square(self, out: NDArray, n_threads: int = 1) -> NDArray:
        """out[i, j] = k(rows_i, rows_j), half of it evaluated; `out` is C-contiguous."""
        turn = np.zeros(1, np.int64)
        run_tiles(lambda _: fill_square(self.rule, *self.rows, out, turn), n_threads, n_threads)
        return out


@jit
def add_rows(rule, x, start, n_rows, z, begin, n, weights, target, values, turn):
    """target[j] += sum_k weights[k] value(x_k, z_j), the samples as in `fill`; `values` is for what is evaluated."""
    flat = values.reshape(-1)
    places = np.arange(HEIGHT)
    while True:
        first = WIDTH * next_turn(turn)
        if first >= n:
            break
        width = min(WIDTH, n - first)
        for row in range(0, n_rows, HEIGHT):
            height = min(HEIGHT, n_rows - row)
            fill(rule, x, start + row, height, z, begin + first, width, flat, WIDTH)
            add_weighted_rows(values, 0, places[:height], weights[row : row + height], target[first : first + width])


@jit
def fill_square(rule, x, start, n, matrix, turn):
    """matrix[i, j] = value(x_i, x_j) for n samples: rows right of the diagonal, turned while they are in the cache."""
    flat = matrix.reshape(-1)
    while True:
        top = SQUARE_HEIGHT * next_turn(turn)
        if top >= n:
            break
        bottom = min(n, top + SQUARE_HEIGHT)
        for left in range(top, n, WIDTH):
            right = min(n, left + WIDTH)
            fill(rule, x, start + top, bottom - top, x, start + left, right - left, flat[top * n + left :], n)
            mirror(matrix, top, bottom, max(left, bottom), right)


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
