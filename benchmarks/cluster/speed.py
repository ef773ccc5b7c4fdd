"""One turn of local fits with one and two threads beside fits on one and two workers of one thread."""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import widemargin
import widemargin.dask
from benchmarks.cluster.problems import cluster, two_classes
from benchmarks.cluster.results import add

FEW = 5000  # samples of a fit before, which compiles and loads


def measure(args: argparse.Namespace) -> None:
    """Add a turn to the results."""
    X, y = two_classes(args, 100_000)
    seconds: dict[str, float] = {}
    for n_threads in (1, 2):
        os.environ["OMP_NUM_THREADS"] = str(n_threads)
        seconds[f"local {n_threads}"], _ = timed(widemargin.SVC(n_jobs=n_threads), X, y)
    for n_workers in (1, 2):
        with cluster(n_workers) as client:
            name = f"{n_workers} x 1"
            seconds[name], machine = timed(widemargin.dask.SVC(client=client), X, y)
            seconds[f"waiting {name}"] = 100 * machine.certificate_.waiting
            print(machine.plan_)
    add(args.out, "speed", **seconds)


def timed(machine: Any, X: Any, y: Any) -> tuple[float, Any]:
    """Return the seconds of a fit after a small one, and the model."""
    machine.fit(X[:FEW], y[:FEW])
    began = time.perf_counter()
    machine.fit(X, y)
    seconds = time.perf_counter() - began
    if not machine.certificate_.holds:
        raise RuntimeError("The certificate does not hold.")
    return seconds, machine
