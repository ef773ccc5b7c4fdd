"""Gaussian processes by conjugate gradients against those by a Cholesky factor."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from widemargin import GaussianProcessRegressor
from widemargin.kernels import Gaussian


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(12)
    X = rng.normal(size=(400, 3))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=400), rng.normal(size=(100, 3))


@pytest.fixture(scope="module")
def pair(data):
    settings = {"alpha": 0.05, "optimizer": None}
    kernel = 1.3 * Gaussian(0.4)
    return [GaussianProcessRegressor(kernel, solver=s, **settings).fit(*data[:2]) for s in ("cg", "cholesky")]


def test_means_and_deviations(pair, data):
    by_cg, by_factor = pair
    assert by_cg.L_ is None and by_cg.certificate_.method == "cg" and by_cg.certificate_.holds
    (mean, std), (exact_mean, exact_std) = (model.predict(data[2], return_std=True) for model in pair)
    np.testing.assert_allclose(mean, exact_mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(std**2, exact_std**2, rtol=0, atol=1.5e-6)
    assert (std >= exact_std - 1e-9).all()  # never too sure
    covariances = [model.predict(data[2][:20], return_cov=True)[1] for model in pair]
    np.testing.assert_allclose(covariances[0], covariances[1], rtol=0, atol=1e-3)


def test_the_estimated_likelihood_states_its_error(pair):
    by_cg, by_factor = pair
    error = by_cg.log_marginal_likelihood_error_
    assert by_factor.log_marginal_likelihood_error_ == 0.0 < error
    assert abs(by_cg.log_marginal_likelihood_value_ - by_factor.log_marginal_likelihood_value_) < 4 * error


def test_the_estimated_gradient_is_near_the_exact_one(pair):
    theta = np.log([1.0, 0.5])
    (_, estimated), (_, exact) = (model.log_marginal_likelihood(theta, eval_gradient=True) for model in pair)
    np.testing.assert_allclose(estimated, exact, rtol=0.1, atol=3.0)


def test_parameters_are_fitted_without_a_factor(data):
    X, y = data[0][:150], data[1][:150]
    kernel = 1.0 * RBF(1.5) + WhiteKernel(0.02)
    by_cg = GaussianProcessRegressor(kernel, solver="cg").fit(X, y)
    exact = GaussianProcessRegressor(kernel).fit(X, y)
    assert exact.log_marginal_likelihood(by_cg.kernel_.theta) > exact.log_marginal_likelihood_value_ - 1.0
    np.testing.assert_allclose(by_cg.predict(X), exact.predict(X), rtol=0, atol=0.02)


def test_little_memory_changes_nothing(data):
    X, y, new = data
    settings = {"alpha": 0.05, "optimizer": None, "solver": "cg"}
    usual = GaussianProcessRegressor(1.3 * Gaussian(0.4), **settings).fit(X, y)
    poor = GaussianProcessRegressor(1.3 * Gaussian(0.4), cache_size=0.001, **settings).fit(X, y)
    np.testing.assert_allclose(poor.predict(new), usual.predict(new), rtol=0, atol=1e-8)


def test_a_time_limit_is_kept_and_said(data):
    X, y, new = data
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = GaussianProcessRegressor(Gaussian(5.0), alpha=1e-6, optimizer=None, solver="cg", time_limit=1e-9).fit(
            X, y
        )
    assert np.isnan(model.log_marginal_likelihood_value_) and np.isfinite(model.predict(new)).all()
