"""One cell of a search: its problems, one for each pair of classes, and the answer made from theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.certificate import Certificate
from widemargin.certificate import combine as combine_certificates
from widemargin.estimators.classifier import KernelClassifier
from widemargin.linalg.arrays import Index, Vector
from widemargin.problems.classification import box_of, largest_nu
from widemargin.problems.dual import SignedDual
from widemargin.training.family import Answer

UNDETERMINED = (
    10.0  # tolerances: a smaller margin of nu-classification is not known, and neither is the sign of a value
)


class Split(NamedTuple):
    """Training and test samples."""

    train: Index
    test: Index


class Cell(NamedTuple):
    """The answer of one setting on one split.

    decision : decision values of the test samples, shape (n_test, n_outputs)
    training_decision : of the training samples, if they were asked for
    certificate : of all problems of the cell together
    machine : the estimator with its setting and the classes, not fitted
    seconds : of solving
    models : the answer to each problem, if they were asked for
    gamma : of the kernel
    """

    decision: Vector
    training_decision: Vector | None
    certificate: Certificate
    machine: Any
    seconds: float
    models: list[Model]
    gamma: float


class Model(NamedTuple):
    """The answer to one problem of a cell: support vectors, their coefficients, bias, and how it was found."""

    support: Index
    coefficients: Vector
    bias: float
    thresholds: Vector
    certificate: Certificate
    iterations: int


@dataclass(frozen=True, eq=False)
class Pair:
    """A problem of a cell: its number, its samples (None: all), and its classes, the first of which is positive."""

    number: int
    index: Index | None
    positive: int
    negative: int


class Targets:
    """What the cells of a search are trained for.

    y : labels or targets of all samples
    classes, labels : of a classifier, the classes and their number for each sample
    pairs : the problems of a cell: of each pair of classes, or one
    """

    def __init__(self, y: NDArray, is_classifier: bool) -> None:
        self.y, self.is_classifier = y, is_classifier
        self.pairs = [Pair(0, None, 1, 0)]
        self._signs: dict[int, Vector] = {}
        if is_classifier:
            self.classes, self.labels = np.unique(y, return_inverse=True)
            if len(self.classes) > 2:
                self.pairs = pairs_of(self.labels, len(self.classes))

    def signs(self, pair: Pair) -> Vector:
        """Return +1 for samples of the pair's first class, -1 for those of the second."""
        if pair.number not in self._signs:
            labels = self.labels if pair.index is None else self.labels[pair.index]
            self._signs[pair.number] = np.where(labels == pair.positive, 1.0, -1.0)
        return self._signs[pair.number]


def pairs_of(labels: Index, n_classes: int) -> list[Pair]:
    """Return the problems of all pairs of classes."""
    pairs = [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]
    return [Pair(number, np.flatnonzero((labels == a) | (labels == b)), a, b) for number, (a, b) in enumerate(pairs)]


class OpenCell:
    """A cell while its problems are trained.

    test : the test samples, ascending
    weight : of all samples in the training set of the split
    """

    def __init__(
        self, machine: Any, targets: Targets, split: Split, test: Index, weight: Vector, gamma: float, *,
        with_training: bool, with_models: bool,
    ) -> None:  # fmt: skip
        self.machine, self.targets, self.split, self.weight, self.gamma = machine, targets, split, weight, gamma
        self.n_left = n_problems = len(targets.pairs)
        self.models: list[Any] = [None] * n_problems if with_models else []
        self.test, self.train = test, np.sort(split.train)  # sums are over runs of adjacent samples
        self.decision = np.empty((len(split.test), n_problems), order="F")
        self.training = np.empty((len(split.train), n_problems), order="F") if with_training else None
        self.certificates: list[Any] = [None] * n_problems
        self.seconds = 0.0
        self.support = np.zeros(len(weight), np.bool_)
        self.is_determined = True

    def has_answers(self) -> bool:
        """Whether every problem has one: nu is not too large for the smaller class."""
        if not (self.targets.is_classifier and hasattr(self.machine, "nu")):
            return True
        largest = (largest_nu(self.targets.signs(pair), self._weight_of(pair)) for pair in self.targets.pairs)
        return self.machine.nu <= min(largest)

    def builder(self, pair: Pair) -> Callable[[], SignedDual]:
        """Return a function that builds the problem of a pair of classes."""

        def build() -> SignedDual:
            if not self.targets.is_classifier:
                return self.machine._build(self.targets.y, box_of(self.machine.C, self.weight))
            return self.machine._build(self.targets.signs(pair), self._weight_of(pair))

        return build

    def note(self, number: int, answer: Answer) -> Cell | None:
        """Keep the answer to a problem; return the cell when it is complete.

        Where nu leaves no margin, every direction is optimal: the cell is left to `fit`, and None is returned.
        """
        solution, certificate = answer.trained.solution, answer.trained.certificate
        margin, bias = 1.0, -float(np.mean(solution.thresholds))  # nu-regression has two, on either side of the tube
        if isinstance(self.machine, KernelClassifier):
            margin, bias = self.machine._margin(answer.dual, solution.thresholds)
            thresholds = solution.thresholds
            if len(thresholds) > 1 and thresholds[0] - thresholds[1] <= 2.0 * UNDETERMINED * certificate.tol:
                self.is_determined = False
        self.decision[:, number] = (answer.values(self.test) + bias) / margin
        if self.training is not None:
            self.training[:, number] = (answer.values(self.train) + bias) / margin
        self.certificates[number] = certificate
        self.seconds += solution.seconds
        support, coefficients = answer.coefficients
        self.support[support] = True
        if self.models:
            found = support, coefficients / margin, bias / margin, solution.thresholds
            self.models[number] = Model(*found, certificate, solution.iterations)
        self.n_left -= 1
        if self.n_left or not self.is_determined:
            return None
        whole = combine_certificates(self.certificates, int(self.support.sum()))
        decision = self.decision[np.searchsorted(self.test, self.split.test)]
        training = None if self.training is None else self.training[np.searchsorted(self.train, self.split.train)]
        return Cell(decision, training, whole, self.machine, self.seconds, self.models, self.gamma)

    def _weight_of(self, pair: Pair) -> Vector:
        return self.weight if pair.index is None else self.weight[pair.index]
