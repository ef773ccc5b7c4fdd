"""Measurements made of whole comparisons: memory against cache_size, time against n, one thread against several.

memory    a new process per cache size: peak of the fit beyond what was resident before, less the cache allowed
scaling   fit time against n beside scikit-learn, exponent p of time ~ n^p by least squares on the logarithms
threads   the same problem on one and on several threads: speed-up, and how far the answers differ
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import datasets
from benchmarks.peers.checker import Answer, decision_values
from benchmarks.peers.comparison import Comparison, Effort, answer_path, write_data
from benchmarks.peers.driver import Failed, WorkerProcess
from benchmarks.peers.libraries import OURS, ScikitLearn
from benchmarks.peers.problems import Problem

FITTED_FROM = 4000  # samples: up to 2048 our solver holds the whole matrix, another regime with another slope
COMPARED_ROWS = 2000  # on which the decision values of two answers are compared
WARM_UP_ROWS = 5000  # more than the size up to which the whole matrix is held: loads the code of the large path
FIXED_MB = 256.0  # tiles, and blocks of the working set up to 4096 x 4096 in float32, with room for the allocator
BYTES_PER_VALUE = 12  # of X: prepared once in float64 and once in float32
BYTES_PER_SAMPLE = 400  # gradient, multipliers, bounds, places and other vectors


def memory(problem: Problem, X: Any, y: Any, sizes: list[float], threads: int, scratch: Path) -> list[dict[str, Any]]:
    """Peak extra megabytes for each cache size, and what cache_size + O(n) allows."""
    folder = write_data(scratch, f"{problem.data}-{len(y)}", X, y)
    form = "csr" if hasattr(X, "tocsr") else "dense"
    stored = X.nnz if hasattr(X, "nnz") else X.size
    linear = (BYTES_PER_VALUE * stored + BYTES_PER_SAMPLE * len(y)) / (1 << 20)
    rows = []
    for size in sizes:
        worker = WorkerProcess(OURS, threads, scratch)
        command = {"do": "fit", "problem": dataclasses.replace(problem, cache_size=size).as_dict()}
        command |= {"data": str(folder), "form": form}
        row: dict[str, Any] = {"problem": problem.name, "n": len(y), "cache_size": size}
        try:
            worker.ask({**command, "rows": WARM_UP_ROWS}, 300)
            reply = worker.ask(command, 600)
            allowed = size + linear + FIXED_MB
            row |= {"extra_mb": reply["extra_mb"], "allowed_mb": allowed, "seconds": reply["seconds"]}
        except Failed as failure:
            row["failed"] = f"{failure.kind}: {failure}"
        finally:
            worker.end()
        rows.append(row)
    return rows


def scaling(
    problem: Problem, sizes: list[int], folder: Path | None, threads: int, scratch: Path, effort: Effort
) -> dict[str, Any]:
    """Times against n, and the two exponents. A generated set is made at each size, a read one is cut."""
    comparison = Comparison([OURS, ScikitLearn.name], threads, scratch, effort)
    points, given_up = [], False
    try:
        for n in sizes:
            kind = problem.data.split("-")[0]
            generated = kind in datasets.GENERATED
            name = f"{kind}-{n}" if generated else problem.data
            X, y = datasets.load(name, folder, None if generated else n)
            if given_up and ScikitLearn.name in comparison.workers:
                comparison.workers.pop(ScikitLearn.name).end()
            record = comparison.compare(dataclasses.replace(problem, data=name), X, y)
            best = {run["library"]: run for run in record["runs"] if run["best"]}
            point: dict[str, Any] = {"n": len(y)}
            for library, run in best.items():
                done = run["status"] in ("exact", "near")
                point[library] = run["seconds"] if done else None
                point[f"{library} status"] = run["status"] if done else f"{run['status']}: {run['message']}"
                given_up = given_up or (library == ScikitLearn.name and run["status"] == "time-out")
            points.append(point)
    finally:
        comparison.close()
    exponents = {library: exponent(points, library) for library in (OURS, ScikitLearn.name)}
    return {"problem": problem.name, "points": points, "exponents": exponents}


def exponent(points: list[dict[str, Any]], library: str) -> float | None:
    """p of time ~ n^p over the larger sizes; None with fewer than two of them."""
    pairs = [(p["n"], p[library]) for p in points if p.get(library) and p["n"] >= FITTED_FROM]
    if len(pairs) < 2:
        return None
    n, seconds = np.log(np.array(pairs, float)).T
    return float(np.polyfit(n, seconds, 1)[0])


def thread_counts(problem: Problem, X: Any, y: Any, counts: list[int], scratch: Path, effort: Effort) -> dict[str, Any]:
    """Times and answers of ours on several numbers of threads; differences against the first."""
    rows, first = [], None
    comparisons = {count: Comparison([OURS], count, scratch, effort) for count in counts}
    try:
        for count, comparison in comparisons.items():
            record = comparison.compare(problem, X, y)
            run = next(run for run in record["runs"] if run["best"])
            row = {"threads": count, "seconds": run["seconds"], "status": run["status"], "objective": run["objective"]}
            if run["status"] in ("exact", "wrong"):
                answer = Answer.load(answer_path(scratch, OURS, run["format"]))
                values = decision_values(problem, X, answer, np.arange(min(COMPARED_ROWS, len(y))))
                if first is None:
                    first = (run["objective"], values, run["seconds"])
                row["objective_difference"] = abs(run["objective"] - first[0]) / max(abs(first[0]), 1e-300)
                row["decision_difference"] = float(np.abs(values - first[1]).max())
                row["speed_up"] = first[2] / run["seconds"]
            rows.append(row)
    finally:
        for comparison in comparisons.values():
            comparison.close()
    return {"problem": problem.name, "n": len(y), "rows": rows}
