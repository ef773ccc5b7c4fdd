"""Rows of the kernel matrix of two classes, evaluated only for the samples a solver asks for.

A machine for many classes solves one problem per pair of classes. Half of each row of its kernel matrix is the same in
all pairs of the sample's class: the values within the class. Those are evaluated once (`ClassRows`) and
copied; the values with the other class belong to the pair.

Few samples of a pair become support vectors, so most rows are never needed: on usps, letter and MNIST a solve asks for
5-20 % of them, and evaluating whole blocks was 60-70 % of the time of a fit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.gram.accumulate import copy_rows
from widemargin.gram.gram import COLUMN_TILE, Gram
from widemargin.gram.memory import ThreadMemory
from widemargin.kernels.errors import ErrorTerms
from widemargin.kernels.fused_rows import can_fill, fill_rows
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.linalg.row_sums import add_weighted_rows

ABSENT = -1


class ClassRows:
    """Rows of the kernel matrix within one class, each evaluated when a pair first asks for it.

    Threads need no lock: two that ask for one row at once write the same values to the same place.

    Parameters
    ----------
    arrange, errors : what `kernel.fused_layout` says about these samples
    """

    def __init__(
        self,
        kernel: Kernel,
        samples: Samples,
        dtype: np.dtype,
        arrange: Callable[[Any], Any],
        errors: ErrorTerms,
    ) -> None:
        self.kernel, self.samples, self.errors = kernel, samples, errors
        self.row_samples = arrange(samples)
        n = len(samples)
        self.rows = np.empty((n, n), dtype)  # the system takes memory only where rows are written
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
        fill_from_blocks(self.kernel, samples, self.samples, values)
        copy_rows(values, np.arange(len(index)), self.rows, index, 0)
        self.known[index] = True
        return len(index)


class PairGram(Gram):
    """The kernel matrix of the samples of class a, then those of class b, row by row.

    Parameters
    ----------
    first, second : the rows within the two classes, shared with other pairs
    memory : where the rows are kept, used again by the next pair of the same thread
    """

    def __init__(self, kernel: Kernel, first: ClassRows, second: ClassRows, memory: ThreadMemory) -> None:
        self.kernel, self.first, self.second = kernel, first, second
        self.n_first = len(first)
        self.dtype = first.rows.dtype
        self.diag = np.concatenate([first.diag, second.diag])
        self.rows = memory.array(len(self.diag), len(self.diag), self.dtype)
        self.slot = np.full(len(self.diag), ABSENT, np.int64)  # where the row of a sample is
        self.used = np.zeros(1, np.int64)  # rows that are there
        self.source = kernel.fused_rows(first.row_samples, second.row_samples)

    @cached_property
    def errors(self) -> ErrorTerms:  # type: ignore[override]
        return self.first.errors.joined(self.second.errors)

    @property
    def parts(self) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray, NDArray, NDArray]:
        """What the compiled loops need: the rows, where they are, how many, and those within the classes."""
        first, second = self.first, self.second
        return self.rows, self.slot, self.used, first.rows, second.rows, first.known, second.known

    def need(self, index: NDArray[np.int64]) -> None:
        """Evaluate the rows of `index` that are not there; the indices differ from one another."""
        index = index[self.slot[index] == ABSENT]
        if can_fill(
            self.source
        ):  # by the same loops as those that solvers call: one way to evaluate, one bound on errors
            evaluate(self.source, *self.parts, index)
            self.rows_computed = int(self.used[0])
            return
        here = index < self.n_first
        for side, inside in ((0, index[here]), (1, index[~here] - self.n_first)):
            if not len(inside):
                continue
            own, other = (self.first, self.second) if side == 0 else (self.second, self.first)
            own_start = 0 if side == 0 else self.n_first
            between = slice(self.n_first, None) if side == 0 else slice(0, self.n_first)
            samples = own.samples.take(inside)
            own.need(inside, samples)
            start = int(self.used[0])
            stop = self.used[0] = start + len(inside)
            slots = self.slot[inside + own_start] = np.arange(start, stop)
            copy_rows(own.rows, inside, self.rows, slots, own_start)
            fill_from_blocks(self.kernel, samples, other.samples, self.rows[start:stop, between])
        self.rows_computed = int(self.used[0])

    def block(self, index: NDArray[np.int64]) -> NDArray:
        self.need(index)
        out = np.empty((len(index), len(index)), self.dtype)
        gather_square(self.rows, self.slot, index, 0, out)
        return out

    def add_rows(self, index, coefficients, function, keep=None) -> None:  # type: ignore[no-untyped-def]
        slots = self.slot[index]
        absent = int(np.count_nonzero(slots == ABSENT))
        self.row_hits += len(index) - absent
        if absent:
            self.need(index)
            slots = self.slot[index]
        add_weighted_rows(self.rows, 0, slots, coefficients, function)


def fill_from_blocks(kernel: Kernel, left: Samples, right: Samples, out: NDArray) -> None:
    """out = k(left, right), in tiles of columns."""
    for first in range(0, len(right), COLUMN_TILE):
        last = min(len(right), first + COLUMN_TILE)
        kernel.block(left, right.tile(first, last), out[:, first:last])


@jit
def gather_square(rows, slot, index, done, out):
    """out = K[index][:, index] from the rows of `index`; the corner of the first `done` of them is there already."""
    n = index.shape[0]
    for k in range(done, n):
        row = rows[slot[index[k]]]
        target = out[k]
        for m in range(n):
            target[m] = row[index[m]]
        for m in range(done):
            out[m, k] = target[m]


@jit
def evaluate(source, rows, slot, used, first, second, first_known, second_known, new):
    """Rows of the new variables: within their class where no other pair has asked for them, and between the classes.

    Other threads may read rows within a class, or write the same ones, so only finished values are put there.
    """
    n_first = first.shape[0]
    inside = np.empty(new.shape[0], np.int64)
    slots = np.empty(new.shape[0], np.int64)
    missing = np.empty(new.shape[0], np.int64)
    for side in range(2):
        own, known = (first, first_known) if side == 0 else (second, second_known)
        count = 0
        absent = 0
        for k in range(new.shape[0]):
            if (new[k] < n_first) == (side == 0):
                inside[count] = new[k] - side * n_first
                slots[count] = slot[new[k]] = used[0]
                used[0] += 1
                if not known[inside[count]]:
                    missing[absent] = inside[count]
                    absent += 1
                count += 1
        if absent > 0:
            finished = np.empty((absent, own.shape[1]), own.dtype)
            places = np.arange(absent)
            fill_rows(source, side, side, missing[:absent], places, finished, 0)
            copy_rows(finished, places, own, missing[:absent], 0)
            for k in range(absent):
                known[missing[k]] = True
        copy_rows(own, inside[:count], rows, slots[:count], side * n_first)
        fill_rows(source, side, 1 - side, inside[:count], slots[:count], rows, (1 - side) * n_first)
