"""Every fit ends, says how far it came, and refuses what it cannot do in a sentence."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from tests.linear.machines import LOSSES, estimator, problem, run_to, samples
from widemargin import LinearSVC, LinearSVR, Status
from widemargin.certificate.linear import prove
from widemargin.solvers.linear.dual_descent import solve_coordinates
from widemargin.solvers.linear.proximal_newton import solve_newton


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
@pytest.mark.parametrize("parameters", [{}, {"loss": "hinge"}, {"loss": "hinge", "penalize_intercept": False}])
def test_no_warning_on_scaled_data_at_defaults(load, parameters):
    X, y = load(return_X_y=True)
    machine = LinearSVC(**parameters).fit(StandardScaler().fit_transform(X), y)
    assert machine.certificate_.holds
    assert machine.certificate_.gap <= 1e-4
    assert machine.fit_status_ == 0


@pytest.mark.parametrize("parameters", [{}, {"penalize_intercept": False}, {"loss": "squared_epsilon_insensitive"}])
def test_no_warning_on_scaled_regression_at_defaults(parameters):
    X, y = load_diabetes(return_X_y=True)
    machine = LinearSVR(**parameters).fit(StandardScaler().fit_transform(X), y)
    assert machine.certificate_.gap <= 1e-4


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("free", [False, True])
def test_max_iter_returns_the_model_reached_and_says_the_gap(loss, free):
    X, y = samples(loss, n=600, d=60)
    with pytest.warns(ConvergenceWarning, match=r"max_iter.*relative duality gap \d"):
        machine = estimator(loss, max_iter=1, tol=1e-9, C=100.0, penalize_intercept=not free).fit(X, y)
    assert machine.n_iter_ == 1
    assert machine.status_ is Status.MAX_ITER
    assert machine.certificate_.gap > 1e-9
    assert machine.certificate_.infeasibility <= 1e-9  # the bound is one
    best = estimator(loss, tol=1e-9, C=100.0, penalize_intercept=not free).fit(X, y).certificate_.primal
    assert machine.certificate_.dual <= best <= machine.certificate_.primal


def test_max_iter_zero_gives_the_zero_model_or_better():
    X, y = samples("hinge", n=600, d=60)
    with pytest.warns(ConvergenceWarning):
        machine = LinearSVC(max_iter=0).fit(X, y)
    assert machine.n_iter_ == 0
    assert machine.certificate_.primal <= 600.0 * (1 + 1e-12)


@pytest.mark.parametrize("parameters", [{"loss": "hinge"}, {"penalty": "l1"}, {"multi_class": "crammer_singer"}])
def test_time_limit(parameters):
    X, y = make_classification(2000, 40, n_informative=10, n_classes=3, flip_y=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        machine = LinearSVC(C=100.0, tol=1e-14, time_limit=1e-6, max_iter=10**9, **parameters).fit(X, y)
    assert machine.status_ is Status.TIME_LIMIT
    assert machine.predict(X).shape == (2000,)


@pytest.mark.parametrize("solver", [solve_newton, solve_coordinates])
def test_ctrl_c_returns_a_certified_model(solver):
    def stop_at_third(info):
        if info.iterations >= 3:
            raise KeyboardInterrupt

    task = problem("hinge", 300, 30, C=10.0)
    answer = solver(task, run_to(1e-12, watch=stop_at_third))
    assert answer.status is Status.INTERRUPTED
    certificate = prove(task, answer)
    assert np.isfinite(certificate.primal) and certificate.dual <= certificate.primal
    assert certificate.infeasibility <= 1e-12


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_unscaled_data_end_with_a_model(loss, free, C):
    """Features of sizes 1e-5 to 1e6: bounded steps, a finite model, and a warning wherever the tolerance is not met."""
    X, y = samples(loss, n=150, d=6)
    X = X * np.array([1e-5, 1e-2, 1.0, 1e2, 1e4, 1e6]) + np.array([0.0, 0.0, 1e3, 0.0, 0.0, 1e6])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine = estimator(loss, C=C, penalize_intercept=not free).fit(X, y)
    assert np.isfinite(machine.coef_).all()
    assert machine.n_iter_ <= 1000
    assert bool(caught) == (machine.fit_status_ != 0)
    if not caught:
        assert machine.certificate_.gap <= 1e-4
    assert machine.certificate_.dual <= machine.certificate_.primal * (1 + 1e-6)


def test_degenerate_data():
    X = np.zeros((6, 2))
    y = np.array([0, 1, 1, 1, 0, 1])
    for free in (False, True):
        machine = LinearSVC(loss="hinge", penalize_intercept=not free).fit(X, y)
        assert (machine.coef_ == 0).all()
        assert (machine.predict(X) == 1).all()  # the larger class
    machine = LinearSVR(penalize_intercept=False).fit(np.zeros((5, 1)), np.array([3.0, 3.0, 3.0, 3.0, 9.0]))
    assert machine.intercept_[0] == pytest.approx(3.0, abs=1e-6)  # the median
    constant = LinearSVR(penalize_intercept=False).fit(np.arange(4.0)[:, None], np.full(4, 7.0))
    np.testing.assert_allclose(constant.predict([[2.5]]), [7.0], atol=1e-6)
    pair = LinearSVC(loss="hinge", C=1e3, penalize_intercept=False).fit([[0.0], [2.0]], [0, 1])
    assert pair.coef_[0, 0] == pytest.approx(1.0) and pair.intercept_[0] == pytest.approx(-1.0)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"penalty": "l1", "loss": "hinge"}, "penalty='l1' goes with loss='squared_hinge'"),
        ({"penalty": "l1", "dual": True}, "Unsupported set of arguments.*penalty='l1'.*dual=True"),
        ({"loss": "hinge", "dual": False}, "Unsupported set of arguments.*loss='hinge'.*dual=False"),
        ({"penalty": "l1", "penalize_intercept": False}, "penalised intercept only"),
        ({"multi_class": "crammer_singer", "penalize_intercept": False}, "penalised intercept only"),
        ({"C": 0.0}, "'C' parameter"),
        ({"class_weight": {0: 0.0, 1: 1.0}}, "positive weight"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(parameters, sentence):
    X, y = samples("hinge")
    with pytest.raises(ValueError, match=sentence):
        LinearSVC(**parameters).fit(X, y)


def test_bad_data_are_refused_in_a_sentence():
    X, y = samples("hinge")
    with pytest.raises(ValueError, match="number of classes has to be greater than one"):
        LinearSVC().fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="positive weight"):
        LinearSVC().fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.warns(UserWarning, match="negative values.*left out"):
        LinearSVC().fit(X, y, sample_weight=np.linspace(-1, 1, len(y)))
    with pytest.raises(ValueError, match="dual=False"):
        LinearSVR(dual=False).fit(X, y.astype(float))


def test_same_seed_same_answer_and_threads_do_not_matter():
    X, y = make_classification(1500, 60, n_informative=20, n_classes=4, random_state=0)
    one = LinearSVC(loss="hinge", n_jobs=1).fit(X, y)
    two = LinearSVC(loss="hinge", n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.coef_, LinearSVC(loss="hinge", random_state=None).fit(X, y).coef_)


def test_the_warning_names_the_feature_to_scale():
    X, y = load_wine(return_X_y=True, as_frame=True)
    with pytest.warns(ConvergenceWarning, match=r"Feature 'proline' has values up to .* Scale the features"):
        LinearSVC(multi_class="crammer_singer").fit(X, y)
