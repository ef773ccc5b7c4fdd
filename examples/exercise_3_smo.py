"""Exercise 3: SMO for classification on a range of data sets.

Platt's SMO, Keerthi's with two thresholds, the simplified one of lectures, and the default solver on the data sets that
scikit-learn carries, two classes each; any LIBSVM text files given on the command line are added.

    python examples/exercise_3_smo.py [FILES...]

See  Cristianini & Shawe-Taylor (2000), section 7.7, exercise 3; section 7.5.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from widemargin import SVC
from widemargin.io import read_libsvm

SOLVERS = ("platt", "keerthi", "simplified", "auto")
SECONDS = 20.0  # per fit: the simplified algorithm is for some hundred points


def data_sets(files: list[str]) -> dict[str, tuple]:
    """Name -> X, y with two classes."""
    sets = {}
    for name, load in (("iris", load_iris), ("wine", load_wine), ("breast cancer", load_breast_cancer)):
        X, y = load(return_X_y=True)
        sets[name] = (StandardScaler().fit_transform(X), (y == 1).astype(int))
    X, y = load_digits(return_X_y=True)
    sets["digits, 3 or 8"] = (X[np.isin(y, [3, 8])] / 16.0, (y[np.isin(y, [3, 8])] == 8).astype(int))
    for file in files:
        X, y = read_libsvm(file)
        sets[file] = (X, (y == np.unique(y)[-1]).astype(int))
    return sets


def main(files: list[str] | None = None) -> dict[tuple[str, str], float]:
    """Run the exercise; returns the dual objective by data set and solver."""
    duals = {}
    print(f"{'data':<18} {'solver':<11} {'seconds':>8} {'steps':>7} {'SV':>5} {'accuracy':>8} {'dual':>10}  violation")
    for name, (X, y) in data_sets(files or []).items():
        for solver in SOLVERS:
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                machine = SVC(solver=solver, time_limit=SECONDS).fit(X, y)
            seconds = time.perf_counter() - began
            certificate = machine.certificate_
            duals[name, solver] = certificate.dual
            print(f"{name[-18:]:<18} {solver:<11} {seconds:>8.3f} {machine.n_iter_[0]:>7} {len(machine.support_):>5} "
                  f"{machine.score(X, y):>8.3f} {certificate.dual:>10.4f}  "
                  f"{certificate.violation:.1e} {machine.status_.name}")  # fmt: skip
    return duals


if __name__ == "__main__":
    main(sys.argv[1:])
