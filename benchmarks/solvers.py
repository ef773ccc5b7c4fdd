"""Every solver on the same problems, for the page "How to choose a solver": CPU seconds, steps, and how it ended.

    python -m benchmarks.solvers [SECONDS PER FIT]

Data are carried by scikit-learn or generated (Platt's artificial sets, benchmarks/platt1998): breast cancer, scaled
(569 x 30, Gaussian, C = 1 and C = 100), noise of 300 bits (1,000 x 300, linear, C = 0.1) and digits 0-4 against 5-9
(1,797 x 64, Gaussian, C = 1). tol = 1e-3. Functions are compiled before. Fixed-bias solvers train the machine with the
kernel K + tau^2, a slightly different problem; the perceptron none of them.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

from benchmarks.platt1998.sets import artificial
from widemargin import SVC
from widemargin.solvers.reference import Adatron, Coordinate, Keerthi

SECONDS = 15.0
SOLVERS = {
    "auto": "auto",
    "platt": "platt",
    "keerthi": "keerthi",
    'Keerthi("gain")': Keerthi("gain"),
    "simplified": "simplified",
    "chunking": "chunking",
    "osuna": "osuna",
    "qp": "qp",
    "gradient": "gradient",
    "fixed-threshold": "fixed-threshold",
    "adatron": "adatron",
    'Adatron("ascending")': Adatron("ascending"),
    'Coordinate("random")': Coordinate("random"),
    "perceptron": "perceptron",
}


def problems() -> dict[str, tuple]:
    """Title -> X, y, options of SVC."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    noise, labels, _ = artificial("noise", 1000)
    digits, number = load_digits(return_X_y=True)
    return {
        "breast cancer, C=1": (X, y, {"kernel": "rbf", "gamma": 1 / 30, "C": 1.0}),
        "breast cancer, C=100": (X, y, {"kernel": "rbf", "gamma": 1 / 30, "C": 100.0}),
        "noise, linear": (noise.toarray(), labels, {"kernel": "linear", "C": 0.1}),
        "digits 0-4 / 5-9": (digits / 16.0, number > 4, {"kernel": "rbf", "gamma": 0.05, "C": 1.0}),
    }


def cell(X: np.ndarray, y: np.ndarray, options: dict, solver: object, seconds: float) -> str:
    """Seconds and steps of a fit, or how it ended."""
    machine = SVC(solver=solver, time_limit=seconds, **options)
    began = time.process_time()
    machine.fit(X, y)
    used = time.process_time() - began
    if machine.status_.converged:
        return f"{used:.3g} s, {machine.n_iter_[0]:,}"
    return f"{machine.status_.name} ({used:.2g} s, gap {machine.certificate_.gap:.1g})"


def main(seconds: float = SECONDS) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    sets = problems()
    print("| solver | " + " | ".join(sets) + " |")
    print("|---" * (len(sets) + 1) + "|")
    for name, solver in SOLVERS.items():
        for X, y, options in sets.values():  # compile
            some = np.random.default_rng(0).permutation(len(y))[:80]
            cell(X[some], np.asarray(y)[some], options, solver, seconds)
        cells = [cell(X, y, options, solver, seconds) for X, y, options in sets.values()]
        print(f"| `{name}` | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
