"""Rows of the kernel matrix of two classes, evaluated only for the samples a solver asks for.

A machine for many classes solves one problem per pair of classes. Its kernel matrix has four blocks:

    within a    K_aa    rows shared by all pairs that class a stands in (`ClassRows`)
    between     K_ab    rows of this pair alone
    within b    K_bb    rows shared by all pairs that class b stands in

Few samples of a pair become support vectors, so most rows are never needed: on usps, letter and MNIST a solve asks for
5-20 % of them, and evaluating whole blocks was 60-70 % of the time of a fit.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.gram.accumulate import add_weighted_rows, copy_rows
from widemargin.gram.gram import COLUMN_TILE, Gram
from widemargin.kernels.kernel import Kernel, Samples

ABSENT = -1


class ClassRows:
    """Rows of the kernel matrix within one class, each evaluated when a pair first asks for it.

    Threads need no lock: two that ask for one row at once write the same values to the same place.
    """

    def __init__(self, kernel: Kernel, samples: Samples, dtype: np.dtype) -> None:
        self.kernel, self.samples = kernel, samples
        n = len(samples)
        self.rows = np.empty((n, n), dtype)  # memory is taken by the system only where rows are written
        self.known = np.zeros(n, np.bool_)
        self.diag = kernel.diag(samples)

    def __len__(self) -> int:
        return len(self.known)

    def need(self, index: NDArray[np.int64], samples: Samples) -> int:
        """Evaluate the rows of `index` that are not there; `samples` are those samples. Returns how many were new."""
        missing = np.flatnonzero(~self.known[index])
        if not len(missing):
            return 0
        if len(missing) < len(index):
            index, samples = index[missing], samples.take(missing)
        values = np.empty((len(index), len(self)), self.rows.dtype)
        fill_rows(self.kernel, samples, self.samples, values)
        copy_rows(values, np.arange(len(index)), self.rows, index, 0)
        self.known[index] = True
        return len(index)


class PairGram(Gram):
    """The kernel matrix of the samples of class a, then those of class b, row by row.

    Parameters
    ----------
    first, second : the rows within the two classes, shared with other pairs
    memory : where the rows between the classes are kept, used again by the next pair of the same thread
    """

    def __init__(self, kernel: Kernel, first: ClassRows, second: ClassRows, memory: RowMemory) -> None:
        self.kernel, self.first, self.second = kernel, first, second
        self.n_first = len(first)
        self.dtype = first.rows.dtype
        self.diag = np.concatenate([first.diag, second.diag])
        self.from_first = memory.rows(0, len(first), len(second), self.dtype)
        self.from_second = memory.rows(1, len(second), len(first), self.dtype)
        self.slot = np.full(len(self.diag), ABSENT, np.int64)
        self.used = np.zeros(2, np.int64)  # rows between the classes that are there, from either side
        self.known = (first.known, second.known)
        self.source = kernel.row_source(first.samples, second.samples)

    @property
    def parts(self) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray, int]:
        """What the compiled loops need: rows within and between, and where the row of a sample is."""
        return self.first.rows, self.second.rows, self.from_first, self.from_second, self.slot, self.n_first

    def need(self, index: NDArray[np.int64]) -> None:
        """Evaluate the rows of `index` that are not there; the indices differ from one another."""
        index = index[self.slot[index] == ABSENT]
        here = index < self.n_first
        for side, inside in ((0, index[here]), (1, index[~here] - self.n_first)):
            if not len(inside):
                continue
            own, other = (self.first, self.second) if side == 0 else (self.second, self.first)
            samples = own.samples.take(inside)
            own.need(inside, samples)
            start = self.used[side]
            stop = self.used[side] = int(start) + len(inside)
            fill_rows(self.kernel, samples, other.samples, (self.from_second if side else self.from_first)[start:stop])
            self.slot[inside + side * self.n_first] = np.arange(start, stop)
        self.rows_computed = int(self.used.sum())

    def block(self, index: NDArray[np.int64]) -> NDArray:
        self.need(index)
        out = np.empty((len(index), len(index)), self.dtype)
        gather_pair(*self.parts, index, 0, out)
        return out

    def add_rows(self, index, coefficients, function, keep=None) -> None:  # type: ignore[no-untyped-def]
        self.row_hits += int(np.count_nonzero(self.slot[index] != ABSENT))
        self.need(index)
        add_pair_rows(*self.parts, index, coefficients, function)


class RowMemory(threading.local):
    """Memory for the rows between two classes, one piece per side and thread: touching fresh memory is costly."""

    def __init__(self) -> None:
        self.pieces: dict[int, NDArray] = {}

    def rows(self, side: int, n: int, width: int, dtype: np.dtype) -> NDArray:
        """An (n, width) array, in memory that the next call with this side will use again."""
        piece = self.pieces.get(side)
        if piece is None or piece.size < n * width or piece.dtype != dtype:
            piece = self.pieces[side] = np.empty(n * width, dtype)
        return piece[: n * width].reshape(n, width)


def fill_rows(kernel: Kernel, left: Samples, right: Samples, out: NDArray) -> None:
    """out = k(left, right), in tiles of columns."""
    for first in range(0, len(right), COLUMN_TILE):
        last = min(len(right), first + COLUMN_TILE)
        kernel.block(left, right.tile(first, last), out[:, first:last])


@jit
def gather_pair(first, second, from_first, from_second, slot, n_first, index, done, out):
    """out = K[index][:, index], from the rows of `index`; the corner of the first `done` of them is there already."""
    n = index.shape[0]
    for k in range(n):
        i = index[k]
        target = out[k]
        begin = done if k < done else 0
        if i < n_first:
            within = first[i]
            between = from_first[slot[i]]
            for m in range(begin, n):
                j = index[m]
                target[m] = within[j] if j < n_first else between[j - n_first]
        else:
            within = second[i - n_first]
            between = from_second[slot[i]]
            for m in range(begin, n):
                j = index[m]
                target[m] = between[j] if j < n_first else within[j - n_first]


@jit
def add_pair_rows(first, second, from_first, from_second, slot, n_first, index, coefficients, function):
    """function += sum_k coefficients[k] K[index[k], :]."""
    count = index.shape[0]
    inside = np.empty(count, np.int64)
    slots = np.empty(count, np.int64)
    weights = np.empty(count)
    for side in range(2):
        m = 0
        for k in range(count):
            if (index[k] < n_first) == (side == 0):
                inside[m] = index[k] - side * n_first
                slots[m] = slot[index[k]]
                weights[m] = coefficients[k]
                m += 1
        own = function[:n_first] if side == 0 else function[n_first:]
        other = function[n_first:] if side == 0 else function[:n_first]
        add_weighted_rows(first if side == 0 else second, 0, inside[:m], weights[:m], own)
        add_weighted_rows(from_first if side == 0 else from_second, 0, slots[:m], weights[:m], other)
