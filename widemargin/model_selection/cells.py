"""The cells of a search: one estimator with many settings of its parameters, each trained on many splits of the data.

A cell is a setting on a split. All problems of all cells go to one `Family` (training/family.py): each sample has the
weight with which a split trains on it, zero if it is held out, so that its box is empty and K b has its decision value.
Cells that differ only in C, or in nu of a nu-classifier, form a path.

    gamma="scale", class_weight="balanced"   are computed from the training samples of the split
    samples that repeat in a split           count as often
    many classes                             a problem for each pair, on the samples of both classes
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from widemargin._sklearn import safe_indexing
from widemargin.estimators import SVC, SVR, NuSVC, NuSVR
from widemargin.estimators.classifier import KernelClassifier
from widemargin.estimators.kernel_estimator import WITHOUT_GAMMA
from widemargin.estimators.labels import checked_labels
from widemargin.estimators.plain_data import are_plain_labels
from widemargin.estimators.training_set import TrainingSet, read_weights, resolve_gamma
from widemargin.kernels import FeatureKernel, Linear
from widemargin.kernels.kernel import Kernel
from widemargin.kernels.names import is_precomputed
from widemargin.linalg.arrays import Index, Vector
from widemargin.model_selection.one_cell import Cell, OpenCell, Split, Targets
from widemargin.monitor.interrupt import StopSignal
from widemargin.monitor.stopping import Stopping
from widemargin.training.family import Answer, Family, Path
from widemargin.training.linear_path import FEWEST

SMALL_PAIR = 150  # samples of an average pair of classes up to which one compiled call for all pairs of a fit is faster
MACHINES = (SVC, SVR, NuSVC, NuSVR)
FAMILY_PARAMETERS = {"C", "gamma", "epsilon", "nu", "class_weight"}  # in which the cells of one family may differ
ORDINARY = {  # values of all other parameters that change how a fit runs
    "solver": ("auto",), "stopping": ("kkt",), "time_limit": (None,), "max_iter": (-1,), "trace": (False,),
    "warm_start": (False,), "verbose": (False, 0), "probability": (False, "deprecated"), "multi_class": ("ovo",),
    "checkpoint": (None,),
}  # fmt: skip


class NotTogether(Exception):
    """Raised for data or parameters that each cell has to be trained alone with."""


def suits(machine: Any) -> bool:
    """Whether cells of an estimator with these parameters can be trained together."""
    if type(machine) not in MACHINES:
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
        is_classifier = isinstance(machine, KernelClassifier)
        try:
            if is_classifier:
                data = self.machine._read(X, y, None, are_plain_labels)
                data.y = checked_labels(data.y)
            else:
                data, data.y = self.machine._read_column(X, y)
            self.weight = read_weights(sample_weight, data.n_given)
        except (ValueError, TypeError) as refused:
            raise NotTogether from refused
        if self.weight is not None and self.weight.min(initial=1.0) < 0:
            raise NotTogether  # `fit` warns
        if is_precomputed(machine.kernel) and not np.array_equal(data.X, data.X.T):
            raise NotTogether  # rows and columns differ, and `fit` warns
        self.n = data.n_given
        labels = np.unique(data.y, return_inverse=True)[1] if is_classifier else None
        self.order, self.splits = in_runs(splits, labels, self.n)
        self.X = rows_of(data.X, self.order, machine.kernel)
        self.targets = Targets(data.y[self.order], is_classifier)
        n_classes = len(self.targets.classes) if is_classifier else 1
        if n_classes > 2 and machine._builds_by_sample and 2 * self.n <= SMALL_PAIR * n_classes:
            raise NotTogether
        if self.weight is not None:
            self.weight = self.weight[self.order]
        self._weights: dict[Hashable, Vector] = {}  # of all samples, by split and class weight
        self._gammas: dict[Hashable, float] = {}  # by split, where gamma depends on the samples

    def train(
        self,
        settings: Sequence[dict[str, Any]],
        wanted: Sequence[tuple[int, int]],
        cancelled: StopSignal,
        take: Callable[[int, Cell], None],
        n_jobs: int | None = None,
    ) -> None:
        """Train the cells (setting, split) of `wanted`; `take` gets the place in `wanted` and the cell, on any thread.

        n_jobs : threads; None for those of the estimator

        Cells that have to be trained alone, because their parameters are refused or a class is missing, are left out.
        """
        machines = [self._machine(setting) for setting in settings]
        own = "C" if hasattr(self.machine, "C") else "nu"  # the parameter that changes along a path
        fixed = sorted(FAMILY_PARAMETERS - {own, "gamma"})
        kernels: dict[float, tuple[int, Kernel]] = {}
        members: dict[tuple[int, int, tuple[str, ...]], list[tuple[float, int]]] = defaultdict(list)
        cells: dict[int, OpenCell] = {}
        tests = [np.sort(split.test) for split in self.splits]
        for place, (setting, split) in enumerate(wanted):
            machine = machines[setting]
            if machine is None:
                continue
            try:
                weight, gamma = self._weight_of(machine, split), self._gamma_of(machine, split)
            except ValueError:
                continue
            kept = {"with_training": self.with_training, "with_models": self.with_models}
            cell = OpenCell(machine, self.targets, self.splits[split], tests[split], weight, gamma, **kept)
            if not cell.has_answers():
                continue
            if gamma not in kernels:
                machine._gamma = gamma
                kernels[gamma] = len(kernels), machine._kernel_of_fit()
            others = tuple(repr(settings[setting].get(name)) for name in fixed)
            members[kernels[gamma][0], split, others].append((float(getattr(machine, own)), place))
            cells[place] = cell
        if self.n >= FEWEST and any(is_linear(kernel) for _, kernel in kernels.values()):
            return
        if not kernels:
            return
        paths, places = [], []
        for pair in self.targets.pairs:
            for (kernel, split, _), members_of_path in members.items():
                members_of_path.sort()
                numbers = [place for _, place in members_of_path]
                prices = [value if own == "C" else 1.0 for value, _ in members_of_path]
                rule = self._stopping(cells[numbers[0]], split)
                duals = [cells[place].builder(pair) for place in numbers]
                paths.append(Path(kernel, duals, prices, rule, pair.index, tests[split]))
                places.append((pair.number, numbers))
        family = Family(
            [kernel for _, kernel in kernels.values()], self.X, cache_size=self.machine.cache_size,
            n_jobs=self.machine.n_jobs if n_jobs is None else n_jobs, cancelled=cancelled,
        )  # fmt: skip
        if len(self.targets.pairs) > 1 and not family.is_whole:
            return
        guard = threading.Lock()

        def note(path: int, link: int, answer: Answer) -> None:
            problem, numbers = places[path]
            with guard:
                cell = cells[numbers[link]].note(problem, answer)
            if cell is not None:
                take(numbers[link], cell)

        family.train(paths, note)

    def _machine(self, setting: dict[str, Any]) -> Any:
        """Return the estimator with a setting, or None if `fit` would refuse it or it is not on a path of C or nu."""
        machine = clone(self.machine).set_params(**setting)
        try:
            machine._validate_params()
        except ValueError:
            return None
        if self.targets.is_classifier:
            machine.classes_ = self.targets.classes
        return machine if np.isfinite(getattr(machine, "C", 1.0)) else None

    def _stopping(self, cell: OpenCell, split: int) -> Stopping:
        """Return the stop rule of a cell, as `fit` on the training samples of its split has it."""
        stopping = Stopping(self.machine.tol, "kkt", -1, None)
        if not self.targets.is_classifier:
            return stopping
        return self.machine._rule(stopping, np.array([cell.weight.sum() / len(self.splits[split].train)]))

    def _weight_of(self, machine: Any, split: int) -> Vector:
        """Return the weight of every sample in the training set of a split; ValueError if a class is missing there."""
        key = split, repr(getattr(machine, "class_weight", None))
        if key not in self._weights:
            train = self.splits[split].train
            weight = None if self.weight is None else self.weight[train]
            own = TrainingSet(None, self.targets.y[train], weight, None, len(train))
            each = own.weights()
            if not each.all():
                raise ValueError("samples of weight zero may leave out a class")
            if self.targets.is_classifier:
                reader = clone(machine)  # the classes of one split are not those of the others
                _, each = reader._read_labels(own)
                if len(reader.classes_) < len(self.targets.classes):
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
        X = rows_of(np.asarray(self.given) if is_precomputed(machine.kernel) else self.given, rows, machine.kernel)
        weight = None if self.weight is None else self.weight[train]
        machine._gamma = cell.gamma
        models = []
        for model in cell.models:
            coefficients = np.zeros(self.n)
            coefficients[model.support] = model.coefficients
            models.append((coefficients[train] / repeats, model.bias))
        machine._adopt(X, self.targets.y[train], weight, models, [model.certificate for model in cell.models])
        steps = np.array([model.iterations for model in cell.models], np.int32)
        if self.targets.is_classifier:
            machine.n_iter_ = steps
        else:
            machine.n_iter_ = int(steps[0])
            machine._bias(cell.models[0].thresholds)  # the width of the tube of nu-regression
        return machine


def rows_of(X: Any, rows: Index, kernel: Any) -> Any:
    """Return some samples; of a kernel matrix, rows and columns."""
    return X[np.ix_(rows, rows)] if is_precomputed(kernel) else safe_indexing(X, rows)


def in_runs(splits: Sequence[Split], labels: Index | None, n: int) -> tuple[Index, list[Split]]:
    """Return an order of n samples with few runs of adjacent numbers, and the splits in that order.

    The test samples of a split are adjacent, and among these the samples of each class; of splits whose test samples
    overlap, the first have them adjacent. Sums of parts of kernel rows, and the matrix of a pair of classes, are then
    read along the rows.
    """
    block = np.full(n, len(splits))
    for number, split in reversed(list(enumerate(splits))):
        block[split.test] = number
    order = np.lexsort((block,) if labels is None else (labels, block))
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    return order, [Split(place[split.train], place[split.test]) for split in splits]


def is_linear(kernel: Kernel) -> bool:
    """Whether models of many samples with this kernel are trained without a matrix, which is faster."""
    return type(kernel) is Linear or isinstance(kernel, FeatureKernel)


def predictions(machine: Any, decision: Vector) -> NDArray:
    """Return what `predict` returns for samples with these decision values."""
    if isinstance(machine, KernelClassifier):
        return machine.classes_.take(machine._class_numbers(decision))
    return decision[:, 0]
