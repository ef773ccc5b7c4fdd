"""The kernel matrix of rows on a cluster, as the solvers use it; F and b stay here.

Round    blocks K_WW are evaluated here, from rows that were fetched once; rows of the variables that moved are summed
         by one task per slab. With m of them, d features, n samples and P slabs a round costs

             to workers     m (4 d + 16) bytes for each process       from workers     8 n bytes

End      the active variables of the last rounds become a local Gram, if a round costs less here (`part`)
Errors   those of a local Gram: the terms of all samples come with the diagonal, once (8 (2 q + 2) n bytes)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin.costs import threads_for
from widemargin.dask import slabs
from widemargin.dask.plan import GOOD_BLOCK, ROUND
from widemargin.dask.rows import Rows
from widemargin.gram.cached import USUAL_BLOCK, CachedGram
from widemargin.gram.gram import Gram, symmetric_block
from widemargin.gram.memory import ThreadMemory
from widemargin.kernels.errors import ErrorTerms
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.linalg.arrays import Index, Vector


class ClusterGram(Gram):
    """Rows by sample, summed on the workers.

    Parameters
    ----------
    kernel, rows, template : the kernel, the rows, and samples whose representation all take
    dtype : float32 or float64
    budget : bytes for blocks and for a local part
    n_threads : threads of this process
    """

    def __init__(
        self, kernel: Kernel, rows: Rows, template: Samples, dtype: DTypeLike, budget: int, n_threads: int
    ) -> None:
        self.kernel, self.rows, self.template, self.dtype = kernel, rows, template, np.dtype(dtype)
        self.n_threads, self.budget = n_threads, budget
        self.block_limit = (max(0, budget) / (2 * self.dtype.itemsize)) ** 0.5
        self.cluster, self.memory = rows.cluster, ThreadMemory()
        self.slabs = rows.prepared(kernel, self.dtype, template)
        found = self.cluster.results(
            [rows.job(f"facts-{self.dtype.name}", slab, slabs.facts, self.slabs[slab.number], kernel)
             for slab in rows.slabs]
        )  # fmt: skip
        self.diag, *terms = (np.concatenate(parts) for parts in zip(*found))
        self.errors = ErrorTerms(*terms)
        self.entry_cost = kernel.entry_cost(template)

    @property
    def good_block(self) -> float:
        return max(GOOD_BLOCK, super().good_block)

    def samples(self, index: Index) -> Samples:
        """Return prepared samples, in this process."""
        return self.kernel.prepare(self.rows.take(index), self.dtype, like=self.template)

    def block(self, index: Index) -> NDArray:
        out = self.memory.array(len(index), len(index), self.dtype, min(USUAL_BLOCK, len(self)) ** 2)
        n_threads = threads_for(0.5 * len(index) ** 2 * self.entry_cost, self.n_threads)
        return symmetric_block(self.kernel, self.samples(index), out, n_threads)

    def add_rows(self, index: Index, coefficients: Vector, Kb: Vector, keep: NDArray[np.bool_] | None = None) -> None:
        self.rows_computed += len(index)
        if not len(index):
            return
        published = self.rows.publish(self.samples(index), coefficients)
        self.cluster.n_rounds += 1
        jobs = [
            self.rows.job(
                "rows", slab, slabs.share, self.slabs[slab.number], self.kernel, self.threads(slab.n_threads),
                *published,
            )
            for slab in self.rows.slabs
        ]  # fmt: skip
        total = np.empty(len(self))  # added at once: an interrupt leaves K b as it was
        for k, part in self.cluster.each(jobs):
            slab = self.rows.slabs[k]
            total[slab.start : slab.stop] = part
        Kb += total

    def threads(self, n_threads: int) -> int:
        """Return the threads of a task."""
        return n_threads if self.kernel.releases_gil else 1

    def part(self, index: Index, n_rows: int) -> Gram | None:
        if len(index) * self.rows.shape[1] * 2 * self.rows.dtype.itemsize > self.budget:
            return None
        n_cores = sum(slab.n_threads for slab in self.rows.slabs)
        here = n_rows * len(index) * self.entry_cost / self.n_threads
        there = n_rows * len(self) * self.entry_cost / n_cores + ROUND
        if here > there:
            return None
        local = CachedGram(self.kernel, self.samples(index), self.dtype, self.budget // 2, self.n_threads)
        local.block_limit = self.block_limit
        return local
