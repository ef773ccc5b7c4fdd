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
from widemargin.dask.sizes import bytes_of
from widemargin.dask.waits import ClusterError
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.linalg.arrays import Index, Vector

PUBLISHED = 1 << 23  # bytes of one task: Dask warns beyond 10 MB, and smaller ones are passed on sooner
SAMPLED = 2048  # rows on which the representation of all is decided
DIGITS = 6  # of sums that name a checkpoint: other slabs may change the last ones
FEWEST = 256  # rows of a slab: fewer are not worth a task
LARGEST_SHARE = 0.6  # of a worker's memory limit, beyond which Dask begins to write to disk


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
        self.cluster, self.shape, self.dtype = cluster, shape, np.dtype(dtype)
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
        self.refuse_too_little_memory(self.shape[1] * self.dtype.itemsize)
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

    def refuse_too_little_memory(self, bytes_per_row: int) -> None:
        """Raise an error with the numbers if a worker has not enough memory for its slab, raw and prepared."""
        for slab in self.slabs:
            limit = next(worker.memory_limit for worker in self.workers if worker.address == slab.worker)
            needed = (slab.stop - slab.start) * (bytes_per_row + 4 * self.shape[1])
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

    def refuse_too_little_memory(self, bytes_per_row: int) -> None:
        super().refuse_too_little_memory(bytes_of(self.X) // max(1, len(self)))


class RowsThere(Rows):
    """Rows of a Dask collection; those that are needed here are fetched once.

    kept : which of them take part; None means all
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
        if self.kept is None:
            first, last = slab.start, slab.stop
        else:
            first, last = int(self.kept[slab.start]), int(self.kept[slab.stop - 1]) + 1
        picks, blocks = list[Any](), list[Kept]()
        for begin, end, block in zip(ends[:-1], ends[1:], self.chunks.blocks):
            low, high = max(first, int(begin)), min(last, int(end))
            if low >= high:
                continue
            pick: Any = slice(low - int(begin), high - int(begin))
            if self.kept is not None:
                own = self.kept[slab.start : slab.stop]
                pick = own[(own >= low) & (own < high)] - int(begin)
            picks.append(pick)
            blocks.append(block)
        arguments = (self.dtype, self.shape[1], slab.start, picks)
        return self.cluster.keep(self.job("stack", slab, slabs.stack, *arguments, *blocks))

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
        owners = [(slab, index[(index >= slab.start) & (index < slab.stop)]) for slab in self.slabs]
        owners = [(slab, own) for slab, own in owners if len(own)]
        parts = self.cluster.results([
            self.job("fetch", slab, slabs.rows_at, self.raw(slab), own - slab.start)
            for slab, own in owners
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


def cut(n: int, workers: list[Worker], n_jobs: int | None) -> list[Slab]:
    """Cut n rows into a slab per worker, by its threads."""
    threads = [worker.n_threads if n_jobs is None or n_jobs < 1 else n_jobs for worker in workers]
    workers = workers[: max(1, n // FEWEST)]
    ends = np.rint(n * np.cumsum([0, *threads[: len(workers)]]) / sum(threads[: len(workers)])).astype(int)
    return [
        Slab(number, int(start), int(stop), worker.address, threads[number])
        for number, (start, stop, worker) in enumerate(zip(ends[:-1], ends[1:], workers))
    ]
