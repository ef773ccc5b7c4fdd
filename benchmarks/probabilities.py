"""Probabilities of SVC beside scikit-learn's: what they cost and how good they are on test data.

    python -m benchmarks.probabilities DATA_FOLDER [letter usps dna satimage ...]

DATA_FOLDER holds the LIBSVM files NAME/FILE and NAME/FILE.t, plain or compressed. Both libraries get the same data
(dense), C and gamma. The cost is CPU time of fit(probability=True) over fit, the libraries' own; medians of interleaved
runs. Brier score (summed over classes) and log-loss are taken on the test part, lower is better. `agree` is the share
of test samples whose most probable class is the predicted one.
"""

from __future__ import annotations

import functools
import statistics
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.svm
from sklearn.metrics import log_loss

import widemargin
from benchmarks.peers.datasets import find
from benchmarks.timing import timed
from widemargin.io import read_libsvm

#: name -> file, C, gamma
SETS: dict[str, tuple[str, float, float | str]] = {
    "letter": ("letter.scale", 10.0, 1.0),
    "usps": ("usps", 10.0, "scale"),
    "dna": ("dna.scale", 10.0, "scale"),
    "svmguide1": ("svmguide1", 1.0, "scale"),
    "splice": ("splice", 1.0, "scale"),
    "a1a": ("a1a", 1.0, "scale"),
}
DEFAULT = ("letter", "usps", "dna", "svmguide1")
REPEATS = 3  # of our fits; scikit-learn's, many times longer, runs once


def read(folder: Path, name: str, part: str) -> tuple[np.ndarray, np.ndarray]:
    """One part of a data set, dense."""
    X, y = read_libsvm(find(folder, f"{name}/{part}"))
    return X.toarray(), y


def cost(make: Callable[..., Any], X: np.ndarray, y: np.ndarray, repeats: int) -> tuple[float, float]:
    """CPU seconds of a fit without and with probabilities."""
    plain, full = [], []
    for _ in range(repeats):
        plain.append(timed(make(probability=False).fit, X, y).cpu)
        full.append(timed(make(probability=True).fit, X, y).cpu)
    return statistics.median(plain), statistics.median(full)


def quality(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Brier score, log-loss and agreement with predict."""
    p = model.predict_proba(X)
    truth = (y[:, None] == model.classes_).astype(float)
    agree = np.mean(model.classes_[p.argmax(axis=1)] == model.predict(X))
    return float(((p - truth) ** 2).sum(axis=1).mean()), log_loss(y, p, labels=model.classes_), float(agree)


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    folder, names = Path(sys.argv[1]), sys.argv[2:] or DEFAULT
    warnings.filterwarnings("ignore", category=FutureWarning)  # scikit-learn's own probability= is on its way out
    print("| data | library | fit, CPU s | with probabilities | ratio | Brier | log-loss | agree |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        file, C, gamma = SETS[name]
        (X, y), (X_new, y_new) = read(folder, name, file), read(folder, name, file + ".t")
        width = max(X.shape[1], X_new.shape[1])
        X, X_new = (np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in (X, X_new))
        for library, module, repeats, more in (
            ("widemargin", widemargin, REPEATS, {}),
            ("scikit-learn", sklearn.svm, 1, {"cache_size": 2000}),
        ):
            make = functools.partial(module.SVC, C=C, gamma=gamma, random_state=0, **more)
            few = np.random.default_rng(0).permutation(len(y))[:500]
            make(probability=True).fit(X[few], y[few]).predict_proba(X[:10])  # compiles: not timed
            plain, full = cost(make, X, y, repeats)
            brier, loss, agree = quality(make(probability=True).fit(X, y), X_new, y_new)
            row = f"| {name} | {library} | {plain:.2f} | {full:.2f} | {full / plain:.2f} "
            print(f"{row}| {brier:.4f} | {loss:.4f} | {agree:.4f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
