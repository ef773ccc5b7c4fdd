"""Random searches by our classes and by scikit-learn's around the same estimators: everything a user sees is compared.

60 searches run by default, 300 with WIDEMARGIN_SEARCHES=300.
"""

import os
import pickle
import re
import warnings

import numpy as np
import pytest
import sklearn
import sklearn.model_selection
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from tests.model_selection.random_searches import RandomSearch, draw, with_requests
from tests.model_selection.stand_in import train_each
from widemargin.certificate import Certificate
from widemargin.model_selection import GridSearchCV, RandomizedSearchCV, families

SEARCHES = int(os.environ.get("WIDEMARGIN_SEARCHES", "60"))
FLIPS = 2  # samples of a test fold whose prediction may differ at tol = 1e-6


@pytest.mark.parametrize("seed", range(SEARCHES))
def test_a_search_is_scikit_learns(seed):
    compare(seed)


@pytest.mark.parametrize("seed", range(1000, 1000 + SEARCHES // 3))
def test_a_search_whose_answers_come_from_outside_is_scikit_learns(seed, monkeypatch):
    """The same with a stand-in that answers all tasks: what is compared is how answers become results."""
    monkeypatch.setattr(families, "train_together", train_each)
    ours = compare(seed)
    if ours is not None and not {str(score) for score in first_scores(ours)} & {"nan", str(ours.error_score)}:
        assert all(isinstance(certificate, Certificate) for row in ours.certificates_ for certificate in row)


@pytest.mark.parametrize("seed", range(2000, 2006))
def test_scores_do_not_depend_on_the_number_of_threads(seed):
    one, two = (fit(GridSearchCV, seed, threads=threads)[0] for threads in (1, 2))
    assert isinstance(one, GridSearchCV) == isinstance(two, GridSearchCV)
    if isinstance(one, GridSearchCV):
        for key, values in one.cv_results_.items():
            if "score" in key and "time" not in key:
                np.testing.assert_array_equal(values, two.cv_results_[key])


@pytest.mark.parametrize("seed", range(3))
def test_a_random_search_is_scikit_learns(seed):
    case = draw(3000 + seed)
    grid = {
        key: values
        for one in ([case.grid] if isinstance(case.grid, dict) else case.grid)
        for key, values in one.items()
    }
    searches = [
        kind(case.estimator, grid, n_iter=3, random_state=seed, cv=3).fit(case.X, case.y)
        for kind in (RandomizedSearchCV, sklearn.model_selection.RandomizedSearchCV)
    ]
    same_results(*searches, smallest_fold(RandomSearch(**vars(case) | {"options": {"cv": 3}})))


def compare(seed):
    """Compare the search of a seed by both classes; return ours, or None if it raised."""
    ours, our_warnings = fit(GridSearchCV, seed)
    theirs, their_warnings = fit(sklearn.model_selection.GridSearchCV, seed)
    assert our_warnings == their_warnings
    if isinstance(theirs, Exception):
        assert type(ours) is type(theirs) and str(ours)[:60] == str(theirs)[:60]
        return None
    if isinstance(ours, Exception):
        raise ours
    case = draw(seed)
    n_test = smallest_fold(case)
    same_results(ours, theirs, n_test)
    same_best(ours, theirs, n_test)
    same_surroundings(ours, theirs, case)
    return ours


def fit(kind, seed, threads=None):
    """The fitted search of a seed, or its exception, and its warnings, each without numbers."""
    case = draw(seed)
    estimator = case.estimator
    if threads is not None:
        estimator.set_params(**{"last__n_jobs" if isinstance(estimator, Pipeline) else "n_jobs": threads})
    with warnings.catch_warnings(record=True) as caught, sklearn.config_context(enable_metadata_routing=case.routing):
        warnings.simplefilter("always")
        if case.routing:
            case = with_requests(case, score=seed % 2 == 0)
        search = kind(estimator, case.grid, **case.options)
        try:
            found = search.fit(case.X, case.y, **case.fit_params)
        except Exception as error:
            found = error
    texts = {(warning.category, re.sub(r"\d[\d.e+-]*", "#", str(warning.message))[:60]) for warning in caught}
    return found, texts


def same_results(ours, theirs, n_test):
    """The same columns, types, masks and parameters; scores within the tolerance."""
    a, b = ours.cv_results_, theirs.cv_results_
    assert list(a) == list(b)
    assert str(a["params"]) == str(b["params"])
    for key, values in b.items():
        if key == "params":
            continue
        assert type(a[key]) is type(values) and a[key].dtype == values.dtype, key
        if key.startswith("param_"):
            assert str(a[key]) == str(values) and np.array_equal(a[key].mask, values.mask)
        elif "time" in key:
            assert np.all(a[key] >= 0.0)
        elif re.match(r"split\d+_", key):
            np.testing.assert_array_equal(np.isnan(a[key]), np.isnan(values))
            np.testing.assert_allclose(a[key], values, rtol=1e-4, atol=tolerance(theirs, key, n_test), err_msg=key)
        elif key.startswith("rank"):
            same_ranks(a[key], values, b[key.replace("rank", "mean")], tolerance(theirs, key, n_test))


def same_ranks(ours, theirs, means, within):
    """The same order of all candidates whose scores differ by more than the tolerance."""
    clearly = means[:, None] > means[None, :] + within
    assert np.all((ours[:, None] < ours[None, :])[clearly])
    assert ours.min() == theirs.min() == 1


def tolerance(search, key, n_test):
    """Largest difference of a score of one split."""
    if "train" in key:
        return FLIPS / n_test
    known = {"mean_squared": 1e-4, "median_absolute": 1e-4, "r2": 1e-4, "count": 0.0, "log_loss": 0.05}
    for name, value in known.items():
        if name in key or name in str(search.scoring):
            return value
    return FLIPS / n_test if "accuracy" in key or search.scoring in (None, "accuracy") else 3 * FLIPS / n_test


def smallest_fold(case):
    """Number of test samples of the smallest split."""
    cv = check_cv(case.options.get("cv"), case.y, classifier=is_classifier(case.estimator))
    folds = [np.asarray(test) for _, test in cv.split(np.zeros(len(case.y)), case.y, case.fit_params.get("groups"))]
    return min(np.count_nonzero(test) if test.dtype == bool else len(test) for test in folds)


def same_best(ours, theirs, n_test):
    assert ours.multimetric_ == theirs.multimetric_ and ours.n_splits_ == theirs.n_splits_
    for name in ("best_index_", "best_score_", "best_params_", "best_estimator_", "refit_time_", "classes_"):
        assert hasattr(ours, name) == hasattr(theirs, name), name
    if not hasattr(theirs, "best_index_"):
        return
    if ours.best_index_ != theirs.best_index_:
        key = f"mean_test_{theirs.refit if theirs.multimetric_ else 'score'}"
        means = theirs.cv_results_[key]
        assert means[ours.best_index_] >= means[theirs.best_index_] - tolerance(theirs, key, n_test)
        return
    assert str(ours.best_params_) == str(theirs.best_params_)
    if hasattr(theirs, "best_score_"):
        key = f"mean_test_{theirs.refit if theirs.multimetric_ else 'score'}"
        np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-4, atol=tolerance(theirs, key, n_test))


def same_surroundings(ours, theirs, case):
    """Attributes of the fitted search, predictions, tags, picture, clone and pickle."""
    for name in ("n_features_in_", "feature_names_in_", "classes_"):
        assert hasattr(ours, name) == hasattr(theirs, name), name
        if hasattr(theirs, name):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert get_tags(ours) == get_tags(theirs)
    assert repr(ours) == repr(theirs)
    assert boxes_of(ours) == boxes_of(theirs) != []
    assert repr(clone(ours)) == repr(clone(theirs)) and not hasattr(clone(ours), "cv_results_")
    restored = pickle.loads(pickle.dumps(ours))
    assert len(restored.certificates_) == len(ours.cv_results_["params"])
    assert {len(row) for row in restored.certificates_} == {ours.n_splits_}
    assert pickled_size(ours) < 1.1 * pickled_size(theirs) + 500
    if ours.refit and ours.best_index_ == theirs.best_index_:
        np.testing.assert_array_equal(restored.predict(case.X), theirs.predict(case.X))


def pickled_size(search):
    """Bytes of a pickle without certificates."""
    state = {name: value for name, value in vars(search).items() if name != "certificates_"}
    return len(pickle.dumps(state))


def boxes_of(search):
    """Labels of the boxes of the diagram in a notebook, without links to scikit-learn's documentation."""
    labels = re.findall(r"<label.*?</label>", search._repr_html_(), flags=re.DOTALL)
    return [re.findall(r"\w+", re.sub(r"<a .*?</a>|<.*?>", " ", label, flags=re.DOTALL)) for label in labels]


def first_scores(search):
    return next(values for key, values in search.cv_results_.items() if key.startswith("mean_test"))
