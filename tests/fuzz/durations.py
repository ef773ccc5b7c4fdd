"""How long fits take at worst: random machines without a time limit, small data, parameters that make problems slow.

Every fit of more than `LONG` seconds is printed, and the longest. Compiling is not counted, nor are other processes:
seconds are of the CPU. `python -m tests.fuzz.durations FIRST COUNT` is one process.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse

import widemargin
from tests.fuzz.attack import REFUSALS, Case, draw
from tests.fuzz.batches import begin, run_batches
from tests.fuzz.generators import power
from tests.fuzz.summary import Figures
from widemargin._jit import seconds_compiling

LONG = 3.0  # seconds worth a line
LIMIT = 10.0  # seconds that no fit of MOST samples may take
MOST = 3_000  # samples
BATCH = 20  # fits per process
HANG = 120.0  # seconds of CPU time until a fit is given up


def slow_case(seed: int) -> Case:
    """The case of a seed with few samples and no limits; half of them with a very large C or a hard margin."""
    case, rng = draw(seed), np.random.default_rng([seed, 1])
    few = slice(min(MOST, len(case.y)))
    case.X, case.y = case.X[few], case.y[few]
    case.weight = None if case.weight is None else case.weight[few]
    if case.parameters.get("kernel") == "precomputed":
        case.X = case.X[:, few]
        if rng.random() < 0.3:  # not positive semi-definite
            noise = rng.normal(size=case.X.shape) * np.abs(case.X).mean()
            case.X = np.asarray(case.X + noise + noise.T)
    for name in ("time_limit", "max_iter", "solver"):
        case.parameters.pop(name, None)
    if "C" in case.parameters and rng.random() < 0.5:
        case.parameters["C"] = np.inf if rng.random() < 0.2 else power(rng, 5.0, 12.0)
    case.parameters["n_jobs"] = 1
    return case


def seconds_of(case: Case) -> tuple[float, str]:
    """CPU seconds of a fit, and how it ended; a second fit, if the first compiled."""
    machine = getattr(widemargin, case.machine)
    while True:
        began, compiled = time.process_time(), seconds_compiling()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                status = machine(**case.parameters).fit(case.X, case.y, case.weight).status_.name
        except REFUSALS as refusal:
            status = f"{type(refusal).__name__}: {str(refusal)[:60]}"
        if seconds_compiling() - compiled < 0.1:
            return time.process_time() - began, status


class Tally:
    """The longest fits."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.crashes: list[str] = []

    def add(self, row: dict[str, Any]) -> None:
        if "fit" in row:
            self.rows.append(row)
            if row["seconds"] > LONG:
                print(f"{row['seconds']:6.1f} s {row['status']:10} {row['fit']}", flush=True)

    def crash(self, seed: int, how: str) -> None:
        self.crashes.append(f"fit of seed {seed}: {how}")
        print(self.crashes[-1], flush=True)

    def table(self) -> str:
        worst = max(self.rows, key=lambda row: row["seconds"], default={"seconds": 0.0, "seed": -1})
        lines = [
            (f"fits of at most {MOST} samples without limits", len(self.rows) + len(self.crashes)),
            ("  longest, CPU time", f"{worst['seconds']:.1f} s (seed {worst['seed']})"),
            (f"  longer than {LIMIT:g} s", sum(row["seconds"] > LIMIT for row in self.rows)),
            ("PROCESSES THAT ENDED OR HUNG", len(self.crashes)),
        ]
        return "\n".join(f"{name:<44} {value}" for name, value in lines)

    @property
    def failed(self) -> bool:
        return bool(self.crashes) or any(row["seconds"] > LIMIT for row in self.rows)

    @property
    def figures(self) -> Figures:
        longest = max((row["seconds"] for row in self.rows), default=0.0)
        return {
            "machines tried": len(self.rows) + len(self.crashes),
            "longest fit of 3,000 samples or fewer, CPU s": round(longest, 1),
            "crashes": len(self.crashes),
        }


def run(first: int, count: int, minutes: float, n_processes: int) -> Tally:
    """Fit the cases of the seeds from `first` on until the time is over."""
    tally = Tally()
    run_batches("tests.fuzz.durations", [], (first, count), BATCH, minutes, n_processes, tally)
    return tally


def main() -> None:
    first, count = int(sys.argv[1]), int(sys.argv[2])
    for seed in range(first, first + count):
        begin(seed, HANG)
        row: dict[str, Any] = {"seed": seed}
        case = slow_case(seed)
        if case.how != "training":
            entries = f", {case.X.nnz} entries" if sparse.issparse(case.X) else ""
            seconds, status = seconds_of(case)
            row |= {"fit": f"{case}{entries}", "seconds": seconds, "status": status}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
