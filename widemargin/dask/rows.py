"""The training rows of a fit on a cluster: slabs of them on workers, and those that the solver has asked for here.

Rows that a working set contains are fetched once and kept: the support vectors are among them, so that the model is
complete whatever happens to the cluster. Data of this process need not be fetched.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from widemargin.dask import slabs
from widemargin.dask.chunks import Chunks
from widemargin.dask.cluster import Cluster, Job, Kept, Worker
from widemargin.dask.plan import LARGEST_SHARE
from widemargin.dask.sizes import bytes_of
from widemargin.dask.waits import ClusterError
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.linalg.arrays import Index, Vector

PUBLISHED = 1 << 23  # bytes of one task: Dask warns beyond 10 MB, and smaller ones are passed on sooner
SAMPLED = 2048  # rows on which the representation of all is decided
DIGITS = 6  # of sums that name a checkpoint: other slabs may change the last ones
FEWEST = 256  # rows of a slab: fewer are not worth a task


class Slab(NamedTuple):
    """Rows start:stop on one worker."""

    number: int
    start: int
    stop: int
    worker: str
    n_threads: int


class Rows(ABC):
    """All rows of a fit.

    Parameters
    ----------
    cluster : Cluster
    shape, dtype : of the matrix
    n_jobs : threads of each worker; None means those that it was given
    """

    def __init__(self, cluster: Cluster, shape: tuple[int, int], dtype: DTypeLike, n_jobs: int | None) -> None:
        self.cluster, self.shape, self.dtype, self.n_jobs = cluster, shape, np.dtype(dtype), n_jobs
        self.workers = cluster.workers()
        cluster.check_versions(self.workers)
        self.slabs = cut(shape[0], self.workers, n_jobs)
        self._raw = [self._place(slab) for slab in self.slabs]

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def _place(self, slab: Slab) -> Kept:
        """Return the raw rows of a slab."""

    @abstractmethod
    def take(self, index: Index) -> Any:
        """Return the raw rows at `index`."""

    @abstractmethod
    def subset(self, index: Index) -> Rows:
        """Return some of the rows, in slabs of their own."""

    def gathered(self, index: Index) -> Kept:
        """Return some of the rows, in ascending order, on one worker."""
        parts = [
            self.cluster.keep(self.job("pick", slab, slabs.rows_at, self.raw(slab), own - slab.start))
            for slab, own in self.by_slab(index)
        ]
        return self.cluster.keep(Job("gather", slabs.together, parts))

    def by_slab(self, index: Index) -> list[tuple[Slab, Index]]:
        """Return the slabs that hold rows at `index`, with these."""
        owned = [(slab, index[(index >= slab.start) & (index < slab.stop)]) for slab in self.slabs]
        return [(slab, own) for slab, own in owned if len(own)]

    def raw(self, slab: Slab) -> Kept:
        """Return the raw rows of a slab, on the cluster."""
        return self._raw[slab.number]

    def cost(self) -> dict[str, Any]:
        """Return the fields of a certificate about the cluster."""
        cluster = self.cluster
        waiting = cluster.waits.seconds / (time.monotonic() - cluster.began)
        return {
            "workers": len(self.slabs), "rounds": cluster.n_rounds, "bytes_sent": cluster.sent,
            "bytes_received": cluster.received, "waiting": min(1.0, waiting),
        }  # fmt: skip

    def job(self, name: str, slab: Slab, function: Any, *arguments: Any) -> Job:
        """Return a task on a slab's worker."""
        return Job(name, function, arguments, slab.worker, slab.number)

    def publish(self, samples: Samples, coefficients: Vector) -> list[Kept]:
        """Return samples with their coefficients on a worker from which the others take them, a copy for each slab."""
        n_pieces = max(1, -(-(bytes_of(samples) + coefficients.nbytes) // PUBLISHED))
        edges = np.linspace(0, len(samples), n_pieces + 1).astype(np.int64)
        pieces = []
        for start, stop in zip(edges[:-1], edges[1:]):
            some = samples if n_pieces == 1 else samples.take(np.arange(start, stop))
            piece = (some, coefficients[start:stop])
            pieces.append(self.cluster.keep(Job("publish", slabs.hold, piece)))
            self.cluster.sent += (len(self.slabs) - 1) * bytes_of(piece)
        return pieces

    @cached_property
    def outlines(self) -> list[slabs.Outline]:
        """Outlines of all slabs; the first pass over the data, which also checks them."""
        self.refuse_too_little_memory()
        share = -(-SAMPLED // len(self.slabs))
        return self.cluster.results(
            [self.job("outline", slab, slabs.outline, self.raw(slab), share) for slab in self.slabs]
        )

    @cached_property
    def sample(self) -> Any:
        """Some rows that show what all are like."""
        parts = [outline.rows for outline in self.outlines]
        return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)

    def template(self, kernel: Kernel, dtype: DTypeLike) -> Samples:
        """Return samples whose representation all slabs take: any worker alone might choose another one.

        Rows of other representations could not be evaluated against each other. The choice affects speed and the bounds
        on rounding errors, never their truth, so that some rows suffice to make it; only that there are two values, and
        which columns occur, must be true of all rows.
        """
        rows = self.sample
        found = [outline.columns for outline in self.outlines if outline.columns is not None]
        if found:
            columns = np.unique(np.concatenate(found))
            data = (np.zeros(len(columns), rows.dtype), columns, np.array([0, len(columns)]))
            rows = sparse.vstack([rows, sparse.csr_array(data, shape=(1, self.shape[1]))], format="csr")
        return kernel.prepare(rows, dtype).take(np.zeros(1, np.int64))  # one sample shows the representation

    def prepared(self, kernel: Kernel, dtype: DTypeLike, template: Samples) -> list[Kept]:
        """Return the samples of all slabs, kept on the cluster."""
        name = f"prepare-{np.dtype(dtype).name}"
        return [
            self.cluster.keep(self.job(name, slab, slabs.prepare, self.raw(slab), kernel, np.dtype(dtype), template))
            for slab in self.slabs
        ]

    def variance(self, weight: Vector | None) -> float:
        """Variance of all entries, each row counted with its weight."""
        origin = float(self.sample.mean())
        parts = self.cluster.results([
            self.job(
                "variance", slab, slabs.moments, self.raw(slab),
                None if weight is None else weight[slab.start : slab.stop], origin,
            )
            for slab in self.slabs
        ])  # fmt: skip
        total = self.shape[1] * (len(self) if weight is None else float(weight.sum()))
        first, second = (sum(part[k] for part in parts) / total for k in (0, 1))
        return float(second - first**2)

    def sums(self) -> list[Any]:
        """Return what names a checkpoint of these rows: their shape and sums, whatever slabs they are cut into."""
        jobs = [self.job("sums", slab, slabs.column_sums, self.raw(slab), slab.start) for slab in self.slabs]
        sums = np.sum(self.cluster.results(jobs), axis=0)
        return [*self.shape, *(f"{number:.{DIGITS}g}" for number in sums.ravel())]

    @property
    def bytes_per_row(self) -> int:
        """Bytes of a row on a worker, raw and prepared."""
        return self.shape[1] * (self.dtype.itemsize + 4)

    def refuse_too_little_memory(self) -> None:
        """Raise an error with the numbers if a worker has not enough memory for its slab."""
        for slab in self.slabs:
            limit = next(worker.memory_limit for worker in self.workers if worker.address == slab.worker)
            needed = (slab.stop - slab.start) * self.bytes_per_row
            if limit and needed > LARGEST_SHARE * limit:
                raise ClusterError(
                    f"Worker {slab.worker} would need {needed / 1e6:,.0f} MB for its {slab.stop - slab.start:,} rows, "
                    f"more than {LARGEST_SHARE:.0%} of its memory limit of {limit / 1e6:,.0f} MB, beyond which Dask "
                    "writes to disk: use more workers, or workers with more memory."
                )


class RowsHere(Rows):
    """Rows of this process, sent to the workers, and again after a loss."""

    def __init__(self, X: Any, cluster: Cluster, n_jobs: int | None) -> None:
        self.X = X
        super().__init__(cluster, X.shape, X.dtype, n_jobs)

    def _place(self, slab: Slab) -> Kept:
        return self.cluster.send(self.X[slab.start : slab.stop], slab.worker)

    def take(self, index: Index) -> Any:
        return self.X[index]

    def subset(self, index: Index) -> Rows:
        return RowsHere(self.X[index], self.cluster, self.n_jobs)

    @property
    def bytes_per_row(self) -> int:
        return bytes_of(self.X) // max(1, len(self)) + 4 * self.shape[1]


class RowsThere(Rows):
    """Rows of a Dask collection; those that are needed here are fetched once.

    kept : which of them take part, in which order; None means all
    """

    def __init__(self, chunks: Chunks, kept: Index | None, cluster: Cluster, n_jobs: int | None) -> None:
        self.chunks, self.kept = chunks, kept
        n = len(chunks) if kept is None else len(kept)
        self._slot = np.full(n, -1, np.int64)
        self._seen: Any = None
        self._n_seen = 0
        super().__init__(cluster, (n, chunks.width), chunks.dtype, n_jobs)

    def _place(self, slab: Slab) -> Kept:
        ends = np.cumsum([0, *self.chunks.lengths])
        own = np.arange(slab.start, slab.stop) if self.kept is None else self.kept[slab.start : slab.stop]
        chunk_of = np.searchsorted(ends, own, side="right") - 1
        used = np.unique(chunk_of)
        places = [np.flatnonzero(chunk_of == chunk) for chunk in used]
        picks = [_as_slice(own[place] - int(ends[chunk])) for place, chunk in zip(places, used)]
        order = np.argsort(np.concatenate(places))
        is_sorted = bool((np.diff(order) == 1).all())
        arguments = (self.dtype, self.shape[1], slab.start, picks, None if is_sorted else order)
        blocks = [self.chunks.blocks[chunk] for chunk in used]
        return self.cluster.keep(self.job("stack", slab, slabs.stack, *arguments, *blocks))

    def subset(self, index: Index) -> Rows:
        return RowsThere(self.chunks, index if self.kept is None else self.kept[index], self.cluster, self.n_jobs)

    def forget_chunks(self) -> None:
        """Let the cluster forget the chunks: slabs are kept, and made from them again if they are lost."""
        for block in self.chunks.blocks:
            block.drop()

    def take(self, index: Index) -> Any:
        new = np.unique(index[self._slot[index] < 0])
        if len(new):
            self._fetch(new)
        return self._seen[self._slot[index]]

    def _fetch(self, index: Index) -> None:
        """Fetch rows that have not been here before."""
        parts = self.cluster.results([
            self.job("fetch", slab, slabs.rows_at, self.raw(slab), own - slab.start)
            for slab, own in self.by_slab(index)
        ])  # fmt: skip
        n = self._n_seen + len(index)
        if sparse.issparse(parts[0]):
            before = [] if self._seen is None else [self._seen]
            self._seen = sparse.vstack([*before, *parts], format="csr")
        else:
            if self._seen is None or n > len(self._seen):
                larger = np.empty((min(len(self), max(2 * self._n_seen, n)), self.shape[1]), self.dtype)
                larger[: self._n_seen] = 0.0 if self._seen is None else self._seen[: self._n_seen]
                self._seen = larger
            self._seen[self._n_seen : n] = np.concatenate(parts)
        self._slot[index] = np.arange(self._n_seen, n)
        self._n_seen = n


def _as_slice(places: Index) -> Any:
    """Return adjacent places as a slice, of which an array need not be copied."""
    start, stop = int(places[0]), int(places[-1]) + 1
    return slice(start, stop) if stop - start == len(places) and (np.diff(places) == 1).all() else places


def cut(n: int, workers: list[Worker], n_jobs: int | None) -> list[Slab]:
    """Cut n rows into a slab per worker, by its threads."""
    threads = [worker.n_threads if n_jobs is None or n_jobs < 1 else n_jobs for worker in workers]
    workers = workers[: max(1, n // FEWEST)]
    ends = np.rint(n * np.cumsum([0, *threads[: len(workers)]]) / sum(threads[: len(workers)])).astype(int)
    return [
        Slab(number, int(start), int(stop), worker.address, threads[number])
        for number, (start, stop, worker) in enumerate(zip(ends[:-1], ends[1:], workers))
    ]
