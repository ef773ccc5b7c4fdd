"""Least-squares machines against the dense system of Suykens & Vandewalle in extended precision."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_moons

from widemargin import LSSVC, LSSVR
from widemargin.kernels import Gaussian, Sigmoid
from widemargin.training.kernel_system import NotPositiveDefinite


def dense_machine(K, y, ridge):
    """Bias and coefficients from the bordered system, refined in extended precision."""
    n = len(y)
    A = np.zeros((n + 1, n + 1))
    A[0, 1:] = A[1:, 0] = 1.0
    A[1:, 1:] = K + np.diag(ridge)
    right = np.concatenate([[0.0], y])
    x = np.linalg.solve(A, right).astype(np.longdouble)
    for _ in range(3):
        x += np.linalg.solve(A, (right - A.astype(np.longdouble) @ x).astype(float))
    return float(x[0]), x[1:].astype(float)


@pytest.mark.parametrize("solver", ["cholesky", "cg", "plain-cg"])
def test_regression_is_the_bordered_system(rng, solver):
    X = rng.normal(size=(150, 3))
    y = 5.0 + np.sin(X[:, 0]) + 0.1 * rng.normal(size=150)
    weight = rng.uniform(0.5, 2.0, 150)
    model = LSSVR(C=7.0, gamma=0.4, solver=solver, tol=1e-11).fit(X, y, weight)
    bias, coefficients = dense_machine(Gaussian(0.4)(X), y, 1.0 / (7.0 * weight))
    assert model.intercept_[0] == pytest.approx(bias, rel=1e-9)
    np.testing.assert_allclose(model.dual_coef_[0], coefficients, rtol=0, atol=1e-7)
    assert abs(model.dual_coef_.sum()) < 1e-8
    assert model.certificate_.holds


def test_weights_are_repetitions(rng):
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    weight = rng.integers(0, 3, 60)
    weighted = LSSVR(gamma=0.3).fit(X, y, weight)
    repeated = LSSVR(gamma=0.3).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=0, atol=1e-10)


def test_two_classes_are_regression_on_signs():
    X, y = make_moons(120, noise=0.2, random_state=1)
    labels = np.where(y == 1, "up", "down")
    machine = LSSVC(C=3.0, gamma=1.0).fit(X, labels)
    values = LSSVR(C=3.0, gamma=1.0).fit(X, np.where(y == 1, 1.0, -1.0)).predict(X)
    np.testing.assert_allclose(machine.decision_function(X), values, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(machine.predict(X), np.where(values > 0, "up", "down"))
    assert machine.score(X, labels) > 0.9


def test_many_classes_share_one_system():
    X, y = load_iris(return_X_y=True)
    machine = LSSVC(C=10.0, gamma=0.5).fit(X, y)
    assert machine.dual_coef_.shape == (3, 150) and machine.decision_function(X).shape == (150, 3)
    for number in range(3):
        one = LSSVC(C=10.0, gamma=0.5).fit(X, y == number)
        np.testing.assert_allclose(machine.decision_function(X)[:, number], one.decision_function(X), atol=1e-10)
    np.testing.assert_array_equal(machine.predict(X), machine.decision_function(X).argmax(axis=1))


def test_class_weights_move_the_boundary():
    X, y = make_moons(200, noise=0.4, random_state=0)
    plain, heavy = (LSSVC(class_weight=w).fit(X, y).predict(X).mean() for w in (None, {0: 1.0, 1: 20.0}))
    assert heavy > plain + 0.05


def test_sparse_and_precomputed(rng):
    X, y = make_moons(80, noise=0.2, random_state=1)
    values = LSSVC(gamma=1.0).fit(X, y).decision_function(X)
    K = Gaussian(1.0)(X)
    np.testing.assert_allclose(LSSVC(kernel="precomputed").fit(K, y).decision_function(K), values, atol=1e-10)
    by_sparse = LSSVC(gamma=1.0).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(by_sparse.decision_function(sparse.csr_array(X)), values, atol=1e-10)


def test_an_indefinite_kernel_is_refused_with_advice(rng):
    X, y = rng.normal(size=(40, 2)), np.tile([0, 1], 20)
    with pytest.raises(NotPositiveDefinite, match="rbf is always valid"):
        LSSVC(kernel=Sigmoid(1.0, -3.0), C=1e6).fit(X, y)


@pytest.mark.parametrize("solver", ["cholesky", "cg", "plain-cg"])
def test_samples_without_any_feature_leave_the_mean(solver):
    model = LSSVR(kernel="linear", solver=solver).fit(np.zeros((6, 2)), np.arange(6.0))
    np.testing.assert_allclose(model.predict(np.ones((2, 2))), 2.5, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("limit", [{"max_iter": 0}, {"time_limit": 1e-9}], ids=str)
def test_a_fit_that_ends_before_its_first_step_predicts_zero(rng, limit):
    X = rng.normal(size=(300, 3))
    model = LSSVR(solver="cg", **limit).fit(X, X[:, 0])
    assert model.intercept_.tolist() == [0.0]
    assert not model.predict(X).any()
