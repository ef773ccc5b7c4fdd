"""Families of fits: the tasks of a search that differ in few parameters, trained together.

Candidates whose estimator differs only in C, gamma, epsilon or class weight form one family, on all splits. In a
Pipeline there is one for each split and each setting of the transformers, which are fitted once for all its candidates:
samples differ from split to split, so that each has distances of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed

from widemargin._sklearn import num_samples, safe_indexing, safe_split
from widemargin.kernels.names import is_precomputed
from widemargin.model_selection import workers
from widemargin.model_selection.cells import FAMILY_PARAMETERS, NotTogether, Search, predictions, suits
from widemargin.model_selection.direct_scores import DirectScorer
from widemargin.model_selection.one_cell import Cell, Split
from widemargin.model_selection.tasks import Done, Task, result_of_fitted, result_of_scores
from widemargin.monitor.interrupt import CtrlC


class Candidate(NamedTuple):
    """The estimator of a candidate, whole and its last step, and the transformers before that; None without any."""

    whole: Any
    machine: Any
    before: Pipeline | None


def train_together(tasks: Sequence[Task], n_jobs: int | None = None) -> dict[int, Done]:
    """Train and score those tasks of one search that form families; return their results.

    Given    all tasks of a search that scikit-learn would pass to its `_fit_and_score`, candidate by candidate and
             within a candidate split by split. X, y, scorer and the other arguments are those of the search, as is
             n_jobs (see workers.py).
    Returns  position in `tasks` -> result and certificate, for tasks that could be done. All others are left to
             scikit-learn: tasks of other estimators, and every fit that fails, so that the error, its warning and
             `error_score` are scikit-learn's. A task that is left out keeps an estimator that has not been fitted.

    It runs in the thread of the search, under the warning filters and scikit-learn's configuration that hold for the
    tasks, and under the joblib configuration that is active outside the search. KeyboardInterrupt is raised.
    """
    if workers.are_elsewhere(n_jobs):
        known = candidates_of(tasks)
        parts = [part for family in families_of(tasks, known) for part in by_gamma(known, family)]
        jobs = (delayed(train_here)([tasks[number] for number in part], None) for part in parts)
        answers = zip(parts, Parallel(n_jobs=n_jobs)(jobs))
        return {part[place]: done for part, answer in answers for place, done in answer.items()}
    return train_here(tasks, workers.threads_of(n_jobs))


def train_here(tasks: Sequence[Task], n_threads: int | None) -> dict[int, Done]:
    """`train_together` on threads of this process; None for those that one fit uses."""
    done: dict[int, Done] = {}
    with CtrlC() as ctrl_c:
        known = candidates_of(tasks, ctrl_c)
        for family in families_of(tasks, known):
            if not ctrl_c.requested.is_set():
                done.update(train_family(tasks, known, family, ctrl_c, n_threads))
    if ctrl_c.requested.is_set():  # also where somebody else's handler raised KeyboardInterrupt in a solver
        raise KeyboardInterrupt
    return done


def candidates_of(tasks: Sequence[Task], ctrl_c: CtrlC | None = None) -> list[Candidate | None]:
    """Return the candidate of each task; None for those that have to be trained alone, and for all after Ctrl-C."""
    candidates: dict[int, Candidate | None] = {}
    for task in tasks:
        if ctrl_c is not None and ctrl_c.requested.is_set():
            return [None] * len(tasks)
        if id(task.parameters) not in candidates:
            candidates[id(task.parameters)] = candidate_of(task)
    return [candidates[id(task.parameters)] for task in tasks]


def by_gamma(known: Sequence[Candidate | None], family: list[int]) -> list[list[int]]:
    """Return the tasks of a family, divided by their values of gamma."""
    parts: dict[str, list[int]] = {}
    for number in family:
        candidate = known[number]
        assert candidate is not None
        parts.setdefault(repr(candidate.machine.gamma), []).append(number)
    return list(parts.values())


def candidate_of(task: Task) -> Candidate | None:
    """Return the estimator of a task with its parameters; None if it has to be trained alone."""
    try:
        whole = clone(task.estimator).set_params(**clone(task.parameters or {}, safe=False))
    except (ValueError, TypeError):
        return None
    if type(whole) is not Pipeline:
        has_weights_alone = set(task.fit_params or {}) <= {"sample_weight"}
        return Candidate(whole, whole, None) if has_weights_alone and suits(whole) else None
    name, machine = whole.steps[-1]
    if whole.memory is not None or set(task.fit_params or {}) - {f"{name}__sample_weight"} or not suits(machine):
        return None
    return Candidate(whole, machine, whole[:-1] if len(whole.steps) > 1 else None)


def families_of(tasks: Sequence[Task], known: Sequence[Candidate | None]) -> list[list[int]]:
    """Return the numbers of the tasks of each family."""
    kinds: list[Candidate] = []
    kind_of: dict[int, int] = {}
    families: dict[tuple[int, int], list[int]] = {}
    for number, task in enumerate(tasks):
        candidate = known[number]
        if candidate is None:
            continue
        if id(candidate) not in kind_of:
            related = (kind for kind, other in enumerate(kinds) if is_related(candidate, other))
            kind_of[id(candidate)] = next(related, len(kinds))
            if kind_of[id(candidate)] == len(kinds):
                kinds.append(candidate)
        split = 0 if candidate.before is None else id(task.train)
        families.setdefault((kind_of[id(candidate)], split), []).append(number)
    return list(families.values())


def is_related(one: Candidate, other: Candidate) -> bool:
    """Whether two candidates share their kernel values, up to gamma."""
    if one.before is None or other.before is None:
        has_same_data = one.before is other.before
    else:
        has_same_data = same_parameters(one.before, other.before, set())
    return has_same_data and same_parameters(one.machine, other.machine, FAMILY_PARAMETERS)


def same_parameters(one: Any, other: Any, but: set[str]) -> bool:
    """Whether two estimators of one type have equal parameters, except some."""
    if type(one) is not type(other):
        return False
    mine, theirs = one.get_params(), other.get_params()
    return mine.keys() == theirs.keys() and all(
        name in but or is_same(value, theirs[name]) for name, value in mine.items()
    )


def is_same(one: Any, other: Any) -> bool:
    """Whether two values of a parameter are equal beyond doubt."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, (bool, int, float, str, bytes)):
        return bool(one == other)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(is_same(a, b) for a, b in zip(one, other))
    return hasattr(one, "get_params") and same_parameters(one, other, set())


def train_family(
    tasks: Sequence[Task], known: Sequence[Candidate | None], numbers: list[int], ctrl_c: CtrlC,
    n_threads: int | None,
) -> dict[int, Done]:  # fmt: skip
    """Train and score the tasks of one family."""
    first = tasks[numbers[0]]
    candidate = known[numbers[0]]
    assert candidate is not None
    if is_precomputed(candidate.machine.kernel) and not hasattr(first.X, "shape"):
        return {}  # scikit-learn refuses lists of rows, which it cannot divide
    direct = DirectScorer.of(first.scorer, candidate.whole, first.y, first.score_params)
    splits, places = splits_of(tasks, numbers)
    settings, settings_of = settings_for(tasks, known, numbers)
    before: Pipeline | None = None
    try:
        X, y, inside = first.X, first.y, splits
        weight = next(iter((first.fit_params or {}).values()), None)
        if candidate.before is not None:
            before, X, y, weight, inside = transformed(candidate, first, splits[0], weight)
        search = Search(
            candidate.machine, X, y, inside, weight, with_training=first.return_train_score, with_models=direct is None
        )
    except NotTogether:
        return {}
    done: dict[int, Done] = {}
    found: list[tuple[int, Cell]] = []

    def take(place: int, cell: Cell) -> None:
        """Keep a cell; one that is not certified is left to `fit`, which warns."""
        if cell.certificate.holds:
            found.append((place, cell))

    def score(place: int, cell: Cell) -> None:
        """Score a cell, in the thread of the search: scorers see its configuration, one after another."""
        number = numbers[place]
        split, task = splits[places[place]], tasks[number]
        if direct is not None:
            scores = direct(split.test, predictions(cell.machine, cell.decision))
            train_scores = None
            if cell.training_decision is not None:
                train_scores = direct(split.train, predictions(cell.machine, cell.training_decision))
            result = result_of_scores(task, scores, train_scores, len(split.test), cell.seconds, 0.0)
        else:
            fitted = search.fitted(cell, places[place])
            if before is not None:
                fitted = Pipeline([*before.steps, (candidate.whole.steps[-1][0], fitted)])
            result = result_of_fitted(task, fitted, cell.seconds)
        done[number] = Done(result, cell.certificate)

    wanted = [(settings_of[place], places[place]) for place in range(len(numbers))]
    try:
        search.train(settings, wanted, ctrl_c.requested, take, n_threads)
    except Exception:  # a kernel of the user's, or too little memory: `fit` raises again, and scikit-learn reports
        logging.getLogger("widemargin").debug("candidates are trained one by one", exc_info=True)
    for place, cell in found:
        score(place, cell)
    return done


def splits_of(tasks: Sequence[Task], numbers: list[int]) -> tuple[list[Split], list[int]]:
    """Return the different splits of some tasks, and the split of each."""
    seen: dict[tuple[int, int], int] = {}
    splits, places = list[Split](), list[int]()
    for number in numbers:
        task = tasks[number]
        key = id(task.train), id(task.test)
        if key not in seen:
            seen[key] = len(splits)
            numbers_of_all = np.arange(num_samples(task.X))  # takes numbers from the end, and masks, too
            splits.append(Split(numbers_of_all[task.train], numbers_of_all[task.test]))
        places.append(seen[key])
    return splits, places


def settings_for(
    tasks: Sequence[Task], known: Sequence[Candidate | None], numbers: list[int]
) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the different settings of the family's parameters, and the setting of each task."""
    seen: dict[int, int] = {}
    settings, places = list[dict[str, Any]](), list[int]()
    for number in numbers:
        key = id(tasks[number].parameters)
        if key not in seen:
            candidate = known[number]
            assert candidate is not None
            seen[key] = len(settings)
            values = candidate.machine.get_params(deep=False)
            settings.append({name: values[name] for name in FAMILY_PARAMETERS if name in values})
        places.append(seen[key])
    return settings, places


def transformed(
    candidate: Candidate, task: Task, split: Split, weight: Any
) -> tuple[Pipeline, Any, Any, Any, list[Split]]:
    """Fit the transformers before the estimator to the training samples of a split.

    Returns them, training and test samples as transformed, one above the other, their targets and weights, and the
    split of these.
    """
    assert candidate.before is not None
    try:
        before = clone(candidate.before)
        X_train, y_train = safe_split(candidate.whole, task.X, task.y, split.train)
        X_test, y_test = safe_split(candidate.whole, task.X, task.y, split.test, split.train)
        above, below = before.fit_transform(X_train, y_train), before.transform(X_test)
        again = before.transform(X_train) if task.return_train_score else above
        weight = None if weight is None else safe_indexing(weight, np.concatenate(split))
    except Exception as refused:  # whatever a transformer raises, `fit` raises again and scikit-learn reports
        raise NotTogether from refused
    if sp.issparse(above) and sp.issparse(below):
        X: Any = sp.vstack([above, below], format="csr")
    elif isinstance(above, np.ndarray) and isinstance(below, np.ndarray) and above.dtype == below.dtype:
        X = np.concatenate([above, below])
    else:
        raise NotTogether
    if again is not above and not is_equal(above, again):
        raise NotTogether  # some transform the samples they are fitted to in another way
    n_train = len(split.train)
    own = Split(np.arange(n_train), np.arange(n_train, n_train + len(split.test)))
    return before, X, np.concatenate([np.asarray(y_train), np.asarray(y_test)]), weight, [own]


def is_equal(one: Any, other: Any) -> bool:
    """Whether two matrices have equal values."""
    if sp.issparse(one) and sp.issparse(other):
        return one.shape == other.shape and (one != other).nnz == 0
    return isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and np.array_equal(one, other)
