"""Exercise 2: points that cannot be separated, the soft margins, and a small real data set.

The maximal margin is tried first and fails in a sentence; then 1-norm and 2-norm soft margins over a range of C, on
made-up points and on the Wisconsin breast cancer data (UCI, as scikit-learn carries it), all with the one-multiplier
algorithm.

    python examples/exercise_2_soft_margin.py

See  Cristianini & Shawe-Taylor (2000), section 7.7, exercise 2; Remark 7.10.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, Status
from widemargin.solvers.reference import Adatron

CS = (0.01, 0.1, 1.0, 10.0)
SOLVER = Adatron("ascending")


def overlapping_points(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds that overlap."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    return rng.normal(size=(n, 2)) + 0.8 * y[:, None], y


def real_data() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), 2 * y - 1


def maximal_margin_fails(X: np.ndarray, y: np.ndarray) -> Status:
    """The hard margin on points that no line separates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = SVC(kernel="linear", C=np.inf, solver="platt").fit(X, y)
    print(f"maximal margin: {machine.status_.value}\n")
    return machine.status_


def main(n: int = 200) -> list[tuple[str, str, float, float]]:
    """Run the exercise; returns (data, loss, C, test accuracy)."""
    maximal_margin_fails(*overlapping_points(n))
    rows = []
    print(f"{'data':<14} {'loss':<14} {'C':>6} {'accuracy':>9} {'SV':>4} {'at C':>5} {'steps':>8}  gap")
    for name, (X, y), kernel in (
        ("overlapping", overlapping_points(n), "linear"),
        ("breast cancer", real_data(), "rbf"),
    ):
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
        for loss in ("hinge", "squared_hinge"):
            for C in CS:
                with warnings.catch_warnings():  # the last column says how it ended
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    machine = SVC(kernel=kernel, loss=loss, C=C, solver=SOLVER).fit(X, y)
                bound = np.count_nonzero(np.abs(machine.dual_coef_) == C) if loss == "hinge" else 0
                accuracy = machine.score(X_test, y_test)
                rows.append((name, loss, C, accuracy))
                print(f"{name:<14} {loss:<14} {C:>6g} {accuracy:>9.3f} {len(machine.support_):>4} {bound:>5} "
                      f"{machine.n_iter_[0]:>8}  {machine.certificate_.gap:.1e}  {machine.status_.name}")  # fmt: skip
    return rows


if __name__ == "__main__":
    main()
