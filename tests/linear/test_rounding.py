"""Bounds on rounding errors against extended precision, and certificates that must refuse what is not proven."""

import warnings
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from tests.linear.machines import LOSSES, problem, run_to
from widemargin import LinearSVC, LinearSVR, Status
from widemargin.certificate.linear import prove, prove_linear
from widemargin.certificate.linear_joint import prove_joint
from widemargin.certificate.linear_judge import Judge
from widemargin.certificate.linear_l1 import prove_l1
from widemargin.certificate.linear_rounding import function_error, times_error, transposed_error, transposed_sizes
from widemargin.linalg.design import design_of
from widemargin.problems.dual import SignedDual
from widemargin.problems.linear import LinearAnswer, linear_problem
from widemargin.solvers.linear.proximal_newton import solve_newton

LONG = np.longdouble
EXTENDED = np.finfo(LONG).eps < 1e-18
needs_extended = pytest.mark.skipif(not EXTENDED, reason="needs a long double of more than 53 bits")


@needs_extended
@pytest.mark.parametrize("fine", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_errors_of_products_are_within_their_bounds(seed, sparse, fine):
    """Rows of mixed scales, one repeated value among them, whose products cancel almost wholly."""
    rng = np.random.default_rng(seed)
    n, d = 60, (3, 40)[seed % 2]
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-8, 8, d)
    X[::5] = 0.1
    X *= rng.random((n, d)) < 0.8
    w = rng.normal(size=d + 1) * 10.0 ** rng.uniform(-8, 8, d + 1)
    b = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 3)
    rows, long = design_of(sp.csr_array(X) if sparse else X, 3.7), X.astype(LONG)
    support = np.flatnonzero(rng.random(n) < 0.7)

    error = np.abs(rows.times(w) - (long @ w[:-1].astype(LONG) + LONG(3.7 * w[-1])))
    bound = times_error(rows, w, fine)
    assert (error <= bound).all() and error.max() > 0
    total = np.zeros(d + 1)
    rows.add_transposed(support, b[support], total)
    exact = long[support].T @ b[support].astype(LONG)
    features, bias = transposed_error(rows, support, b[support])
    assert np.sqrt(((total[:-1] - exact) ** 2).sum()) <= features
    assert abs(total[-1] - LONG(3.7) * b[support].astype(LONG).sum()) <= bias
    sizes = transposed_sizes(rows, support, b[support])
    assert (sizes[:-1] >= np.abs(long[support]).T @ np.abs(b[support]).astype(LONG)).all()
    total[-1] = 0.0
    error = np.abs(rows.times(total) - long @ exact)
    assert (error <= function_error(rows, support, b[support], total)).all()


def test_bounds_know_that_sums_of_zeros_are_exact():
    rows = design_of(np.full((4, 3), 1e200), 1.0)
    assert (times_error(rows, np.array([0.0, 0.0, 0.0, 0.1])) == 0.0).all()
    assert (function_error(rows, np.empty(0, np.int64), np.empty(0), np.zeros(4)) == 0.0).all()


def test_overflow_proves_nothing():
    rows = design_of(np.full((4, 3), 1e200), 1.0)
    task = replace(problem("hinge", 4, 3), rows=rows)
    assert prove(task, LinearAnswer(np.full(4, 1e150), np.zeros(4))).gap == np.inf
    assert prove(task, LinearAnswer(np.full(4, np.nan), np.zeros(4))).gap == np.inf


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("free", [False, True])
def test_wrong_answers_are_refused(loss, free):
    """Weights or multipliers that were moved have a larger gap; multipliers outside their box are cut back to it."""
    task = problem(loss, 80, 5, free=free)
    answer = solve_newton(task, run_to(1e-10))
    right = prove(task, LinearAnswer(answer.weights, answer.beta))
    assert right.gap <= 1.1e-10
    for w, beta in (
        (answer.weights * 1.01, answer.beta),
        (answer.weights, answer.beta * 0.99),
        (answer.weights + np.eye(6)[5] * 0.1, answer.beta),
    ):
        moved = prove(task, LinearAnswer(w, beta))
        assert moved.gap > 1e-6
        assert moved.dual <= right.primal and moved.primal >= right.dual
    outside = prove(task, LinearAnswer(answer.weights, answer.beta * 3.0))
    assert outside.gap > 1e-3 and outside.dual <= right.primal


def test_a_sum_that_is_not_zero_costs_what_shrinking_costs():
    task = problem("hinge", 80, 5, free=True)
    answer = solve_newton(task, run_to(1e-10))
    beta = answer.beta.copy()
    positive = np.flatnonzero(beta > 0)
    beta[positive[0]] *= 1.0 - 1e-6
    off = prove(task, LinearAnswer(answer.weights, beta))
    assert 1e-10 < off.gap < 1e-5
    assert off.dual <= prove(task, LinearAnswer(answer.weights, answer.beta)).primal


def judge(task, tol):
    return Judge(partial(prove_linear, task, tol), tol)


def test_the_fine_proof_is_the_closer_one():
    task = problem("hinge", 80, 5, C=1e6)
    task = replace(task, rows=design_of(task.rows.X * np.array([1e-5, 1e-2, 1.0, 1e2, 1e5]), 1.0))
    answer = solve_newton(task, run_to(1e-6))
    coarse, fine = (prove(task, LinearAnswer(answer.weights, answer.beta), fine=f) for f in (False, True))
    assert fine.computed <= fine.gap < coarse.gap
    assert fine.primal <= coarse.primal and fine.dual >= coarse.dual
    assert judge(task, 0.5 * (fine.gap + coarse.gap)).certificate(answer, 0.0).holds


def test_more_steps_are_not_taken_where_digits_are_missing():
    task = problem("hinge", 300, 30, C=10.0)
    answer = solve_newton(task, run_to(1e-14))
    point = LinearAnswer(answer.weights, answer.beta, task.rows.times(answer.weights))
    proof = prove(task, LinearAnswer(answer.weights, answer.beta), fine=True)
    assert 20.0 * proof.computed < proof.gap < 1e-12
    assert judge(task, 0.5 * proof.gap)(point) is Status.UNDECIDED
    assert judge(task, 1.01 * proof.gap)(point) is Status.OPTIMAL
    assert judge(task, 0.5 * proof.computed)(point) is None  # more steps may help


@pytest.mark.parametrize("parameters", [{}, {"penalize_intercept": False}, {"loss": "squared_hinge"}])
def test_what_double_precision_cannot_decide_is_said(parameters):
    """A tolerance below the rounding of the margins: met as computed, and never claimed."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 40)), rng.integers(0, 2, 2000)
    with pytest.warns(ConvergenceWarning, match="Rounding|double precision"):
        model = LinearSVC(**{"loss": "hinge", "tol": 1e-15, "C": 1e3} | parameters).fit(X, y)
    assert model.status_ in (Status.UNDECIDED, Status.STALLED)
    assert not model.certificate_.holds and model.fit_status_ == 1
    assert 1e-15 < model.certificate_.gap < 1e-8
    assert model.n_iter_ < 1000


@pytest.mark.parametrize("scale", [1e4, 1e6])
@pytest.mark.parametrize("C", [1e-6, 1.0])
def test_small_objectives_are_no_excuse(scale, C):
    """Separable classes and large features: the objective is far below one, and the gap is still relative to it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5))
    y = (X[:, 0] > 0).astype(int)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        certificate = LinearSVC(loss="hinge", C=C).fit(scale * X, y).certificate_
    assert certificate.primal < 1.0
    assert certificate.holds == (certificate.gap <= 1e-4) == (not caught)
    if certificate.holds:
        assert certificate.primal - certificate.dual <= 2e-4 * certificate.primal


def test_an_optimum_of_zero_is_met_exactly():
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.full(30, 7.0)
    certificate = LinearSVR(penalize_intercept=False).fit(X, y).certificate_
    assert certificate.holds and certificate.gap == 0.0 and certificate.primal == 0.0 == certificate.dual
    inside = LinearSVR(epsilon=0.5).fit(X, np.linspace(-0.4, 0.4, 30))
    assert (inside.coef_ == 0.0).all() and inside.certificate_.holds


# ----- bounds against exact rational arithmetic, on data chosen so that each error shows
def exact(values):
    return [Fraction(float(value)) for value in values]


def test_margins_that_round_at_the_edge_of_the_tube():
    """u exact and |z| next to epsilon: the rounding of u + c is as large as the loss."""
    rng = np.random.default_rng(0)
    missed = 0
    for bias, target in rng.uniform(0.0, 5.0, (200, 2)):
        epsilon = float(np.nextafter(abs(target - bias), 0.0))
        dual = SignedDual(
            linear_term=np.array([-target]),
            lower=-np.ones(1),
            upper=np.ones(1),
            epsilon=np.array([epsilon]),
            n_groups=1,
        )
        proof = prove(
            linear_problem(design_of(np.zeros((1, 1)), 1.0), dual), LinearAnswer(np.array([0.0, bias]), np.zeros(1))
        )
        loss = max(abs(Fraction(target) - Fraction(bias)) - Fraction(epsilon), 0)
        assert Fraction(proof.primal) >= loss >= Fraction(proof.dual)
        missed += loss > abs(target - bias) - epsilon
    assert missed > 10  # the computed loss alone is no bound


@pytest.mark.parametrize("machine", ["squared hinge", "l1", "joint"])
def test_sums_that_lose_small_terms_and_margins_that_cancel(machine):
    """A cost of 1 before thousands of 2^-54; and weights 1e8 of opposite sign on features that differ little."""
    n = 4000
    bound = np.full(n, 2.0**-54)
    bound[0] = 1.0
    X, sign = np.ones((n, 2)), np.where(np.arange(n) % 2, 1.0, -1.0)
    assert primal_bound(machine, X, sign, bound, np.zeros(2)) >= sum(exact(bound))
    rng = np.random.default_rng(1)
    w = np.array([1e8, -1e8])
    for _ in range(20):
        X = 1.0 + 1e-8 * rng.uniform(size=(3, 1)) + np.array([[0.0, 0.0]])
        X[:, 1] += 1e-8 * rng.normal(size=3)
        bound, sign = rng.uniform(0.5, 2.0, 3) * 1e20, np.array([1.0, -1.0, 1.0])
        value = Fraction(0)
        for x, y, C in zip(X, exact(sign), exact(bound), strict=True):
            slack = max(1 - y * sum(a * b for a, b in zip(exact(x), exact(w), strict=True)), 0)
            value += C * (slack if machine == "joint" else slack**2)
        squares = sum(v * v for v in exact(w))
        penalty = sum(map(abs, exact(w))) if machine == "l1" else squares / (4 if machine == "joint" else 2)
        assert primal_bound(machine, X, sign, bound, w) >= value + penalty


def primal_bound(machine, X, sign, bound, w):
    """Upper bound on the objective at w, without intercept, by the proof of the machine."""
    rows, weights = design_of(X, 0.0), np.append(w, 0.0)
    if machine == "l1":
        return Fraction(prove_l1(rows, sign, bound, LinearAnswer(weights, np.zeros(0))).primal)
    if machine == "joint":
        W = np.array([-0.5 * weights, 0.5 * weights]).T.copy()
        labels = (sign > 0).astype(np.int64)
        return Fraction(prove_joint(rows.as_sparse(), labels, bound, LinearAnswer(W, np.zeros((len(sign), 2)))).primal)
    end = sign * np.inf
    dual = SignedDual(
        linear_term=-sign, lower=np.minimum(end, 0.0), upper=np.maximum(end, 0.0), diagonal=0.5 / bound, n_groups=0
    )
    return Fraction(prove(linear_problem(rows, dual), LinearAnswer(weights, np.zeros(len(sign)))).primal)


def test_the_dual_of_the_l1_machine_is_scaled_by_the_gradient_as_it_is():
    """Gradients that cancel down to their rounding: the largest feasible multiple of a is not the computed one."""
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(40):
        bound, X = 1e17 * rng.uniform(0.5, 1.0, 40), rng.uniform(0.5, 1.0, (40, 1))
        sign = np.where(np.arange(40) % 2, 1.0, -1.0)
        X[-1, 0] = 0.0
        X[-1, 0] = -float(np.dot(sign * bound, X[:, 0])) / bound[-1]
        proof = prove_l1(design_of(X, 0.0), sign, bound, LinearAnswer(np.zeros(2), np.zeros(0)))
        terms = [y * 2 * C * x for y, C, x in zip(exact(sign), exact(bound), exact(X[:, 0]), strict=True)]
        t = min(Fraction(1), 1 / abs(sum(terms)))
        value = (2 * t - t * t) * sum(exact(bound))  # a = 2 C, so that sum a^2 / (4 C) = sum C
        assert Fraction(proof.dual) <= value
        missed += proof.objective > value
    assert missed > 5  # the computed dual value alone is no bound
