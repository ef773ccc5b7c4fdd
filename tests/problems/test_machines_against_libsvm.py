"""The machines LIBSVM has, against scikit-learn at a tight tolerance (n = 500): objective and decision values."""

import numpy as np
import pytest
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from tests.oracles import KERNELS, noisy_scores, signs, values_at
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems import (
    epsilon_insensitive,
    hinge,
    nu_classification,
    nu_margin,
    nu_regression,
    nu_tube,
    one_class,
)
from widemargin.training.fit import Training
from widemargin.training.task import Task

N = 500


def data(rng):
    X = rng.normal(size=(N, 5))
    return X, noisy_scores(X, rng)


def train(kernel, X, dual):
    trained = Training(kernel, X).train([Task(dual)], Stopping(tol=1e-6, time_limit=60.0))[0]
    assert trained.solution.status is Status.OPTIMAL
    assert trained.certificate.holds
    return trained.solution


def coefficients(model, sign=1.0):
    """LIBSVM's multipliers as a dense vector."""
    beta = np.zeros(N)
    beta[model.support_] = sign * model.dual_coef_[0]
    return beta


def same_objective(dual, K, beta, other):
    """Ours is at most 1e-6 above LIBSVM's, and LIBSVM's not further above ours than its own tolerance allows."""
    ours, theirs = values_at(dual, K, beta).objective, values_at(dual, K, other).objective
    assert abs(ours - theirs) <= 1e-6 * abs(theirs)


@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
@pytest.mark.parametrize("name", KERNELS)
def test_c_classification(name, weighted, rng):
    X, target = data(rng)
    y, kernel, K = signs(target), KERNELS[name][0], KERNELS[name][1](X, X)
    weight = rng.choice([0.25, 1.0, 2.0], N) if weighted else np.ones(N)
    dual = hinge(y, 2.0 * weight)
    solution = train(kernel, X, dual)
    peer = SVC(C=2.0, kernel="precomputed", tol=1e-7).fit(K, y, sample_weight=weight)
    same_objective(dual, K, solution.beta, coefficients(peer))
    np.testing.assert_allclose(solution.Kb - solution.thresholds[0], peer.decision_function(K), atol=2e-4)


@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
@pytest.mark.parametrize("name", KERNELS)
def test_eps_regression(name, weighted, rng):
    X, y = data(rng)
    kernel, K = KERNELS[name][0], KERNELS[name][1](X, X)
    weight = rng.choice([0.25, 1.0, 2.0], N) if weighted else np.ones(N)
    dual = epsilon_insensitive(y, 0.4 * weight, 0.2)
    solution = train(kernel, X, dual)
    peer = SVR(C=0.4, epsilon=0.2, kernel="precomputed", tol=1e-7).fit(K, y, sample_weight=weight)
    same_objective(dual, K, solution.beta, coefficients(peer))
    np.testing.assert_allclose(solution.Kb - solution.thresholds[0], peer.predict(K), atol=2e-4)


@pytest.mark.parametrize("name", KERNELS)
def test_nu_classification(name, rng):
    X, target = data(rng)
    y, kernel, K = signs(target), KERNELS[name][0], KERNELS[name][1](X, X)
    solution = train(kernel, X, nu_classification(y, 0.5, np.ones(N)))
    margin, bias = nu_margin(solution.thresholds)
    peer = NuSVC(nu=0.5, kernel="precomputed", tol=1e-8).fit(K, y)
    np.testing.assert_allclose((solution.Kb + bias) / margin, peer.decision_function(K), atol=5e-4)


@pytest.mark.parametrize("name", KERNELS)
def test_nu_regression(name, rng):
    X, y = data(rng)
    kernel, K = KERNELS[name][0], KERNELS[name][1](X, X)
    solution = train(kernel, X, nu_regression(y, np.full(N, 0.4), 0.4))
    tube, bias = nu_tube(solution.thresholds)
    peer = NuSVR(nu=0.4, C=0.4, kernel="precomputed", tol=1e-7).fit(K, y)
    np.testing.assert_allclose(solution.Kb + bias, peer.predict(K), atol=2e-4)
    # The tube found is the eps at which the eps-machine gives the same function.
    again = train(kernel, X, epsilon_insensitive(y, np.full(N, 0.4), tube))
    np.testing.assert_allclose(again.Kb - again.thresholds[0], solution.Kb + bias, atol=2e-4)


@pytest.mark.parametrize("name", KERNELS)
def test_one_class(name, rng):
    X, _ = data(rng)
    X = X + 1.0  # away from the origin, so that the linear machine has something to separate from it
    kernel, K = KERNELS[name][0], KERNELS[name][1](X, X)
    dual = one_class(np.ones(N), 0.3)
    solution = train(kernel, X, dual)
    peer = OneClassSVM(nu=0.3, kernel="precomputed", tol=1e-7).fit(K)
    same_objective(dual, K, solution.beta, coefficients(peer))
    np.testing.assert_allclose(solution.Kb - solution.thresholds[0], peer.decision_function(K), atol=5e-4)
