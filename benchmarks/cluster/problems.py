"""The data of these measurements, and clusters to run them on."""

from __future__ import annotations

import argparse
import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import numpy as np
from distributed import Client, LocalCluster
from sklearn.datasets import make_classification


def two_classes(args: argparse.Namespace, n: int) -> tuple[Any, Any]:
    """Return n samples of covtype, class 2 against the rest, standardised; without its folder generated ones."""
    n = args.n or n
    if not args.data:
        return make_classification(n, 20, n_informative=10, flip_y=0.1, class_sep=0.5, random_state=0)
    kept = args.out / f"covtype-{n}.npz"
    if not kept.exists():
        with lzma.open(Path(args.data) / "covtype" / "covtype.data.xz", "rt") as stream:
            table = np.loadtxt(stream, np.float32, delimiter=",")
        rows = table[np.random.default_rng(0).permutation(len(table))[:n]]
        X = rows[:, :-1]
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        np.savez(kept, X=X, y=np.where(rows[:, -1] == 2, 1, -1))
    held = np.load(kept)
    return held["X"], held["y"]


@contextmanager
def cluster(n_workers: int) -> Iterator[Client]:
    """Start workers with one thread each; this process may use as many threads as there are workers.

    A LocalCluster sets OMP_NUM_THREADS=1 in this process too. Workers wait while it works, and it while they do.
    """
    # else a LocalCluster gives a worker up that is not back within 15 s, which busy machines need
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as started,
        Client(started) as client,
    ):
        os.environ["OMP_NUM_THREADS"] = str(n_workers)
        yield client
