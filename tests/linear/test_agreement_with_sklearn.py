"""The answers are those of scikit-learn's estimators where those reach the optimum."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.preprocessing import StandardScaler

from widemargin import LinearSVC, LinearSVR, l1_min_c

CLASSES = make_classification(200, 8, n_informative=5, flip_y=0.1, random_state=3)
TARGETS = make_regression(200, 8, noise=10.0, random_state=3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of theirs, at this tolerance
def test_classifier(loss, C):
    X, y = StandardScaler().fit_transform(CLASSES[0]), CLASSES[1]
    theirs = sklearn.svm.LinearSVC(loss=loss, C=C, tol=1e-8, max_iter=30_000).fit(X, y)
    ours = LinearSVC(loss=loss, C=C).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-5)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert ours.coef_.shape == theirs.coef_.shape and ours.intercept_.shape == theirs.intercept_.shape


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_regressor(loss):
    X, y = TARGETS
    y = y / y.std()
    theirs = sklearn.svm.LinearSVR(loss=loss, epsilon=0.05, tol=1e-9, max_iter=1_000_000).fit(X, y)
    ours = LinearSVR(loss=loss, epsilon=0.05).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-5)
    assert ours.coef_.shape == theirs.coef_.shape and ours.intercept_.shape == theirs.intercept_.shape
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-4)


def test_unpenalised_intercept_gives_the_kernel_machines():
    X, y = CLASSES
    ours = LinearSVC(loss="hinge", penalize_intercept=False).fit(X, y)
    theirs = sklearn.svm.SVC(kernel="linear", tol=1e-7).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    X, y = TARGETS
    ours = LinearSVR(epsilon=1.0, penalize_intercept=False).fit(X, y)
    theirs = sklearn.svm.SVR(kernel="linear", epsilon=1.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_.ravel(), atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_many_classes(multi_class):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    names = np.array(["a", "b", "c"])[y]
    theirs = sklearn.svm.LinearSVC(multi_class=multi_class, C=0.1, tol=1e-6, max_iter=1_000_000).fit(X, names)
    ours = LinearSVC(multi_class=multi_class, C=0.1, tol=1e-7, max_iter=100_000).fit(X, names)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
    assert ours.certificate_.gap <= 1e-7 and ours.certificate_.holds
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert len(ours.certificates_) == (3 if multi_class == "ovr" else 1)


def test_crammer_singer_of_two_classes_has_one_row():
    X, y = CLASSES
    ours = LinearSVC(multi_class="crammer_singer", C=0.1, tol=1e-6, max_iter=100_000).fit(X, y)
    theirs = sklearn.svm.LinearSVC(multi_class="crammer_singer", C=0.1, tol=1e-6, max_iter=1_000_000).fit(X, y)
    assert ours.coef_.shape == (1, 8)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)


def test_l1_penalty():
    X, y = make_classification(300, 40, n_informative=6, random_state=1)
    for C in (0.01, 0.1, 10.0):
        theirs = sklearn.svm.LinearSVC(penalty="l1", dual=False, C=C, tol=1e-9, max_iter=1_000_000).fit(X, y)
        ours = LinearSVC(penalty="l1", C=C, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
        assert ((ours.coef_ != 0) == (theirs.coef_ != 0)).all()
        slack = np.maximum(0, 1 - np.where(y == 1, 1, -1) * ours.decision_function(X))
        own = np.abs(ours.coef_).sum() + abs(ours.intercept_[0]) + C * (slack**2).sum()
        assert ours.certificate_.primal == pytest.approx(own, rel=1e-12)
        assert ours.certificate_.gap <= 1e-9


def test_l1_weights_can_be_made_sparse_and_dense_again():
    X, y = make_classification(300, 40, n_informative=6, random_state=1)
    machine = LinearSVC(penalty="l1", C=0.01).fit(X, y)
    values = machine.decision_function(X)
    np.testing.assert_allclose(machine.sparsify().decision_function(X), values)
    assert machine.coef_.nnz < 40
    np.testing.assert_allclose(machine.densify().decision_function(X), values)


def test_the_same_parameters_exist():
    for ours, theirs in ((LinearSVC, sklearn.svm.LinearSVC), (LinearSVR, sklearn.svm.LinearSVR)):
        own, expected = ours().get_params(), theirs().get_params()
        assert {name: own[name] for name in expected} == expected
        assert clone(ours(C=3.0)).get_params()["C"] == 3.0


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_l1_min_c_is_where_weights_begin(fit_intercept):
    X, y = make_classification(200, 10, n_classes=3, n_informative=6, random_state=1)
    smallest = l1_min_c(X, y, fit_intercept=fit_intercept)
    assert smallest == sklearn.svm.l1_min_c(X, y, fit_intercept=fit_intercept)
    machine = LinearSVC(penalty="l1", fit_intercept=fit_intercept, tol=1e-9)
    assert not machine.set_params(C=0.999 * smallest).fit(X, y).coef_.any()
    assert np.any(machine.set_params(C=1.01 * smallest).fit(X, y).coef_) or np.any(machine.intercept_)
