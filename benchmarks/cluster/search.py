"""One turn of a search over C and gamma on one and two local processes, and on one and two Dask workers."""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import joblib
from sklearn.model_selection import GridSearchCV

import widemargin
from benchmarks.cluster.problems import cluster, two_classes
from benchmarks.cluster.results import add

GRID = {"C": [0.5, 2.0, 8.0, 32.0], "gamma": [0.02, 0.05, 0.1]}


def measure(args: argparse.Namespace) -> None:
    """Add a turn to the results."""
    X, y = two_classes(args, 6000)
    seconds: dict[str, float] = {}
    os.environ["OMP_NUM_THREADS"] = "1"
    for n_jobs in (1, 2):
        with joblib.parallel_config(backend="loky", n_jobs=n_jobs):
            seconds[f"loky {n_jobs}"] = timed(X, y)
    for n_workers in (1, 2):
        with cluster(n_workers), joblib.parallel_config(backend="dask", n_jobs=n_workers, scatter=[X, y]):
            seconds[f"dask {n_workers}"] = timed(X, y)
    add(args.out, "search", **seconds)


def timed(X: Any, y: Any) -> float:
    """Return the seconds of a search, after a small one in which every worker compiles and loads."""
    for part in (slice(0, 3000), slice(None)):
        began = time.perf_counter()
        GridSearchCV(widemargin.SVC(n_jobs=1), GRID, cv=3, refit=False).fit(X[part], y[part])
    return time.perf_counter() - began
