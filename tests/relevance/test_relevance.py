"""Relevance vector machines: the evidence is at a maximum, the error bars are the formula, models are small."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning

from widemargin import RVC, RVR, SVC, SVR
from widemargin.kernels import Gaussian
from widemargin.solvers.evidence import maximise_evidence


def sinc(n=100, noise=0.1, seed=0):
    X = np.linspace(-10, 10, n)[:, None]
    truth = np.sinc(X[:, 0] / np.pi)
    return X, truth + noise * np.random.default_rng(seed).normal(size=n), truth


def log_evidence(Phi, t, alpha, beta):
    """log N(t; 0, I / beta + Phi diag(1 / alpha) Phi'), dense (Tipping & Faul 2003, equation 7)."""
    C = np.eye(len(t)) / beta + (Phi / alpha) @ Phi.T
    return -0.5 * (len(t) * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + t @ np.linalg.solve(C, t))


def test_the_evidence_is_at_a_maximum():
    X, y, _ = sinc(60)
    Phi = np.column_stack([np.ones(60), Gaussian(0.1)(X)])
    model = maximise_evidence(Phi, y, classify=False, tol=1e-6, max_iter=2000, deadline=np.inf, watch=None)
    here = log_evidence(Phi[:, model.active], y, model.alpha, model.beta)

    def minus(logs):
        return -log_evidence(Phi[:, model.active], y, np.exp(logs[:-1]), np.exp(logs[-1]))

    start = np.log(np.append(model.alpha, model.beta))
    assert -minimize(minus, start, method="Nelder-Mead", options={"maxiter": 400}).fun < here + 1e-3
    for m in np.setdiff1d(np.arange(61), model.active):  # no further basis function helps, whatever its precision
        for alpha in (1e-2, 1.0, 1e2, 1e4):
            wider = log_evidence(Phi[:, np.append(model.active, m)], y, np.append(model.alpha, alpha), model.beta)
            assert wider < here + 1e-4


def test_mean_and_error_bars_are_the_formula():
    X, y, _ = sinc()
    model = RVR(gamma=0.1).fit(X, y)
    inner = model._models[0]
    Phi = np.column_stack([np.ones(100), Gaussian(0.1)(X)])[:, inner.active]
    Sigma = np.linalg.inv(np.diag(inner.alpha) + inner.beta * Phi.T @ Phi)
    mu = inner.beta * Sigma @ Phi.T @ y
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, Phi @ mu, rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.predict(X), mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(std**2, 1 / inner.beta + np.einsum("ij,jk,ik->i", Phi, Sigma, Phi), rtol=1e-8)
    assert model.noise_variance_ == pytest.approx(1 / inner.beta)


def test_regression_finds_the_noise_with_few_vectors():
    X, y, truth = sinc()
    model, svr = RVR(gamma=0.1).fit(X, y), SVR(gamma=0.1, epsilon=0.1).fit(X, y)
    assert len(model.relevance_) <= 12 < len(svr.support_)
    assert np.sqrt(model.noise_variance_) == pytest.approx(0.1, rel=0.25)
    assert np.sqrt(np.mean((model.predict(X) - truth) ** 2)) < 0.06
    np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])


def test_classification_is_as_good_as_svc_with_far_fewer_vectors():
    X, y = make_moons(300, noise=0.25, random_state=0)
    new, truth = make_moons(2000, noise=0.25, random_state=1)
    relevance, support = RVC(gamma=1.0).fit(X, y), SVC(gamma=1.0).fit(X, y)
    assert len(relevance.relevance_) < len(support.support_) / 5
    assert relevance.score(new, truth) > support.score(new, truth) - 0.02
    p = relevance.predict_proba(new)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert -np.log(p[np.arange(2000), truth]).mean() < 0.25  # better than knowing nothing (0.69) by far
    np.testing.assert_array_equal(relevance.predict(new), p.argmax(axis=1))


def test_the_mode_of_the_classifier_is_stationary():
    X, y = make_moons(100, noise=0.3, random_state=3)
    model = RVC(gamma=1.0).fit(X, np.where(y == 1, "b", "a"))
    inner = model._models[0]
    Phi = np.column_stack([np.ones(100), Gaussian(1.0)(X)])[:, inner.active]
    p = 1 / (1 + np.exp(-Phi @ inner.mean))
    np.testing.assert_allclose(Phi.T @ (y - p), inner.alpha * inner.mean, rtol=0, atol=1e-5)
    H = (Phi * (p * (1 - p))[:, None]).T @ Phi + np.diag(inner.alpha)
    np.testing.assert_allclose(inner.covariance, np.linalg.inv(H), rtol=1e-6)
    assert list(model.classes_) == ["a", "b"]


def test_many_classes_sparse_and_precomputed():
    X, y = load_iris(return_X_y=True)
    model = RVC(gamma=0.3).fit(X, y)
    assert model.score(X, y) > 0.95 and model.dual_coef_.shape == (3, len(model.relevance_))
    assert model.predict_proba(X).shape == (150, 3)
    by_sparse = RVC(gamma=0.3).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(by_sparse.decision_function(X), model.decision_function(X), rtol=0, atol=1e-5)
    K = Gaussian(0.3)(X)
    by_matrix = RVC(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(by_matrix.decision_function(K), model.decision_function(X), rtol=0, atol=1e-5)


def test_candidates_limit_memory_and_too_much_is_refused():
    X, y, _ = sinc()
    model = RVR(gamma=0.1, n_candidates=30, random_state=0).fit(X, y)
    assert len(model.relevance_) <= 30 and model.score(X, y) > 0.8
    with pytest.raises(ValueError, match="n_candidates"):
        RVR(cache_size=0.01).fit(X, y)


def test_degenerate_targets():
    X, _, _ = sinc(20)
    np.testing.assert_allclose(RVR(gamma=0.1).fit(X, np.full(20, 4.0)).predict(X), 4.0, rtol=1e-3)
    assert np.isfinite(RVR(gamma=0.1).fit(X, np.zeros(20)).predict(X)).all()
    assert np.isfinite(RVR(gamma=0.1).fit(np.repeat(X[:3], 5, axis=0), np.arange(15.0)).predict(X)).all()
    assert np.isfinite(RVR(kernel="linear").fit(np.zeros((9, 2)), np.arange(9.0)).predict(X[:, [0, 0]])).all()
    separable = RVC(gamma=0.1).fit(X, X[:, 0] > 0)
    assert separable.score(X, X[:, 0] > 0) == 1.0


def test_an_early_end_is_said():
    X, y, _ = sinc()
    with pytest.warns(ConvergenceWarning, match="MAX_ITER after 2 steps"):
        RVR(gamma=0.1, max_iter=2).fit(X, y)
