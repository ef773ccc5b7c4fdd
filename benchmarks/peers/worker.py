"""One library in one process: reads a JSON command per line, fits, answers with a JSON line.

    python -m benchmarks.peers.worker LIBRARY THREADS

A process of its own, so that a crash, a hang or a memory blow-up of one library is recorded and does not end the
benchmark. What libraries print is sent to standard error; the answers have a channel of their own.
Peak memory is the high-water mark of the resident set, reset before each fit (Linux); elsewhere that of the process.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers.libraries import LIBRARIES, Library
from benchmarks.peers.problems import Problem

FITS_PER_TURN, SHORT_TURN = 5, 0.1  # fits in a row at most, and seconds after which there is no further one: a single
# fit of a few milliseconds in a process that has just slept measures the processor's waking up


class Worker:
    """The state between commands: the data loaded last, and the model fitted last."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.loaded: tuple[str, str] | None = None
        self.X: Any = None
        self.y: Any = None
        self.model: Any = None

    def load(self, folder: str, form: str) -> None:
        """Data in the format asked for, kept until another is."""
        if self.loaded == (folder, form):
            return
        self.X = self.y = self.model = None
        self.X, self.y = read_data(Path(folder), form)
        self.loaded = (folder, form)

    def fit(
        self, problem: dict[str, Any], data: str, form: str, rows: int = 0, answer: str = "", settle: bool = True
    ) -> dict[str, Any]:
        """Fit, timed; short fits several times in a row, of which the median counts.

        rows : take a small part, for warming up
        answer : file for the model's numbers
        settle : give free memory back to the system before, so that the peak of the fit can be told
        """
        self.load(data, form)
        task = Problem(**problem)
        X, y = self.X, self.y
        if rows and rows < len(y):
            keep = a_few_of_each(y, rows)
            X, y = X[keep], y[keep]
        self.model = None
        before = settle_memory(trim=settle)
        times: list[float] = []
        while len(times) < FITS_PER_TURN and sum(times) < SHORT_TURN:
            began = time.perf_counter()
            model = self.library.fit(task, X, y)
            times.append(time.perf_counter() - began)
        seconds = float(np.median(times))
        peak = peak_memory()
        if answer and self.library.has_multipliers:
            self.library.answer(task, model).save(answer)
        elif answer:
            np.savez(answer, weights=np.ravel(model.coef_), bias=np.ravel(model.intercept_))
        self.model = model
        facts = self.library.facts(model)
        return {"seconds": seconds, "peak_mb": peak, "extra_mb": max(0.0, peak - before), **facts}

    def limit(self, problem: dict[str, Any], repeat: int) -> dict[str, Any]:
        """Seconds of one pass K[:, SV] @ coefficients with our own fast evaluation, samples prepared before."""
        from widemargin.gram import kernel_product
        from widemargin.kernels import make_kernel
        from widemargin.parallel.tiles import single_threaded_blas

        task = Problem(**problem)
        kernel = make_kernel(task.kernel, gamma=task.gamma, degree=task.degree, coef0=task.coef0)
        samples = kernel.prepare(self.X, np.float32)
        vectors = samples.take(np.asarray(self.model.support_, np.int64))
        weights = self.model.dual_coef_
        weights = weights.toarray() if sp.issparse(weights) else weights
        first = np.ascontiguousarray(weights[0], np.float64)
        times = []
        with single_threaded_blas():
            for _ in range(repeat + 1):
                began = time.perf_counter()
                kernel_product(kernel, samples, vectors, first, np.dtype(np.float32), self.library.threads)
                times.append(time.perf_counter() - began)
        return {"seconds": float(np.median(times[1:] or times))}  # the first one compiles, unless a fit did


def read_data(folder: Path, form: str) -> tuple[Any, Any]:
    """X and y as the driver wrote them, X as an array or as CSR."""
    dense = folder / "X.npy"
    X = np.load(dense) if dense.exists() else sp.csr_matrix(sp.load_npz(folder / "X.npz"))
    if form == "dense" and sp.issparse(X):
        X = X.toarray()
    if form == "csr":
        X = sp.csr_matrix(X)
        X.sort_indices()
    return X, np.load(folder / "y.npy")


def a_few_of_each(y: Any, rows: int) -> Any:
    """Places of about `rows` samples, every class among them (of a regression: the first ones)."""
    labels, label = np.unique(y, return_inverse=True)
    if len(labels) > 100:
        return np.arange(rows)
    share = max(2, rows // len(labels))
    return np.sort(np.concatenate([np.flatnonzero(label == k)[:share] for k in range(len(labels))]))


def settle_memory(trim: bool = True) -> float:
    """Collect garbage, give free memory back, reset the high-water mark, and return the resident megabytes now."""
    gc.collect()
    if sys.platform.startswith("linux"):
        if trim:
            ctypes.CDLL(None).malloc_trim(0)
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peak_memory() -> float:
    """Largest resident set since `settle_memory`, in megabytes."""
    if sys.platform.startswith("linux"):
        return _status("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _status(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return float("nan")


def serve(make: Callable[[str, int], Any]) -> None:
    """Answer commands with the methods of `make(name, threads)`, both from the command line, until the input ends."""
    name, threads = sys.argv[1], int(sys.argv[2])
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print; their words must not mix with the answers
    keep_to_cores(threads)
    warnings.simplefilter("ignore")
    worker = make(name, threads)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            reply = {"ok": True, **getattr(worker, command.pop("do"))(**command)}
        except Exception as error:  # told to the driver: one failure must not end the run
            reply = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        channel.write(json.dumps(reply) + "\n")
        channel.flush()


def keep_to_cores(threads: int) -> None:
    """Use as many cores as threads were asked for: some libraries take no number of threads, all respect this."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))[:threads]
        os.sched_setaffinity(0, cores)


if __name__ == "__main__":
    serve(lambda name, threads: Worker(LIBRARIES[name](threads)))
