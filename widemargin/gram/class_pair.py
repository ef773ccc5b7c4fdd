"""Rows of the kernel matrix of two classes, evaluated only for the samples that a solver requests.

A model of many classes solves one problem per class pair. Half of each row of its kernel matrix is the same in all
pairs of the sample's class: the values within the class. Those are evaluated once (`ClassRows`) and copied; the values
with the other class belong to the pair.

Few samples of a pair become support vectors, so most rows are never needed: on usps, letter and MNIST a solve needs
5-20 % of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.gram.gram import Gram
from widemargin.gram.memory import ThreadMemory
from widemargin.gram.row_store import ABSENT, RowStore, Within, evaluate_now, gather_square
from widemargin.kernels.errors import ErrorTerms
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.linalg.arrays import Index
from widemargin.linalg.row_sums import add_weighted_rows


class ClassRows:
    """Rows of the kernel matrix within one class, each evaluated when a pair first needs it.

    Threads need no lock: two threads that evaluate the same row write the same values to the same place, and a row
    is read only after its flag was published (parallel/atomics.py).

    Parameters
    ----------
    arrange, errors : result of `kernel.fused_layout` for these samples
    """

    def __init__(
        self, kernel: Kernel, samples: Samples, dtype: np.dtype, arrange: Callable[[Any], Any], errors: ErrorTerms
    ) -> None:
        self.kernel, self.errors, self.row_samples = kernel, errors, arrange(samples)
        n = len(samples)
        self.rows = np.empty((n, n), dtype)  # the system allocates pages only where rows are written
        self.known = np.zeros(n, np.bool_)
        self.diag = kernel.diag(samples)


class PairGram(Gram):
    """The kernel matrix of the samples of class a, then those of class b, row by row.

    Parameters
    ----------
    first, second : the rows within the two classes, shared with other pairs
    memory : memory for the rows, reused by the next pair of the same thread
    """

    store: RowStore

    def __init__(self, first: ClassRows, second: ClassRows, memory: ThreadMemory) -> None:
        self.first, self.second = first, second
        self.dtype = first.rows.dtype
        self.diag = np.concatenate([first.diag, second.diag])
        n = len(self.diag)
        rows = memory.array(n, n, self.dtype)
        self.store = RowStore(
            first.kernel.fused_rows(first.row_samples, second.row_samples),
            rows,
            rows,
            np.full(n, ABSENT, np.int64),
            np.zeros(1, np.int64),
            Within(first.rows, second.rows, first.known, second.known),
            self.diag,
        )

    @cached_property
    def errors(self) -> ErrorTerms:  # type: ignore[override]
        return self.first.errors.joined(self.second.errors)

    @property
    def rows_computed(self) -> int:  # type: ignore[override]
        return int(self.store.used[0])

    def need(self, index: Index) -> None:
        """Evaluate the missing rows of `index`; the indices must be distinct."""
        missing = index[self.store.slot[index] == ABSENT]
        if len(missing):
            evaluate_now(self.store, missing)

    def block(self, index: Index) -> NDArray:
        self.need(index)
        out = np.empty((len(index), len(index)), self.dtype)
        gather_square(self.store.rows, self.store.slot, index, 0, out)
        return out

    def add_rows(self, index, coefficients, Kb, keep=None) -> None:  # type: ignore[no-untyped-def]
        self.row_hits += int(np.count_nonzero(self.store.slot[index] != ABSENT))
        self.need(index)
        add_weighted_rows(self.store.rows, 0, self.store.slot[index], coefficients, Kb)
