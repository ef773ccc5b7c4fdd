"""Fit and predict times of SVC beside scikit-learn's at n = 150, 1000 and 10,000, with the certificates of both.

    python -m benchmarks.small_fits DATA_FOLDER

DATA_FOLDER holds LIBSVM files as svmguide1/svmguide1, a9a/a9a and ijcnn1/ijcnn1, plain or .xz. The libraries take
turns, so that a busy moment of the machine hits both; figures are medians; widemargin's functions are compiled before.
Both get the same data (dense), C = 1, gamma = "scale", tol = 1e-3, and scikit-learn 2000 MB of cache, not its 200.
The certificate of each is computed afresh in float64 by `widemargin.verify`.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import numpy as np
import sklearn.svm
from sklearn.datasets import load_iris

import widemargin
from benchmarks.peers.datasets import find
from benchmarks.timing import timed
from widemargin.io import read_libsvm

SECONDS_PER_PROBLEM = 20.0  # repeats stop when the slower library has used about this much
MOST_REPEATS = 21
SORTED = {"svmguide1"}  # its first thousand rows are all of one class


def load(folder: Path, name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The first n rows of a data set, dense; of a set sorted by class, n rows drawn with a fixed seed."""
    if name == "iris":
        return load_iris(return_X_y=True)
    X, y = read_libsvm(find(folder, f"{name}/{name}"))
    chosen = np.arange(n) if name not in SORTED else np.random.default_rng(0).permutation(len(y))[:n]
    return X[chosen].toarray(), y[chosen]


def compare(name: str, X: np.ndarray, y: np.ndarray) -> str:
    """One row of the table."""
    makers = {
        "ours": lambda: widemargin.SVC(),
        "theirs": lambda: sklearn.svm.SVC(cache_size=2000),
    }
    models = {key: make().fit(X, y) for key, make in makers.items()}  # compiles, touches memory: not timed
    for model in models.values():
        model.predict(X)
    fits: dict[str, list[float]] = {key: [] for key in makers}
    predicts: dict[str, list[float]] = {key: [] for key in makers}
    while len(fits["ours"]) < MOST_REPEATS and sum(fits["theirs"] + predicts["theirs"]) < SECONDS_PER_PROBLEM:
        for key, make in makers.items():
            model = make()
            fits[key].append(timed(model.fit, X, y).wall)
            predicts[key].append(timed(model.predict, X).wall)
    fit = {key: 1e3 * statistics.median(times) for key, times in fits.items()}
    predict = {key: 1e3 * statistics.median(times) for key, times in predicts.items()}
    proof = {key: widemargin.verify(model, X, y) for key, model in models.items()}
    agree = float(np.mean(models["ours"].predict(X) == models["theirs"].predict(X)))
    return (
        f"| {name} {X.shape[0]}x{X.shape[1]} "
        f"| {fit['ours']:.2f} | {fit['theirs']:.2f} | {fit['theirs'] / fit['ours']:.1f} "
        f"| {predict['ours']:.2f} | {predict['theirs']:.2f} | {predict['theirs'] / predict['ours']:.1f} "
        f"| {proof['ours'].violation:.1e} / {proof['theirs'].violation:.1e} "
        f"| {proof['ours'].gap:.1e} / {proof['theirs'].gap:.1e} | {agree:.4f} |"
    )


def main() -> int:
    if len(sys.argv) != 2:
        print("Say where the data are: python -m benchmarks.small_fits DATA_FOLDER", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    print(
        "| data | fit ms | sklearn | x | predict ms | sklearn | x "
        "| violation ours / sklearn | gap ours / sklearn | agree |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, n in (("iris", 150), ("svmguide1", 1000), ("a9a", 1000), ("a9a", 10_000), ("ijcnn1", 10_000)):
        print(compare(name, *load(folder, name, n)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
