"""One problem, every library in turn, every answer checked: gives one record of the results.

    round 0   ours, in each input format: compiles and touches memory, not counted (unless it takes long)
    round 1   every library in each format that suits the data, after a small fit to warm up; each answer checked
    then      each library in its best format, turn and turn about, until its repeats or its seconds are used up

The best format is the quickest with an exact answer. A peer may take `patience` times our time, within limits; beyond,
its fit is ended and counts as a time-out, whose limit is a lower bound of its time.
"""

from __future__ import annotations

import contextlib
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers.checker import Answer, Check, check, is_feasible
from benchmarks.peers.driver import Failed, WorkerProcess
from benchmarks.peers.libraries import LIBRARIES, OURS
from benchmarks.peers.problems import Problem

NEAR = 1.05  # times tol: a peer this close is counted in its favour and marked; for ourselves only tol counts
WARM_UP_ROWS = 2500  # more than the size up to which matrices are whole: loads the code of the large path too
WARM_UP_SECONDS = 120.0
COMPILE_SECONDS = 60.0  # on top of the limit of our first fit, which compiles what the small one did not need
LONG_FIT = 20.0  # seconds: a first fit of ours beyond is counted instead of being made again
SPARSE_ENOUGH = 0.5  # density below which CSR is tried beside dense
DENSE_LIMIT = 1 << 30  # bytes of a dense copy beyond which only CSR is tried
NO_LIMIT = 1e9  # seconds, for the one long problem
CURVE_POINTS = 200  # of a memory curve that are kept
LIMIT_REPEATS = 3
FAILURES = ("time-out", "memory", "crash", "error")
RANK = {"exact": 0, "near": 1, "approximate": 2, "wrong": 3, "time-out": 4, "memory": 5, "crash": 6, "error": 7}


@dataclass(frozen=True)
class Effort:
    """How much time to spend.

    repeat : fits per library; seconds : per library and problem after which repeats end; patience : a peer's time over
    ours before it is stopped, within least_timeout ... timeout seconds.
    """

    repeat: int = 5
    seconds: float = 60.0
    patience: float = 100.0
    least_timeout: float = 30.0
    timeout: float = 600.0

    def allowance(self, ours: float | None) -> float:
        """Seconds a peer's fit may take."""
        if ours is None:
            return self.timeout
        return min(self.timeout, max(self.least_timeout, self.patience * ours))


@dataclass
class Run:
    """A library on a problem in one format."""

    library: str
    format: str
    status: str = "exact"
    message: str = ""
    times: list[float] = field(default_factory=list)
    first_seconds: float | None = None
    violation: float = 0.0
    objective: float | None = None
    infeasibility: float = 0.0
    n_support: int | None = None
    n_free: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    limit: float | None = None
    best: bool = False

    @property
    def seconds(self) -> float:
        """Median time; of a time-out its limit."""
        if self.times:
            return statistics.median(self.times)
        return self.limit if self.status == "time-out" and self.limit is not None else float("inf")

    @property
    def failed(self) -> bool:
        return self.status in FAILURES

    def as_dict(self) -> dict[str, Any]:
        seconds = self.seconds
        return {**asdict(self), "seconds": seconds if np.isfinite(seconds) else None}


def classify(result: Check, tol: float, ours: bool) -> str:
    """exact, near (peers only) or wrong."""
    if not is_feasible(result) or not np.isfinite(result.violation):
        return "wrong"
    if result.violation <= tol:
        return "exact"
    return "near" if result.violation <= NEAR * tol and not ours else "wrong"


class Comparison:
    """The workers of a benchmark run, and what is needed to ask them."""

    def __init__(
        self, libraries: list[str], threads: int, scratch: Path, effort: Effort, tuned: dict[str, Any] | None = None
    ) -> None:
        self.threads, self.scratch, self.effort = threads, scratch, effort
        self.workers = {}
        for name in libraries:
            settings = LIBRARIES[name].settings
            chosen = (tuned or {}).get(name, {}).get("chosen", next(iter(settings)))
            self.workers[name] = WorkerProcess(name, threads, scratch, settings[chosen])

    def close(self) -> None:
        """End every worker."""
        for worker in self.workers.values():
            worker.end()

    def compare(self, problem: Problem, X: Any, y: Any) -> dict[str, Any]:
        """The record of one problem."""
        folder = write_data(self.scratch, f"{problem.data}-{len(y)}", X, y)
        self.X, self.y, self.answers, self.last_format = X, y, {}, {}
        self.limits: list[float] = []
        runs = [
            Run(name, form)
            for name in self.workers
            if LIBRARIES[name](1).supports(problem)
            for form in formats_for(name, X)[: 1 if problem.long else None]
            if name == OURS or not problem.long
        ]
        ours: float | None = None
        for run in runs:
            if run.library == OURS:
                self._warm_up(run, problem, folder)  # starting a process and importing are not part of any time limit
                self._fit(
                    run,
                    problem,
                    folder,
                    NO_LIMIT if problem.long else self.effort.timeout + COMPILE_SECONDS,
                    first=True,
                )
                ours = min(filter(None, (ours, run.first_seconds)), default=None)
        for run in runs:
            if not run.failed and not run.times:
                allowed = self.effort.allowance(None if run.library == OURS else ours)
                if run.library != OURS:
                    self._warm_up(run, problem, folder)
                self._fit(run, problem, folder, allowed)
        chosen = [best_of([run for run in runs if run.library == name]) for name in self.workers]
        for run in filter(None, chosen):
            run.best = True
        self._repeat([run for run in chosen if run is not None and not run.failed], problem, folder, ours)
        n, d = X.shape
        return {
            "problem": problem.as_dict(),
            "n": n,
            "d": d,
            "classes": int(len(np.unique(y))) if problem.machine in ("svc", "nu_svc") else None,
            "density": float((X.nnz if sp.issparse(X) else np.count_nonzero(X)) / (n * d)),
            "threads": self.threads,
            "limit_seconds": self._limit(problem, folder, runs),
            "runs": [run.as_dict() for run in runs],
            "curve": self.curve[:: 1 + len(self.curve) // CURVE_POINTS] if problem.long else [],
        }

    def _repeat(self, runs: list[Run], problem: Problem, folder: Path, ours: float | None) -> None:
        """Turn and turn about, so that a busy moment of the machine does not hit one library alone."""
        for _ in range(self.effort.repeat - 1):
            for run in runs:
                spent = sum(run.times)
                if not run.failed and spent + spent / len(run.times) <= self.effort.seconds:
                    self._fit(run, problem, folder, self.effort.allowance(None if run.library == OURS else ours))
                    if run.library == OURS and not run.failed:
                        self._verify(problem)

    def _warm_up(self, run: Run, problem: Problem, folder: Path) -> None:
        """A small fit: libraries load and compile on their first call. What goes wrong here shows in the real fit."""
        worker, key = self.workers[run.library], (problem.machine, problem.kernel, run.format)
        if worker.process is not None and worker.process.poll() is None and key in worker.warm:
            return
        command = {"do": "fit", "problem": problem.as_dict(), "data": str(folder), "form": run.format}
        with contextlib.suppress(Failed):
            worker.ask({**command, "rows": WARM_UP_ROWS}, WARM_UP_SECONDS)
            worker.warm.add(key)

    def _fit(self, run: Run, problem: Problem, folder: Path, timeout: float, first: bool = False) -> None:
        """One fit, and the check of its answer.

        Memory is that of the first fit counted, before which the process gives back what it does not use. The fits
        after it find the heap as any program finds it that fits more than once: faulting the same pages in again for
        each fit took up to a quarter of the time of short ones.
        """
        path = answer_path(self.scratch, run.library, run.format)
        command = {"do": "fit", "problem": problem.as_dict(), "data": str(folder), "form": run.format}
        command["settle"] = not run.times
        try:
            reply = self.workers[run.library].ask({**command, "answer": str(path)}, timeout)
        except Failed as failure:
            run.status, run.message, run.limit = failure.kind, str(failure), timeout
            return
        self.last_format[run.library], self.curve = run.format, self.workers[run.library].curve
        if first:
            run.first_seconds = reply["seconds"]
        if not first or reply["seconds"] > LONG_FIT:
            run.times.append(reply["seconds"])
            for name in ("peak_mb", "extra_mb"):  # of counted fits only: compiling takes memory of its own
                run.facts[name] = max(run.facts.get(name, 0.0), reply[name])
        run.facts.update({k: v for k, v in reply.items() if k not in ("seconds", "peak_mb", "extra_mb")})
        if LIBRARIES[run.library].has_multipliers:
            self._check(run, problem, path)
        else:
            self._primal_only(run, problem, path)

    def _check(self, run: Run, problem: Problem, path: Path) -> None:
        """Recompute violation and objective, unless this library returned these very numbers before."""
        answer = Answer.load(path)
        if answer.same(self.answers.get((run.library, run.format))):
            return
        self.answers[run.library, run.format] = answer
        result = check(problem, self.X, self.y, answer, self.threads)
        status = classify(result, problem.tol, run.library == OURS)
        if RANK[status] > RANK[run.status]:
            run.status = status
            run.message = f"violation {result.violation:.2e}, infeasibility {result.infeasibility:.1e}"
        run.violation = max(run.violation, result.violation)
        run.infeasibility = max(run.infeasibility, result.infeasibility)
        run.objective, run.n_support, run.n_free = result.objective, result.n_support, result.n_free

    def _primal_only(self, run: Run, problem: Problem, path: Path) -> None:
        """Without multipliers there is no violation: note the primal value, which our dual one bounds from below."""
        with np.load(path) as kept:
            weights, bias = kept["weights"], float(kept["bias"][0])
        sign = np.where(self.y == self.y.max(), 1.0, -1.0)
        margins = sign * (np.asarray(self.X @ weights).ravel() + bias)
        run.objective = float(0.5 * weights @ weights + problem.C * np.maximum(0.0, 1.0 - margins).sum())
        run.status, run.violation = "approximate", float("nan")
        run.message = f"no multipliers; primal value {run.objective:.6g}"

    def _limit(self, problem: Problem, folder: Path, runs: list[Run]) -> float | None:
        """Median seconds of the verification pass, in the format of our best run."""
        mine = next((run for run in runs if run.library == OURS and run.best and not run.failed), None)
        if mine is None:
            return None
        if not self.limits:
            if self.last_format[OURS] != mine.format:  # the worker holds the model of its last fit
                self._fit(mine, problem, folder, NO_LIMIT if problem.long else self.effort.timeout)
            self._verify(problem)
        return float(np.median(self.limits)) if self.limits else None

    def _verify(self, problem: Problem) -> None:
        """Time verification passes with the model just fitted: next to the fit, for the machine is not always as fast.

        The first pass compiles and touches memory; of a long problem it counts.
        """
        repeat = 0 if problem.long else LIMIT_REPEATS
        with contextlib.suppress(Failed):
            command = {"do": "limit", "problem": problem.as_dict(), "repeat": repeat}
            timeout = NO_LIMIT if problem.long else self.effort.timeout
            self.limits.append(self.workers[OURS].ask(command, timeout)["seconds"])


def answer_path(scratch: Path, library: str, form: str) -> Path:
    """Where the numbers of a library's last fit in a format are."""
    return scratch / f"answer-{library}-{form}.npz"


def formats_for(library: str, X: Any) -> list[str]:
    """Input formats worth trying: dense unless it is too large, CSR where many values are zero."""
    n, d = X.shape
    density = (X.nnz if sp.issparse(X) else np.count_nonzero(X)) / max(1, n * d)
    suited = []
    if 8 * n * d <= DENSE_LIMIT:
        suited.append("dense")
    if density < SPARSE_ENOUGH or not suited:
        suited.append("csr")
    known = LIBRARIES[library].formats
    return [form for form in suited if form in known] or [form for form in known if form == "csr"]


def best_of(runs: list[Run]) -> Run | None:
    """The quickest run among those with the best status; an exact and a near one rank the same."""
    return min(runs, key=lambda run: (max(1, RANK[run.status]), run.seconds), default=None)


def write_data(scratch: Path, name: str, X: Any, y: Any) -> Path:
    """The files workers read, written once per set."""
    folder = scratch / name
    if not (folder / "y.npy").exists():
        folder.mkdir(parents=True, exist_ok=True)
        if sp.issparse(X):
            sp.save_npz(folder / "X.npz", sp.csr_matrix(X), compressed=False)
        else:
            np.save(folder / "X.npy", X)
        np.save(folder / "y.npy", y)
    return folder
