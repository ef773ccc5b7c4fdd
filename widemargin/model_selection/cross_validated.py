"""Base class of SVCCV and SVRCV: find parameters by cross-validation, then train on all samples.

    read -> ranges -> rounds of cells (cell_search.py) -> select -> train with the parameters found

`C`, `gamma` and `epsilon` of the base class are no parameters here; they read as `C_`, `gamma_` and `epsilon_`, so that
everything that works with a fitted SVC works with this one.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer_names

from widemargin.estimators.base import KernelMachine, Run, Vector
from widemargin.estimators.parameters import estimator, found_by_fit, one_of, option, whole
from widemargin.estimators.training_set import TrainingSet
from widemargin.model_selection import ranges
from widemargin.model_selection.cell_search import CellSearch
from widemargin.model_selection.fold_scores import score_by
from widemargin.model_selection.held_out import HeldOut, held_out
from widemargin.model_selection.progress import SearchProgress
from widemargin.model_selection.splits import Splits, splits_of
from widemargin.model_selection.strategy import SELECTIONS, Axis, Candidate, open_ends
from widemargin.monitor import clock
from widemargin.monitor.interrupt import StopSignal
from widemargin.monitor.user_warning import warn_user

COUNT = 5  # values of C and of gamma on the coarse grid
EPSILONS = 3  # values of epsilon at the best cell
SEARCH_SHARE = 0.8  # of time_limit: the rest is for training on all samples
OF_THE_SEARCH = ("C_", "gamma_", "epsilon_", "Cs_", "gammas_", "epsilons_", "scores_", "oof_decision_")
#: parameters of the machines inside the search: no display, no limits, nothing kept
INSIDE = {
    "verbose": False, "trace": False, "warm_start": False, "time_limit": None, "on_interrupt": "raise",
    "probability": False, "checkpoint": None,
}  # fmt: skip


@estimator
class CrossValidated(KernelMachine):
    """Base of SVCCV and SVRCV.

    Cs : None, int or array-like, default None
        None: a range found from the data, five values, refined and extended. An int: so many values to begin with. An
        array: exactly these values.
    gammas : None, int or array-like, default None
        The same for gamma of "rbf", "poly", "sigmoid", "laplacian" and "chi2"; other kernels have none.
    cv : int, splitter, iterable of pairs (train, test) or None, default None
        Splits; None means five folds, fewer if a class has fewer samples, or a regression fewer than ten. Folds are
        contiguous unless `random_state` is given, as in scikit-learn.
    scoring : str, callable or None, default None
        None is the accuracy, or R^2 of a regression. Otherwise a scorer of `predict` or `decision_function`.
    selection : {"best", "one_se"} or callable, default "best"
        "best" is the highest mean score, of equals the smallest C, then the smallest gamma. "one_se" is the smallest
        C, then the smallest gamma, within one standard error of it. A callable gets `cv_results_` and returns an
        index.
    time_limit : float or None, default None
        Seconds for search and training together, after which the best of the cells tried so far is trained, with a
        warning; `resume` continues the search. The search ends at four fifths of it, and nothing is cut if there is no
        limit.
    random_state : int, RandomState instance or None, default None
        Shuffles the folds of an int `cv`.
    verbose : bool or int, default False
        Show a progress bar, and the table of scores as it grows.

    C_, gamma_ : float
        The parameters chosen. `gamma_` only for kernels that have one.
    Cs_, gammas_ : arrays
        All values tried, ascending.
    scores_ : array of shape (n_Cs, n_gammas, n_splits)
        Scores of all cells, nan where none was tried; without gamma (n_Cs, n_splits).
    cv_results_ : dict
        The cells in the order in which they were tried, under scikit-learn's keys. Times of fits are those of their
        certificates.
    best_params_, best_score_, best_index_
        The chosen cell: its parameters, its mean score, its place in `cv_results_`. The score of a cell that was
        chosen for its score is too good: `cross_val_score(SVCCV(), X, y)` is an honest estimate.
    oof_decision_ : array of shape (n_samples,) or (n_samples, n_machines)
        Decision values of the chosen cell for every sample, from machines that were not trained on it ("out of
        fold"); the mean over the splits that hold it out, nan for samples that none does.
    edges_ : dict
        How often the lower and the upper end of each parameter's range were extended.
    search_complete_ : bool
        Whether the search came to its end.
    n_splits_ : int
    """

    Cs: Any = option(None, None, whole(1), "array-like")
    gammas: Any = option(None, None, whole(1), "array-like")
    cv: Any = option(None, "cv_object")
    scoring: Any = option(None, None, one_of(*get_scorer_names()), callable)
    selection: Any = option("best", one_of(*SELECTIONS), callable)
    random_state: Any = option(None, "random_state")

    C: Any = found_by_fit("C_")
    gamma: Any = found_by_fit("gamma_", otherwise="scale")

    _machine: ClassVar[type]

    @abstractmethod
    def _read_targets(self, X: Any, y: Any, sample_weight: Any) -> tuple[TrainingSet, NDArray]:
        """Return the samples of positive weight and their labels or targets."""

    def _more_axes(self, sample: Any, y: NDArray, n_samples: int) -> list[Axis]:
        """Return the axes beside C and gamma; `sample` and `y` are a sample of the data."""
        return []

    def _spread(self, y: NDArray) -> float:
        """Return the scale of C."""
        return 1.0

    # ---- training

    def _fit(self, run: Run, X: Any, y: Any, sample_weight: Any) -> None:
        began, limit = clock.now(), run.stopping.time_limit
        data, targets = self._read_targets(X, y, sample_weight)
        stratified = hasattr(self, "classes_")
        splits = splits_of(self.cv, data, targets, stratified=stratified, seed=self.random_state)
        search = CellSearch(self._axes(data, targets))
        if run.before is not None:
            self._continue(search, run.before, len(splits))
        machine = self._inner_machine()
        score = score_by(self.scoring, machine, data.X, targets, data.weight)
        deadline = None if limit is None else began + SEARCH_SHARE * limit
        with SearchProgress(type(self).__name__, self.verbose) if self.verbose else nullcontext(_SILENT) as progress:
            given = data.X, targets, data.weight
            search.run(machine, given, splits, score, self._select, run.cancelled, deadline, progress)
        chosen = self._chosen(search, run.cancelled, len(splits))
        before = run.before
        if before is not None and before.best_params_ != search.named(chosen):
            run.before = None  # a machine with other parameters is no start
        self._note_search(search, chosen, len(splits))
        if search.kept is not None and search.kept[0] == chosen:
            self._note_held_out(search.kept[1], data, splits)
        elif run.before is not None:
            self.oof_decision_ = run.before.oof_decision_
        else:  # selected in the end, but not at the end of its round: its values are computed again
            tried = [search.named(chosen)] if np.isfinite(search.scores[chosen]).any() else []
            cells = held_out(machine, data.X, targets, tried, splits, data.weight)
            self._note_held_out(cells[0] if cells else [], data, splits)  # type: ignore[arg-type]
        if run.cancelled.is_set():
            run.cancelled = StopSignal()  # what was found so far is trained to its end
        if limit is not None:
            left = max(limit - (clock.now() - began), (1.0 - SEARCH_SHARE) * limit)
            run.stopping = replace(run.stopping, time_limit=left)
        super()._fit(run, X, y, sample_weight)  # type: ignore[safe-super]

    def _inner_machine(self) -> Any:
        """Return the unfitted machine of the cells."""
        names = set(self._machine._get_param_names()) & set(self._get_param_names())  # type: ignore[attr-defined]
        given = {name: getattr(self, name) for name in names}
        return self._machine(**given | {name: value for name, value in INSIDE.items() if name in names})

    def to_machine(self) -> Any:
        """Return the chosen machine alone, a fitted SVC or SVR with the parameters found.

        Returns
        -------
        machine : fitted SVC of SVCCV, fitted SVR of SVRCV; arrays are shared
        """
        names = set(self._machine._get_param_names())  # type: ignore[attr-defined]
        machine = self._machine(**{name: getattr(self, name) for name in names})
        own = {*self._get_param_names(), *OF_THE_SEARCH, "cv_results_", "best_params_", "best_score_", "best_index_",
               "edges_", "search_complete_", "n_splits_"}  # fmt: skip
        vars(machine).update({name: value for name, value in vars(self).items() if name not in own})
        return machine

    # ---- the search

    def _axes(self, data: TrainingSet, y: NDArray) -> list[Axis]:
        """Return the parameters to search and their first values."""
        sample, rows = ranges.draw(data.X, self.kernel)
        weight = None if data.weight is None else data.weight[rows]
        axes = []
        options = {"degree": self.degree, "coef0": self.coef0}
        middle = 1.0
        if ranges.has_gamma(self.kernel):

            def own_gammas(count: int) -> Vector:
                return ranges.gamma_values(sample, self.kernel, count, weight)

            axes.append(axis_of("gamma", self.gammas, own_gammas))
            middle = axes[0].middle
        elif self.gammas is not None and not isinstance(self.gammas, Integral):
            raise ValueError(f"gammas are given, but kernel={self.kernel!r} has no gamma: leave gammas out.")

        def own_Cs(count: int) -> Vector:
            return ranges.C_values(sample, self.kernel, count, middle, self._spread(y), **options)

        axes.insert(0, axis_of("C", self.Cs, own_Cs))
        return [*axes, *self._more_axes(sample, y[rows], len(data))]

    def _continue(self, search: CellSearch, before: Any, n_splits: int) -> None:
        """Begin with the cells of an earlier, fitted search."""
        if before.n_splits_ != n_splits or list(before.best_params_) != [axis.name for axis in search.axes]:
            raise ValueError(
                f"The search was made with {before.n_splits_} splits over {', '.join(before.best_params_)}, and now "
                f"there are {n_splits} over {', '.join(axis.name for axis in search.axes)}: resume needs the "
                "parameters of fit; fit starts anew."
            )
        search.take_results(before.cv_results_)

    def _select(self, search: CellSearch) -> Candidate | None:
        """Return the chosen cell of those tried so far; None if no cell has a score."""
        if isinstance(self.selection, str):
            return SELECTIONS[self.selection](search.axes, search.scores)
        if not search.scores:
            return None
        index = self.selection(search.results())
        if not isinstance(index, Integral) or not 0 <= int(index) < len(search.scores):
            raise ValueError(
                f"selection must return the index of a cell of cv_results_, 0 to {len(search.scores) - 1}; got "
                f"{index!r}."
            )
        return list(search.scores)[int(index)]

    def _chosen(self, search: CellSearch, cancelled: StopSignal, n_splits: int) -> Candidate:
        """Return the chosen cell; raise KeyboardInterrupt, or an error, if there is none."""
        chosen = self._select(search)
        if chosen is not None:
            return chosen
        if cancelled.is_set():
            raise KeyboardInterrupt  # before there was anything to keep
        if search.scores:
            raise ValueError(
                "Every score is nan: the scorer is not defined on these splits, as R^2 is not on a single sample, or "
                "where squares overflow. Use another scoring, such as 'neg_mean_squared_error', or larger folds."
            )
        middle = tuple(axis.middle for axis in search.axes)
        search.scores[middle] = np.full(n_splits, np.nan)
        search.seconds[middle] = (0.0,) * 4
        return middle

    def _note_search(self, search: CellSearch, chosen: Candidate, n_splits: int) -> None:
        """Set the attributes that describe the search."""
        for name in OF_THE_SEARCH:
            self.__dict__.pop(name, None)
        values, self.scores_ = search.grid()
        for axis, tried, value in zip(search.axes, values, chosen):
            setattr(self, f"{axis.name}_", float(value))
            setattr(self, f"{axis.name}s_", tried)
        self.cv_results_ = search.results()
        self.best_params_ = search.named(chosen)
        self.best_index_ = list(search.scores).index(chosen)
        self.best_score_ = float(np.mean(search.scores[chosen]))
        self.edges_ = {
            axis.name: [search.extensions.get((number, side), 0) for side in (-1, 1)]  # type: ignore[call-overload]
            for number, axis in enumerate(search.axes)
        }
        self.search_complete_ = search.is_complete
        self.n_splits_ = n_splits
        ends = open_ends(search.axes, search.scores) if search.is_complete else []
        self._still_open = [end for end in ends if not search.axes[end.axis].along_best]

    def _note_held_out(self, cells: list[HeldOut], data: TrainingSet, splits: Splits) -> None:
        """Set `oof_decision_`, in the order of the data given to fit."""
        width = max((cell.decision.shape[1] for cell in cells), default=1)
        total, count = np.zeros((len(data), width)), np.zeros(len(data))
        for cell, (_, test) in zip(cells, splits):
            if cell.decision.shape[1] == width:  # else the training rows lack a class
                np.add.at(total, test, cell.decision)
                np.add.at(count, test, 1.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            values = total / count[:, None]
        everywhere = np.full((data.n_given, width), np.nan)
        everywhere[slice(None) if data.kept is None else data.kept] = values
        self.oof_decision_ = everywhere[:, 0] if width == 1 else everywhere

    # ---- warnings and files

    def _warn_unless_converged(self) -> None:
        names = list(self.best_params_)
        if not self.search_complete_:
            tried = len(self.cv_results_["params"])
            warn_user(
                f"The search ended early, after {tried} cells: {_words(self.best_params_)} is the best of those. "
                "resume(X, y) continues the search.",
                ConvergenceWarning,
            )
        for number, side in self.__dict__.pop("_still_open", ()):
            name = names[number]
            value, word = getattr(self, f"{name}s_")[0 if side < 0 else -1], "smallest" if side < 0 else "largest"
            if value in (0.0, np.inf):
                continue  # nothing lies beyond
            advice = f"Give {name}s with {'smaller' if side < 0 else 'larger'} values, and scale the features."
            if name == "gamma" and side < 0:
                advice = "The smaller gamma, the more linear the machine: try kernel='linear'. Or give smaller gammas."
            warn_user(
                f"The best score is at {name} = {value:.4g}, the {word} value tried: better ones may lie beyond. "
                f"{advice}"
            )
        super()._warn_unless_converged()

    def _rebuild(self) -> None:
        super()._rebuild()
        results = self.cv_results_
        lengths = {len(column) for column in results.values()}
        if lengths != {len(results["params"])} or not self.best_index_ < len(results["params"]):
            raise ValueError("cv_results_ must hold columns of one length, and best_index_ a place in them")
        for name in self.best_params_:
            results[f"param_{name}"] = np.ma.array(results[f"param_{name}"], mask=False)


class _Silent:
    """Progress of a search that nobody watches."""

    def begin_round(self, search: CellSearch, n_cells: int) -> None: ...

    def end_round(self, search: CellSearch) -> None: ...

    cell_done = None


_SILENT = _Silent()


def axis_of(name: str, given: Any, own: Any, count: int = COUNT, along_best: bool = False) -> Axis:
    """The axis of a parameter: values given, so many of its own range, or `count` of them."""
    if given is None or isinstance(given, Integral):
        count = count if given is None else int(given)
        return Axis(name, tuple(map(float, own(count))), True, along_best)
    least_is_allowed = name != "C"
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):  # "scale", for example
        values = np.array([np.nan])
    wrong = np.isnan(values) | (values < 0) | ((values == 0) & (not least_is_allowed))
    if values.ndim != 1 or len(values) == 0 or wrong.any():
        expected = "0 or more" if least_is_allowed else "above 0"
        rule = " (gamma='scale' and 'auto' are values of the estimators and of GridSearchCV)" if name == "gamma" else ""
        raise ValueError(f"{name}s must be a list of numbers {expected}, at least one; got {given!r}{rule}.")
    return Axis(name, tuple(sorted(set(values.tolist()))), False)


def _words(parameters: dict[str, float]) -> str:
    return ", ".join(f"{name} = {value:.4g}" for name, value in parameters.items())
