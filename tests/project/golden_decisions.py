"""Decision values of small problems on record: every estimator and every kernel, so that no version changes numbers
unnoticed.

`python -m tests.project.golden_decisions` writes them to `golden_decisions.json`; `test_golden_decisions.py` compares.
Data are fractional parts of multiples of square roots, the same on every machine and with every version of NumPy.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import widemargin as wm
from widemargin.kernels import ChiSquared, Cosine, Gaussian, Intersection, Laplacian, Linear, Spectrum

FILE = Path(__file__).with_name("golden_decisions.json")
N_TRAIN, N_TEST = 60, 8
PRIMES = np.array([2.0, 3.0, 5.0])
TOL = 1e-9  # fits far beyond the digits that are compared
DIGITS = 9

X = np.outer(np.arange(1, N_TRAIN + N_TEST + 1), np.sqrt(PRIMES)) % 1.0
SMOOTH = np.sin(5 * X[:, 0]) + X[:, 1] * X[:, 2]
NOISE = np.arange(1, len(X) + 1) * np.sqrt(7.0) % 1.0 - 0.5
TARGET = SMOOTH + NOISE
TWO = np.where(TARGET > 0.5, 1, -1)
THREE = np.digitize(TARGET, [0.2, 0.9])
WORDS = np.array(["".join("ACGT"[int(16 * v) % 4] for v in np.outer(row, np.arange(1, 5)).ravel()) for row in X])

PROBLEMS: dict[str, tuple[Any, np.ndarray, np.ndarray]] = {
    "SVC, Gaussian": (wm.SVC(C=3, tol=TOL), X, TWO),
    "SVC, linear": (wm.SVC(kernel="linear", tol=TOL), X, TWO),
    "SVC, polynomial": (wm.SVC(kernel="poly", coef0=1.0, tol=TOL), X, TWO),
    "SVC, sigmoid": (wm.SVC(kernel="sigmoid", gamma=0.1, coef0=-1.0, tol=TOL), X, TWO),
    "SVC, Laplacian": (wm.SVC(kernel=Laplacian(1.0), tol=TOL), X, TWO),
    "SVC, chi-squared": (wm.SVC(kernel=ChiSquared(1.0), tol=TOL), X, TWO),
    "SVC, intersection": (wm.SVC(kernel=Intersection(), tol=TOL), X, TWO),
    "SVC, cosine": (wm.SVC(kernel=Cosine(), tol=TOL), X, TWO),
    "SVC, sum of kernels": (wm.SVC(kernel=Gaussian(2.0) + 0.5 * Linear(), tol=TOL), X, TWO),
    "SVC, strings": (wm.SVC(kernel=Spectrum(3), tol=TOL), WORDS, TWO),
    "SVC, function": (wm.SVC(kernel=lambda A, B: (A @ B.T + 1.0) ** 2, tol=TOL), X, TWO),
    "SVC, three classes": (wm.SVC(C=3, tol=TOL), X, THREE),
    "SVC, squared hinge, one against rest": (wm.SVC(loss="squared_hinge", multi_class="ovr", tol=TOL), X, THREE),
    "SVC, class weights": (wm.SVC(class_weight={1: 3.0}, tol=TOL), X, TWO),
    "SVC, Platt's SMO": (wm.SVC(solver="platt", tol=1e-8), X, TWO),
    "NuSVC": (wm.NuSVC(nu=0.4, tol=TOL), X, TWO),
    "OneClassSVM": (wm.OneClassSVM(nu=0.3, tol=TOL), X, TWO),
    "SVR": (wm.SVR(epsilon=0.2, tol=TOL), X, TARGET),
    "NuSVR": (wm.NuSVR(nu=0.4, tol=TOL), X, TARGET),
    "LinearSVC, squared hinge": (wm.LinearSVC(tol=TOL), X, TWO),
    "LinearSVC, hinge": (wm.LinearSVC(loss="hinge", tol=TOL), X, TWO),
    "LinearSVC, l1 penalty": (wm.LinearSVC(penalty="l1", dual=False, tol=TOL), X, TWO),
    "LinearSVC, Crammer-Singer": (wm.LinearSVC(multi_class="crammer_singer", tol=1e-7), X, THREE),
    "LinearSVR": (wm.LinearSVR(epsilon=0.1, tol=TOL), X, TARGET),
    "KernelRidge": (wm.KernelRidge(alpha=0.1, kernel="rbf", tol=TOL), X, TARGET),
    "LSSVC": (wm.LSSVC(tol=TOL), X, TWO),
    "LSSVR": (wm.LSSVR(tol=TOL), X, TARGET),
    "GaussianProcessRegressor": (wm.GaussianProcessRegressor(Gaussian(2.0), noise_variance=0.1), X, TARGET),
    "KernelLMS": (wm.KernelLMS(random_state=0), X, TARGET),
    "KernelPerceptron": (wm.KernelPerceptron(shuffle=False), X, TWO),
    "RVC": (wm.RVC(), X, TWO),
    "RVR": (wm.RVR(), X, TARGET),
    "SVCCV": (wm.SVCCV(tol=TOL), X, TWO),
    "SVRCV": (wm.SVRCV(tol=TOL), X, TARGET),
}


def decisions(name: str) -> np.ndarray:
    """Decision values, or predictions of a regression, of the samples that were not trained on."""
    estimator, samples, y = PROBLEMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that tol is below rounding is no matter here
        model = estimator.fit(samples[:N_TRAIN], y[:N_TRAIN])
    return np.asarray(getattr(model, "decision_function", model.predict)(samples[N_TRAIN:]))


if __name__ == "__main__":
    values = {name: np.round(decisions(name), DIGITS).tolist() for name in PROBLEMS}
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(numbers)}" for name, numbers in values.items())
    FILE.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
    print(f"wrote {FILE}: if numbers changed, say so in CHANGELOG.md under Numeric changes")
