"""A support vector machine on a cluster of processes on this machine; one of them is ended in the middle of the fit.

make cluster
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import dask.array as da
from distributed import Client, LocalCluster
from sklearn.datasets import make_classification

import widemargin
import widemargin.dask


def main(n: int = 20_000, seconds: float = 1.0) -> Any:
    """Fit n samples on two workers, one of which is ended after some seconds; return the model."""
    X, y = make_classification(n, 20, n_informative=10, flip_y=0.1, class_sep=0.5, random_state=0)
    quiet = {"dashboard_address": None, "silence_logs": "CRITICAL"}  # a lost worker is logged with tracebacks
    with LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as cluster, Client(cluster) as client:
        rows = da.from_array(X, chunks=(n // 8, -1))
        print(f"{len(client.nthreads())} workers; the first fit compiles on each of them")
        widemargin.dask.SVC().fit(rows[: n // 4], y[: n // 4])
        victim = next(iter(client.run(os.getpid).values()))
        threading.Timer(seconds, os.kill, (victim, signal.SIGKILL)).start()
        print(f"Fitting {n:,} samples; worker process {victim} ends in {seconds:g} s")
        model = widemargin.dask.SVC(verbose=True).fit(rows, y)
        print(model.certificate_)
        labels = model.predict(rows)
        print(f"Predictions are lazy: {labels}")
        print(f"Accuracy on the training data: {float(model.score(rows, da.from_array(y, chunks=n // 8))):.4f}")
    alone = widemargin.SVC().fit(X, y)
    difference = abs(model.certificate_.objective / alone.certificate_.objective - 1.0)
    print(f"The objective differs from that of a local fit by {difference:.1e}, relative.")
    return model


if __name__ == "__main__":
    main()
