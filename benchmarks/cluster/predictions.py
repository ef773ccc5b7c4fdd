"""Labels of a file larger than the memory that may be used: lazily, block by block, on threads of this process.

Blocks are read in the tasks: da.from_array(np.memmap) would read the whole file into memory first.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np

import widemargin
import widemargin.dask
from benchmarks.cluster.problems import two_classes
from benchmarks.cluster.results import add
from benchmarks.million import anonymous_megabytes

GIGABYTES = 3.0
ROWS = 200_000  # of a block
EVERY = 0.05  # seconds between two looks at the memory


def measure(args: argparse.Namespace) -> None:
    """Write the file, predict it, and add peak memory and time to the results."""
    X, y = two_classes(args, 2000)
    model = widemargin.SVC().fit(X.astype(np.float32), y)
    n, d = int(GIGABYTES * 2**30 / 4 / X.shape[1]), X.shape[1]
    path = args.out / "rows.float32"
    try:
        with open(path, "wb") as stream:
            rows = np.tile(X.astype(np.float32), (ROWS // len(X) + 1, 1))[:ROWS]
            for start in range(0, n, ROWS):
                rows[: min(ROWS, n - start)].tofile(stream)
        lazy = blocks(path, n, d)
        there = widemargin.dask.SVC()
        vars(there).update(vars(model))
        peak, done = [0.0], threading.Event()

        def look() -> None:
            while not done.wait(EVERY):
                peak[0] = max(peak[0], anonymous_megabytes(os.getpid()))

        looking = threading.Thread(target=look)
        looking.start()
        began = time.perf_counter()
        with dask.config.set(scheduler="threads", num_workers=2):
            positive = int((there.predict(lazy) == 1).sum().compute())
        seconds = time.perf_counter() - began
        done.set()
        looking.join()
        whole, rest = divmod(n, ROWS)
        expected = whole * int((model.predict(rows) == 1).sum()) + int((model.predict(rows[:rest]) == 1).sum())
        if positive != expected:
            raise RuntimeError(f"{positive} labels are positive, not {expected}.")
        add(args.out, "predictions", gibibytes=path.stat().st_size / 2**30, seconds=seconds, peak_MiB=peak[0])
    finally:
        path.unlink(missing_ok=True)


def blocks(path: Path, n: int, d: int) -> Any:
    """Return a file of float32 rows as a Dask array whose blocks are read when they are needed."""
    read = dask.delayed(lambda start: np.fromfile(path, np.float32, ROWS * d, offset=4 * d * start).reshape(-1, d))
    parts = [da.from_delayed(read(start), (min(ROWS, n - start), d), np.float32) for start in range(0, n, ROWS)]
    return da.concatenate(parts)
