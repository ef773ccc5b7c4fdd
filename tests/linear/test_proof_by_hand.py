"""Proofs of linear models of one or two samples, against values worked out by hand."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from widemargin import Status
from widemargin.certificate.linear import prove, prove_linear
from widemargin.certificate.linear_joint import prove_joint
from widemargin.certificate.linear_judge import Judge, TermSums, is_undecidable, proof_of
from widemargin.certificate.linear_l1 import prove_l1
from widemargin.certificate.linear_rounding import norm_bound
from widemargin.linalg.design import design_of
from widemargin.problems.dual import SignedDual
from widemargin.problems.linear import LinearAnswer, linear_problem

SUMS = TermSums(
    lower=1.0, losses=2.0, upper=3.0, comp=0.5, proven=0.75, violation=0.1, rounding=0.2, n_support=4, n_free=2
)
close = partial(pytest.approx, rel=1e-5)  # each sum is given 1e-6 for its rounding
ONE, TWO = np.ones(1), np.full(1, 2.0)


def test_bounds_from_their_terms():
    """1/2 |w|^2 = 2: objective between 3 and 5, computed 4; terms of the gap 1/2 + 3/4, computed 1/2 + 1/2."""
    proof = proof_of(SUMS, TWO, ONE, 0.5, 0.0, 1)
    assert (proof.primal, proof.dual, proof.gap) == (close(5.0), close(1.75), close(1.25 / 3.0))
    assert (proof.objective, proof.computed, proof.drift) == (close(3.0), close(0.25), 1.0)
    assert (proof.violation, proof.rounding, proof.n_support, proof.n_free) == (0.1, 0.2, 4, 2)
    assert proof.primal >= 5.0 and proof.dual <= 1.75 and proof.gap >= 1.25 / 3.0


def test_bounds_are_on_the_safe_side_by_themselves():
    exact = SUMS._replace(comp=0.0, proven=0.0)
    proof = proof_of(exact, TWO, np.zeros(1), 0.0, 0.0, 1)
    assert proof.dual < 3.0 and proof.primal > 5.0 and proof.gap == 0.0
    floored = proof_of(exact, TWO, np.zeros(1), 0.0, 0.25, 1)
    assert floored.primal == close(5.25) and floored.dual == close(2.5)  # once below the objective, once in the gap
    assert floored.gap == close(0.25 / 2.75)


def test_gaps_without_a_scale():
    assert proof_of(SUMS, TWO, ONE, 9.0, 0.0, 1).gap == 2.0
    assert proof_of(SUMS, TWO, ONE, 0.5, 3.5, 1).gap == 2.0  # underflow may have taken all of the objective
    assert proof_of(SUMS, TWO, ONE, np.inf, 0.0, 1).gap == np.inf
    assert proof_of(SUMS._replace(upper=np.inf), TWO, ONE, 0.5, 0.0, 1).gap == np.inf
    nothing = SUMS._replace(lower=0.0, losses=0.0, upper=0.0, comp=0.0, proven=0.0)
    assert proof_of(nothing, np.zeros(1), np.zeros(1), 0.0, 0.0, 1).computed == 0.0
    assert proof_of(nothing, np.zeros(1), ONE, 0.5, 0.0, 1).computed == np.inf


def test_norms_of_entries_whose_squares_underflow():
    assert norm_bound(np.array([3.0, 4.0])) == close(5.0)
    assert norm_bound(np.full(2, 1e-170)) >= math.sqrt(2.0) * 1e-170


def test_l1():
    """w = 1/2 and intercept 1/4: slacks 1/4 and 3/4, a = 2 C slack = (1/2, 3), X'(y a) = (7/2, -5/2), t = 2/7."""
    rows, sign, C = design_of(np.array([[1.0], [-1.0]]), 1.0), np.array([1.0, -1.0]), np.array([1.0, 2.0])
    proof = prove_l1(rows, sign, C, LinearAnswer(np.array([0.5, 0.25]), np.zeros(0)))
    value, dual = Fraction(3, 4) + Fraction(1, 16) + Fraction(9, 8), 1 - Fraction(4, 49) * Fraction(19, 16)
    assert (proof.primal, proof.dual, proof.objective) == (close(float(value)), close(float(dual)), close(float(dual)))
    assert proof.computed == close(float((value - dual) / value)) == proof.gap
    assert proof.violation == close(3.5)  # of the intercept: |-5/2 - 1|
    assert (proof.n_support, proof.n_free) == (2, 2) and math.isnan(proof.drift)
    assert proof.dual <= dual and value <= proof.primal
    assert Fraction(proof.gap) * value >= Fraction(proof.primal) - Fraction(proof.dual)
    without = prove_l1(
        design_of(np.array([[1.0], [-1.0]]), 0.0), sign, C, LinearAnswer(np.array([0.5, 0.0]), np.zeros(0))
    )
    assert without.primal == close(0.5 + 0.25 + 0.5)
    assert without.violation == close(2.0)  # a = (1, 2): |3 - 1|
    at_zero = prove_l1(rows, sign, C, LinearAnswer(np.zeros(2), np.zeros(0)))
    assert at_zero.primal == close(3.0) and at_zero.violation == close(5.0)  # |X'(y a)| - 1 = 6 - 1, and 2 - 1
    small = prove_l1(rows, sign, 0.1 * np.ones(2), LinearAnswer(np.zeros(2), np.zeros(0)))
    assert small.violation < 1e-14 and small.primal == close(0.2)  # |X'(y a)| = 0.4 is below 1: zero is optimal


W = np.array([[0.5, 0.0, -0.5], [0.0, 0.0, 0.0]])
ALPHA = np.array([[0.5, -0.5, 0.25], [-2.0, 2.0, 0.0]])  # the positive one of a wrong class counts as zero


def joint(cost, column=0.0, weights=W):
    rows = design_of(np.array([[1.0], [2.0]]), column).as_sparse()
    return prove_joint(rows, np.array([0, 1]), np.array(cost), LinearAnswer(weights, ALPHA))


def test_joint():
    """Classes 0 and 1 at x = 1 and 2: losses 1/2 and 2 with costs 1 and 3; X'a = (-7/2, 7/2, 0).

    Primal 1/4 + 1/2 + 6, dual 1/2 + 2 - 49/4. The own classes are behind by 1/2 and 2, and have not all of their cost.
    """
    proof = joint([1.0, 3.0])
    assert (proof.primal, proof.dual, proof.objective) == (close(6.75), close(-9.75), close(-9.75))
    assert proof.computed == close(16.5 / 6.75) and proof.gap == 2.0
    assert proof.violation == close(2.0) and proof.drift == close(4.0)
    assert (proof.n_support, proof.n_free) == (2, 0)
    assert proof.primal >= 6.75 and proof.dual <= -9.75
    assert joint([1.0, 2.0]).violation == close(0.5)  # the own class has its whole cost


def test_joint_with_multipliers_beyond_the_cost():
    """A cost of 1 where the multipliers sum to 2: they are halved, which costs 2 times the loss of 2.

    The column sums, sqrt(28.5) from W, are moved by 2 |x| S = 8 at most; the dual value of the halved ones is -3/4.
    """
    proof = joint([1.0, 1.0])
    assert proof.primal == close(2.75)
    assert proof.dual == close(2.75 - (0.25 + 4.0) - 0.5 * (math.sqrt(28.5) + 8.0) ** 2) and proof.dual <= -0.75


def test_joint_with_intercepts():
    """Intercepts (1, 0, -1) / 4 on a column of 2: losses max(0, 1/2 - 1/2) and 5/2; totals of the column (-3, 3, 0)."""
    proof = joint([1.0, 3.0], 2.0, W + np.array([[0.0] * 3, [0.25, 0.0, -0.25]]))
    assert proof.primal == close(0.25 + 0.0625 + 7.5)
    assert proof.objective == close(2.5 - 0.5 * (24.5 + 18.0)) == proof.dual
    assert proof.drift == close(4.0)


def svr(column=0.0, free=False, epsilon=0.0, targets=(1.0, -3.0), C=2.0, diagonal=0.0):
    dual = SignedDual(
        linear_term=-np.array(targets), lower=np.full(2, -C), upper=np.full(2, C), epsilon=np.full(2, epsilon),
        diagonal=np.full(2, diagonal), n_groups=int(free),
    )  # fmt: skip
    return linear_problem(design_of(np.array([[1.0], [2.0]]), column), dual)


@pytest.mark.parametrize("fine", [False, True])
def test_regression(fine):
    """w = 1/2: residuals of the targets 1/2 and -4, C = 2, b = (1, -1), X'b = -1. Primal 1/8 + 9, dual 4 - 1/2."""
    proof = prove(svr(), LinearAnswer(np.array([0.5, 0.0]), np.array([1.0, -1.0])), fine=fine)
    assert (proof.primal, proof.objective, proof.dual) == (close(9.125), close(3.5), close(3.5))
    assert proof.computed == close(5.625 / 9.125) == proof.gap
    assert proof.drift == 1.5 and (proof.n_support, proof.n_free) == (2, 2)
    assert proof.violation == close(4.0)
    assert proof.primal >= 9.125 and proof.dual <= 3.5
    tube = prove(svr(epsilon=1.0), LinearAnswer(np.array([0.5, 0.0]), np.array([0.0, -1.0])), fine=fine)
    assert (tube.primal, tube.objective) == (close(0.125 + 6.0), close(3.0 - 1.0 - 2.0))
    assert (tube.n_support, tube.n_free) == (1, 1) and tube.violation == close(3.0)


@pytest.mark.parametrize("fine", [False, True])
def test_regression_with_a_penalised_intercept(fine):
    """Column 2 with a bias of 1/4, which adds 1/2: residuals 0 and -9/2; totals X'b = -1 and 2 (1 - 1) = 0."""
    proof = prove(svr(2.0), LinearAnswer(np.array([0.5, 0.25]), np.array([1.0, -1.0])), fine=fine)
    assert (proof.primal, proof.objective, proof.dual) == (close(0.125 + 0.03125 + 9.0), close(3.5), close(3.5))


def test_slopes_at_the_edge_of_the_tube():
    """Both samples are 1/4 outside the tube, on either side, with multipliers of zero."""
    proof = prove(svr(epsilon=1.0, targets=(1.75, -0.25)), LinearAnswer(np.array([0.5, 0.0]), np.zeros(2)))
    assert proof.violation == close(0.25) and proof.primal == close(0.125 + 2.0 * 0.5)
    assert (proof.n_support, proof.n_free) == (0, 0)


@pytest.mark.parametrize("mirror", [1.0, -1.0])
@pytest.mark.parametrize("fine", [False, True])
def test_multipliers_that_do_not_sum_to_zero(fine, mirror):
    """b = (1, -2): the second is halved, which costs 1/2 |b| |z| = 4 and moves X'b, 7/2 from w, by 5/2 at most.

    So the distance is at most 1/2 36 + 1/2 + 4 below the primal value of 9 1/8, and the dual value of (1, -1) is 3 1/2.
    """
    problem = svr(1.0, free=True, targets=(mirror, -3.0 * mirror))
    answer = LinearAnswer(mirror * np.array([0.5, 0.0]), mirror * np.array([1.0, -2.0]))
    proof = prove(problem, answer, fine=fine)
    assert proof.primal == close(9.125) and proof.dual == close(9.125 - 22.5) and proof.dual <= 3.5


@pytest.mark.parametrize("fine", [False, True])
def test_squared_losses(fine):
    """D = 1/2, that is C = 1: losses r^2 = 1/4 and 16; dual 4 - 1/2 - 1/4 (1 + 1)."""
    problem = svr(C=np.inf, diagonal=0.5)
    proof = prove(problem, LinearAnswer(np.array([0.5, 0.0]), np.array([1.0, -1.0])), fine=fine)
    assert (proof.primal, proof.objective, proof.dual) == (close(0.125 + 16.25), close(3.0), close(3.0))


def test_a_proof_is_refined_and_judged_where_the_computed_gap_is_the_tolerance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2, 5)) * 10.0 ** np.arange(-5, 5, 2)
    dual = SignedDual(linear_term=np.array([-1.0, 3.0]), lower=np.full(2, -2.0), upper=np.full(2, 2.0), n_groups=0)
    problem = linear_problem(design_of(X, 0.0), dual)
    answer = LinearAnswer(np.append(X.T @ [1.0, -1.0], 0.0), np.array([1.0, -1.0]))
    coarse, fine = prove(problem, answer), prove(problem, answer, fine=True)
    assert fine.rounding < coarse.rounding
    assert prove_linear(problem, coarse.computed, answer).rounding == fine.rounding
    assert prove_linear(problem, 0.99 * coarse.computed, answer).rounding == coarse.rounding
    assert prove_linear(problem, coarse.gap, answer).rounding == coarse.rounding


def test_the_status_at_the_tolerance():
    proof = replace(proof_of(SUMS, TWO, ONE, 0.5, 0.0, 1), gap=0.5)  # computed 0.25
    answer = LinearAnswer(TWO, ONE, status=Status.STALLED)
    for tol, asked, final in [
        (0.5, Status.OPTIMAL, Status.OPTIMAL),
        (0.25, None, Status.UNDECIDED),
        (0.2499, None, Status.STALLED),
    ]:
        judge = Judge(lambda _: proof, tol)
        assert judge(answer) is asked
        assert judge.certificate(answer, 1.5).status is final and judge.certificate(answer, 1.5).seconds == 1.5
    assert is_undecidable(replace(proof, computed=0.0025, gap=0.26), 0.25) and not is_undecidable(
        replace(proof, computed=0.2), 0.25
    )
    assert is_undecidable(replace(proof, computed=0.04, gap=0.81), 0.25)  # (0.9 - 0.2)^2 > 0.25
    assert not is_undecidable(replace(proof, computed=0.04, gap=0.48), 0.25)
