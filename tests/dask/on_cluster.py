"""Clusters and data for these tests."""

import os
import signal
import time
from typing import Any, NamedTuple

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
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


def contained(X, y, container):
    """Data in the container; CSR goes into Dask as chunks of an array."""
    if container == "local":
        return X, y
    if container == "frame":
        X = X.toarray() if hasattr(X, "toarray") else X
        frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])])
        return dd.from_pandas(frame, npartitions=3), None if y is None else dd.from_pandas(pd.Series(y), npartitions=3)
    if hasattr(X, "toarray"):
        blocks = da.from_array(X.toarray(), chunks=(1000, -1)).map_blocks(type(X))
        return blocks, None if y is None else da.from_array(y, chunks=700)
    return da.from_array(X, chunks=(900, 4)), None if y is None else da.from_array(y, chunks=700)


def sleep_while_there(path):
    """Keep a worker busy until the test removes the file, 20 s at most."""
    for _ in range(400):
        if not path.exists():
            return
        time.sleep(0.05)


def end_worker(client, which=0):
    """End a worker without warning."""
    pids = sorted(processes(client).values())
    os.kill(pids[which % len(pids)], signal.SIGKILL)


def before(patch, owner, method, act):
    """Call `act(number of the call)` before every call of a method."""
    plain, calls = getattr(owner, method), []

    def changed(self, *given, **options):
        calls.append(1)
        act(len(calls))
        return plain(self, *given, **options)

    patch.setattr(owner, method, changed)


def check(machine, alone):
    assert machine.certificate_.holds
    assert machine.certificate_.objective == pytest.approx(alone.objective, rel=1e-6)
