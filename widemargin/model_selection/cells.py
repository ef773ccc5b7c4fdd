"""The cells of a search: one estimator with many settings of its parameters, each trained on many splits of the data.

A cell is a setting on a split. All problems of all cells go to one `Family` (training/family.py): each sample has the
weight with which a split trains on it, zero if it is held out, so that its box is empty and K b has its decision value.
Cells that differ only in C form a path.

    gamma="scale", class_weight="balanced"   are computed from the training samples of the split
    samples that repeat in a split           count as often
    many classes                             a problem for each pair, on the samples of both classes
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from widemargin._sklearn import safe_indexing
from widemargin.certificate import Certificate
from widemargin.certificate import combine as combine_certificates
from widemargin.estimators import SVC, SVR
from widemargin.estimators.kernel_estimator import WITHOUT_GAMMA
from widemargin.estimators.labels import checked_labels
from widemargin.estimators.plain_data import are_plain_labels
from widemargin.estimators.training_set import TrainingSet, read_weights, resolve_gamma
from widemargin.kernels import FeatureKernel, Linear
from widemargin.kernels.kernel import Kernel
from widemargin.kernels.names import is_precomputed
from widemargin.linalg.arrays import Index, Vector
from widemargin.monitor.interrupt import StopSignal
from widemargin.monitor.stopping import Stopping
from widemargin.problems.classification import box_of
from widemargin.problems.dual import SignedDual
from widemargin.training.family import Answer, Family, Path

SMALL_PAIR = 150  # samples of an average pair of classes up to which one compiled call for all pairs of a fit is faster
FAMILY_PARAMETERS = {"C", "gamma", "epsilon", "class_weight"}  # in which the cells of one family may differ
ORDINARY = {  # values of all other parameters that change how a fit runs
    "solver": ("auto",), "stopping": ("kkt",), "time_limit": (None,), "max_iter": (-1,), "trace": (False,),
    "warm_start": (False,), "verbose": (False, 0), "probability": (False, "deprecated"), "multi_class": ("ovo",),
    "checkpoint": (None,),
}  # fmt: skip


class NotTogether(Exception):
    """Raised for data or parameters that each cell has to be trained alone with."""


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
    models : coefficients of all samples, bias and certificate of each problem, if they were asked for
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
    """The answer to one problem of a cell."""

    coefficients: Vector
    bias: float
    certificate: Certificate
    iterations: int


def suits(machine: Any) -> bool:
    """Whether cells of an estimator with these parameters can be trained together."""
    if type(machine) not in (SVC, SVR):
        return False
    values = machine.get_params(deep=False)
    return all(values[name] in allowed for name, allowed in ORDINARY.items() if name in values)


class Search:
    """The data of a search, validated once, and its cells.

    Parameters
    ----------
    machine : estimator with the parameters that all settings share
    X, y, sample_weight : as `fit` takes them
    splits : training and test samples by number
    with_training : whether decision values of training samples are wanted
    with_models : whether fitted estimators are wanted (`fitted`)

    Raises NotTogether where `fit` has to say what is wrong with the data.
    """

    def __init__(
        self,
        machine: Any,
        X: Any,
        y: Any,
        splits: Sequence[Split],
        sample_weight: Any = None,
        with_training: bool = False,
        with_models: bool = False,
    ) -> None:
        self.machine, self.given = clone(machine), X
        self.with_training, self.with_models = with_training, with_models
        self.is_classifier = isinstance(machine, SVC)
        try:
            if self.is_classifier:
                data = self.machine._read(X, y, None, are_plain_labels)
                data.y = checked_labels(data.y)
            else:
                data, data.y = self.machine._read_column(X, y)
            self.weight = read_weights(sample_weight, data.n_given)
        except (ValueError, TypeError) as refused:
            raise NotTogether from refused
        if self.weight is not None and self.weight.min(initial=1.0) < 0:
            raise NotTogether  # `fit` warns
        if is_precomputed(self.machine.kernel) and not np.array_equal(data.X, data.X.T):
            raise NotTogether  # rows and columns differ, and `fit` warns
        self.n = data.n_given
        self.order, self.splits = test_samples_together(splits, self.n)
        self.X = data.X[np.ix_(self.order, self.order)] if is_precomputed(machine.kernel) else data.X
        if not is_precomputed(machine.kernel):
            self.X = safe_indexing(data.X, self.order)
        self.y = data.y[self.order]
        if self.weight is not None:
            self.weight = self.weight[self.order]
        self.problems = [Pair(0, None, 1, 0)]
        if self.is_classifier:
            self.classes, self.labels = np.unique(self.y, return_inverse=True)
            if len(self.classes) > 2:
                self.problems = pairs_of(self.labels, len(self.classes))
                if 2 * self.n <= SMALL_PAIR * len(self.classes):
                    raise NotTogether
        self._weights: dict[Hashable, Vector] = {}  # of all samples, by split and class weight
        self._gammas: dict[Hashable, float] = {}  # by split, where gamma depends on the samples

    def train(
        self,
        settings: Sequence[dict[str, Any]],
        wanted: Sequence[tuple[int, int]],
        cancelled: StopSignal,
        take: Callable[[int, Cell], None],
    ) -> None:
        """Train the cells (setting, split) of `wanted`; `take` gets the place in `wanted` and the cell, on any thread.

        Cells that have to be trained alone, because their parameters are refused or a class is missing, are left out.
        """
        machines = [self._machine(setting) for setting in settings]
        kernels: dict[float, tuple[int, Kernel]] = {}
        members: dict[tuple[int, int, tuple[str, ...]], list[tuple[float, int]]] = defaultdict(list)
        parts: dict[int, Part] = {}
        for place, (setting, split) in enumerate(wanted):
            machine = machines[setting]
            if machine is None:
                continue
            try:
                weight, gamma = self._weight_of(machine, split), self._gamma_of(machine, split)
            except ValueError:
                continue
            if gamma not in kernels:
                machine._gamma = gamma
                kernels[gamma] = len(kernels), machine._kernel_of_fit()
            others = tuple(repr(settings[setting].get(name)) for name in sorted(FAMILY_PARAMETERS - {"C", "gamma"}))
            members[kernels[gamma][0], split, others].append((float(machine.C), place))
            parts[place] = Part(self, machine, self.splits[split], weight, gamma)
        if not kernels or any(is_linear(kernel) for _, kernel in kernels.values()):
            return
        paths, places = [], []
        for pair in self.problems:
            for (number, _, _), cells in members.items():
                cells.sort()
                prices = [price for price, _ in cells]
                builds = [parts[place].builder(pair) for _, place in cells]
                paths.append(Path(number, builds, prices, pair.index))
                places.append((pair.number, [place for _, place in cells]))
        some = self.machine
        family = Family(
            [kernel for _, kernel in kernels.values()], self.X, cache_size=some.cache_size, n_jobs=some.n_jobs,
            cancelled=cancelled,
        )  # fmt: skip
        if len(self.problems) > 1 and not family.is_whole:
            return
        guard = threading.Lock()

        def note(path: int, link: int, answer: Answer) -> None:
            column, cells = places[path]
            with guard:
                cell = parts[cells[link]].note(column, answer)
            if cell is not None:
                take(cells[link], cell)

        family.train(paths, Stopping(some.tol, "kkt", -1, None), note)

    def _machine(self, setting: dict[str, Any]) -> Any:
        """Return the estimator with a setting, or None if `fit` would refuse it or it is not on a path of C."""
        machine = clone(self.machine).set_params(**setting)
        try:
            machine._validate_params()
        except ValueError:
            return None
        if self.is_classifier:
            machine.classes_ = self.classes
        return machine if np.isfinite(machine.C) else None

    def _weight_of(self, machine: Any, split: int) -> Vector:
        """Return the weight of every sample in the training set of a split; ValueError if a class is missing there."""
        key = split, repr(getattr(machine, "class_weight", None))
        if key not in self._weights:
            train = self.splits[split].train
            weight = None if self.weight is None else self.weight[train]
            own = TrainingSet(None, self.y[train], weight, None, len(train))
            each = own.weights()
            if not each.all():
                raise ValueError("samples of weight zero may leave out a class")
            if self.is_classifier:
                reader = clone(machine)  # the classes of one split are not those of the others
                _, each = reader._read_labels(own)
                if len(reader.classes_) < len(self.classes):
                    raise ValueError("a class is missing")
            self._weights[key] = np.bincount(train, weights=each, minlength=self.n).astype(np.float64)
        return self._weights[key]

    def _gamma_of(self, machine: Any, split: int) -> float:
        """Return gamma as a number, from the training samples of a split where it depends on them."""
        if not isinstance(machine.kernel, str) or machine.kernel in WITHOUT_GAMMA:
            return 0.0
        if not isinstance(machine.gamma, str):
            return float(machine.gamma)
        key = split, machine.gamma
        if key not in self._gammas:
            train = self.splits[split].train
            weight = None if self.weight is None else self.weight[train]
            self._gammas[key] = resolve_gamma(machine.gamma, safe_indexing(self.X, train), weight)
        return self._gammas[key]

    def fitted(self, cell: Cell, split: int) -> Any:
        """Return the estimator of a cell as `fit` on the training samples of its split leaves it."""
        machine, train = clone(cell.machine), self.splits[split].train
        repeats, rows = np.bincount(train, minlength=self.n)[train], self.order[train]
        if is_precomputed(machine.kernel):
            X = np.asarray(self.given)[np.ix_(rows, rows)]
        else:
            X = safe_indexing(self.given, rows)
        weight = None if self.weight is None else self.weight[train]
        machine._gamma = cell.gamma
        models = [(model.coefficients[train] / repeats, model.bias) for model in cell.models]
        machine._adopt(X, self.y[train], weight, models, [model.certificate for model in cell.models])
        steps = np.array([model.iterations for model in cell.models], np.int32)
        machine.n_iter_ = steps if self.is_classifier else int(steps[0])
        return machine


def test_samples_together(splits: Sequence[Split], n: int) -> tuple[Index, list[Split]]:
    """Return an order of n samples in which the test samples of each split are adjacent, and the splits in that order.

    Sums of parts of kernel rows are then sums of adjacent numbers. Of splits whose test samples overlap, the first have
    them adjacent.
    """
    everything = np.concatenate([*(split.test for split in splits), np.arange(n)])
    _, first = np.unique(everything, return_index=True)
    order = everything[np.sort(first)]
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    return order, [Split(place[split.train], place[split.test]) for split in splits]


def is_linear(kernel: Kernel) -> bool:
    """Whether models with this kernel are trained without a matrix, which is faster."""
    return type(kernel) is Linear or isinstance(kernel, FeatureKernel)


@dataclass(frozen=True, eq=False)
class Pair:
    """A problem of a cell: its number, its samples (None: all), and its classes, the first of which is positive."""

    number: int
    index: Index | None
    positive: int
    negative: int


def pairs_of(labels: Index, n_classes: int) -> list[Pair]:
    """Return the problems of all pairs of classes."""
    pairs = [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]
    return [Pair(number, np.flatnonzero((labels == a) | (labels == b)), a, b) for number, (a, b) in enumerate(pairs)]


class Part:
    """A cell while its problems are trained."""

    def __init__(self, search: Search, machine: Any, split: Split, weight: Vector, gamma: float) -> None:
        self.search, self.machine, self.split, self.weight, self.gamma = search, machine, split, weight, gamma
        self.models: list[Any] = [None] * len(search.problems) if search.with_models else []
        self.n_left = n_problems = len(search.problems)
        self.decision = np.empty((len(split.test), n_problems))
        self.training = np.empty((len(split.train), n_problems)) if search.with_training else None
        self.certificates: list[Any] = [None] * n_problems
        self.seconds = 0.0
        self.support = np.zeros(search.n, np.bool_)

    def builder(self, pair: Pair) -> Callable[[], SignedDual]:
        """Return a function that builds the problem of this cell for a pair of classes."""

        def build() -> SignedDual:
            search, machine = self.search, self.machine
            if not search.is_classifier:
                return machine._build(search.y, box_of(machine.C, self.weight))
            labels = search.labels if pair.index is None else search.labels[pair.index]
            weight = self.weight if pair.index is None else self.weight[pair.index]
            return machine._build(np.where(labels == pair.positive, 1.0, -1.0), weight)

        return build

    def note(self, column: int, answer: Answer) -> Cell | None:
        """Keep the answer to a problem; return the cell when it is complete."""
        trained = answer.trained
        bias = -float(trained.solution.thresholds[0])
        self.decision[:, column] = answer.values(self.split.test) + bias
        if self.training is not None:
            self.training[:, column] = answer.values(self.split.train) + bias
        self.certificates[column] = trained.certificate
        self.seconds += trained.solution.seconds
        used = np.flatnonzero(trained.solution.beta)
        samples = used if answer.index is None else answer.index[used]
        self.support[samples] = True
        if self.models:
            coefficients = np.zeros(self.search.n)
            coefficients[samples] = trained.solution.beta[used]
            self.models[column] = Model(coefficients, bias, trained.certificate, trained.solution.iterations)
        self.n_left -= 1
        if self.n_left:
            return None
        certificate = combine_certificates(self.certificates, int(self.support.sum()))
        return Cell(
            self.decision, self.training, certificate, self.machine, self.seconds, self.models, self.gamma
        )  # fmt: skip


def predictions(machine: Any, decision: Vector) -> NDArray:
    """Return what `predict` returns for samples with these decision values."""
    if isinstance(machine, SVC):
        return machine.classes_.take(machine._class_numbers(decision))
    return decision[:, 0]
