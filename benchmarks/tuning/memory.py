"""Jobs: memory that our search takes beyond what was in use before, for several cache sizes, a new process each."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.peers.growth import BYTES_PER_SAMPLE, BYTES_PER_VALUE, FIXED_MB
from benchmarks.tuning.bench import Bench
from benchmarks.tuning.grids import Job
from benchmarks.tuning.mixture import bandwidth, mixture
from benchmarks.tuning.rounds import WARM_UP_ROWS, WARM_UP_SECONDS
from benchmarks.tuning.search import Search
from benchmarks.tuning.searchers import OURS

ROWS, FEATURES = 10_000, 10  # a kernel matrix of 400 MB in float32
CACHE_SIZES: tuple[float | None, ...] = (100.0, 400.0, 1000.0, None)  # MB: below, at and above that; by default


def jobs() -> dict[str, Job]:
    return {f"memory/{'default' if size is None else f'{size:.0f}'}": partial(taken, size) for size in CACHE_SIZES}


def taken(cache_size: float | None, bench: Bench) -> dict[str, Any]:
    """Peak of anonymous memory, and what cache_size + O(n) allows (None by default: sized to the free memory)."""
    X, y = mixture(bench.rows() or ROWS, FEATURES)
    gamma = 2.0 * bandwidth(X)
    search = Search("svc", {"C": [0.1, 1.0, 10.0], "gamma": [gamma / 2.0, gamma, 2.0 * gamma]})
    data = bench.rounds.write("memory", X, y)
    command = {"do": "search", "search": search.as_dict(), "data": str(data), "cache_size": cache_size, "memory": True}
    worker = bench.rounds.new_worker(OURS)
    try:
        worker.ask({**command, "search": search.warm_up().as_dict(), "rows": WARM_UP_ROWS}, WARM_UP_SECONDS)
        reply = worker.ask(command, bench.rounds.effort.timeout)
    finally:
        worker.end()
    linear = (BYTES_PER_VALUE * X.size + BYTES_PER_SAMPLE * len(y)) / (1 << 20)
    allowed = None if cache_size is None else cache_size + linear + FIXED_MB
    found = {"n": len(y), "cache_size": cache_size, "allowed_mb": allowed, "cells": search.cells}
    return found | {"extra_mb": reply["extra_mb"], "wall": reply["wall"], "note": reply["note"]}
