"""Decision values of samples under machines that have not seen them, for the sigmoids of calibration/sigmoid.py.

Values of samples a machine was trained on are too good. So the samples are cut into five folds, and each fold is held
out once by emptying the boxes of its samples. They stay in the problem, so F = K b already holds their values; the
kernel rows of the fit serve all folds, and each starts from the answer to the whole problem (solvers/without.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from widemargin.calibration.sigmoid import fit_sigmoid
from widemargin.models.multiclass import TwoClass

N_FOLDS = 5  # as LIBSVM; Platt's experiments used three
NO_FOLD = -1  # of a sample that cannot be held out

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
        self.problems = problems
        self.weights = [problem.of(weight) for problem in problems]
        self.values = [np.zeros(len(problem.sign)) for problem in problems]
        everywhere = assign_folds(labels, seed)
        self.fold = [problem.of(everywhere).copy() for problem in problems]
        for problem, fold, values in zip(problems, self.fold, self.values, strict=True):
            before, positive = fold.copy(), problem.sign > 0
            for side, others in ((1.0, before[~positive]), (-1.0, before[positive])):
                sizes = np.bincount(others, minlength=N_FOLDS)
                last = int(sizes.argmax())
                if sizes[last] == len(others):  # without this fold there is only one side, and its margin is the value
                    values[before == last] += side
                    fold[before == last] = NO_FOLD

    def take(self, number: int, function: Vector, margins: Vector, biases: Vector) -> None:
        """Keep the values of the samples held out: F of each, and margin and bias of the machine without each fold."""
        fold = self.fold[number]
        known = fold != NO_FOLD
        self.values[number][known] = ((function + biases[fold]) / margins[fold])[known]

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
