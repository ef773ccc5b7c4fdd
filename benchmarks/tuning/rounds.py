"""One search, every searcher in turn, until each has its repeats: gives one record of the results.

Before the first round each searcher makes a small search on some of the rows, which loads its code and is not counted;
our estimators compile more of it as they are used, so their first whole search is not counted either, unless it takes
`LONG_FIT` seconds. A searcher that took `once` seconds or more is not asked again; its figure is that one run, all
others are medians. A search that takes longer than `timeout` is ended, and its limit is a lower bound of its time.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers.comparison import LONG_FIT, WARM_UP_ROWS, WARM_UP_SECONDS, write_data
from benchmarks.peers.driver import Failed, WorkerProcess
from benchmarks.tuning.search import Search
from benchmarks.tuning.searchers import MODULES, OURS

CACHE_FOLDER = "joblib"  # in the scratch folder: what joblib's processes share is removed with it


@dataclass(frozen=True)
class Effort:
    """repeat : searches per searcher; once : seconds from which a searcher runs once; timeout : of one search."""

    repeat: int = 3
    once: float = 600.0
    timeout: float = 4 * 3600.0


class Action(NamedTuple):
    """Something to measure: `call` returns its wall and CPU seconds with other facts, or raises Failed."""

    call: Callable[[], dict[str, Any]]
    compiles: bool = False  # the first time, which is then not counted


class Rounds:
    """The processes of all searchers, kept from search to search."""

    def __init__(self, threads: int, scratch: Path, effort: Effort) -> None:
        self.threads, self.scratch, self.effort = threads, scratch, effort
        self.workers: dict[str, WorkerProcess] = {}
        (scratch / CACHE_FOLDER).mkdir()

    def compare(
        self, names: list[str], search: Search, data: Path, timeouts: dict[str, float] | None = None
    ) -> dict[str, dict[str, Any]]:
        """Runs of all searchers by name. timeouts : of those with a limit of their own."""
        return self.interleave({name: self.searching(name, search, data, timeouts or {}) for name in names})

    def searching(self, name: str, search: Search, data: Path, timeouts: dict[str, float]) -> Action:
        """One search as an action, its process warmed up; two-class models are left in `model_path`."""
        self.warm_up(name, search, data)
        command = {"do": "search", "search": search.as_dict(), "data": str(data)}
        if search.machine == "svc":
            command["save"] = str(model_path(data, name))
        return Action(
            lambda: self.worker(name).ask(dict(command), timeouts.get(name, self.effort.timeout)),
            compiles=MODULES[name] == "widemargin",
        )

    def interleave(self, actions: dict[str, Action]) -> dict[str, dict[str, Any]]:
        """Repeat all actions in turn; what each returned last, with the times of all its runs and their medians."""
        runs: dict[str, dict[str, Any]] = {
            name: {"walls": [], "cpus": [], "status": "done", "rehearsed": not action.compiles}
            for name, action in actions.items()
        }
        for _ in range(self.effort.repeat + 1):
            for name, run in runs.items():
                over = len(run["walls"]) == self.effort.repeat or any(wall >= self.effort.once for wall in run["walls"])
                if run["status"] == "done" and not over:
                    self._once_more(run, actions[name])
        for run in runs.values():
            del run["rehearsed"]
            run["wall"] = statistics.median(run["walls"]) if run["walls"] else None
            run["cpu"] = statistics.median(run["cpus"]) if run["cpus"] else None
        return runs

    @staticmethod
    def _once_more(run: dict[str, Any], action: Action) -> None:
        """One more measurement of a run, or how it failed."""
        try:
            reply = action.call()
        except Failed as failure:
            run |= {"status": failure.kind, "message": str(failure), "limit": failure.seconds}
            return
        wall, cpu = reply.pop("wall"), reply.pop("cpu")
        if run["rehearsed"] or wall >= LONG_FIT:
            run["walls"].append(wall)
            run["cpus"].append(cpu)
        run["rehearsed"] = True
        run |= reply

    def warm_up(self, name: str, search: Search, data: Path) -> None:
        """Once per process, estimator and set; what fails here fails again where it is recorded."""
        worker = self.worker(name)
        if (search.machine, data.name) in worker.warm:
            return
        small = {"do": "search", "search": search.warm_up().as_dict(), "data": str(data), "rows": WARM_UP_ROWS}
        try:
            worker.ask(small, WARM_UP_SECONDS)
            worker.warm.add((search.machine, data.name))
        except Failed:
            pass

    def worker(self, name: str) -> WorkerProcess:
        if name not in self.workers:
            self.workers[name] = self.new_worker(name)
        return self.workers[name]

    def new_worker(self, name: str) -> WorkerProcess:
        """A process of its own, which the caller ends."""
        variables = {"JOBLIB_TEMP_FOLDER": str(self.scratch / CACHE_FOLDER)}
        return WorkerProcess(name, self.threads, self.scratch, variables, module="benchmarks.tuning.worker")

    def close(self) -> None:
        for worker in self.workers.values():
            worker.end()

    def write(self, name: str, X: Any, y: Any, fold: Any = None, test: tuple[Any, Any] | None = None) -> Path:
        """The files of a set, for all processes; those of the set before are removed."""
        for old in self.scratch.glob("set-*"):
            shutil.rmtree(old)
        folder = write_data(self.scratch, f"set-{name}", X, y)
        if fold is not None:
            np.save(folder / "fold.npy", fold)
        if test is not None:
            write_data(folder, "test", *test)
        return folder


def model_path(data: Path, name: str) -> Path:
    """Where a searcher leaves the model it fitted at the end."""
    return data / f"{name}-model.npz"


def agreement(runs: dict[str, dict[str, Any]], unit: float) -> dict[str, dict[str, float]]:
    """How far each searcher's scores are from ours, in units (1 / n_test of a fold for accuracy).

    best : its best score less ours; cells : the largest difference of one cell; regret : by how much the cell that we
    chose is below its best one, both by its scores.
    """
    ours, found = runs[OURS], {}
    for name, run in runs.items():
        if name == OURS or "scores" not in run or "scores" not in ours:
            continue
        theirs, mine = np.array(run["scores"]), np.array(ours["scores"])
        chosen = int(np.nanargmax(mine))
        found[name] = {
            "best": (run["score"] - ours["score"]) / unit,
            "cells": float(np.nanmax(np.abs(theirs - mine))) / unit,
            "regret": float(np.nanmax(theirs) - theirs[chosen]) / unit,
        }
    return found


def ratio(runs: dict[str, dict[str, Any]], name: str, clock: str = "wall") -> float | None:
    """A searcher's time over ours; of a time-out the limit over ours."""
    ours, run = runs.get(OURS, {}), runs.get(name, {})
    time = run.get(clock) or (run.get("limit") if clock == "wall" and run.get("status") == "time-out" else None)
    return time / ours[clock] if time and ours.get(clock) else None
