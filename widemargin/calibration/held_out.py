"""Decision values of held-out samples, for the sigmoids of calibration/sigmoid.py.

Decision values of training samples are biased. So the samples are split into five folds, and each fold is held out
once by emptying the boxes of its samples. They stay in the problem, so K b already contains their values; the kernel
rows of the fit serve all folds, and each fold starts at the answer to the whole problem (alpha seeding: DeCoste &
Wagstaff 2000, KDD). Every fold is solved to the tolerance of the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from widemargin.calibration.sigmoid import fit_sigmoid
from widemargin.models.multiclass import TwoClass, Vector
from widemargin.problems.dual import SignedDual
from widemargin.problems.warm_start import nearest_feasible, sums_of
from widemargin.training.task import Task

N_FOLDS = 5  # as LIBSVM; Platt's experiments used three
NO_FOLD = N_FOLDS  # fold of a sample that cannot be held out


class Folds:
    """The held-out samples of each two-class problem, and their decision values.

    Parameters
    ----------
    problems : the two-class problems of the model
    labels : class number of each sample
    weight : weight of each sample
    seed : seed of the random folds
    """

    def __init__(
        self, problems: Sequence[TwoClass], labels: NDArray, weight: Vector, seed: np.random.RandomState
    ) -> None:
        self.problems = problems
        self.left_out: list[tuple[int, int]] = []  # problem and fold of each task
        self.weight = weight
        self.values = [np.zeros(len(problem.sign)) for problem in problems]
        everywhere = assign_folds(labels, seed)
        self.fold = [problem.of(everywhere).copy() for problem in problems]
        for problem, fold, values in zip(problems, self.fold, self.values, strict=True):
            before, positive = fold.copy(), problem.sign > 0
            for side, others in ((1.0, before[~positive]), (-1.0, before[positive])):
                sizes = np.bincount(others, minlength=N_FOLDS)
                last = int(sizes.argmax())
                if sizes[last] == len(others):  # without this fold there is only one class, and its margin is the value
                    values[before == last] += side
                    fold[before == last] = NO_FOLD

    def tasks(self, whole: Sequence[Task]) -> list[Task]:
        """Return a task per problem and fold, started at the problem's answer; `left_out` lists problem and fold."""
        tasks = []
        for number, task in enumerate(whole):
            for fold in np.setdiff1d(self.fold[number], [NO_FOLD]):
                dual = without_samples(task.dual, self.fold[number] == fold)
                if dual is not None:
                    self.left_out.append((number, fold))
                    tasks.append(Task(dual, task.index, neighbour=number))
        return tasks

    def take(self, number: int, fold: int, values: Vector) -> None:
        """Store the decision values of the samples of a fold, from the model trained without them."""
        held_out = self.fold[number] == fold
        self.values[number][held_out] = values[held_out]

    def fit_sigmoids(self) -> tuple[Vector, Vector]:
        """A and B of each problem, two arrays of shape (n_problems,)."""
        fitted = [
            fit_sigmoid(values, problem.sign, problem.of(self.weight))
            for values, problem in zip(self.values, self.problems, strict=True)
        ]
        return np.array([a for a, _ in fitted]), np.array([b for _, b in fitted])


def assign_folds(labels: NDArray, seed: np.random.RandomState) -> NDArray[np.int64]:
    """Return the fold of each sample; each class is spread evenly over the folds in random order."""
    fold = np.empty(len(labels), np.int64)
    for label in np.unique(labels):
        members = seed.permutation(np.flatnonzero(labels == label))
        fold[members] = np.arange(len(members)) % N_FOLDS
    return fold


def without_samples(dual: SignedDual, away: NDArray[np.bool_]) -> SignedDual | None:
    """Return the problem with the boxes of some samples emptied; None if its sums cannot be kept.

    Sums that are not zero (nu-SVMs) shrink with the remaining box, and to what its smallest group can hold.
    """
    empty = away if dual.row is None else away[dual.row]
    lower, upper = np.where(empty, 0.0, dual.lower), np.where(empty, 0.0, dual.upper)
    sums = sums_of(dual)
    if sums.any():
        groups = dual.group_starts[:-1]
        left, room = np.add.reduceat(upper - lower, groups), np.add.reduceat(dual.upper - dual.lower, groups)
        fixed = sums != 0.0
        share = min(1.0, float((left[fixed] / np.abs(sums[fixed])).min()), float(left[fixed].sum() / room[fixed].sum()))
        sums = share * sums
    start = np.empty(len(dual))
    if not nearest_feasible(dual.start, 1.0, lower, upper, sums, dual.group_starts, start):
        return None
    return replace(dual, lower=lower, upper=upper, start=start)
