"""Nanoseconds of elementary steps on this machine, beside those that widemargin assumes (widemargin/costs.py).

    python -m benchmarks.costs

One thread, CPU time of that thread, best of several runs, compilation excluded. Only ratios matter to the package: all
costs larger or smaller by one factor change no decision. What only whole fits can tell is listed as assumed.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import asdict

import numpy as np
from scipy.linalg import lapack

from benchmarks.timing import fastest
from widemargin import SVC
from widemargin.costs import COSTS
from widemargin.gram import FullGram
from widemargin.kernels import Gaussian
from widemargin.linalg.row_sums import add_weighted_rows
from widemargin.parallel.tiles import run_tiles, single_threaded_blas

REPEATS = 9
ORDER = 1000  # of matrices that are factored


def best(task: Callable[[], object], clock: Callable[[], float] = time.thread_time) -> float:
    """Nanoseconds of the fastest of several runs, after one that compiles."""
    return 1e9 * fastest(task, REPEATS, clock)


def per_value(X: np.ndarray) -> float:
    """A Gaussian value in float32, in blocks of 256 x 1024."""
    kernel = Gaussian(1.0 / X.shape[1])
    samples = kernel.prepare(X, np.float32)
    out = np.empty((256, 1024), np.float32)
    return best(lambda: kernel.block(samples.tile(0, 256), samples.tile(256, 1280), out)) / out.size


def line(costs: dict[int, float], unit: int = 1) -> tuple[float, float]:
    """What a value costs with no features, and what each of them (or each `unit` of them) adds."""
    (a, low), (b, high) = costs.items()
    slope = (high - low) / (b - a)
    return low - slope * a, slope * unit


def gather(n: int, size: int) -> float:
    """A value of a block taken from a matrix of n samples."""
    gram = FullGram(np.zeros((n, n), np.float32))
    index = np.sort(np.random.default_rng(0).permutation(n)[:size])
    return best(lambda: gram.block(index)) / size**2


def pair_step() -> float:
    """A step per variable: a problem of pure noise, which takes very many."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(ORDER, 5)), rng.choice([-1, 1], ORDER)
    K = Gaussian(0.2)(X)
    estimator = SVC(kernel="precomputed", C=30.0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nanoseconds = best(lambda: estimator.fit(K, y))
    return nanoseconds / (int(np.sum(estimator.n_iter_)) * ORDER)


def factor(routine: Callable) -> float:
    """A Cholesky factor, per cube of its order."""
    A = np.eye(ORDER) + 0.5 / ORDER
    return best(lambda: routine(A, lower=1)) / ORDER**3


def measured() -> dict[str, float | tuple[float, float]]:
    rng = np.random.default_rng(0)
    rows, target = rng.normal(size=(64, 4096)).astype(np.float32), np.zeros(4096)
    slots, weights = np.arange(64), rng.normal(size=64)
    fresh = 1 << 24
    single, double = factor(lapack.spotrf), factor(lapack.dpotrf)
    return {
        "worth_threads": 3 * best(lambda: run_tiles(lambda _: None, 2, 2), time.perf_counter),
        "table_value": line({d: per_value((rng.random((1280, d)) < 0.5).astype(float)) for d in (320, 640)}, 64),
        "direct_value": line({d: per_value(rng.normal(size=(1280, d))) for d in (6, 24)}),
        "product_value": line({d: per_value(rng.normal(size=(1280, d))) for d in (100, 400)}),
        "read_value": best(lambda: add_weighted_rows(rows, 0, slots, weights, target)) / rows.size,
        "store_value": best(lambda: np.empty(fresh, np.float32).fill(1.0)) / fresh,
        "gather_entry": gather(1500, 750),
        "gather_value": gather(8192, 1024),
        "pair_step": pair_step(),
        "newton_cube": 1.5 * single,
        "interior_cube": 20 * double,
        "factor_operation": 3 * double,
    }


def text(value: float | tuple[float, float] | None) -> str:
    if value is None:
        return "-"
    return " + ".join(f"{part:.3g}" for part in value) if isinstance(value, tuple) else f"{value:.3g}"


def main() -> None:
    with single_threaded_blas():
        found = measured()
    print(f"{'nanoseconds':20s} {'measured':>16s} {'assumed':>16s}")
    for name, assumed in asdict(COSTS).items():
        print(f"{name:20s} {text(found.get(name)):>16s} {text(assumed):>16s}")


if __name__ == "__main__":
    main()
