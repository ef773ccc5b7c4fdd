"""The Newton step: never uphill, never outside, sums kept, and exact where nothing is in its way."""

import numpy as np
import pytest

from widemargin.problems.dual import Terms
from widemargin.problems.optimality import free_variables
from widemargin.solvers.steps.block import block_of
from widemargin.solvers.steps.newton import newton_step


def problem(rng, m=30, groups=1, kinked=False, dtype=np.float64, box=None):
    """A random block with most variables free, its kernel matrix with D added, and the objective as a function of beta.

    box : makes lower and upper bounds from beta
    """
    A = rng.normal(size=(m, m))
    K = A @ A.T / m + 0.1 * np.eye(m)
    c = rng.normal(size=m)
    diagonal = rng.uniform(0, 0.1, m)
    epsilon = rng.uniform(0.05, 0.2, m) * kinked
    lower, upper = -rng.uniform(0.5, 2, m), rng.uniform(0.5, 2, m)
    beta = rng.uniform(0.6 * lower, 0.6 * upper)
    beta[::7] = upper[::7]
    lower, upper = (lower, upper) if box is None else box(beta)
    starts = np.linspace(0, m, groups + 1).astype(np.int64)
    M = K + np.diag(diagonal)

    def value(b):
        return 0.5 * b @ (M @ b) + c @ b + epsilon @ np.abs(b)

    terms = Terms(c, lower, upper, diagonal, epsilon, beta, starts, groups)
    return block_of(K, M @ beta + c, np.diag(K), beta, terms, dtype), M, value


def wide(beta):
    return np.full(len(beta), -1e3), np.full(len(beta), 1e3)


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("kinked", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_never_uphill_and_never_outside(groups, kinked, dtype, rng):
    taken = 0
    for _ in range(30):
        block, M, value = problem(rng, groups=groups, kinked=kinked, dtype=dtype)
        beta, terms, starts = block.beta, block.terms, block.terms.starts
        before, f = beta.copy(), block.f.copy()
        sums = [beta[a:b].sum() for a, b in zip(starts[:-1], starts[1:])]
        rounding = 1e-12 if dtype == np.float64 else 1e-5
        if not newton_step(block):
            np.testing.assert_array_equal(beta, before)
            np.testing.assert_array_equal(block.f, f)
            continue
        taken += 1
        assert value(beta) < value(before)
        assert np.all(beta >= terms.lower) and np.all(beta <= terms.upper)
        np.testing.assert_array_equal(beta[::7], before[::7])  # what sits on a bound is not the step's business
        if kinked:
            assert np.all(beta * before >= 0)  # no variable crosses zero within one step
        for total, (a, b) in zip(sums, zip(starts[:-1], starts[1:])):
            assert beta[a:b].sum() == pytest.approx(total, abs=1e-9)
        np.testing.assert_allclose(block.f, f + M @ (beta - before), atol=100 * rounding)
    assert taken >= (3 if kinked else 20)  # near kinks it is declined more often, which is its right


def test_exact_where_no_bound_is_near(rng):
    """With bounds far away one step reaches the minimiser on the plane of the sums."""
    block, _, _ = problem(rng, m=20, box=wide)
    total = block.beta.sum()
    assert newton_step(block)
    assert np.ptp(block.f) <= 1e-6  # on the plane sum b = const all slopes are equal at the minimiser
    assert block.beta.sum() == pytest.approx(total, abs=1e-12)


def small_block(K, f, beta, upper):
    n = len(beta)
    terms = Terms(np.zeros(n), -np.ones(n), upper, np.zeros(n), np.zeros(n), beta, np.array([0, n]), 1)
    return block_of(K, f, np.diag(K), beta, terms, np.float64)


def test_nothing_free_nothing_done():
    block = small_block(np.eye(3), np.ones(3), np.ones(3), np.ones(3))
    assert not newton_step(block)
    np.testing.assert_array_equal(block.beta, np.ones(3))


def test_a_block_that_is_not_positive_definite_is_declined(rng):
    assert not newton_step(small_block(-np.eye(4), rng.normal(size=4), np.full(4, 0.1), np.ones(4)))


def test_what_ends_on_a_bound_is_there_to_the_last_bit(rng):
    """A variable that is 1e-7 short of its bound counts as free, and its slope as a violation."""
    reached = 0
    for _ in range(20):
        some = rng.random(60) < 0.1  # have hardly any room
        block, _, _ = problem(
            rng, m=60, dtype=np.float32, box=lambda beta, some=some: (wide(beta)[0], np.where(some, beta + 0.02, 1e3))
        )
        if newton_step(block):
            beta, terms = block.beta, block.terms
            reached += np.count_nonzero(beta == terms.upper)
            free = free_variables(terms, beta)
            assert np.minimum(beta - terms.lower, terms.upper - beta)[free].min() >= 1e-5
    assert reached > 5


def test_the_number_of_threads_changes_no_bit(rng):
    block, _, _ = problem(rng, m=700, dtype=np.float32, box=wide)
    answers = []
    for n_threads in (2, 3):
        own = block._replace(f=block.f.copy(), beta=block.beta.copy())
        assert newton_step(own, n_threads)
        answers.append(own)
    np.testing.assert_array_equal(answers[0].beta, answers[1].beta)
    np.testing.assert_array_equal(answers[0].f, answers[1].f)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_newton_steps_and_interior_points_of_few_samples_run_on_one_thread(monkeypatch):
    """On two threads of a busy machine, a factor of 200 rows takes 40 ms in place of 0.3 ms."""
    from threadpoolctl import threadpool_info

    from widemargin import SVR
    from widemargin.solvers.on_demand import inner

    if max((library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"), default=1) < 2:
        pytest.skip("BLAS has one thread here in any case")
    threads = {"newton_step": set(), "interior_point": set()}

    def noting(name, step):
        def noted(*arguments):
            threads[name] |= {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
            return step(*arguments)

        return noted

    for name in threads:
        monkeypatch.setattr(inner, name, noting(name, getattr(inner, name)))
    X = np.random.default_rng(411).normal(size=(236, 50))
    SVR(kernel="linear", C=3e10, n_jobs=1).fit(X, X[:, 0] + np.sin(9 * X[:, 1]))
    assert threads == {"newton_step": {1}, "interior_point": {1}}
