"""decision_function of 10,000 rows: ours, scikit-learn's, scikit-learn-intelex's, and the bare GEMM + exp.

    python -m benchmarks.peers.prediction THREADS REPEATS SET GAMMA [DATA_FOLDER]

Each library fits the same rows and evaluates 10,000 of them, turn and turn about, medians. "Bare" is what nobody can
leave out: blocks of products by BLAS, exp by NumPy, times the coefficients, on the same threads, norms and the
like not counted; in float64, and in float32 for input that is float32. The difference is that of our values from a
float64 evaluation of the same machine by checker.py. Prints JSON.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.svm
from threadpoolctl import threadpool_limits

import widemargin
from benchmarks.peers import datasets
from benchmarks.peers.checker import decision_values
from benchmarks.peers.libraries import LIBRARIES
from benchmarks.peers.problems import Problem
from benchmarks.peers.small import in_turn
from benchmarks.peers.worker import keep_to_cores

ROWS = 10_000
BLOCK_ROWS, BLOCK_COLUMNS = 256, 1024  # a block of 2 MB in float64 stays in the second-level cache


def bare(X: Any, vectors: Any, coefficients: np.ndarray, gamma: float, threads: int) -> np.ndarray:
    """sum of coefficients * exp(2 gamma x'z): the product and the exponential, nothing else."""
    dtype = X.dtype
    scaled = np.ascontiguousarray((2 * gamma * vectors.T).astype(dtype))
    weights = coefficients.astype(dtype)
    values = np.zeros(X.shape[0], dtype)

    def fill(start: int) -> None:
        rows = X[start : start + BLOCK_ROWS]
        for first in range(0, scaled.shape[1], BLOCK_COLUMNS):
            block = rows @ scaled[:, first : first + BLOCK_COLUMNS]
            block -= dtype.type(80.0)  # keeps exp from overflowing; the values do not matter here
            np.exp(block, out=block)
            values[start : start + BLOCK_ROWS] += block @ weights[first : first + BLOCK_COLUMNS]

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, range(0, X.shape[0], BLOCK_ROWS)))
    return values


def main() -> None:
    threads, repeat, name, gamma = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
    folder = Path(sys.argv[5]) if len(sys.argv) > 5 else None
    keep_to_cores(threads)
    warnings.simplefilter("ignore")
    X, y = datasets.load(name, folder, ROWS)
    kinds: dict[str, Any] = {"widemargin": widemargin.SVC, "scikit-learn": sklearn.svm.SVC}
    if importlib.util.find_spec("sklearnex"):
        import sklearnex.svm

        kinds["scikit-learn-intelex"] = sklearnex.svm.SVC
    models = {kind: make(gamma=gamma, cache_size=2000).fit(X, y) for kind, make in kinds.items()}
    ours = models["widemargin"]
    actions: dict[str, Any] = {kind: lambda m=model: m.decision_function(X) for kind, model in models.items()}
    task, caller = Problem("prediction", name, gamma=gamma), LIBRARIES["widemargin"](threads)
    truth = -decision_values(task, X, caller.answer(task, ours), np.arange(X.shape[0]), threads)  # of class 0 against 1
    error = float(np.abs(ours.decision_function(X) - truth).max())
    if not sp.issparse(X):
        single, coefficients = X.astype(np.float32), ours.dual_coef_[0]
        vectors = ours.support_vectors_
        actions["bare float64"] = lambda: bare(X, vectors, coefficients, gamma, threads)
        actions["bare float32"] = lambda: bare(single, vectors, coefficients, gamma, threads)
        actions["widemargin, float32 input"] = lambda: ours.decision_function(single)
    times = in_turn(actions, repeat)
    row = {"data": name, "n": X.shape[0], "d": X.shape[1], "n_support": len(ours.support_)}
    print(json.dumps({**row, "seconds": times, "difference": error}))


if __name__ == "__main__":
    main()
