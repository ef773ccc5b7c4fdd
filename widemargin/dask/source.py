"""The face of GramSource for rows on a cluster: Grams, and F = K b in float64 with its error.

All slabs have one representation, and all are float32 or all float64, by the rule of gram/source.py. F in float64 comes
from two sums, each computed where the raw rows lie:

    at some samples    K[at, slab] b_slab of each slab, added up here: K is symmetric, so no support vector travels
    at all samples     K[slab, support] b, from the support vectors, which are here

Tasks return the bound on the error with each sum: 16 bytes per sample and slab.
"""

from __future__ import annotations

import copy
import math
from functools import cached_property
from typing import Any

import numpy as np

from widemargin.dask import slabs
from widemargin.dask.gram import ClusterGram
from widemargin.dask.rows import Rows
from widemargin.gram.gram import Gram
from widemargin.gram.scores import Scores
from widemargin.gram.source import SAFE_ROUNDING, ClassPair, GramSource
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.linalg.arrays import Index, Vector
from widemargin.monitor.stopping import Stopping


class ClusterSource(GramSource):
    """Grams of the problem of one fit; its samples are None, all of them.

    rows : Rows
    n_threads : threads of this process
    stopping : the stop rule, whose time limit begins when the rows are prepared
    """

    def __init__(
        self, kernel: Kernel, rows: Rows, cache_size: float | None, n_threads: int, stopping: Stopping
    ) -> None:
        super().__init__(kernel, rows.sample, cache_size, n_threads, in_memory=0)
        self.lying, self.stopping = rows, stopping
        self._grams: dict[np.dtype, ClusterGram] = {}

    def __len__(self) -> int:
        return len(self.lying)

    @cached_property
    def exact(self) -> Samples:  # type: ignore[override]
        """Samples for float64 values; only `take` needs rows."""
        return FetchedSamples(self)

    def content(self) -> Any:
        """Return sums of all rows, which do not depend on how they are cut; which rows are sampled does."""
        return self.lying.sums()

    @property
    def diag(self) -> Vector:
        """k(x, x) of each sample, or of some that show what all are like, where no problem is about all samples."""
        for gram in self._grams.values():
            return gram.diag
        return self.kernel.diag(self.kernel.prepare(self.lying.sample, np.float64))

    @cached_property
    def template(self) -> Samples:
        """Some samples in the representation of all for float64."""
        return self.lying.template(self.kernel, np.float64)

    def gram(self, index: Index | ClassPair | None, double: bool = False, is_kept: bool = False) -> Gram:
        if index is not None:
            raise NotImplementedError("Class pairs have sources of their own on a cluster (training.py).")
        if not double:
            single = self._gram(np.float32)
            if single.errors.largest() <= SAFE_ROUNDING * float(np.abs(single.diag).mean()):
                return copy.copy(single)  # problems share the slabs, and count their rows
            for slab in single.slabs:
                slab.drop()
        return copy.copy(self._gram(np.float64))

    def _gram(self, dtype: type) -> ClusterGram:
        kind = np.dtype(dtype)
        if kind not in self._grams:
            template = self.template if kind == np.float64 else self.lying.template(self.kernel, kind)
            self._grams[kind] = ClusterGram(self.kernel, self.lying, template, kind, self.budget, self.n_threads)
            if self.lying.cluster.waits.deadline == math.inf:
                self.lying.cluster.waits.deadline = self.stopping.deadline()
        return self._grams[kind]

    def recomputed(self, coefficients: Vector, index: Index | ClassPair | None, at: Index | None) -> Scores:
        support = np.flatnonzero(coefficients)
        if not len(support):
            n = len(self) if at is None else len(at)
            return Scores(np.zeros(n), np.zeros(n))
        return self._at_all(support, coefficients) if at is None else self._at_some(support, coefficients, at)

    def _at_some(self, support: Index, coefficients: Vector, at: Index) -> Scores:
        samples = self.exact.take(at)
        terms = tuple(self.kernel.errors(samples))
        jobs = []
        for slab in self.lying.slabs:
            own = support[(support >= slab.start) & (support < slab.stop)]
            if len(own):
                arguments = (self.lying.raw(slab), own - slab.start, self.kernel, self.template, coefficients[own])
                rest = (samples, terms, self._threads(slab.n_threads), len(support))
                jobs.append(self.lying.job("certify", slab, slabs.partial_sum, *arguments, *rest))
        values, error = np.zeros(len(at)), np.zeros(len(at))
        for _, part in self.lying.cluster.each(jobs):
            values += part.values
            error += part.error
        return Scores(values, error)

    def _at_all(self, support: Index, coefficients: Vector) -> Scores:
        published = self.lying.publish(self.exact.take(support), coefficients[support])
        jobs = [
            self.lying.job(
                "certify-all", slab, slabs.exact_share, self.lying.raw(slab), self.kernel, self.template,
                self._threads(slab.n_threads), len(support), *published,
            )
            for slab in self.lying.slabs
        ]  # fmt: skip
        values, error = np.empty(len(self)), np.empty(len(self))
        for k, part in self.lying.cluster.each(jobs):
            slab = self.lying.slabs[k]
            values[slab.start : slab.stop], error[slab.start : slab.stop] = part
        return Scores(values, error)

    def _threads(self, n_threads: int) -> int:
        return n_threads if self.kernel.releases_gil else 1


class FetchedSamples(Samples):
    """Samples on a cluster, prepared here in float64 when they are taken."""

    def __init__(self, source: ClusterSource) -> None:
        self.source = source

    def __len__(self) -> int:
        return len(self.source)

    def take(self, index: Index) -> Samples:
        source = self.source
        return source.kernel.prepare(source.lying.take(index), np.float64, like=source.template)

    def tile(self, start: int, stop: int) -> Samples:
        return self.take(np.arange(start, stop))
