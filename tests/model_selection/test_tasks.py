"""Results of tasks: scores of the direct path equal the scorer's to the last bit, lines and dictionaries are theirs."""

import re
import time

import numpy as np
import pandas as pd
import pytest
import sklearn
import sklearn.model_selection
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, check_scoring, make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.model_selection.stand_in import train_each
from widemargin import SVC, SVR
from widemargin.model_selection import GridSearchCV, families
from widemargin.model_selection.direct_scores import DirectScorer
from widemargin.model_selection.tasks import Done, result_of_scores

BOOKKEEPING = 2e-4  # seconds of CPU time per task, beside training and prediction


class FixedClassifier(ClassifierMixin, BaseEstimator):
    """Predicts given labels."""

    def __init__(self, values=None):
        self.values = values

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return np.unique(self.values)

    def predict(self, X):
        return self.values


class FixedRegressor(RegressorMixin, BaseEstimator):
    """Predicts given targets."""

    __init__ = FixedClassifier.__init__
    fit = FixedClassifier.fit
    __sklearn_is_fitted__ = FixedClassifier.__sklearn_is_fitted__
    predict = FixedClassifier.predict


def names(seed):
    """Labels of some kind, and predictions of the same kind."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 300))
    kinds = [np.array([-1, 1]), np.array([0.0, 1.0, 5.0]), np.array(["a", "bb", "c"]), np.array([False, True])]
    values = kinds[seed % 4]
    y = values[rng.integers(len(values), size=n)]
    return pd.Series(y) if seed % 3 == 0 else y.astype(object) if seed % 5 == 0 and seed % 4 == 2 else y, np.where(
        rng.random(n) < 0.7, y, values[rng.integers(len(values), size=n)]
    )


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("scoring", [None, "accuracy", ["accuracy"], {"x": "accuracy", "z": "accuracy"}])
def test_accuracy_equals_the_scorers(seed, scoring):
    y, predicted = names(seed)
    model = FixedClassifier(predicted)
    scorer = check_scoring(model, scoring)
    direct = DirectScorer.of(scorer, SVC(), y)
    found = direct(np.arange(len(y)), predicted)
    expected = scorer(model, np.zeros((len(y), 1)), y)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("scoring", [None, "r2", "neg_mean_squared_error", ["r2", "neg_mean_squared_error"]])
def test_scores_of_regression_equal_the_scorers(seed, scoring):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 3000)) if seed % 2 else int(rng.integers(2, 40))
    y = [rng.normal(size=n) * 10.0 ** rng.integers(-3, 6), rng.integers(-9, 9, size=n), np.full(n, 3.7)][seed % 3]
    y = y.astype(np.float32) if seed % 4 == 3 else y
    predicted = y + rng.normal(size=n) if seed % 7 else y.astype(np.float64)
    model = FixedRegressor(predicted)
    scorer = check_scoring(model, scoring)
    found = DirectScorer.of(scorer, SVR(), y)(np.arange(n), predicted)
    assert str(found) == str(scorer(model, np.zeros((n, 1)), y))  # as text, which tells -0.0 from 0.0


@pytest.mark.filterwarnings("ignore")
def test_one_sample_has_no_r_squared():
    direct = DirectScorer.of(check_scoring(SVR(), "r2"), SVR(), np.array([1.0, 2.0]))
    assert np.isnan(direct([0], np.array([1.0])))


def test_everything_else_has_no_direct_path():
    y, t = np.array([0, 1, 1, 0]), np.array([0.5, 1.0, 2.0, 3.0])
    accuracy = check_scoring(SVC(), "accuracy")
    assert DirectScorer.of(accuracy, make_pipeline(StandardScaler(), SVC()), y) is not None
    assert DirectScorer.of(accuracy, SVC(), y, {"sample_weight": None}) is not None
    with sklearn.config_context(enable_metadata_routing=True):
        assert DirectScorer.of(accuracy, make_pipeline(StandardScaler(), SVC()), y) is None
    for scorer, model, target, params in [
        (accuracy, SVC(), y, {"sample_weight": np.ones(4)}),
        (accuracy, SVC(), t, {}),  # not labels
        (accuracy, SVR(), t, {}),
        (make_scorer(accuracy_score, normalize=False), SVC(), y, {}),
        (make_scorer(accuracy_score, greater_is_better=False), SVC(), y, {}),
        (check_scoring(SVC(), "f1"), SVC(), y, {}),
        (check_scoring(SVC(), ["accuracy", "f1"]), SVC(), y, {}),
        (check_scoring(SVR(), "r2"), SVC(), y, {}),
        (check_scoring(SVR(), "r2"), SVR(), np.array([0.5, np.nan, 2.0, 3.0]), {}),
        (check_scoring(SVR(), "r2"), SVR(), np.column_stack([t, t]), {}),
        (lambda model, X, y: 1.0, SVC(), y, {}),
    ]:
        assert DirectScorer.of(scorer, model, target, params) is None


@pytest.mark.parametrize("verbose", [0, 1, 2, 3, 10])
@pytest.mark.parametrize("scoring", [None, ["accuracy", "f1_macro"]])
@pytest.mark.parametrize("return_train_score", [False, True])
def test_progress_lines_are_scikit_learns(verbose, scoring, return_train_score, capsys, monkeypatch):
    monkeypatch.setattr(families, "train_together", train_each)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    printed = []
    for kind in (GridSearchCV, sklearn.model_selection.GridSearchCV):
        options = {"scoring": scoring, "refit": False, "return_train_score": return_train_score}
        kind(SVC(), {"gamma": [0.5, "scale"], "C": [1]}, cv=2, verbose=verbose, **options).fit(X, y)
        printed.append(re.sub(r"time=.*", "time", capsys.readouterr().out))
    assert printed[0] == printed[1] and printed[0].count("\n") == (0, 1, 5, 5, 9)[[0, 1, 2, 3, 10].index(verbose)]


def test_a_result_is_scikit_learns(monkeypatch):
    """The dictionary itself, key by key."""
    kept = {}

    def keep(tasks, n_jobs):
        kept["ours"] = train_each(tasks)
        return {}

    def kept_by_scikit_learn(out, error_score):
        kept["theirs"] = out

    monkeypatch.setattr(families, "train_together", keep)
    monkeypatch.setattr(
        sklearn.model_selection._search, "_warn_or_raise_about_fit_failures", kept_by_scikit_learn, raising=True
    )
    X = np.random.default_rng(0).normal(size=(40, 2))
    GridSearchCV(SVC(), {"C": [1, 2]}, cv=2, return_train_score=True).fit(X, np.arange(40) % 2)
    for number, theirs in enumerate(kept["theirs"]):
        ours = kept["ours"][number].result
        assert ours.keys() == theirs.keys()
        for key in theirs:
            assert type(ours[key]) is type(theirs[key])
            assert ours[key] == theirs[key] or key.endswith("time")


@pytest.mark.alone
def test_bookkeeping_takes_little_time(monkeypatch):
    """A search of 550 tasks whose predictions are known."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 10)), rng.integers(0, 2, size=1000)

    def canned(tasks, n_jobs):
        first = tasks[0]
        direct = DirectScorer.of(first.scorer, first.estimator, first.y, first.score_params)
        return {
            number: Done(result_of_scores(task, direct(task.test, y[task.test]), None, len(task.test), 0.0, 0.0))
            for number, task in enumerate(tasks)
        }

    monkeypatch.setattr(families, "train_together", canned)
    search = GridSearchCV(SVC(), {"C": np.arange(1, 12), "gamma": np.arange(1, 11)}, cv=5, refit=False)
    seconds = []
    for _ in range(7):
        start = time.process_time()
        search.fit(X, y)
        seconds.append((time.process_time() - start) / 550)
    assert min(seconds) < BOOKKEEPING
