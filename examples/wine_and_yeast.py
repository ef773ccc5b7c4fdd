"""Marsland's problem 8.3: kernels on the wine data, compared with a multi-layer perceptron; the same on yeast.

Every model is trained on scaled features and judged by five-fold cross-validation, repeated with three shuffles.

    python examples/wine_and_yeast.py [FOLDER WITH yeast.data OF THE UCI REPOSITORY]

See  Marsland (2015), Machine Learning: An Algorithmic Perspective, section 8.6, problem 8.3.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC

MODELS: dict[str, Any] = {
    "SVC, linear": SVC(kernel="linear"),
    "SVC, cubic": SVC(kernel="poly", degree=3, coef0=1.0),
    "SVC, Gaussian": SVC(kernel="rbf"),
    "SVC, Gaussian, one against the rest": SVC(kernel="rbf", multi_class="ovr"),
    "MLP, 20 hidden units": MLPClassifier((20,), max_iter=3000, random_state=0),
}


def read_yeast(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The eight numbers and the class of each line; a line is a name, the numbers and the class."""
    rows = [line.split() for line in path.read_text().splitlines() if line.strip()]
    wrong = [number for number, row in enumerate(rows, 1) if len(row) != 10]
    if wrong:
        raise ValueError(f"{path}: line {wrong[0]} must be a name, eight numbers and a class, separated by blanks.")
    return np.array([row[1:9] for row in rows], np.float64), np.array([row[9] for row in rows])


def compare(name: str, X: np.ndarray, y: np.ndarray, repeats: int) -> dict[str, float]:
    """Print mean and deviation of the accuracy of every model; returns the means."""
    print(f"{name}: {X.shape[0]} samples, {X.shape[1]} features, {len(np.unique(y))} classes")
    found = {}
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0)
    for title, model in MODELS.items():
        began = time.perf_counter()
        accuracy = cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=folds)
        found[title] = float(accuracy.mean())
        seconds = time.perf_counter() - began
        print(f"  {title:<36} accuracy {accuracy.mean():.3f} +- {accuracy.std():.3f}   {seconds:6.2f} s")
    return found


def main(folder: str | None = None, repeats: int = 3) -> dict[str, dict[str, float]]:
    """Wine, and yeast if its file is there; returns the accuracies."""
    found = {"wine": compare("wine", *load_wine(return_X_y=True), repeats)}
    if folder is None:
        print("yeast: left out; give the folder that holds yeast.data (archive.ics.uci.edu/dataset/110/yeast)")
    else:
        found["yeast"] = compare("yeast", *read_yeast(Path(folder) / "yeast.data"), repeats)
    return found


if __name__ == "__main__":
    main(*sys.argv[1:2])
