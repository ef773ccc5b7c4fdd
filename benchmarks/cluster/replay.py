"""A recorded fit, replayed for other numbers of workers and slower networks.

A fit is a sequence of batches of tasks with work of this process between them. Recorded at one worker of one thread, a
round of m rows on n samples waits

    w = a + c m n,    a latency and c seconds per kernel value, both fitted to the rounds by least squares

and with W workers a + c m n / W, plus what is added to the latency. Batches of other tasks wait a + (w - a) / W. What
this process does in between stays as it was. The replay at 2 workers, and with 5 and 50 ms added to each task, is
compared with the clock; then it is evaluated for more cores and samples, with the constants found here. Those figures
are simulated: no such cluster was used.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import widemargin
import widemargin.dask
from benchmarks.cluster.problems import cluster, two_classes
from benchmarks.cluster.results import add
from widemargin.dask.cluster import Cluster, Job
from widemargin.dask.gram import ClusterGram
from widemargin.dask.plan import BYTE, MOVED, ROWS_PER_VECTOR

ADDED = (0.005, 0.05)  # seconds
CORES = (1, 8, 32, 128)
THREADS = 8  # of a simulated worker process
SHARE = 0.56  # of support vectors at a million rows of covtype, extrapolated
PER_PROCESS = 5e-4  # seconds of latency for each worker process
LARGER_BLOCK = 8160  # variables, with which a simulated fit on many cores would work


class Batch(NamedTuple):
    """A batch of tasks: its name, kernel values, seconds before it in this process, and seconds of waiting for it."""

    name: str
    values: float
    before: float
    waited: float


def measure(args: argparse.Namespace) -> None:
    """Record, compare with the clock, and simulate."""
    X, y = two_classes(args, 30_000)
    with cluster(1) as client:
        recorded, seconds = record(client, X, y)
        clock = {"1 worker": seconds}
        for added in ADDED:
            clock[f"1 worker + {1000 * added:.0f} ms"] = record(client, X, y, added)[1]
    with cluster(2) as client:
        clock["2 workers"] = record(client, X, y, n_threads="1")[1]
    latency, cost = fitted(recorded)
    (args.out / "rounds.json").write_text(json.dumps([batch._asdict() for batch in recorded]))
    found = {"1 worker": 1, "2 workers": 2} | {f"1 worker + {1000 * added:.0f} ms": added for added in ADDED}
    for name, what in found.items():
        workers, added = (what, 0.0) if isinstance(what, int) else (1, what)
        expected = replayed(recorded, workers, added)
        add(args.out, f"replay, {name}", clock=clock[name], replay=expected, ratio=expected / clock[name])
    add(args.out, "replay constants", latency_ms=1000 * latency, ns_per_value=1e9 * cost)
    simulate(args, recorded, cost, latency, X.shape)


def record(client: Any, X: Any, y: Any, added: float = 0.0, n_threads: str = "1") -> tuple[list[Batch], float]:
    """Return the batches of a fit and its seconds; `added` seconds are slept in each task of a round."""
    os.environ["OMP_NUM_THREADS"] = n_threads
    widemargin.dask.SVC(client=client).fit(X[:5000], y[:5000])
    batches: list[Batch] = []
    with watched(batches, added):
        began = time.perf_counter()
        machine = widemargin.dask.SVC(client=client).fit(X, y)
        seconds = time.perf_counter() - began
    print(machine.certificate_)
    spent = sum(batch.before + batch.waited for batch in batches)
    return [*batches, Batch("end", 0.0, seconds - spent, 0.0)], seconds


@contextmanager
def watched(batches: list[Batch], added: float) -> Iterator[None]:
    """Note every batch of tasks."""
    each, add_rows, moved, last = Cluster.each, ClusterGram.add_rows, [0], [time.perf_counter()]

    def noted(self: Cluster, jobs: Any, *rest: Any, **options: Any) -> Iterator[Any]:
        jobs = list(jobs)
        name = jobs[0].name if jobs else "none"
        if added and name == "rows":
            jobs = [Job(job.name, later, (added, job.function, *job.arguments), job.worker, job.slab) for job in jobs]
        began = time.perf_counter()
        yield from each(self, jobs, *rest, **options)
        ended = time.perf_counter()
        values = moved[0] * sum(slab.stop - slab.start for slab in self_rows[0].slabs) if name == "rows" else 0.0
        batches.append(Batch(name, float(values), began - last[0], ended - began))
        last[0] = ended

    self_rows: list[Any] = [None]

    def counted(self: ClusterGram, index: Any, *rest: Any, **options: Any) -> None:
        moved[0], self_rows[0] = len(index), self.rows
        add_rows(self, index, *rest, **options)

    Cluster.each, ClusterGram.add_rows = noted, counted  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        Cluster.each, ClusterGram.add_rows = each, add_rows  # type: ignore[method-assign]


def later(seconds: float, function: Any, *arguments: Any) -> Any:
    """Return the answer of a task some time later."""
    time.sleep(seconds)
    return function(*arguments)


def fitted(batches: Sequence[Batch]) -> tuple[float, float]:
    """Return latency and seconds per kernel value, by least squares over the rounds."""
    rounds = [(batch.values, batch.waited) for batch in batches if batch.name == "rows"]
    values, waited = np.array(rounds).T
    cost, latency = np.polyfit(values, waited, 1)
    return max(0.0, float(latency)), float(cost)


def replayed(batches: Sequence[Batch], n_workers: int, added: float) -> float:
    """Return the seconds of a recorded fit with other workers."""
    latency, cost = fitted(batches)
    total = 0.0
    for batch in batches:
        total += batch.before
        if batch.name == "rows":
            total += latency + cost * batch.values / n_workers + added
        elif batch.waited:
            total += min(batch.waited, latency) + max(0.0, batch.waited - latency) / n_workers
    return total


def simulate(
    args: argparse.Namespace, batches: Sequence[Batch], cost: float, latency: float, shape: tuple[int, int]
) -> None:
    """Add the speed-up for a million rows on more cores, with latency and costs as recorded."""
    rounds = [batch for batch in batches if batch.name == "rows"]
    n_before, d = shape
    here = float(np.median([batch.before for batch in rounds]))  # steps, block and the choice of working sets
    n, numbers = 1_000_000, {}
    for block, growth in ((4080, 1.0), (LARGER_BLOCK, LARGER_BLOCK / 4080)):
        m = MOVED * block
        n_rounds = ROWS_PER_VECTOR * SHARE * n / m
        local = here * growth + 27e-9 * (n - n_before)  # steps grow with the block, scans with n
        alone = n_rounds * (local + cost * m * n)
        for cores in CORES[1:]:
            processes = cores // THREADS
            sent = processes * m * (4 * d + 16) + 8 * n
            each = local + latency + PER_PROCESS * processes + cost * m * n / cores + 1e-9 * BYTE * sent
            numbers[f"{cores} cores, blocks of {block}"] = alone / (n_rounds * each)
    add(args.out, "simulated speed-up, a million rows", **numbers)
