"""Jobs: TorchKM's workload, 50 values of C for one gamma, ten folds, and a fit with the best one.

mixture   its simulated data (mixture.py), n = 10,000 and 20,000; two ranges: "lambda", lambda = 10^3 ... 10^-3 with
          C = 1 / (2 n lambda), as its Table 2 was computed, and "C", C = 10^-3 ... 10^3, as its text says
files     its Table 3: a7a, a8a, w7a as they are, lambda = 10^-1 ... 10^-5, tested on the .t files
torchkm   TorchKM itself beside us on these cores, n = 2,000 and 5,000, p = 10, both ranges

Published times are of one NVIDIA L40S without the time of the kernel matrix (arXiv 2606.06742, Tables 2 and 3); ours
include everything. The excess is of the objective of the model fitted at the end over a lower bound on the optimum,
proven by a fit with tol = 1e-6.
"""

from __future__ import annotations

import json
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.datasets import MissingData
from benchmarks.peers.driver import TAIL, Failed, environment
from benchmarks.tuning import sets
from benchmarks.tuning.bench import Bench
from benchmarks.tuning.grids import Job
from benchmarks.tuning.mixture import bandwidth, folds, mixture
from benchmarks.tuning.objective import excess, primal
from benchmarks.tuning.rounds import Action, model_path
from benchmarks.tuning.search import Search, powers_of_ten
from benchmarks.tuning.searchers import OURS

PUBLISHED = {  # seconds
    "mixture/10000x10": 23.3,
    "mixture/10000x100": 17.9,
    "mixture/10000x1000": 37.7,
    "mixture/20000x10": 76.0,
    "mixture/20000x100": 78.2,
    "mixture/20000x1000": 129.3,
    "files/a7a": 48.5,
    "files/a8a": 106.9,
    "files/w7a": 135.1,
}
ACCURACY = {"files/a7a": 0.830, "files/a8a": 0.833, "files/w7a": 0.971}  # on the test file, published
VALUES = 50  # of C
QUICK_DIMENSION = 20
SIZES = ((10_000, 10), (10_000, 100), (10_000, 1000), (20_000, 10), (20_000, 100), (20_000, 1000))
TORCH_SIZES = ((2000, 10), (5000, 10))
RANGES = ("lambda", "C")
OPTIMUM_TOL = 1e-6
OPTIMUM_SECONDS = 3600.0
MAX_ITER = 100_000  # TorchKM's, a total over all C; with its default of 1,000 it ends far from the optimum
TORCH_SECONDS = 600.0
TORCHKM = "torchkm"
NO_TORCHKM = "no Python that has it: give one by --torchkm"


def jobs() -> dict[str, Job]:
    found: dict[str, Job] = {}
    for n, p in SIZES:
        for range_name in RANGES:
            found[f"mixture/{n}x{p}-{range_name}"] = partial(simulated, n, p, range_name)
    for name in ("a7a", "a8a", "w7a"):
        found[f"files/{name}"] = partial(from_file, name)
    found["torchkm/generator"] = generators
    for n, p in TORCH_SIZES:
        for range_name in RANGES:
            found[f"torchkm/{n}x{p}-{range_name}"] = partial(beside, n, p, range_name)
    return found


def values_of_C(range_name: str, n: int, first: float = 3.0, last: float = -3.0) -> list[float]:
    """The 50 values, ascending; lambda = 10^first ... 10^last."""
    if range_name == "C":
        return powers_of_ten(-3, 3, VALUES)
    return [1.0 / (2.0 * n * lam) for lam in powers_of_ten(first, last, VALUES)]


def simulated(n: int, p: int, range_name: str, bench: Bench) -> dict[str, Any]:
    if bench.quick:
        n, p = bench.rows() or n, min(p, QUICK_DIMENSION)
    X, y = mixture(n, p)
    return searched(f"mixture-{n}x{p}", X, y, values_of_C(range_name, n), bench)


def from_file(name: str, bench: Bench) -> dict[str, Any]:
    X, y = sets.load(name, bench.folder, bench.rows())
    test = sets.load(f"{name}.t", bench.folder, bench.rows())
    return searched(name, X, y, values_of_C("lambda", len(y), -1.0, -5.0), bench, test)


def beside(n: int, p: int, range_name: str, bench: Bench) -> dict[str, Any]:
    """Ours and TorchKM on the same rows, folds, gamma and C."""
    if bench.quick:
        n = bench.rows() or n
    X, y = mixture(n, p)
    return searched(f"mixture-{n}x{p}", X, y, values_of_C(range_name, n), bench, with_torchkm=True)


def generators(bench: Bench) -> dict[str, Any]:
    """How far our generator of the mixture is from TorchKM's, in standard errors."""
    if bench.arguments.torchkm is None:
        raise MissingData(NO_TORCHKM)
    return {"differences": call_torch(bench, ["--check"])}


def searched(
    name: str, X: Any, y: Any, C: list[float], bench: Bench, test: Any = None, with_torchkm: bool = False
) -> dict[str, Any]:
    """The record of one set: time, C chosen, error held out, excess of the objective."""
    sigma = bandwidth(X)
    search = bench.size(Search("svc", {"C": C}, folds=0, fixed={"gamma": 2.0 * sigma}))
    fold = folds(len(y))
    data = bench.rounds.write(name, X, y, fold, test)
    actions = {OURS: bench.rounds.searching(OURS, search, data, {})}
    if with_torchkm and bench.arguments.torchkm is None:
        bench.leave_out("TorchKM itself", NO_TORCHKM)
    elif with_torchkm:
        given = data / "torchkm-given.npz"
        np.savez(given, X=X, y=y, fold=fold, C=search.grid["C"], gamma=2.0 * sigma)
        answer, threads = str(model_path(data, TORCHKM)), str(bench.arguments.threads)
        actions[TORCHKM] = Action(lambda: call_torch(bench, [str(given), answer, str(MAX_ITER), threads]))
    runs = bench.rounds.interleave(actions)
    for who, run in runs.items():
        if run["status"] == "done":
            chosen = run["best"]["C"]
            run["error"] = 1.0 - run["score"]
            try:
                bounds = bench.rounds.worker(OURS).ask(
                    {"do": "optimum", "C": chosen, "gamma": 2.0 * sigma, "tol": OPTIMUM_TOL, "data": str(data)},
                    OPTIMUM_SECONDS,
                )
            except Failed as failure:
                bench.leave_out(f"optimum of {name} at C = {chosen:g}", str(failure))
                continue
            with np.load(model_path(data, who)) as model:
                value = primal(X, y, model["support"], model["beta"], float(model["bias"][0]), chosen, 2.0 * sigma)
            run |= {"objective": value, "optimum": bounds, "excess": excess(value, bounds["dual"])}
    tried = {"set": name, "n": X.shape[0], "d": X.shape[1], "sigma": sigma, "gamma": 2.0 * sigma, "runs": runs}
    return tried | {"C": [search.grid["C"][0], search.grid["C"][-1]], "cells": search.cells}


def call_torch(bench: Bench, arguments: list[str]) -> dict[str, Any]:
    """Run in_torch.py by the Python that has TorchKM; its last line of output is JSON."""
    script = Path(__file__).with_name("in_torch.py")
    try:
        done = subprocess.run(
            [bench.arguments.torchkm, str(script), *arguments],
            capture_output=True,
            text=True,
            timeout=TORCH_SECONDS,
            env=environment(bench.arguments.threads),
        )
    except subprocess.TimeoutExpired:
        raise Failed("time-out", f"no answer within {TORCH_SECONDS:.0f} s", TORCH_SECONDS) from None
    except OSError as error:
        raise Failed("error", f"--torchkm: {error}") from None
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise Failed("crash", f"ended with code {done.returncode}: {done.stderr.strip()[-TAIL:]}")
    return json.loads(lines[-1])
