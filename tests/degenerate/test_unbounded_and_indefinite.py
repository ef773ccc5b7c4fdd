"""Problems without an answer: hard margins that do not exist, kernels that are none, numbers that are not finite."""

import time

import numpy as np
import pytest

from tests.oracles import GivenMatrix, noisy_scores, signs, solve_qp, values_at, without_groups
from tests.samples import train_one
from tests.small_blocks import solve_in_small_blocks
from widemargin.gram import source
from widemargin.kernels import Gaussian, Linear, Polynomial
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems import epsilon_insensitive, hinge, squared_hinge
from widemargin.training.fit import Training
from widemargin.training.task import Task

pytestmark = pytest.mark.usefixtures("compiled")


def train(kernel, X, dual, tol=1e-3, limit=5.0):
    return train_one(kernel, X, dual, tol=tol, time_limit=limit)


def hard(y):
    return hinge(y, np.full(len(y), np.inf))


@pytest.mark.alone
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=2, gamma=1.0, coef0=1.0)], ids=["linear", "poly"])
def test_hard_margin_on_noise(kernel, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 2))
    y = signs(rng.normal(size=80))
    began = time.perf_counter()
    trained = train(kernel, X, hard(y))
    assert trained.solution.status is Status.UNBOUNDED
    assert not trained.certificate.holds and trained.certificate.gap == np.inf
    assert "C=inf" in str(trained.certificate)
    assert time.perf_counter() - began < 3.0


@pytest.mark.alone
def test_the_time_limit_is_kept_by_two_equal_points_with_opposite_labels():
    X, y = np.ones((2, 2)), np.array([1.0, -1.0])
    began = time.perf_counter()
    stop = Stopping(tol=1e-3, time_limit=0.2, max_iter=8000)  # max_iter bounds the damage, at 4 steps per Newton step
    Training(Linear(), X, n_jobs=1).train([Task(hard(y))], stop)
    assert time.perf_counter() - began < 0.7


@pytest.mark.parametrize("n", [40, 100])
def test_hard_margin_with_one_point_in_both_classes(n, rng):
    X = rng.normal(size=(n, 3))
    X[1] = X[0]
    y = signs(rng.normal(size=n))
    y[0], y[1] = 1.0, -1.0
    for kernel in (Gaussian(0.5), Linear(), Polynomial(degree=3, gamma=1.0, coef0=1.0)):
        assert train(kernel, X, hard(y)).solution.status is Status.UNBOUNDED


def test_hard_margin_without_bias_on_noise(rng):
    X = rng.normal(size=(80, 2))
    trained = train(Linear(), X, without_groups(hard(signs(rng.normal(size=80)))))
    assert trained.solution.status is Status.UNBOUNDED


def test_hard_margin_by_a_hair(rng):
    """Overlap of a single point, far smaller than the clouds: still not separable."""
    X = np.vstack([rng.normal(size=(30, 2)) + 4, rng.normal(size=(30, 2)) - 4])
    y = np.repeat([1.0, -1.0], 30)
    X[0] = X[30:].mean(axis=0)
    assert train(Linear(), X, hard(y)).solution.status is Status.UNBOUNDED


@pytest.mark.parametrize("gap", [1.0, 1e-1, 1e-2, 1e-3])
def test_small_margins_are_still_margins(gap, rng):
    X = rng.uniform(-1, 1, size=(60, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += 0.5 * gap * y
    trained = train(Linear(), X, hard(y), limit=20.0)
    assert trained.solution.status is Status.OPTIMAL and trained.certificate.holds
    best, _ = solve_qp(hard(y), X @ X.T)
    assert trained.certificate.dual == pytest.approx(-best, rel=5e-3)


@pytest.mark.parametrize("offset", [10.0, 1e3])
def test_hard_margin_far_from_the_origin(offset, rng):
    """Moving the data changes no margin, only the size of the kernel."""
    X = rng.uniform(-1, 1, size=(40, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += y
    near, far = train(Linear(), X, hard(y), tol=1e-5), train(Linear(), X + offset, hard(y), tol=1e-5)
    assert far.solution.status is Status.OPTIMAL
    assert far.certificate.dual == pytest.approx(near.certificate.dual, rel=1e-3)


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e-14, 1e-8, 1e8, 1e100])
def test_hard_margin_at_any_scale(scale, rng):
    X = rng.uniform(-1, 1, size=(40, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += y
    trained = train(Linear(), scale * X, hard(y), limit=1.0)
    assert trained.solution.status is Status.OPTIMAL and trained.certificate.holds


def test_squared_hinge_with_infinite_C_is_the_hard_margin(rng):
    X = rng.uniform(-1, 1, size=(40, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += y
    one, other = (train(Linear(), X, build(y, np.full(40, np.inf)), tol=1e-7) for build in (hinge, squared_hinge))
    np.testing.assert_array_equal(one.solution.beta, other.solution.beta)
    assert other.certificate.holds
    y[3] *= -1
    assert train(Linear(), X, squared_hinge(y, np.full(40, np.inf))).solution.status is Status.UNBOUNDED


@pytest.mark.parametrize("seed", range(3))
def test_hard_margin_on_noise_with_float32_rows(seed, monkeypatch):
    """The limit leaves time to compile for float32, which no other test of this file does."""
    monkeypatch.setattr(source, "FULL", 40)
    monkeypatch.setattr(source, "SAFE_ROUNDING", np.inf)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 2))
    assert train(Linear(), X, hard(signs(rng.normal(size=150))), limit=60.0).solution.status is Status.UNBOUNDED


def test_some_samples_hard_and_others_soft(monkeypatch, rng):
    """Soft samples in both classes cancel and weigh C each; the hard ones are separable all the same."""
    solve_in_small_blocks(monkeypatch)
    soft = rng.normal(size=(30, 2))
    X = np.vstack([soft, soft, [[3.0, 0.0], [-3.0, 0.0]]])
    y = np.concatenate([np.ones(30), -np.ones(30), [1.0, -1.0]])
    dual = hinge(y, np.concatenate([np.full(60, 100.0), [np.inf, np.inf]]))
    trained = train(Gaussian(0.5), X, dual)
    assert trained.solution.status is Status.OPTIMAL
    assert trained.certificate.dual == pytest.approx(-solve_qp(dual, Gaussian(0.5)(X))[0], rel=1e-5)


def test_infinite_tube_machine_fits_or_says_so(rng):
    """C = inf in regression: every sample inside the tube, or no such function."""
    X = np.linspace(-1, 1, 20)[:, None]
    loose = epsilon_insensitive(2 * X[:, 0] + 0.05 * rng.uniform(-1, 1, 20), np.full(20, np.inf), 0.1)
    trained = train(Linear(), X, loose, tol=1e-6)
    assert trained.solution.status is Status.OPTIMAL
    assert trained.certificate.dual == pytest.approx(-solve_qp(loose, X @ X.T)[0], rel=1e-4)
    tight = epsilon_insensitive(np.abs(X[:, 0]), np.full(20, np.inf), 0.1)
    assert train(Linear(), X, tight).solution.status is Status.UNBOUNDED


@pytest.mark.parametrize("groups", [0, 1])
@pytest.mark.parametrize("seed", range(5))
def test_sigmoid_kernels_end(seed, groups):
    """tanh(x'z - 1) is not positive semi-definite; the solver must end with a point of the box and a status."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    K = np.tanh(X @ X.T - 1.0)
    assert np.linalg.eigvalsh(K).min() < -0.1
    dual = hinge(signs(noisy_scores(X, rng)), np.full(60, 10.0))
    dual = dual if groups else without_groups(dual)
    trained = train(GivenMatrix(K), None, dual)
    assert trained.solution.status in (Status.OPTIMAL, Status.INDEFINITE, Status.STALLED)
    here = values_at(dual, K, trained.solution.beta)
    assert here.infeasibility <= 1e-9
    convex = trained.solution.status is not Status.INDEFINITE
    assert trained.certificate.holds == (convex and here.violation <= 1e-3 * (1 + 1e-9))
    assert trained.certificate.primal >= trained.certificate.dual * (1 - 1e-9)


def test_a_negative_definite_kernel_ends(rng):
    X = rng.normal(size=(30, 3))
    dual = hinge(signs(rng.normal(size=30)), np.ones(30))
    for problem in (dual, without_groups(dual)):
        trained = train(GivenMatrix(-X @ X.T), None, problem)
        assert trained.solution.status in (Status.OPTIMAL, Status.INDEFINITE, Status.STALLED)
        assert values_at(problem, -X @ X.T, trained.solution.beta).infeasibility <= 1e-9


def test_an_indefinite_kernel_without_box_is_not_called_optimal(rng):
    """Hard margin on a kernel with a negative eigenvalue: the dual falls for ever along it."""
    K = np.diag(np.concatenate([[-1.0], np.ones(9)]))
    trained = train(GivenMatrix(K), None, hard(np.tile([1.0, -1.0], 5)))
    assert trained.solution.status in (Status.INDEFINITE, Status.UNBOUNDED, Status.STALLED)
    assert not trained.certificate.holds


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["everywhere", "one row"])
def test_a_kernel_that_is_not_finite_is_never_certified(bad, where, rng):
    X = rng.normal(size=(20, 2))
    K = X @ X.T
    rows = slice(None) if where == "everywhere" else slice(0, 1)
    K[rows], K[:, rows] = bad, bad
    with np.errstate(all="ignore"):
        trained = train(GivenMatrix(K), None, hinge(signs(rng.normal(size=20)), np.ones(20)))
    assert trained.solution.status is not Status.OPTIMAL
    assert not trained.certificate.holds


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_kernel_that_is_not_finite_ends(bad, rng):
    X = rng.normal(size=(20, 2))
    K = X @ X.T
    K[0], K[:, 0] = bad, bad
    with np.errstate(all="ignore"):
        trained = train(GivenMatrix(K), None, hinge(signs(rng.normal(size=20)), np.ones(20)), limit=2.0)
    assert trained.solution.status is not Status.TIME_LIMIT
