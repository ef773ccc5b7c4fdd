"""Decision values of samples under machines that have not seen them, for the sigmoids of calibration.py.

Values of samples a machine was trained on are too good. So the samples are cut into five folds, and each fold is held
out once by emptying the boxes of its samples. They stay in the problem, so F = K b already holds their values; the
kernel rows of the fit serve all folds, and each starts from the answer to the whole problem (solvers/without.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from widemargin.calibration import fit_sigmoid
from widemargin.multiclass import TwoClass

N_FOLDS = 5  # as LIBSVM; Platt's experiments used three

Vector = NDArray[np.float64]


class Folds:
    """Which samples each two-class problem holds out, and what became of them.

    Parameters
    ----------
    problems : the two-class problems of the machine
    labels : class number of each sample
    weight : weight of each sample
    seed : decides the folds
    """

    def __init__(
        self, problems: Sequence[TwoClass], labels: NDArray, weight: Vector, seed: np.random.RandomState
    ) -> None:
        fold = assign_folds(labels, seed)
        self.problems = problems
        self.weights = [problem.of(weight) for problem in problems]
        self.values = [np.zeros(len(problem.sign)) for problem in problems]
        self.away: list[list[NDArray[np.bool_]]] = [[] for _ in problems]
        for number, problem in enumerate(problems):
            own = problem.of(fold)
            for away in (own == left_out for left_out in range(N_FOLDS)):
                remaining = problem.sign[~away]
                if not away.any():
                    continue
                if len(remaining) == 0 or remaining.min() == remaining.max():
                    # nothing to tell apart without this fold: the value of the margin on the side that is left
                    self.values[number][away] = remaining[0] if len(remaining) else 0.0
                else:
                    self.away[number].append(away)

    def take(self, number: int, fold: int, values: Vector) -> None:
        """Keep the values of the samples held out, from decision values of all samples of the problem."""
        away = self.away[number][fold]
        self.values[number][away] = values[away]

    def fit_sigmoids(self) -> tuple[Vector, Vector]:
        """A and B of each problem, two arrays of shape (n_problems,)."""
        fitted = [
            fit_sigmoid(values, problem.sign, weight)
            for values, problem, weight in zip(self.values, self.problems, self.weights, strict=True)
        ]
        return np.array([a for a, _ in fitted]), np.array([b for _, b in fitted])


def assign_folds(labels: NDArray, seed: np.random.RandomState) -> NDArray[np.int64]:
    """Fold of each sample, each class spread evenly over the folds in random order."""
    fold = np.empty(len(labels), np.int64)
    for label in np.unique(labels):
        members = seed.permutation(np.flatnonzero(labels == label))
        fold[members] = np.arange(len(members)) % N_FOLDS
    return fold
