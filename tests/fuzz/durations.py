"""How long fits take at worst: random machines without a time limit, small data, parameters that make problems slow.

`python -m tests.fuzz.durations --minutes 5` prints every fit of more than `LONG` seconds, and the longest. Compiling
is not counted, nor are other processes: seconds are of this process's threads.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
import warnings

import numpy as np
from scipy import sparse

import widemargin
from tests.fuzz.attack import REFUSALS, Case, draw
from tests.fuzz.generators import power
from widemargin._jit import seconds_compiling

LONG = 3.0  # seconds worth a line
LIMIT = 10.0  # seconds that no fit of MOST samples may take
MOST = 3_000  # samples


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


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.durations", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=1 << 40, help="number of seeds at most")
    parser.add_argument("--hang", type=float, default=120.0, help="CPU seconds until a fit is given up")
    options = parser.parse_args()
    deadline, count, longest = time.time() + 60.0 * options.minutes, 0, (0.0, "")
    for seed in range(options.seed, options.seed + options.count):
        if time.time() > deadline:
            break
        case = slow_case(seed)
        if case.how == "training":
            continue
        text = str(case) + (f", {case.X.nnz} entries" if sparse.issparse(case.X) else "")
        ended = threading.Event()
        threading.Thread(target=watch, args=(ended, options.hang, text), daemon=True).start()
        seconds, status = seconds_of(case)
        ended.set()
        count, longest = count + 1, max(longest, (seconds, text))
        if seconds > LONG:
            print(f"{seconds:6.1f} s {status:10} {text}", flush=True)
    print(f"{count} fits, the longest {longest[0]:.1f} s: {longest[1]}")
    return int(longest[0] > LIMIT)


def watch(ended: threading.Event, seconds: float, text: str) -> None:
    """End the process once it has computed for so long: a compiled call cannot be interrupted."""
    began = time.process_time()
    while not ended.wait(1.0):
        if time.process_time() - began > seconds:
            print(f"  HANG {text}", flush=True)
            os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
