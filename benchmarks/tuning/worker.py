"""One searcher in one process: reads a JSON command per line, searches, answers with a JSON line.

    python -m benchmarks.tuning.worker SEARCHER THREADS

Wall time is of `fit` alone, the refit included. CPU time is of this process and of those it started (joblib's). Memory
is anonymous resident memory: files that are mapped into memory do not count.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers.worker import a_few_of_each, read_data, serve, settle_memory
from benchmarks.tuning import searchers
from benchmarks.tuning.search import Search

SAMPLE_SECONDS = 0.01  # between two readings of the memory in use
NO_SVCCV = "widemargin.SVCCV is missing"


class Worker:
    """One searcher; data are read again for every command, outside the measured time."""

    def __init__(self, searcher: str, threads: int) -> None:
        self.searcher, self.threads = searcher, threads

    def search(
        self,
        search: dict[str, Any],
        data: str,
        rows: int = 0,
        save: str = "",
        cache_size: float | None = None,
        memory: bool = False,
    ) -> dict[str, Any]:
        """Search, timed.

        rows : of a part to warm up with
        save : file for the model fitted at the end
        memory : sample the memory in use, which takes a little time
        """
        X, y, fold = read(Path(data), rows)
        what = Search(**search)
        search_cv, note = searchers.build(self.searcher, what, fold, self.threads, cache_size)
        reply = measure(lambda: search_cv.fit(X, y), memory)
        best = search_cv.best_estimator_
        reply |= {
            "best": search_cv.best_params_,
            "score": float(search_cv.best_score_),
            "scores": [float(score) for score in search_cv.cv_results_["mean_test_score"]],
            "certified": searchers.certified(search_cv),
            "note": note,
        }
        if save:
            beta = best.dual_coef_.toarray() if sp.issparse(best.dual_coef_) else best.dual_coef_
            np.savez(save, support=best.support_, beta=np.ravel(beta), bias=np.ravel(best.intercept_))
        return reply | tested(best, Path(data))

    def choose(self, data: str, rows: int = 0) -> dict[str, Any]:
        """SVCCV with everything by default. rows : of a part to warm up with."""
        try:
            from widemargin import SVCCV  # type: ignore[attr-defined, unused-ignore]
        except ImportError:
            return {"missing": NO_SVCCV}
        X, y, _ = read(Path(data), rows)
        model = SVCCV(n_jobs=self.threads)
        return measure(lambda: model.fit(X, y)) | {"best": model.best_params_} | tested(model, Path(data))

    def optimum(self, C: float, gamma: float, tol: float, data: str) -> dict[str, Any]:
        """Bounds on the optimal objective of one cell on all rows."""
        X, y, _ = read(Path(data))
        kind: Any = searchers.estimator_of(searchers.OURS, "svc")
        proof = kind(C=C, gamma=gamma, tol=tol, n_jobs=self.threads).fit(X, y).certificate_
        return {"primal": float(proof.primal), "dual": float(proof.dual), "holds": bool(proof.holds)}


def read(folder: Path, rows: int = 0) -> tuple[Any, Any, Any]:
    """X in the format it was written in, y, and the fold of each row if there are folds. rows : of a small part."""
    X, y = read_data(folder, "dense" if (folder / "X.npy").exists() else "csr")
    keep = a_few_of_each(y, min(rows, len(y))) if rows else slice(None)
    fold = folder / "fold.npy"
    return X[keep], y[keep], np.load(fold)[keep] if fold.exists() else None


def tested(model: Any, folder: Path) -> dict[str, int]:
    """Correct predictions on the test set, if there is one."""
    if not (folder / "test").exists():
        return {}
    X, y, _ = read(folder / "test")
    return {"correct": int((model.predict(X) == y).sum()), "tested": len(y)}


def measure(action: Callable[[], Any], memory: bool = False) -> dict[str, float]:
    """Wall and CPU seconds, and on request the largest growth of anonymous memory in megabytes."""
    settle_memory()
    seen, done = [anonymous_mb()], threading.Event()

    def sample() -> None:
        while not done.wait(SAMPLE_SECONDS):
            seen.append(anonymous_mb())

    if memory:
        threading.Thread(target=sample, daemon=True).start()
    cpu, began = cpu_seconds(), time.perf_counter()
    try:
        action()
    finally:
        wall, used = time.perf_counter() - began, cpu_seconds() - cpu
        done.set()
    return {"wall": wall, "cpu": used} | ({"extra_mb": max(seen) - seen[0]} if memory else {})


def anonymous_mb() -> float:
    """Resident memory of this process that no file backs; nan where the system does not tell."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return float("nan")


def cpu_seconds() -> float:
    """Of this process and its descendants, living or ended; elsewhere than on Linux of this process."""
    parents, ticks = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended meanwhile
        pid = int(stat.parent.name)
        parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    family, more = set(), {os.getpid()}
    while more:
        family |= more
        more = {pid for pid, parent in parents.items() if parent in family} - family
    descendants = sum(ticks.get(pid, 0) for pid in family - {os.getpid()})
    ended = os.times()
    own = time.process_time() + ended.children_user + ended.children_system
    return own + (descendants / os.sysconf("SC_CLK_TCK") if descendants else 0.0)


if __name__ == "__main__":
    serve(Worker)
