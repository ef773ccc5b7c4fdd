"""Which thread setting suits each OpenMP library on this machine: tried once per run, on generated data, and recorded.

LIBSVM and ThunderSVM open a parallel region for every row of the kernel matrix. Threads that spin between two regions
are ruinous where other processes want the cores: on a busy machine LIBSVM on 4000 rows of a9a took 8.8 s with the
default of two spinning threads, 0.56 s with two that sleep, 0.52 s with one. A peer must not lose by a setting of ours,
so each gets its quickest; without this trial (the short run) its threads sleep.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.peers import datasets
from benchmarks.peers.comparison import formats_for, write_data
from benchmarks.peers.driver import POLL_SECONDS, Failed, WorkerProcess
from benchmarks.peers.libraries import LIBRARIES
from benchmarks.peers.problems import Problem

ROWS = 5000
WARM_UP_ROWS = 300
WARM_UP_SECONDS = 120.0
FITS = 2
TIMEOUT = 60.0  # seconds of one fit
SLOWER = 1.5  # times the best setting so far: a fit that takes longer is stopped


def choose_settings(libraries: list[str], threads: int, scratch: Path, rows: int = ROWS) -> dict[str, dict[str, Any]]:
    """For each library with a choice: the setting chosen, and the seconds of all (None where a fit failed)."""
    X, y = datasets.load(f"noise-{rows}", None)
    folder = write_data(scratch, f"tuning-{rows}", X, y)
    problem = Problem("tuning", "noise", gamma=0.05).as_dict()
    found = {}
    for name in libraries:
        kind = LIBRARIES[name]
        if len(kind.settings) < 2:
            continue
        seconds: dict[str, float | None] = {}
        allowed = TIMEOUT
        for setting, variables in kind.settings.items():
            worker = WorkerProcess(name, threads, scratch, variables)
            command = {"do": "fit", "problem": problem, "data": str(folder), "form": formats_for(name, X)[0]}
            try:
                worker.ask({**command, "rows": WARM_UP_ROWS}, WARM_UP_SECONDS)
                seconds[setting] = min(worker.ask(command, allowed)["seconds"] for _ in range(FITS))
                allowed = min(allowed, SLOWER * seconds[setting] + POLL_SECONDS)
            except Failed:
                seconds[setting] = None
            finally:
                worker.end()
        done = {setting: taken for setting, taken in seconds.items() if taken is not None}
        chosen = min(done, key=lambda setting: done[setting]) if done else next(iter(seconds))
        found[name] = {"chosen": chosen, "seconds": seconds}
    return found
