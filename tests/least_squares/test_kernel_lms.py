"""Kernel least mean squares: the updates by hand, their limit, rates that cannot diverge and rates that do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from widemargin import KernelLMS
from widemargin.kernels import BlockKernel, Gaussian
from widemargin.monitor.status import Status

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def data(rng):
    X = rng.normal(size=(50, 2))
    return X, np.sin(X[:, 0]) + 0.05 * rng.normal(size=50)


@quiet
def test_batch_steps_are_those_of_the_formula(data):
    X, y = data
    K, beta = Gaussian(0.5)(X) + 0.2 * np.eye(50), np.zeros(50)
    for _ in range(7):
        beta += 0.01 * (y - K @ beta)
    model = KernelLMS(gamma=0.5, noise_variance=0.2, learning_rate=0.01, max_iter=7).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_, beta, rtol=1e-12)
    assert model.n_iter_ == 7 and model.status_ is Status.MAX_ITER


@quiet
def test_single_steps_are_those_of_the_formula(data):
    X, y = data
    K, beta = Gaussian(0.5)(X), np.zeros(50)
    order = np.random.RandomState(5)
    for _ in range(3):
        for i in order.permutation(50):
            beta[i] += 0.3 * (y[i] - K[i] @ beta - 0.1 * beta[i])
    parameters = {"gamma": 0.5, "noise_variance": 0.1, "learning_rate": 0.3}
    model = KernelLMS(method="sgd", max_iter=3, random_state=5, **parameters).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_, beta, rtol=1e-10)


@pytest.mark.parametrize("method", ["batch", "sgd"])
def test_the_limit_is_the_gaussian_process(data, method):
    """Widrow-Hoff with the augmented kernel converges to (K + s I)^-1 y."""
    X, y = data
    model = KernelLMS(method=method, gamma=0.5, noise_variance=0.5, tol=1e-7, max_iter=20_000, random_state=0).fit(X, y)
    expected = np.linalg.solve(Gaussian(0.5)(X) + 0.5 * np.eye(50), y)
    np.testing.assert_allclose(model.dual_coef_, expected, rtol=0, atol=1e-5)
    assert model.status_ is Status.OPTIMAL and model.residual_ <= 1e-7


@quiet
@given(
    seed=st.integers(0, 1000),
    method=st.sampled_from(["batch", "sgd"]),
    log_gamma=st.floats(-6, 4),
    noise=st.floats(0, 10),
    kernel=st.sampled_from(["rbf", "linear", "poly"]),
    scale=st.floats(0.01, 30),
)
def test_the_default_rate_never_diverges(seed, method, log_gamma, noise, kernel, scale):
    rng = np.random.default_rng(seed)
    X, y = scale * rng.normal(size=(25, 3)), rng.normal(size=25)
    parameters = {"kernel": kernel, "gamma": float(np.exp(log_gamma)), "noise_variance": noise, "degree": 2}
    model = KernelLMS(method=method, max_iter=30, random_state=seed, **parameters).fit(X, y)
    errors = np.array(model.errors_)
    assert model.status_ in (Status.OPTIMAL, Status.MAX_ITER)
    if method == "batch":  # the whole error shrinks in every step
        assert (np.diff(errors) <= 1e-12).all()
    assert errors[-1] <= errors[0] * (1 + 1e-9)


@pytest.mark.parametrize(("method", "rate"), [("batch", 1.0), ("sgd", 2.5)])
def test_a_rate_too_large_is_found_out_and_said(data, method, rate):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="too large.*cannot diverge"):
        model = KernelLMS(method=method, gamma=0.1, learning_rate=rate, max_iter=5000, random_state=0).fit(X, y)
    assert model.status_ is Status.UNBOUNDED
    assert np.isfinite(model.predict(X)).all()


def test_online_learning_is_the_formula_and_needs_no_whole(data):
    X, y = data
    rate, beta = 0.5, np.zeros(50)
    K = Gaussian(0.5)(X)
    for i in range(50):
        beta[i] = rate * (y[i] - K[i, :i] @ beta[:i])
    at_once = KernelLMS(gamma=0.5, learning_rate=rate).partial_fit(X, y)
    in_parts = KernelLMS(gamma=0.5, learning_rate=rate)
    for part in np.array_split(np.arange(50), 4):
        in_parts.partial_fit(X[part], y[part])
    np.testing.assert_allclose(at_once.dual_coef_, beta, rtol=1e-10)
    np.testing.assert_allclose(in_parts.dual_coef_, beta, rtol=1e-10)
    np.testing.assert_allclose(in_parts.predict(X), K @ beta, rtol=1e-9)


def test_a_stream_lowers_the_error(rng):
    model = KernelLMS(gamma=1.0)
    errors = []
    for _ in range(20):
        X = rng.uniform(-2, 2, size=(20, 1))
        y = np.sin(2 * X[:, 0])
        errors.append(np.abs(y - model.predict(X)).mean() if hasattr(model, "dual_coef_") else 1.0)
        model.partial_fit(X, y)
    assert np.mean(errors[-5:]) < 0.1


@quiet
def test_objects_and_precomputed(data):
    X, y = data
    words = ["margin", "kernel", "vector", "dual"]
    letters = BlockKernel(lambda A, B: np.array([[float(len(set(a) & set(b))) for b in B] for a in A]))
    model = KernelLMS(kernel=letters, max_iter=50).fit(words, np.arange(4.0))
    model.partial_fit(["primal"], [2.0])
    assert model.predict(words).shape == (4,) and len(model.dual_coef_) == 5
    K = Gaussian(0.5)(X)
    by_matrix = KernelLMS(kernel="precomputed", max_iter=20).fit(K, y)
    by_name = KernelLMS(gamma=0.5, max_iter=20).fit(X, y)
    np.testing.assert_allclose(by_matrix.predict(K), by_name.predict(X), rtol=1e-9)
    with pytest.raises(ValueError, match="precomputed"):
        by_matrix.partial_fit(K, y)
