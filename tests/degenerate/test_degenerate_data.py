"""Data nobody should pass and everybody does: the solver comes back, quickly, with the answer or a named reason."""

import numpy as np
import pytest

from tests.oracles import (
    KERNELS,
    MACHINES,
    WITHOUT_BIAS,
    GivenMatrix,
    noisy_scores,
    signs,
    solve_qp,
    values_at,
    without_groups,
)
from tests.samples import problem_of, train_one
from widemargin.kernels import Gaussian, Linear, Polynomial
from widemargin.monitor.status import Status
from widemargin.problems import (
    epsilon_insensitive,
    hinge,
    nu_classification,
    nu_regression,
    one_class,
    squared_epsilon_insensitive,
    squared_hinge,
)

pytestmark = pytest.mark.usefixtures("compiled")


def train(kernel, X, dual, tol=1e-6, limit=20.0, **rule):
    """Train, and fail when only the time limit ended it."""
    trained = train_one(kernel, X, dual, tol=tol, time_limit=limit, **rule)
    assert trained.solution.status is not Status.TIME_LIMIT
    assert np.isfinite(trained.solution.beta).all()
    return trained


def optimal(kernel, X, K, dual, tol=1e-6, **rule):
    """Train and compare with the quadratic programme."""
    trained = train(kernel, X, dual, tol, **rule)
    assert trained.solution.status is Status.OPTIMAL and trained.certificate.holds
    best, _ = solve_qp(dual, K)
    assert values_at(dual, K, trained.solution.beta).objective == pytest.approx(best, rel=1e-5, abs=1e-7)
    return trained


def test_every_sample_in_both_classes(rng):
    X = rng.normal(size=(20, 3))
    X, y = np.vstack([X, X]), np.repeat([1.0, -1.0], 20)
    trained = optimal(Gaussian(0.5), X, Gaussian(0.5)(X), hinge(y, np.full(40, 3.0)))
    assert trained.certificate.dual == pytest.approx(120.0)  # F = 0: every sample pays C
    np.testing.assert_allclose(trained.solution.Kb, 0.0, atol=1e-9)
    optimal(Gaussian(0.5), X, Gaussian(0.5)(X), squared_hinge(y, np.full(40, 3.0)))
    optimal(Linear(), X, Linear()(X), hinge(y, np.full(40, 3.0)))


def test_one_point_many_times(rng):
    X = np.ones((30, 2)) * 0.7
    y = signs(rng.normal(size=30))
    for dual in (hinge(y, np.ones(30)), squared_hinge(y, np.ones(30)), epsilon_insensitive(y, np.ones(30), 0.1)):
        optimal(Gaussian(1.0), X, np.ones((30, 30)), dual)
    trained = train(Gaussian(1.0), X, one_class(np.ones(30), 0.4))
    assert trained.certificate.holds and trained.certificate.dual == pytest.approx(-0.5 * 12**2)


@pytest.mark.parametrize("machine", MACHINES)
def test_constant_features(machine, rng):
    X = np.hstack([rng.normal(size=(40, 2)), np.full((40, 3), 7.0)])
    dual = MACHINES[machine](noisy_scores(X[:, :2], rng), np.ones(40))
    optimal(Gaussian(0.3), X, Gaussian(0.3)(X[:, :2]), dual)


@pytest.mark.parametrize("machine", MACHINES)
def test_all_features_constant(machine, rng):
    target = rng.normal(size=24)
    optimal(Linear(), np.full((24, 2), 2.0), np.full((24, 24), 8.0), MACHINES[machine](target, np.ones(24)))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("n_groups", [0, 1])
def test_a_kernel_of_zeros(machine, n_groups, rng):
    dual = MACHINES[machine](rng.normal(size=20), np.ones(20))
    if n_groups == 0 and dual.n_groups == 1:
        dual = without_groups(dual)
    optimal(Linear(), np.zeros((20, 3)), np.zeros((20, 20)), dual)


@pytest.mark.parametrize("machine", MACHINES)
def test_some_rows_of_zeros(machine, rng):
    X = rng.normal(size=(30, 3))
    X[::3] = 0.0
    for kernel in ("linear", "rbf"):
        optimal(KERNELS[kernel][0], X, KERNELS[kernel][1](X, X), MACHINES[machine](noisy_scores(X, rng), np.ones(30)))


def test_one_sample_per_class():
    X, y = np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([-1.0, 1.0])
    for C, expected in ((10.0, 0.5), (0.1, 0.1)):  # alpha = 2 / |x - z|^2 = 1/2 unless the box is smaller
        trained = optimal(Linear(), X, X @ X.T, hinge(y, np.full(2, C)))
        np.testing.assert_allclose(trained.solution.beta, [-expected, expected])
    trained = optimal(Linear(), X, X @ X.T, hinge(y, np.full(2, np.inf)))
    np.testing.assert_allclose(trained.solution.Kb - trained.solution.thresholds, [-1.0, 1.0], atol=1e-6)
    optimal(Linear(), X, X @ X.T, squared_hinge(y, np.ones(2)))
    optimal(Gaussian(1.0), X, Gaussian(1.0)(X), nu_classification(y, 0.5, np.ones(2)))


def test_one_class_only_has_nothing_to_move():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.ones(3)
    trained = train(Linear(), X, hinge(y, np.ones(3)))
    assert trained.solution.status is Status.OPTIMAL and not trained.solution.beta.any()


def test_a_single_sample():
    X = np.array([[3.0]])
    assert not train(Linear(), X, hinge(np.ones(1), np.ones(1))).solution.beta.any()
    assert not train(Linear(), X, epsilon_insensitive(np.ones(1), np.ones(1), 0.1)).solution.beta.any()
    assert train(Linear(), X, one_class(np.ones(1), 0.5)).solution.beta.tolist() == [0.5]
    # Without a bias it can be fitted: min 9/2 b^2 - b, at 1/9.
    assert train(Linear(), X, without_groups(hinge(np.ones(1), np.ones(1)))).solution.beta[0] == pytest.approx(1 / 9)


def test_unscaled_features_that_hang_libsvm():
    X, y = np.array([[1.0, 99999.0], [2.0, 99999.0]]), np.array([-1.0, 1.0])
    trained = train(Polynomial(degree=2, gamma=0.5, coef0=0.0), X, hinge(y, np.ones(2)), tol=1e-3, limit=5.0)
    assert trained.solution.status in (Status.OPTIMAL, Status.STALLED)
    assert trained.solution.iterations < 10**6


@pytest.mark.parametrize(
    "scale",
    [1e-100, 1e-20, 1e-8, 1e8, 1e100, 1e140],
)
@pytest.mark.parametrize("machine", ["hinge", "squared_hinge", "epsilon_insensitive"])
def test_scale_of_the_features_with_C_that_matches(machine, scale, rng):
    """(s^2 K, C / s^2) is the same machine: only the multipliers change, and nothing may over- or underflow."""
    X = rng.normal(size=(30, 3))
    target = noisy_scores(X, rng)
    plain = train(Linear(), X, MACHINES[machine](target, np.full(30, 1.0)))
    scaled = train(Linear(), scale * X, MACHINES[machine](target, np.full(30, 1.0) / scale**2), limit=1.0)
    np.testing.assert_allclose(scaled.solution.Kb, plain.solution.Kb, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e-8])
def test_tiny_features_with_an_ordinary_C(scale, rng):
    X = scale * rng.normal(size=(30, 3))
    trained = train(Linear(), X, hinge(signs(rng.normal(size=30)), np.ones(30)))
    assert trained.certificate.holds  # nothing can be learned: every sample of the smaller class is at its bound


@pytest.mark.parametrize("scale", [1e5, 1e6, 1e10, 1e100])
def test_huge_features_with_an_ordinary_C(scale, rng):
    """Not separable, linear, C K_ii = 1e10 and up: users do pass such data."""
    X = rng.normal(size=(60, 3))
    y = signs(noisy_scores(X, rng))
    trained = train(Linear(), scale * X, hinge(y, np.ones(60)), tol=1e-3, limit=5.0)
    if scale <= 1e6:
        # Rounding of sums of terms of size C K_ii may exceed tol: then the answer is right, but not proven to be. At
        # 1e6 it is as large as tol itself, and decides how a solver ends: about half of all draws stall.
        ends = (Status.OPTIMAL, Status.UNDECIDED) if scale < 1e6 else (Status.OPTIMAL, Status.UNDECIDED, Status.STALLED)
        assert trained.solution.status in ends
        assert trained.certificate.computed <= (1e-3 if trained.solution.status is not Status.STALLED else 1e-2)
        # In the limit of large C the value is C times the least total slack, whatever the scale.
        least = -solve_qp(hinge(y, np.full(60, 1e3)), X @ X.T)[0] / 1e3
        assert trained.certificate.objective == pytest.approx(least, rel=1e-3)
        assert trained.certificate.dual <= trained.certificate.objective <= trained.certificate.primal
    else:  # C K_ii exceeds the digits of a float: nobody can tell the answer, and the status must say so
        assert trained.solution.status is Status.STALLED and not trained.certificate.holds


@pytest.mark.parametrize("scale", [1e8, 1e10])
def test_rounding_is_not_certified_as_a_small_gap(scale, rng):
    X = rng.normal(size=(60, 3))
    y = signs(noisy_scores(X, rng))
    trained = train(Linear(), scale * X, hinge(y, np.ones(60)), tol=1e-3, limit=5.0, criterion="gap")
    assert not trained.certificate.holds or abs(trained.certificate.gap) <= 2e-3


@pytest.mark.parametrize("C", [1e-12, 1e-6])
@pytest.mark.parametrize("machine", [*WITHOUT_BIAS, "nu_regression"])
def test_tiny_C(machine, C, rng):
    X, dual = problem_of(machine, 30, rng, C)
    trained = train(Gaussian(0.5), X, dual, tol=1e-6)
    assert trained.solution.status is Status.OPTIMAL and trained.certificate.holds
    here = values_at(dual, Gaussian(0.5)(X), trained.solution.beta)
    assert here.violation <= 1e-6 * (1 + 1e-9)
    assert -1e-9 <= trained.certificate.gap <= 1e-3


@pytest.mark.parametrize("C", [1e6, 1e12])
@pytest.mark.parametrize("machine", ["hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"])
def test_huge_C_with_a_kernel_that_separates(machine, C, rng):
    X, dual = problem_of(machine, 40, rng, C)
    trained = train(Gaussian(1.0), X, dual, tol=1e-6)
    assert trained.solution.status in (Status.OPTIMAL, Status.STALLED)
    assert values_at(dual, Gaussian(1.0)(X), trained.solution.beta).violation <= 1e-5


@pytest.mark.parametrize("machine", ["hinge", "squared_hinge", "epsilon_insensitive"])
def test_huge_C_with_a_kernel_that_does_not_separate(machine, rng):
    X, dual = problem_of(machine, 40, rng, 1e12)
    trained = train(Linear(), X, dual, tol=1e-3, limit=5.0)
    assert trained.solution.status in (Status.OPTIMAL, Status.STALLED, Status.UNDECIDED)
    assert trained.certificate.holds == (trained.solution.status is Status.OPTIMAL)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
def test_a_tolerance_below_rounding_ends(machine, kernel, rng):
    X, dual = problem_of(machine, 40, rng)
    trained = train(KERNELS[kernel][0], X, dual, tol=1e-14)
    assert trained.solution.status in (Status.OPTIMAL, Status.STALLED, Status.UNDECIDED)
    assert values_at(dual, KERNELS[kernel][1](X, X), trained.solution.beta).violation <= 1e-10


@pytest.mark.parametrize("tol", [1e-16, 1e-300])
def test_an_impossible_tolerance_ends(tol, rng):
    X = rng.normal(size=(40, 3))
    trained = train(Gaussian(0.5), X, hinge(signs(noisy_scores(X, rng)), np.full(40, 10.0)), tol=tol)
    assert trained.solution.status in (Status.OPTIMAL, Status.STALLED)


def test_weights_of_zero_everywhere(rng):
    X, y = rng.normal(size=(10, 2)), signs(rng.normal(size=10))
    none = np.zeros(10)
    for dual in (hinge(y, none), squared_hinge(y, none), epsilon_insensitive(y, none, 0.1), one_class(none, 0.5)):
        trained = train(Gaussian(1.0), X, dual)
        assert trained.solution.status is Status.OPTIMAL and not trained.solution.beta.any()
    trained = train(Gaussian(1.0), X, nu_regression(y, none, 0.5))
    assert trained.solution.status is Status.OPTIMAL and not trained.solution.beta.any()
    trained = train(Gaussian(1.0), X, squared_epsilon_insensitive(y, none, 0.1))
    assert trained.solution.status is Status.OPTIMAL and not trained.solution.beta.any()


def test_weights_of_very_different_size(rng):
    X = rng.normal(size=(40, 3))
    C = 10.0 ** rng.uniform(-8, 4, 40)
    optimal(Gaussian(0.5), X, Gaussian(0.5)(X), hinge(signs(noisy_scores(X, rng)), C), tol=1e-8)


def test_regression_on_a_constant_target_has_no_support_vectors(rng):
    X = rng.normal(size=(30, 2))
    trained = optimal(Gaussian(1.0), X, Gaussian(1.0)(X), epsilon_insensitive(np.full(30, 5.0), np.ones(30), 0.1))
    assert not trained.solution.beta.any()
    assert -trained.solution.thresholds[0] == pytest.approx(5.0, abs=0.1)


def test_regression_without_a_tube(rng):
    X = rng.normal(size=(30, 2))
    y = rng.normal(size=30)
    for build in (epsilon_insensitive, squared_epsilon_insensitive):
        optimal(Gaussian(1.0), X, Gaussian(1.0)(X), build(y, np.ones(30), 0.0))


@pytest.mark.parametrize("scale", [1e6, 1e12, 1e31])
def test_regression_on_huge_targets(scale, rng):
    X = rng.normal(size=(30, 2))
    y = scale * rng.normal(size=30)
    dual = epsilon_insensitive(y, np.ones(30), 0.1)
    trained = train(Gaussian(1.0), X, dual, tol=1e-9 * scale)
    assert trained.solution.status is Status.OPTIMAL
    assert values_at(dual, Gaussian(1.0)(X), trained.solution.beta).violation <= 1e-8 * scale


@pytest.mark.parametrize("nu", [1e-9, 1.0])
def test_nu_at_its_ends(nu, rng):
    X = rng.normal(size=(20, 2))
    y = np.repeat([1.0, -1.0], 10)
    K = Gaussian(1.0)(X)
    optimal(Gaussian(1.0), X, K, nu_classification(y, nu, np.ones(20)))
    optimal(Gaussian(1.0), X, K, one_class(np.ones(20), nu))
    optimal(Gaussian(1.0), X, K, nu_regression(rng.normal(size=20), np.ones(20), nu))


def test_a_point_far_away_from_all_others(rng):
    X = rng.normal(size=(40, 3))
    X[7] = 1e6
    y = signs(noisy_scores(X, rng))
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    optimal(Gaussian(0.5), X, K, hinge(y, np.ones(40)))


def test_matrix_given_with_a_huge_and_a_tiny_block(rng):
    """Diagonals from 1e-8 to 1e8: the curvature of small pairs must not drown in the floor set by large ones."""
    size = np.concatenate([np.full(15, 1e-4), np.full(15, 1e4)])
    A = rng.normal(size=(30, 40)) * size[:, None]
    K = A @ A.T
    y = signs(rng.normal(size=30))
    trained = train(GivenMatrix(K), None, hinge(y, np.full(30, 1e6)), tol=1e-3, limit=5.0)
    assert trained.solution.status in (Status.OPTIMAL, Status.STALLED)
