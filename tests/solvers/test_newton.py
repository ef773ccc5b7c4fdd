"""The Newton step: never uphill, never outside, sums kept, and exact where nothing is in its way."""

import numpy as np
import pytest

from widemargin.solvers.steps.newton import is_free, newton_step


def problem(rng, m=30, groups=1, kinked=False):
    """A random block with most variables free: (arguments of the step, the objective as a function of beta)."""
    A = rng.normal(size=(m, m))
    K = A @ A.T / m + 0.1 * np.eye(m)
    c = rng.normal(size=m)
    diagonal = rng.uniform(0, 0.1, m)
    epsilon = rng.uniform(0.05, 0.2, m) * kinked
    lower, upper = -rng.uniform(0.5, 2, m), rng.uniform(0.5, 2, m)
    beta = rng.uniform(0.6 * lower, 0.6 * upper)
    beta[::7] = upper[::7]
    starts = np.linspace(0, m, groups + 1).astype(np.int64)
    f = K @ beta + diagonal * beta + c

    def value(b):
        return 0.5 * b @ (K @ b + diagonal * b) + c @ b + epsilon @ np.abs(b)

    return [K, f, beta, lower, upper, epsilon, diagonal, starts], value


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("kinked", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_never_uphill_and_never_outside(groups, kinked, dtype, rng):
    taken = 0
    for _ in range(30):
        (K, f, beta, lower, upper, epsilon, diagonal, starts), value = problem(rng, groups=groups, kinked=kinked)
        before, sums = beta.copy(), [beta[a:b].sum() for a, b in zip(starts[:-1], starts[1:])]
        gradient = f.astype(dtype)
        moved = newton_step(K.astype(dtype), gradient, beta, lower, upper, epsilon, diagonal, starts)
        rounding = 1e-12 if dtype == np.float64 else 1e-5
        if not moved:
            np.testing.assert_array_equal(beta, before)
            np.testing.assert_array_equal(gradient, f.astype(dtype))
            continue
        taken += 1
        assert value(beta) < value(before)
        assert np.all(beta >= lower) and np.all(beta <= upper)
        np.testing.assert_array_equal(beta[::7], before[::7])  # what sits on a bound is not the step's business
        if kinked:
            assert np.all(beta * before >= 0)  # nobody crosses the kink within one step
        for total, (a, b) in zip(sums, zip(starts[:-1], starts[1:])):
            assert beta[a:b].sum() == pytest.approx(total, abs=1e-9)
        np.testing.assert_allclose(gradient, f + (K + np.diag(diagonal)) @ (beta - before), atol=100 * rounding)
    assert taken >= (3 if kinked else 20)  # near kinks it is declined more often, which is its right


def test_exact_where_no_bound_is_near(rng):
    """With bounds far away one step reaches the minimiser on the plane of the sums."""
    (K, f, beta, _, _, epsilon, diagonal, starts), _ = problem(rng, m=20)
    wide = np.full(20, 1e3)
    total = beta.sum()
    assert newton_step(K, f, beta, -wide, wide, epsilon, diagonal, starts)
    assert np.ptp(f) <= 1e-6  # on the plane sum b = const all slopes are equal at the minimiser
    assert beta.sum() == pytest.approx(total, abs=1e-12)


def test_nothing_free_nothing_done():
    one = np.ones(3)
    beta = one.copy()
    assert not newton_step(np.eye(3), one.copy(), beta, 0 * one, one, 0 * one, 0 * one, np.array([0, 3]))
    np.testing.assert_array_equal(beta, one)


def test_a_block_that_is_not_positive_definite_is_declined(rng):
    K = -np.eye(4)
    beta = np.zeros(4) + 0.1
    f = rng.normal(size=4)
    assert not newton_step(K, f, beta, -np.ones(4), np.ones(4), np.zeros(4), np.zeros(4), np.array([0, 4]))


def test_who_is_free():
    beta, epsilon = np.array([0.0, 0.0, 0.5, 1.0, -1.0]), np.array([0.0, 0.1, 0.1, 0.0, 0.0])
    assert is_free(beta, -np.ones(5), np.ones(5), epsilon).tolist() == [True, False, True, False, False]


def test_what_ends_on_a_bound_is_there_to_the_last_bit(rng):
    """A variable that is 1e-7 short of its bound counts as free, and its slope as a violation."""
    reached = 0
    for _ in range(20):
        (K, f, beta, _, _, epsilon, diagonal, starts), _ = problem(rng, m=60)
        lower, upper = np.full(60, -1e3), np.where(rng.random(60) < 0.1, beta + 0.02, 1e3)  # some have hardly any room
        if newton_step(K.astype(np.float32), f.astype(np.float32), beta, lower, upper, epsilon, diagonal, starts):
            reached += np.count_nonzero(beta == upper)
            assert not np.any(is_free(beta, lower, upper, epsilon) & (np.minimum(beta - lower, upper - beta) < 1e-5))
    assert reached > 5


def test_the_number_of_threads_changes_no_bit(rng):
    (K, f, beta, _, _, epsilon, diagonal, starts), _ = problem(rng, m=700)
    wide = np.full(700, 1e3)
    answers = []
    for n_threads in (2, 3):
        gradient, point = f.astype(np.float32), beta.copy()
        assert newton_step(K.astype(np.float32), gradient, point, -wide, wide, epsilon, diagonal, starts, n_threads)
        answers.append((point, gradient))
    np.testing.assert_array_equal(answers[0][0], answers[1][0])
    np.testing.assert_array_equal(answers[0][1], answers[1][1])
