"""The benchmark's checker: agrees with widemargin's certificate, with which it shares no code, and rejects errors."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.peers.checker import Answer, Check, check
from benchmarks.peers.comparison import classify
from benchmarks.peers.libraries import ScikitLearn, Widemargin
from benchmarks.peers.problems import Problem

N = 120
PROBLEMS = [
    Problem("two classes", "", gamma=0.3, C=10),
    Problem("three classes", "", gamma=0.3, C=10),
    Problem("linear", "", kernel="linear"),
    Problem("poly", "", kernel="poly", gamma=0.4, coef0=1.0),
    Problem("regression", "", "svr", gamma=0.3, C=10),
    Problem("nu, two classes", "", "nu_svc", gamma=0.3, nu=0.4),
    Problem("nu regression", "", "nu_svr", gamma=0.3, C=10, nu=0.4),
    Problem("one class", "", "one_class", gamma=0.3, nu=0.2),
]


def data(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 4))
    score = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.normal(size=N)
    if problem.machine in ("svr", "nu_svr"):
        return X, score
    if problem.name == "three classes":
        return X, np.array([3.0, 1.0, 2.0])[np.digitize(score, [-0.7, 0.6])]
    return X, np.where(score > 0, 1.0, -1.0)


def answered(problem: Problem, library=ScikitLearn) -> tuple[np.ndarray, np.ndarray, Answer]:
    X, y = data(problem)
    caller = library(1)
    return X, y, caller.answer(problem, caller.fit(problem, X, y))


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize("library", [ScikitLearn, Widemargin])
def test_a_tight_answer_has_a_violation_within_its_tolerance(problem, library):
    problem = dataclasses.replace(problem, tol=1e-5)
    result = check(problem, *answered(problem, library))
    float32_rows = 5e-6 if library is ScikitLearn else 1e-9  # what rounding in its kernel cache hides from scikit-learn
    assert result.violation <= problem.tol + float32_rows
    assert result.infeasibility < 1e-10


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_a_loose_answer_is_told_from_a_tight_one(problem):
    loose = dataclasses.replace(problem, tol=0.2)
    result = check(problem, *answered(loose))
    assert 1e-3 < result.violation <= 0.2 + 1e-6
    assert classify(result, problem.tol, ours=False) == "wrong"


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_a_wrong_bias_is_a_violation_of_its_size(problem):
    problem = dataclasses.replace(problem, tol=1e-6)
    X, y, answer = answered(problem)
    scale = 1.0
    if problem.machine == "nu_svc":  # the model was divided by its margin: its bias counts in units of it
        scale = problem.nu * N / np.abs(answer.coefficients).sum()
    moved = dataclasses.replace(answer, bias=answer.bias + 0.25)
    assert check(problem, X, y, moved).violation == pytest.approx(0.25 * scale, rel=0.05, abs=1e-4)


def test_a_broken_sum_makes_an_answer_infeasible():
    problem = PROBLEMS[0]
    X, y, answer = answered(problem)
    coefficients = answer.coefficients.copy()
    coefficients[0, 0] *= 0.5
    result = check(problem, X, y, dataclasses.replace(answer, coefficients=coefficients))
    expected = abs(coefficients.sum()) / np.abs(coefficients).sum()
    assert result.infeasibility == pytest.approx(expected)
    assert classify(result, 100.0, ours=False) == "wrong"


def test_violation_and_objective_of_two_points_by_hand():
    # x = -1, +1, linear, alpha = (a, a): w = 2a, F = (-2a, 2a), f = F - y = (1 - 2a, 2a - 1).
    problem = Problem("by hand", "", kernel="linear", C=10.0)
    X, y = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
    answer = Answer(np.array([0, 1]), np.array([[-0.4, 0.4]]), np.zeros(1), np.array([1.0, -1.0]))
    result = check(problem, X, y, answer)
    assert result.violation == pytest.approx(0.4)  # both free: 0.2 and -0.2
    assert result.objective == pytest.approx(0.5 * 0.64 - 0.8)  # |w|^2 / 2 - sum of alpha
    assert (result.n_support, result.n_free) == (2, 2)


def test_order_of_classes_and_sparse_input_make_no_difference():
    problem = dataclasses.replace(PROBLEMS[0], tol=1e-6)
    X, y, answer = answered(problem)
    turned = Answer(answer.support, -answer.coefficients, -answer.bias, answer.classes[::-1])
    first, second = check(problem, X, y, answer), check(problem, sp.csr_matrix(X), y, turned)
    assert second.objective == pytest.approx(first.objective, rel=1e-12)
    assert second.violation == pytest.approx(first.violation, abs=1e-12)


@pytest.mark.parametrize("problem", [PROBLEMS[0], PROBLEMS[1], PROBLEMS[4], PROBLEMS[7]], ids=lambda p: p.name)
def test_agrees_with_the_certificate_of_widemargin(problem):
    import widemargin

    X, y = data(problem)
    model = Widemargin(1).fit(problem, X, y)
    result = check(problem, X, y, Widemargin(1).answer(problem, model))
    proof = widemargin.verify(model, X, y)
    assert result.violation == pytest.approx(proof.violation, abs=1e-9)
    assert result.objective == pytest.approx(-proof.dual, rel=1e-9)


def test_only_peers_are_given_five_per_cent():
    result = Check(1.04e-3, -1.0, 0.0, 3, 2, 0.0)
    assert classify(result, 1e-3, ours=False) == "near"
    assert classify(result, 1e-3, ours=True) == "wrong"
    assert classify(dataclasses.replace(result, violation=1.06e-3), 1e-3, ours=False) == "wrong"
    assert classify(dataclasses.replace(result, violation=1e-3), 1e-3, ours=True) == "exact"
