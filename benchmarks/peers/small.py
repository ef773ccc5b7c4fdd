"""Small data: the whole SVC().fit, estimator overhead included, and predict of one row, beside scikit-learn.

    python -m benchmarks.peers.small [REPEATS]

Generated data, default parameters, dense (20 features, classes overlapping) and CSR (300 bits, one in ten set, one
label in ten wrong). Both libraries in one process, turn and turn about; medians. Prints JSON.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.svm

import widemargin

SIZES = (100, 150, 500, 1000, 2000)
SEED = 0
MOST_SECONDS = 3.0  # of one library's fits at one size


def make(n: int, form: str) -> tuple[Any, np.ndarray]:
    """Samples and labels of one size."""
    rng = np.random.default_rng(SEED)
    if form == "dense":
        X = rng.normal(size=(n, 20))
        return X, np.where(X[:, 0] + X[:, 1] + rng.normal(size=n) > 0, 1, -1)
    X = rng.random((n, 300)) < 0.1
    side = X @ rng.uniform(-1.0, 1.0, 300)
    y = np.where(side > np.median(side), 1, -1)
    return sp.csr_matrix(X, dtype=float), np.where(rng.random(n) < 0.1, -y, y)


def in_turn(actions: dict[str, Callable[[], Any]], repeat: int) -> dict[str, float]:
    """Median seconds of each action, called in turn; the first call of each is not counted."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for action in actions.values():
        action()
    while len(times[next(iter(times))]) < repeat and max(map(sum, times.values())) < MOST_SECONDS:
        for name, action in actions.items():
            began = time.perf_counter()
            action()
            times[name].append(time.perf_counter() - began)
    return {name: float(np.median(taken)) for name, taken in times.items()}


def _fit(kind: Any, X: Any, y: np.ndarray) -> Any:
    """What a user writes."""
    return kind().fit(X, y)


def main() -> None:
    repeat = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    warnings.simplefilter("ignore")
    rows = []
    for form in ("dense", "csr"):
        for n in SIZES:
            X, y = make(n, form)
            makers = {"widemargin": widemargin.SVC, "scikit-learn": sklearn.svm.SVC}
            fits = in_turn({name: partial(_fit, kind, X, y) for name, kind in makers.items()}, repeat)
            models = {name: _fit(kind, X, y) for name, kind in makers.items()}
            one = in_turn({name: partial(model.predict, X[:1]) for name, model in models.items()}, 10 * repeat)
            rows.append({"n": n, "format": form, "fit": fits, "predict_one": one})
    print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
