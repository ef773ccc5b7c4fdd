"""Rows of a kernel matrix in memory for compiled code: which rows are stored, and how to evaluate all others.

A full matrix has every row from the start. For a class pair only the rows that a solver requests are evaluated; the
half of a row within its class is shared by all pairs of that class (gram/class_pair.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.gram.accumulate import copy_rows
from widemargin.kernels.fused_rows import fill_rows
from widemargin.linalg.arrays import Index, Vector
from widemargin.parallel.atomics import is_published, publish

ABSENT = -1  # slot of a row that is not in memory


class Within(NamedTuple):
    """Rows within the two classes of a pair, and which of them are known."""

    first: NDArray
    second: NDArray
    first_known: NDArray[np.bool_]
    second_known: NDArray[np.bool_]


class FullStore(NamedTuple):
    """All rows of the kernel matrix of n samples: the row of sample i is `rows[slot[i]]`.

    fast : the same rows, perhaps in float32: steps are made on these, and K b is summed from `rows`
    """

    rows: NDArray
    slot: Index
    diag: Vector
    fast: NDArray


class WarmStore(NamedTuple):
    """All rows of a kernel matrix, for a problem that starts near its answer: its block grows by violators.

    The fields are those of FullStore; the type determines which code is compiled.
    """

    rows: NDArray
    slot: Index
    diag: Vector
    fast: NDArray


class RowStore(NamedTuple):
    """The requested rows of the kernel matrix of two classes.

    source : evaluates rows in compiled code (kernels/fused_rows.py)
    rows, fast : at least as many rows of n values as are known; `fast` is the same array
    slot : slot of the row of each sample, or ABSENT
    used : number of rows stored
    within : rows of the two classes
    diag : k(x, x), float64
    """

    source: Any
    rows: NDArray
    fast: NDArray
    slot: Index
    used: Index
    within: Within
    diag: Vector


@jit
def gather_square(rows, slot, index, done, out):
    """Fill out = K[index][:, index] from the rows of `index`; the corner of the first `done` is already filled."""
    n = index.shape[0]
    for k in range(done, n):
        row = rows[slot[index[k]]]
        target = out[k]
        for m in range(n):
            target[m] = row[index[m]]
        for m in range(done):
            out[m, k] = target[m]


def has_type(store: Any, kind: type) -> bool:
    """Whether a store, or a store of this Numba type, is of a kind."""
    return isinstance(store, kind) or getattr(store, "instance_class", None) is kind


def evaluate_rows(store: Any, new: Index) -> None:
    """Evaluate the rows of the new samples: within their class where no other pair has, and between the classes.

    Other threads may read rows within a class, or write the same rows, so only final values are written.
    """
    (_evaluate_pair if has_type(store, RowStore) else _nothing_to_evaluate)(store, new)


@overload(evaluate_rows)
def _choose_evaluation(store, new):
    """Choose the evaluation by the type of the store: for a full matrix no loop is compiled."""
    return _evaluate_pair if has_type(store, RowStore) else _nothing_to_evaluate


def _nothing_to_evaluate(store, new):
    pass


def _evaluate_pair(store, new):
    n_first = store.within.first.shape[0]
    inside = np.empty(new.shape[0], np.int64)
    slots = np.empty(new.shape[0], np.int64)
    missing = np.empty(new.shape[0], np.int64)
    for side in range(2):
        own = store.within.first if side == 0 else store.within.second
        known = store.within.first_known if side == 0 else store.within.second_known
        count = 0
        absent = 0
        for k in range(new.shape[0]):
            if (new[k] < n_first) == (side == 0):
                inside[count] = new[k] - side * n_first
                slots[count] = store.slot[new[k]] = store.used[0]
                store.used[0] += 1
                if not is_published(known, inside[count]):
                    missing[absent] = inside[count]
                    absent += 1
                count += 1
        if absent > 0:
            finished = np.empty((absent, own.shape[1]), own.dtype)
            places = np.arange(absent)
            fill_rows(store.source, side, side, missing[:absent], places, finished, np.int64(0))
            copy_rows(finished, places, own, missing[:absent], np.int64(0))
            for k in range(absent):
                publish(known, missing[k])
        copy_rows(own, inside[:count], store.rows, slots[:count], side * n_first)
        fill_rows(store.source, side, 1 - side, inside[:count], slots[:count], store.rows, (1 - side) * n_first)


@jit(interpret_first=True)
def evaluate_now(store, new):
    """`evaluate_rows` for Python, by the same loops as in the solvers, so that one error bound covers both."""
    evaluate_rows(store, new)
