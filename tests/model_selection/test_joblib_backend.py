"""The backend collects all tasks of a search, hands them over, and runs the rest as scikit-learn would."""

import threading
import warnings

import joblib
import numpy as np
import pytest
import sklearn
import sklearn.model_selection
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import StackingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.parallel import Parallel, delayed

from tests.model_selection.stand_in import train, train_each
from widemargin import SVC
from widemargin.model_selection import GridSearchCV, families
from widemargin.model_selection.joblib_backend import collecting
from widemargin.model_selection.tasks import Done

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = (X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=60) > 0.5).astype(int)
GRID = {"C": [0.1, 1.0, 10.0]}


@pytest.fixture
def calls(monkeypatch):
    """The lists of tasks that were handed over; every second task is answered."""
    seen = []

    def half(tasks, n_jobs):
        seen.append(list(tasks))
        return {number: train(task) for number, task in enumerate(tasks) if number % 2 == 0}

    monkeypatch.setattr(families, "train_together", half)
    return seen


class WhereAmI(ClassifierMixin, BaseEstimator):
    """A classifier that reports how joblib is configured where it is fitted."""

    def __init__(self, a=0, n_jobs=None):
        self.a, self.n_jobs = a, n_jobs

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        inner = joblib.Parallel(n_jobs=self.n_jobs)
        self.seen_ = (type(inner._backend).__name__, inner.n_jobs, inner._backend.nesting_level)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
@pytest.mark.parametrize("pre_dispatch", ["2*n_jobs", 1, "all"])
def test_all_tasks_are_handed_over_at_once(calls, n_jobs, pre_dispatch):
    with joblib.parallel_config(backend="threading"):
        ours = GridSearchCV(SVC(), GRID, cv=3, n_jobs=n_jobs, pre_dispatch=pre_dispatch).fit(X, y)
    theirs = sklearn.model_selection.GridSearchCV(SVC(), GRID, cv=3).fit(X, y)
    assert [len(tasks) for tasks in calls] == [9]
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    found = [certificate is not None for row in ours.certificates_ for certificate in row]
    assert found == [number % 2 == 0 for number in range(9)]


def test_tasks_come_candidate_by_candidate(calls):
    GridSearchCV(SVC(), GRID, cv=3).fit(X, y)
    progress = [(task.candidate_progress[0], task.split_progress[0]) for task in calls[0]]
    assert progress == [(candidate, split) for candidate in range(3) for split in range(3)]
    assert [task.parameters["C"] for task in calls[0][::3]] == GRID["C"]


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
@pytest.mark.parametrize("backend", [None, "threading", "loky"])
def test_estimators_see_the_configuration_outside(n_jobs, backend):
    options = {} if backend is None else {"backend": backend, "n_jobs": 2}
    seen = []
    for kind in (GridSearchCV, sklearn.model_selection.GridSearchCV):
        with joblib.parallel_config(**options):
            search = kind(WhereAmI(), {"a": [0, 1]}, cv=2, n_jobs=n_jobs, scoring=lambda e, X, y: len(str(e.seen_)))
            search.fit(X, y)
        seen.append((search.best_estimator_.seen_, search.cv_results_["mean_test_score"].tolist()))
    assert seen[0] == seen[1]
    assert joblib.Parallel()._backend.__class__.__name__ == "LokyBackend"


def test_searches_in_the_final_refit_and_nested_parallel_calls_are_as_outside(calls):
    """A stack of classifiers makes joblib calls of its own, in tasks and in the refit."""
    stack = StackingClassifier([("a", SVC()), ("b", GaussianNB())], GaussianNB(), cv=2, n_jobs=2)
    with joblib.parallel_config(backend="threading"):
        ours = GridSearchCV(stack, {"a__C": [0.1, 1.0]}, cv=2, n_jobs=2)
        theirs = sklearn.model_selection.GridSearchCV(stack, {"a__C": [0.1, 1.0]}, cv=2, n_jobs=2)
        inner = GridSearchCV(SVC(), GRID, cv=2)
        nested = sklearn.model_selection.cross_val_score(inner, X, y, cv=2, n_jobs=2)
        np.testing.assert_array_equal(ours.fit(X, y).predict(X), theirs.fit(X, y).predict(X))
    plain = sklearn.model_selection.GridSearchCV(SVC(), GRID, cv=2)
    np.testing.assert_array_equal(nested, sklearn.model_selection.cross_val_score(plain, X, y, cv=2))


def test_searches_in_several_threads_do_not_meet(calls):
    found = {}

    def search(number):
        found[number] = GridSearchCV(SVC(), GRID, cv=2 + number % 2).fit(X, y).cv_results_["mean_test_score"]

    threads = [threading.Thread(target=search, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(len(tasks) for tasks in calls) == [6, 6, 9, 9]
    np.testing.assert_array_equal(found[0], found[2])


def test_the_backend_is_gone_after_an_error():
    with pytest.raises(ValueError, match="Cannot have number of splits"):
        GridSearchCV(SVC(), GRID, cv=100).fit(X, y)
    assert type(joblib.Parallel()._backend).__name__ == "LokyBackend"
    with pytest.raises(ValueError, match="n_jobs == 0"):
        GridSearchCV(SVC(), GRID, n_jobs=0).fit(X, y)
    with pytest.raises(ValueError, match="The 'C' parameter of SVC"):
        GridSearchCV(SVC(), {"C": [1.0, -1.0]}, error_score="raise").fit(X, y)
    assert type(joblib.Parallel()._backend).__name__ == "LokyBackend"


def test_warning_filters_and_configuration_reach_the_families(monkeypatch):
    def warn(tasks, n_jobs):
        warnings.warn("from the families", UserWarning, stacklevel=1)
        seen.append(sklearn.get_config()["assume_finite"])
        return {}

    seen = []
    monkeypatch.setattr(families, "train_together", warn)
    with sklearn.config_context(assume_finite=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        GridSearchCV(SVC(), GRID, cv=2).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="from the families"):
            GridSearchCV(SVC(), GRID, cv=2).fit(X, y)
    assert seen == [True]


def test_other_tasks_run_as_they_are():
    with collecting(train_each, 2, "2*n_jobs") as backend, joblib.parallel_config():
        found = Parallel(n_jobs=2)(delayed(divmod)(number, 7) for number in range(20))
        after = joblib.Parallel(n_jobs=1)(joblib.delayed(abs)(-number) for number in range(3))
    assert found == [divmod(number, 7) for number in range(20)] and after == [0, 1, 2]
    assert backend.done == [None] * 20


def test_tasks_of_an_unknown_version_are_left_to_scikit_learn(calls, monkeypatch):
    """A later scikit-learn may pass further arguments, or joblib have other batches: then nothing is handed over."""
    monkeypatch.setattr("widemargin.model_selection.joblib_backend.Task", lambda: None)
    search = GridSearchCV(SVC(), GRID, cv=2).fit(X, y)
    assert calls == [] and search.certificates_ == [[None, None]] * 3
    monkeypatch.undo()
    monkeypatch.setattr(joblib.parallel.BatchedCalls, "__getattribute__", without_items)
    theirs = sklearn.model_selection.GridSearchCV(SVC(), GRID, cv=2).fit(X, y)
    search = GridSearchCV(SVC(), GRID, cv=2).fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])


def without_items(batch, name):
    """Hide the list of calls from everybody but the batch itself."""
    if name == "items" and not is_called_by_the_batch():
        raise AttributeError(name)
    return object.__getattribute__(batch, name)


def is_called_by_the_batch():
    import sys

    return sys._getframe(2).f_globals["__name__"] == "joblib.parallel"


def test_callbacks_are_left_to_scikit_learn(calls):
    pytest.importorskip("sklearn.callback", reason="new in 1.9")
    counter = Counter()
    GridSearchCV(SVC(), GRID, cv=2).set_callbacks(counter).fit(X, y)
    assert calls == [] and counter.tasks == 2 + 1 + 6  # the search and its refit, the candidates, the fits
    GridSearchCV(SVC().set_callbacks(Counter()), GRID, cv=2).fit(X, y)
    assert calls == []


class Counter:
    """A callback that counts tasks."""

    tasks = 0

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.tasks += 1

    def on_fit_task_end(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass


def test_an_interrupt_in_the_families_is_raised(monkeypatch):
    def interrupted(tasks, n_jobs):
        raise KeyboardInterrupt

    monkeypatch.setattr(families, "train_together", interrupted)
    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(SVC(), GRID, cv=2).fit(X, y)
    assert type(joblib.Parallel()._backend).__name__ == "LokyBackend"


def test_results_keep_their_order(monkeypatch):
    """Answers of the families and of scikit-learn alternate; each has to land in its own cell."""

    def canned(tasks, n_jobs):
        answer = {"fit_error": None, "n_test_samples": 1, "fit_time": 0.0, "score_time": 0.0}
        return {n: Done({**answer, "test_scores": 100.0 + n}) for n in range(len(tasks)) if n % 3 == 1}

    monkeypatch.setattr(families, "train_together", canned)
    search = GridSearchCV(WhereAmI(), {"a": [0, 1, 2]}, cv=2, scoring=lambda e, X, y: e.a, refit=False).fit(X, y)
    scores = np.stack([search.cv_results_[f"split{split}_test_score"] for split in (0, 1)], axis=1)
    assert scores.tolist() == [[0.0, 101.0], [1.0, 1.0], [104.0, 2.0]]
