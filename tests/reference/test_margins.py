"""Margins with analytic answers: XOR, Marsland's problems 8.1 and 8.2, and the definitions of CS229."""

import numpy as np
import pytest
import sklearn.svm

import widemargin
from widemargin import RVC, SVC, LinearSVC, Status
from widemargin.kernels import Polynomial

SQUARE = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
XOR = np.array([1, 0, 0, 1])

SOLVERS = ["auto", "platt", "keerthi", "simplified", "chunking", "osuna"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_xor(solver):
    """Marsland, section 8.2.2: all terms up to degree two. Margin sqrt 2, boundary x1 x2 = 0, every lambda 1/8."""
    machine = SVC(kernel=Polynomial(2, 1.0, 1.0), C=np.inf, solver=solver, tol=1e-9).fit(SQUARE, XOR)
    found = widemargin.margins(machine, SQUARE, XOR)
    assert found.geometric_margin == pytest.approx(np.sqrt(2.0), rel=1e-6)
    np.testing.assert_allclose(found.functional, 1.0, rtol=1e-6)
    np.testing.assert_allclose(np.abs(machine.dual_coef_), 0.125, rtol=1e-6)
    grid = np.random.default_rng(0).uniform(-3, 3, size=(50, 2))
    np.testing.assert_allclose(machine.decision_function(grid), grid[:, 0] * grid[:, 1], atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_problem_8_1(solver):
    """The line x1 + x2 = 3/2; support vectors (1,1), (1,0), (0,1); margin 1 / (2 sqrt 2)."""
    X = np.array([[1, 1], [1, 2], [2, 1], [0, 0], [1, 0], [0, 1]], float)
    y = np.array([1, 1, 1, 0, 0, 0])
    machine = SVC(kernel="linear", C=np.inf, solver=solver, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(machine.coef_, [[2.0, 2.0]], rtol=1e-6)
    assert machine.intercept_[0] == pytest.approx(-3.0, rel=1e-6)
    assert sorted(map(tuple, X[machine.support_])) == [(0, 1), (1, 0), (1, 1)]
    found = widemargin.margins(machine, X, y)
    assert found.geometric_margin == pytest.approx(1.0 / (2.0 * np.sqrt(2.0)), rel=1e-6)
    np.testing.assert_allclose(found.functional, [1, 3, 3, 3, 1, 1], rtol=1e-6)


def test_problem_8_2():
    """Not separable by a line; by the polynomial and the Gaussian kernel it is."""
    X = np.array([[0, 0], [1, 2], [2, 1], [1, 1], [1, 0], [0, 1]], float)
    y = np.array([1, 1, 1, 0, 0, 0])
    with pytest.warns(match="not separable in feature space"):
        assert SVC(kernel="linear", C=np.inf, solver="platt").fit(X, y).status_ is Status.UNBOUNDED
    for kernel in (Polynomial(2, 1.0, 1.0), Polynomial(3, 1.0, 1.0), "rbf"):
        machine = SVC(kernel=kernel, C=np.inf, solver="platt", tol=1e-6).fit(X, y)
        assert machine.status_ is Status.OPTIMAL
        found = widemargin.margins(machine, X, y)
        assert found.functional_margin == pytest.approx(1.0, abs=1e-4)
        assert found.geometric_margin == pytest.approx(1.0 / found.weight_norm, rel=1e-4)


def test_geometric_margins_are_distances():
    """CS229, section 4: the distance of x from the line w'x + b = 0 is |w'x + b| / |w|."""
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 2.0], [5.0, 5.0]])
    y = np.array([0, 1, 0, 1])
    for library in (SVC, sklearn.svm.SVC):
        machine = library(kernel="linear", C=1e3, tol=1e-8).fit(X, y)
        w, b = machine.coef_[0], machine.intercept_[0]
        found = widemargin.margins(machine, X, y)
        foot = X - np.outer((X @ w + b) / (w @ w), w)
        np.testing.assert_allclose(foot @ w + b, 0.0, atol=1e-9)
        np.testing.assert_allclose(np.abs(found.geometric), np.linalg.norm(X - foot, axis=1), rtol=1e-8)
        np.testing.assert_allclose(found.weight_norm, np.linalg.norm(w), rtol=1e-8)


def test_scaling_changes_functional_margins_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=40) > 0).astype(int)
    machine = SVC(kernel="linear").fit(X, y)
    before = widemargin.margins(machine, X, y)
    assert (before.functional < 0).sum() == (machine.predict(X) != y).sum()
    flipped = widemargin.margins(machine, X, 1 - y)
    np.testing.assert_array_equal(flipped.functional, -before.functional)
    K = X @ X.T
    precomputed = widemargin.margins(SVC(kernel="precomputed").fit(K, y), K, y)
    np.testing.assert_allclose(precomputed.geometric, before.geometric, atol=5e-3)


@pytest.mark.parametrize("library", [SVC, sklearn.svm.SVC])
def test_ratio_of_radius_and_margin(library):
    """Remark 7.4: R^2 / margin^2, and the factor (1 + tau^2/R^2)(1 + R^2/tau^2) of a fixed bias, 4 at tau = R."""
    X = np.array([[3.0, 4.0], [1.0, 0.0], [-1.0, 0.0], [-2.0, 1.0]])  # R = 5, margin 1
    y = np.array([1, 1, 0, 0])
    found = widemargin.margins(library(kernel="linear", C=1e6, tol=1e-9).fit(X, y), X, y)
    assert found.radius == pytest.approx(5.0)
    assert found.ratio == pytest.approx(25.0, rel=1e-6)
    assert found.ratio_with_fixed_bias() == pytest.approx(100.0, rel=1e-6)
    assert found.ratio_with_fixed_bias(5.0) == pytest.approx(found.ratio_with_fixed_bias())
    assert found.ratio_with_fixed_bias(1.0) == pytest.approx((25 + 1) * (1 + 25), rel=1e-6)
    K = X @ X.T
    assert widemargin.margins(library(kernel="precomputed", C=1e6).fit(K, y), K, y).radius == pytest.approx(5.0)
    gaussian = library(C=1e6).fit(X, y)
    assert widemargin.margins(gaussian, X, y).radius == pytest.approx(1.0)
    wrong = widemargin.margins(gaussian, X, 1 - y)
    assert wrong.ratio == wrong.ratio_with_fixed_bias(2.0) == np.inf
    with pytest.raises(ValueError, match="tau, the coordinate added to every sample, must be positive; got 0"):
        found.ratio_with_fixed_bias(0)


def test_the_bound_of_a_fixed_bias_covers_what_adatron_finds():
    """The widest margin of K + R^2 has a ratio between that of the free bias and the bound."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2)) + [2.0, 0.0]
    y = (X[:, 0] > 2).astype(int)
    X[:, 0] += np.where(y, 0.5, -0.5)
    free = widemargin.margins(SVC(kernel="linear", C=np.inf).fit(X, y), X, y)
    K = X @ X.T + free.radius**2
    fixed = SVC(kernel="linear", C=np.inf, solver="adatron", tol=1e-6).fit(X, y)
    beta = np.zeros(30)
    beta[fixed.support_] = fixed.dual_coef_[0]
    ratio = K.diagonal().max() * (beta @ K @ beta)  # the margin of the larger space is 1 / |w|
    assert free.ratio < ratio <= free.ratio_with_fixed_bias()


def test_refusals():
    X, y = np.eye(3), [0, 1, 2]
    with pytest.raises(ValueError, match="two classes; SVC has 3"):
        widemargin.margins(SVC().fit(X, y), X, y)
    machine = SVC().fit(X, [0, 1, 1])
    with pytest.raises(ValueError, match="y must hold the classes of the model"):
        widemargin.margins(machine, X, [0, 1, 7])
    machine = SVC(kernel="precomputed").fit(np.eye(3), [0, 1, 1])
    with pytest.raises(ValueError, match="square matrix of the fit"):
        widemargin.margins(machine, np.eye(3)[:2], [0, 1])


@pytest.mark.parametrize("machine", [LinearSVC(loss="hinge", C=10.0, fit_intercept=False), sklearn.svm.LinearSVC()])
def test_margins_of_a_linear_machine(machine):
    X, y = SQUARE + [0.5, 0.0], np.array([1, 1, 0, 0])
    found = widemargin.margins(machine.fit(X, y), X, y)
    assert found.weight_norm == pytest.approx(np.linalg.norm(machine.coef_), rel=1e-12)
    np.testing.assert_allclose(found.functional, np.where(y == 1, 1, -1) * machine.decision_function(X))


def test_margins_without_weights_are_refused_with_a_sentence():
    with pytest.raises(TypeError, match="which RVC does not have: give it a fitted SVC, NuSVC or LinearSVC"):
        widemargin.margins(RVC().fit(SQUARE, [1, 1, 0, 0]), SQUARE, [1, 1, 0, 0])


def test_margins_are_shown_in_one_line_without_their_arrays():
    X = np.linspace(-3.0, 3.0, 2000)[:, None]
    y = X[:, 0] > 0.0
    shown = repr(widemargin.margins(LinearSVC().fit(X, y), X, y))
    assert shown.startswith("Margins(functional_margin=") and shown.endswith("n_samples=2000)")
    assert "array" not in shown and len(shown) < 160
