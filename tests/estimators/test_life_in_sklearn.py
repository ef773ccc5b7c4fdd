"""Estimators among scikit-learn's tools: pickling, cloning, search, pipelines, routing, frames; and warm starts."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from widemargin.problems import hinge, nu_classification
from widemargin.problems.warm_start import restart

pytestmark = pytest.mark.needs_compiler  # too many fits for interpreted code


@pytest.mark.parametrize("machine", [SVC(), NuSVC(nu=0.2), SVR(), NuSVR(), OneClassSVM()], ids=str)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_pickle_keeps_the_answer_and_drops_what_can_be_made_again(machine, kernel, iris):
    X, y = iris
    given = X @ X.T if kernel == "precomputed" else X
    machine = clone(machine).set_params(kernel=kernel).fit(given, y)
    before = machine.predict(given)
    text = pickle.dumps(machine)
    again = pickle.loads(text)
    np.testing.assert_array_equal(again.predict(given), before)
    assert again.certificate_ == machine.certificate_
    assert len(text) < 60_000


def test_clone_keeps_every_parameter():
    machine = SVC(C=3.0, loss="squared_hinge", multi_class="ovr", stopping="gap", time_limit=9.0, n_jobs=1)
    assert clone(machine).get_params() == machine.get_params()


def test_parameters_are_those_of_sklearn_and_more():
    import sklearn.svm

    for ours in (SVC, NuSVC, SVR, NuSVR, OneClassSVM):
        theirs = getattr(sklearn.svm, ours.__name__)().get_params()
        mine = ours().get_params()
        assert set(theirs) <= set(mine)
        different = {name for name, value in theirs.items() if mine[name] != value}
        # cache_size=None is sized to the free memory; "deprecated" is new in scikit-learn 1.9, before it was False
        assert different - {"probability"} == {"cache_size"}
        assert "probability" not in different or theirs["probability"] is False


def test_grid_search_and_pipeline(iris):
    X, y = iris
    search = GridSearchCV(
        make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.01, 1.0], "svc__gamma": ["scale", 0.1]}, cv=3
    )
    search.fit(X, y)
    assert search.best_params_["svc__C"] == 1.0
    assert search.best_score_ > 0.95
    assert cross_val_score(SVC(kernel="precomputed"), X @ X.T, y, cv=3).mean() > 0.95


def test_sample_weight_is_routed(iris):
    import sklearn

    X, y = iris
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True), {"C": [1.0]}, cv=3
        )
        search.fit(X, y, sample_weight=np.linspace(0.5, 2.0, len(y)))
    assert search.best_score_ > 0.9


def test_feature_names(iris):
    pandas = pytest.importorskip("pandas")
    X, y = iris
    frame = pandas.DataFrame(X, columns=list("abcd"))
    machine = SVC().fit(frame, y)
    assert machine.feature_names_in_.tolist() == list("abcd") and machine.n_features_in_ == 4
    with pytest.raises(ValueError, match="feature names"):
        machine.predict(frame[list("dcba")])
    with pytest.warns(UserWarning, match="valid feature names"):
        machine.predict(X)
    assert not hasattr(machine.fit(X, y), "feature_names_in_")


# ---- warm starts


@pytest.mark.parametrize(
    "machine", [SVC(), SVC(loss="squared_hinge"), NuSVC(nu=0.2), SVR(), NuSVR(), OneClassSVM()], ids=str
)
def test_warm_start_at_the_optimum_takes_no_step(machine, iris):
    X, y = iris
    machine = clone(machine).set_params(warm_start=True).fit(X, y)
    assert np.sum(machine.n_iter_) > 0
    coefficients, intercept = machine.dual_coef_.copy(), machine.intercept_.copy()
    machine.fit(X, y)
    assert np.sum(machine.n_iter_) == 0
    np.testing.assert_array_equal(machine.dual_coef_, coefficients)
    np.testing.assert_allclose(machine.intercept_, intercept, atol=1e-12)


@pytest.mark.parametrize("C", [0.1, 0.99, 1.5, 40.0])
def test_warm_start_after_a_change_of_C(C, iris):
    X, y = iris
    machine = SVC(C=1.0, warm_start=True, tol=1e-8).fit(X, y)
    machine.set_params(C=C).fit(X, y)
    cold = SVC(C=C, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(machine.decision_function(X), cold.decision_function(X), atol=1e-5)
    assert machine.certificate_.holds and machine.certificate_.infeasibility < 1e-12


def test_warm_start_on_other_data_or_another_size(iris):
    X, y = iris
    machine = SVC(warm_start=True, tol=1e-8).fit(X, y)
    machine.fit(X[::-1], y[::-1])
    np.testing.assert_allclose(
        machine.decision_function(X), SVC(tol=1e-8).fit(X[::-1], y[::-1]).decision_function(X), atol=1e-5
    )
    machine.fit(X[::3], y[::3])
    assert machine.certificate_.holds and machine.shape_fit_ == (50, 4)


def test_warm_regression_after_a_change_of_epsilon():
    X, y = load_diabetes(return_X_y=True)
    y = y / 100
    machine = SVR(epsilon=0.1, warm_start=True, tol=1e-8).fit(X, y)
    cold_steps = SVR(epsilon=0.101, tol=1e-8).fit(X, y).n_iter_
    machine.set_params(epsilon=0.101).fit(X, y)
    assert machine.certificate_.holds
    assert machine.n_iter_ < cold_steps


def test_restart_is_feasible_for_any_previous_point():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(4, 30))
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        weight = rng.uniform(0.5, 2.0, n)
        for dual in (hinge(y, weight), nu_classification(y, 0.4, weight)):
            start = restart(dual, rng.normal(scale=2.0, size=n))
            assert start is not None
            assert (start >= dual.lower).all() and (start <= dual.upper).all()
            edges = dual.group_starts
            for a, b in zip(edges[:-1], edges[1:], strict=True):
                assert start[a:b].sum() == pytest.approx(dual.start[a:b].sum(), abs=1e-12)
    assert restart(hinge(y, weight), np.zeros(n + 1)) is None
    assert restart(hinge(y, weight), np.full(n, np.nan)) is None
