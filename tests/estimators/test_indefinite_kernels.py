"""Kernels that are not positive semi-definite: one diagnosis, whatever the solver, and `verify` agrees with it."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.reference.solvers import needs
from widemargin import SVC, verify
from widemargin.monitor.interrupt import StopRequested
from widemargin.monitor.status import Status
from widemargin.solvers import REFERENCE, SOLVERS
from widemargin.training.fit import Training
from widemargin.training.indefinite import sampled


def noisy_classes(seed, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(rng.normal(size=n) + X[:, 0] > 0, 1, -1)


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("solver", [s for s in (*SOLVERS, *REFERENCE) if s not in ("perceptron", "nearest-points")])
def test_every_solver_says_that_the_kernel_is_indefinite(solver, seed):
    needs(solver)
    X, y = noisy_classes(seed)
    model = SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0, solver=solver)
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        model.fit(X, y)
    assert model.status_ is Status.INDEFINITE and not model.certificate_.holds
    checked = verify(model, X, y)
    assert checked.status is Status.INDEFINITE and not checked.holds


def test_many_small_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.repeat(np.arange(12), 5)
    K = np.tanh(X @ X.T - 1.0)
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        model = SVC(kernel="precomputed").fit(K, y)
    assert model.status_ is verify(model, K, y).status is Status.INDEFINITE
    valid = SVC(kernel="precomputed").fit(X @ X.T, y)
    assert valid.certificate_.holds and verify(valid, X @ X.T, y).holds


def test_conditionally_positive_definite_kernels_are_valid_with_a_bias():
    X, y = noisy_classes(1)
    K = -np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1))  # negative eigenvalues, none along directions of sum zero
    model = SVC(kernel="precomputed").fit(K, y)
    assert model.status_ is Status.OPTIMAL


@pytest.mark.parametrize("solver", ["auto", "platt", "chunking"])
def test_the_rounding_of_a_matrix_does_not_matter(solver):
    X, y = noisy_classes(1)
    K = (X @ X.T).astype(np.float32).astype(np.float64)
    assert np.linalg.eigvalsh(K)[0] < -1e-8
    model = SVC(kernel="precomputed", solver=solver).fit(K, y)
    assert model.status_ is Status.OPTIMAL and verify(model, K, y).holds


def with_an_impossible_pair(X, pairs, value):
    """The Gaussian matrix of X, each pair made equal, with a value between them that exceeds K_ii = 1."""
    for i, j in pairs:
        X[j] = X[i]
    K = np.exp(-0.1 * np.square(X[:, None] - X[None]).sum(axis=2))
    for i, j in pairs:
        K[i, j] = K[j, i] = value
    return K


@pytest.mark.filterwarnings("ignore")
def test_a_fit_that_is_stopped_is_tested_too(monkeypatch):
    X, y = noisy_classes(0)
    y[1] = y[0]
    K = with_an_impossible_pair(X, [(0, 1)], 1.3)
    train = Training.train

    def stopped(self, tasks, stopping, watch, *rest):
        def stop(now):
            if now.violation <= now.tol:
                raise StopRequested(Status.STOPPED)

        return train(self, tasks, stopping, stop, *rest)

    monkeypatch.setattr(Training, "train", stopped)
    assert not SVC(kernel="precomputed").fit(K, y).certificate_.holds


def test_pairs_of_more_samples_than_are_tested_of_one_problem():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(13), 60)
    X = rng.normal(size=(13, 5))[y] + rng.normal(size=(780, 5))
    tested = set(sampled(780).tolist())
    left_out = [[i for i in np.flatnonzero(y == c) if i not in tested][:2] for c in range(12)]
    K = with_an_impossible_pair(X, left_out, 1.3)
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        model = SVC(kernel="precomputed").fit(K, y)
    assert not model.certificate_.holds and not verify(model, K, y).holds
