"""Clusters and data for these tests."""

import os
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

LONGEST = 60  # seconds that a test may take


def local_cluster(n_workers: int = 2, **options: Any) -> Any:
    import dask
    from distributed import LocalCluster

    # else a LocalCluster gives a worker up that is not back within 15 s, which busy machines need
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    return LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0", **options)


def processes(client: Any) -> dict[str, int]:
    """Address and process number of the workers."""
    return client.run(os.getpid)


class Data(NamedTuple):
    X: Any
    labels: np.ndarray
    targets: np.ndarray


def make(n: int = 2300, kind: str = "dense", seed: int = 0) -> Data:
    """Samples of some kind, two classes that overlap, and targets with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    signal_ = X[:, 0] * X[:, 1] + X[:, 2]
    if kind == "csr":
        X = np.where(rng.random((n, 40)) < 0.1, rng.normal(size=(n, 40)), 0.0)
        signal_ = X[:, :20].sum(axis=1)
        X = sparse.csr_matrix(X)
    elif kind == "binary":
        X = (rng.random((n, 30)) < 0.3).astype(float)
        signal_ = X[:, :15].sum(axis=1) - X[:, 15:].sum(axis=1)
    noisy = signal_ + 0.3 * rng.normal(size=n)
    return Data(X, np.where(noisy > 0, "up", "down"), noisy)
