"""Both methods, both Newton systems and all starts reach the same answer; their parts keep their invariants."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.linear.machines import LOSSES, problem, run_to
from widemargin.certificate import certify_function
from widemargin.certificate.linear import prove_linear
from widemargin.certificate.linear_judge import Judge
from widemargin.certificate.linear_rounding import function_error
from widemargin.gram.scores import Scores
from widemargin.linalg import design as design_module
from widemargin.linalg.design import design_of
from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual
from widemargin.problems.linear import linear_problem
from widemargin.solvers.linear.crammer_singer import balance
from widemargin.solvers.linear.descent import arrange
from widemargin.solvers.linear.dual_descent import solve_coordinates
from widemargin.solvers.linear.newton_system import FeatureGram, SampleGram
from widemargin.solvers.linear.proximal_newton import newton_cost, solve_newton
from widemargin.solvers.linear.responses import bias_change, respond, smoothed_losses
from widemargin.solvers.linear.solve import solve_linear
from widemargin.solvers.linear.tuning import DEFAULT

GAP = 1e-6
BY_SAMPLES = replace(DEFAULT, few_features=0, most_features=0)


def certify_linear(problem, answer, tol, seconds):
    """Certificate of the pair of weights and multipliers of an answer."""
    return Judge(partial(prove_linear, problem, tol), tol).certificate(answer, seconds)


def certified(problem, answer):
    """The primal value, after the certificate was found to agree with what the solver said."""
    certificate = certify_linear(problem, replace(answer, margins=None, total=None), GAP, 0.0)
    assert answer.status is Status.OPTIMAL
    assert certificate.gap <= GAP * 1.01
    assert certificate.infeasibility <= 1e-12
    return certificate.primal


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shape", [(120, 8), (60, 150)], ids=["tall", "wide"])
@pytest.mark.parametrize("C", [0.01, 10.0])
def test_methods_agree(loss, shape, C):
    task = problem(loss, *shape, C=C, sparse=True)
    run = run_to(GAP, max_iter=100_000)
    expected = certified(task, solve_newton(task, run))
    assert certified(task, solve_coordinates(task, run)) == pytest.approx(expected, rel=2 * GAP)
    assert certified(task, solve_linear(task, run)) == pytest.approx(expected, rel=2 * GAP)
    for tuning in (BY_SAMPLES, replace(BY_SAMPLES, most_free=0)):
        assert certified(task, solve_newton(task, run, tuning=tuning)) == pytest.approx(expected, rel=2 * GAP)


def test_the_unused_half_of_the_system_of_samples_holds_no_chance_values(monkeypatch):
    """It is added to with the other half: a signalling NaN left in fresh memory made that a warning."""
    gram, samples = SampleGram(problem("hinge", 40, 8, C=1.0), DEFAULT), np.arange(20)
    gram._among(samples)
    monkeypatch.setattr(np, "empty", lambda shape, *_, **__: np.full(shape, np.nan))
    assert np.isfinite(gram._among(samples)).all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_unpenalised_bias_by_both_newton_systems(loss, sparse):
    task = problem(loss, 80, 12, C=3.0, free=True, sparse=sparse)
    run = run_to(GAP)
    expected = certified(task, solve_newton(task, run))
    forgetful = replace(BY_SAMPLES, most_kept=20)  # inner products are thrown away and computed again
    for tuning in (forgetful, replace(forgetful, most_free=0)):
        assert certified(task, solve_newton(task, run, tuning=tuning)) == pytest.approx(expected, rel=2 * GAP)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("free", [False, True])
def test_every_start_of_the_rules_is_taken_and_agrees(loss, free):
    task = problem(loss, 600, 5, C=1.0, free=free)
    expected = certified(task, solve_newton(task, run_to(GAP)))
    tuning = DEFAULT
    for start in ({"samples_per_feature": (1, 1)}, {"few_features": 0}, {"most_features": 0}):
        tuning = replace(tuning, **start)
        answer = solve_linear(task, run_to(GAP), tuning=tuning)
        assert certified(task, answer) == pytest.approx(expected, rel=2 * GAP), start


def test_coordinate_descent_gives_up_in_favour_of_newton():
    task = problem("hinge", 300, 40, C=1000.0)
    alone = solve_coordinates(task, run_to(1e-8), rival=partial(newton_cost, task))
    assert alone.status is Status.OWN_RULE
    assert solve_linear(task, run_to(1e-8), tuning=replace(DEFAULT, most_features=0)).status is Status.OPTIMAL


def test_data_beyond_the_cache_are_visited_in_blocks_with_the_same_answer():
    task = problem("squared_hinge", 3000, 20, sparse=True)
    expected = certified(task, solve_coordinates(task, run_to(1e-6)))
    answer = solve_coordinates(task, run_to(1e-6), tuning=replace(DEFAULT, cache=0))
    certificate = certify_linear(task, answer, 1e-6, 0.0)
    assert answer.status is Status.OPTIMAL and certificate.primal == pytest.approx(expected, rel=2e-6)
    assert certificate.drift <= 1e-9  # w = X'b


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", [solve_newton, solve_coordinates])
def test_products_handed_over_to_the_certificate_are_those_of_the_answer(solver, loss):
    task = problem(loss, 400, 12, C=0.1, sparse=True)
    answer = solver(task, run_to(1e-3))
    handed_over = certify_linear(task, answer, 1e-3, 0.0)
    afresh = certify_linear(task, replace(answer, margins=None, total=None), 1e-3, 0.0)
    assert answer.status is Status.OPTIMAL
    np.testing.assert_allclose(answer.margins, task.rows.times(answer.weights), rtol=1e-9, atol=1e-9)
    for name in ("primal", "dual", "violation"):
        assert getattr(handed_over, name) == pytest.approx(getattr(afresh, name), rel=1e-9, abs=1e-9), name


def test_sorted_classes_do_not_slow_down_visits_in_blocks():
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.normal(size=(4000, 10)) + np.repeat([[0.0], [0.7]], 2000, axis=0))
    sign = np.repeat([-1.0, 1.0], 2000)
    dual = SignedDual(linear_term=-sign, lower=np.minimum(sign, 0.0), upper=np.maximum(sign, 0.0), n_groups=0)
    task = linear_problem(design_of(X, 1.0), dual)
    random = solve_coordinates(task, run_to(1e-3))
    blocks = solve_coordinates(task, run_to(1e-3), tuning=replace(DEFAULT, cache=0))
    assert blocks.status is Status.OPTIMAL and blocks.iterations <= 1.5 * random.iterations


# ----- parts
@given(seed=st.integers(0, 1000), active=st.integers(1, 60), block=st.sampled_from([1, 4, 16]))
def test_a_pass_visits_every_active_sample_once(seed, active, block):
    order = np.random.default_rng(seed).permutation(60)
    expected = sorted(order[:active])
    visits = arrange(order[:active], block, np.array([seed + 88172645463325252], np.uint64))
    assert sorted(visits) == expected
    assert sorted(order[:active]) == expected


@given(seed=st.integers(0, 10_000), loss=st.sampled_from(LOSSES), s=st.sampled_from([1e-3, 1.0, 1e4]))
def test_bias_change_brings_the_sum_to_zero(seed, loss, s):
    task = problem(loss, 30, 3, free=True, seed=seed)
    s = 1.0 if task.squared else s
    u = 10.0 * np.random.default_rng(seed).normal(size=30)
    smoothed = smoothed_losses(task.dual, np.zeros(30), s * task.rate)
    beta = respond(smoothed, u + bias_change(smoothed, u, 0.0), task.squared)[0]
    assert abs(beta.sum()) <= 1e-9 * max(np.abs(beta).sum(), s * task.rate.max())
    assert (beta >= task.dual.lower).all() and (beta <= task.dual.upper).all()


@given(seed=st.integers(0, 10_000), K=st.integers(2, 8), cost=st.floats(1e-3, 1e3), A=st.floats(1e-3, 1e3))
def test_balanced_multipliers_of_a_sample_sum_to_zero(seed, K, cost, A):
    level = 3.0 * np.random.default_rng(seed).normal(size=K)
    cap = np.zeros(K)
    cap[seed % K] = cost
    t = balance(level, A, cap)
    a = np.minimum(cap, (t - level) / A)
    assert abs(a.sum()) <= 1e-9 * max(1.0, np.abs(a).sum())


def test_products_of_dense_and_sparse_rows_are_those_of_numpy(rng):
    X = rng.normal(size=(30, 7)) * (rng.random((30, 7)) < 0.5)
    Z = np.hstack([X, np.full((30, 1), 2.0)])
    w, t, r = rng.normal(size=8), rng.normal(size=12), rng.random(12)
    chosen = rng.permutation(30)[:12]
    for rows in (design_of(X, 2.0), design_of(sp.csr_array(X), 2.0)):
        np.testing.assert_allclose(rows.times(w), Z @ w, rtol=1e-12)
        total = np.ones(8)
        rows.add_transposed(chosen, t, total)
        np.testing.assert_allclose(total, 1.0 + Z[chosen].T @ t, rtol=1e-12)
        gram = np.zeros((8, 8))
        rows.add_gram(chosen, r, gram)
        np.testing.assert_allclose(np.tril(gram), np.tril(Z[chosen].T @ (r[:, None] * Z[chosen])), rtol=1e-12)
        np.testing.assert_allclose(rows.inner(chosen, chosen[:5]), X[chosen] @ X[chosen[:5]].T, atol=1e-13)
        np.testing.assert_allclose(rows.squared_norms, (X**2).sum(axis=1))
        np.testing.assert_allclose(rows.squared_columns(np.ones(30)), (X**2).sum(axis=0))
        np.testing.assert_allclose(rows.take(chosen).times(w), Z[chosen] @ w, rtol=1e-12)
        np.testing.assert_allclose(rows.take(slice(None, None, 4)).times(w), Z[::4] @ w, rtol=1e-12)


@pytest.mark.parametrize("scattered", [0, 10**9], ids=["by feature", "dense"])
def test_inner_products_of_sparse_rows_agree_both_ways(scattered, monkeypatch):
    monkeypatch.setattr(design_module, "SCATTERED", scattered)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 12)) * (rng.random((30, 12)) < 0.4)
    X[3], X[:, 5] = 0.0, 0.0  # an empty row, an empty column
    some, others = np.array([3, 7, 1]), np.array([0, 29, 3, 7, 12])
    np.testing.assert_allclose(design_of(sp.csr_array(X), 1.0).inner(some, others), X[some] @ X[others].T, atol=1e-14)


def test_multipliers_of_a_small_gap_pass_the_certificate_of_the_kernel_problem():
    task = problem("hinge", 200, 5, free=True)
    for gap in (1e-1, 1e-2, 1e-4, 1e-8):
        beta = solve_newton(task, run_to(gap)).beta
        total = np.zeros(task.rows.d + 1)
        task.rows.add_transposed(np.arange(200), beta, total)
        total[-1] = 0.0
        support = np.flatnonzero(beta)
        scores = Scores(task.rows.times(total), function_error(task.rows, support, beta[support], total))
        violation = certify_function(task.dual, beta, scores, 1e-3).violation
        assert violation > 1e-3 or gap < 1e-1
    assert violation <= 1e-3


@pytest.mark.needs_compiler
@pytest.mark.parametrize("free", [False, True])
def test_a_system_of_rounding_errors_has_a_direction(free):
    """A diagonal that cancelled to zero beside what rounding left elsewhere: no jitter in proportion to it helps."""
    system = FeatureGram(problem("hinge", 4, 1, C=1.0))
    system.gram = np.array([[0.0, 1e-3], [1e-3, 0.0]])
    system.inside[:] = free
    direction = system.direction(np.array([1.0, 1.0]), np.full(4, free), 1e9)
    assert np.isfinite(direction).all()


def test_arrays_of_a_subsample_are_contiguous():
    """Another memory layout would compile the Newton solver a second time."""
    dual = SignedDual(np.arange(40.0), -np.ones(40), np.ones(40), diagonal=np.ones(40), n_groups=0)
    some = linear_problem(design_of(np.ones((40, 2)), 1.0), dual).every(4)
    arrays = (some.dual.linear_term, some.dual.lower, some.dual.upper, some.dual.epsilon, some.rate)
    assert all(array.flags.c_contiguous and len(array) == 10 for array in arrays)
