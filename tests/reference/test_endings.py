"""Every solver ends, and says honestly how: criteria, budgets, Ctrl-C, refusals, and data nobody should pass."""

import time
from dataclasses import replace

import numpy as np
import pytest

from tests.oracles import GivenMatrix, signs, values_at
from tests.reference.solvers import ALL, GENERAL, PAIRS, SINGLES, needs, small_problem, suited, takes
from widemargin.gram import CachedGram, FullGram
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems import epsilon_insensitive, hinge, nu_classification, one_class, squared_hinge
from widemargin.problems.primal import best_primal
from widemargin.solvers.reference import (
    Adatron,
    Chunking,
    Coordinate,
    Gradient,
    Keerthi,
    Osuna,
    Perceptron,
    Platt,
    QuadraticProgramme,
)
from widemargin.training.trace import Trace

ITERATIVE = [name for name in ALL if name != "qp"]


@pytest.mark.parametrize("name", ALL)
def test_the_gap_criterion(name):
    needs(name)
    dual, K = small_problem("hinge", fixed=name in SINGLES)
    solution = ALL[name].solve(dual, FullGram(K), Stopping(tol=1e-2, criterion="gap"))
    function = K @ solution.beta
    level = solution.thresholds
    primal, _ = best_primal(dual, function, float(solution.beta @ function), level)
    assert solution.status is Status.OPTIMAL
    assert primal + solution.objective <= 1.0001e-2 * (abs(primal) + 1.0)


@pytest.mark.parametrize("name", ITERATIVE)
def test_the_objective_criterion_stops_earlier_than_the_conditions(name):
    dual, K = small_problem("hinge", n=60, fixed=name in SINGLES)
    coarse = ALL[name].solve(dual, FullGram(K), Stopping(tol=0.05, criterion="objective"))
    fine = ALL[name].solve(dual, FullGram(K), Stopping(tol=1e-4))
    assert coarse.status is Status.OPTIMAL
    assert 0 < coarse.rounds <= fine.rounds
    assert fine.objective - 1e-9 <= coarse.objective < 0.0


@pytest.mark.parametrize("name", ITERATIVE)
def test_max_iter(name):
    dual, K = small_problem("hinge", n=60, fixed=name in SINGLES)
    solution = ALL[name].solve(dual, FullGram(K), Stopping(tol=1e-8, max_iter=3))
    assert solution.status is Status.MAX_ITER
    assert solution.iterations == 3
    assert solution.violation > 1e-8
    np.testing.assert_allclose(solution.Kb, K @ solution.beta, atol=1e-10)


@pytest.mark.parametrize("name", ITERATIVE)
def test_max_passes(name):
    dual, K = small_problem("hinge", n=60, fixed=name in SINGLES)
    solution = replace(ALL[name], max_passes=1).solve(dual, FullGram(K), Stopping(tol=1e-9))
    assert solution.status is Status.MAX_PASSES and solution.rounds == 1
    assert "max_passes" in solution.status.value and "max_iter" not in solution.status.value


@pytest.mark.parametrize("name", ITERATIVE)
def test_a_trace_includes_the_pass_that_was_cut_short(name):
    dual, K = small_problem("hinge", n=60, fixed=name in SINGLES)
    trace = Trace()
    solution = trace.of(ALL[name])(dual, FullGram(K), Stopping(tol=1e-8, max_iter=3))
    assert trace.iterations[-1] == 3 and trace.passes[-1] == solution.rounds
    assert trace.objective[-1] == pytest.approx(solution.objective, rel=1e-12)


@pytest.mark.parametrize("name", ITERATIVE)
def test_time_limit(name):
    dual, K = small_problem("hinge", n=60, fixed=name in SINGLES)
    solver = ALL[name]
    solver.solve(dual, FullGram(K), Stopping(tol=0.1))  # compiled before the clock starts
    solution = solver.solve(dual, FullGram(K), Stopping(tol=1e-9, time_limit=0.0))
    assert solution.status is Status.TIME_LIMIT
    assert not solution.beta.any()


@pytest.mark.parametrize("at", [1, 3])
@pytest.mark.parametrize("name", ITERATIVE)
def test_an_interrupt_leaves_a_consistent_point(name, at):
    dual, K = small_problem("squared_hinge", n=60, fixed=name in SINGLES)
    calls = 0

    def watch(info):
        nonlocal calls
        calls += 1
        if calls == at:
            raise KeyboardInterrupt

    solution = ALL[name].solve(dual, FullGram(K), Stopping(tol=1e-9), watch=watch)
    assert solution.status is Status.INTERRUPTED
    assert calls == at
    np.testing.assert_allclose(solution.Kb, K @ solution.beta, atol=1e-10)
    assert values_at(dual, K, solution.beta).infeasibility <= 1e-12
    assert bool(solution.beta.any()) == (at > 1)


def test_an_interrupt_during_the_update_of_the_outputs_keeps_the_old_pair():
    dual, K = small_problem("hinge", fixed=True)

    class Interrupted(FullGram):
        def add_rows(self, index, coefficients, function, keep=None):
            super().add_rows(index[:1], coefficients[:1], function)
            raise KeyboardInterrupt

    for solver in (Adatron(), Gradient(rate=0.1), Chunking()):
        gram = Interrupted(K)
        solution = solver.solve(dual, gram, Stopping(), function=np.zeros(len(K)))
        assert solution.status is Status.INTERRUPTED
        assert not solution.beta.any() and not solution.Kb.any()


@pytest.mark.parametrize("name", ITERATIVE)
def test_watchers_see_falling_objectives_and_their_errors_are_not_swallowed(name):
    dual, K = small_problem("hinge", fixed=name in SINGLES)
    seen = []
    solution = ALL[name].solve(dual, FullGram(K), Stopping(tol=1e-3), watch=seen.append)
    objectives = [info.objective for info in seen]
    assert all(b <= a + 1e-9 for a, b in zip(objectives, objectives[1:]))
    assert seen[0].rounds == 0 and seen[-1].rounds == solution.rounds
    assert seen[-1].iterations == solution.iterations

    def broken(info):
        raise RuntimeError("broken watcher")

    with pytest.raises(RuntimeError, match="broken watcher"):
        ALL[name].solve(dual, FullGram(K), Stopping(), watch=broken)


# ----- refusals
@pytest.mark.parametrize("name", PAIRS)
def test_pair_solvers_refuse_machines_without_or_with_two_sums(name):
    dual, K = small_problem("nu_classification")
    with pytest.raises(ValueError, match="more than one equality constraint.*'block'"):
        PAIRS[name].solve(dual, FullGram(K), Stopping())
    dual, K = small_problem("hinge", fixed=True)
    with pytest.raises(ValueError, match="no equality constraint.*'adatron'"):
        PAIRS[name].solve(dual, FullGram(K), Stopping())


@pytest.mark.parametrize("name", SINGLES)
def test_single_solvers_refuse_machines_with_a_sum(name):
    dual, K = small_problem("hinge")
    with pytest.raises(ValueError, match="one multiplier at a time.*K \\+ tau.*'block'"):
        SINGLES[name].solve(dual, FullGram(K), Stopping())


@pytest.mark.parametrize("machine", ["squared_hinge", "epsilon_insensitive"])
def test_the_perceptron_refuses_other_losses(machine):
    dual, K = small_problem(machine, fixed=True)
    with pytest.raises(ValueError, match="hinge loss only"):
        Perceptron().solve(dual, FullGram(K), Stopping())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Adatron("sideways"), "order must be one of sequential"),
        (lambda: Adatron(omega=2.0), "omega must lie between 0 and 2"),
        (lambda: Coordinate("sideways"), "order must be one of cyclic"),
        (lambda: Platt(form="xyz"), "form must be one of auto, dense, sparse, binary, matrix; got 'xyz'"),
        (lambda: Keerthi(form="xyz"), "form must be one of auto"),
        (lambda: Gradient(rate=-1), "rate must be a positive number, or None to compute it; got -1"),
        (lambda: Keerthi("luck"), "second_choice must be one of"),
        (lambda: Chunking(inner="abacus"), "inner must be one of conjugate-gradient"),
        (lambda: Chunking(1), "chunk must be at least 2"),
        (lambda: Osuna(size=4, exchange=5), "exchange must lie between 2 and size=4"),
        (lambda: QuadraticProgramme("abacus"), "package must be one of clarabel, cvxopt"),
    ],
)
def test_wrong_options_are_said(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_matrix_that_does_not_fit_is_said(monkeypatch):
    from widemargin.gram import kernel_values

    monkeypatch.setattr(kernel_values, "LARGEST_MATRIX", 100)
    dual, K = small_problem("hinge")
    kernel = GivenMatrix(K)
    gram = CachedGram(kernel, kernel.prepare(), np.float64, 10**6)
    with pytest.raises(ValueError, match="needs the whole matrix.*solver='block'"):
        Platt().solve(dual, gram, Stopping())


# ----- data nobody should pass
def degenerate():
    """Name, kernel matrix, machine."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(12, 3))
    y = signs(rng.normal(size=24))
    twice = np.vstack([X, X])
    both = np.repeat([1.0, -1.0], 12)
    one = np.ones(24)
    return {
        "every sample in both classes": (twice @ twice.T, hinge(both, 3 * one)),
        "every sample in both classes, squared": (twice @ twice.T, squared_hinge(both, 3 * one)),
        "one point many times": (np.ones((24, 24)), hinge(y, one)),
        "kernel of zeros": (np.zeros((24, 24)), hinge(y, one)),
        "kernel of zeros, regression": (np.zeros((24, 24)), epsilon_insensitive(rng.normal(size=24), one, 0.1)),
        "two points, huge and constant feature": (
            (0.5 * np.array([[1 + 99999.0**2, 2 + 99999.0**2], [2 + 99999.0**2, 4 + 99999.0**2]])) ** 2,
            hinge(np.array([-1.0, 1.0]), np.ones(2)),
        ),
        "huge scale": (1e12 * twice @ twice.T, hinge(both, one)),
        "tiny scale": (1e-12 * twice @ twice.T, hinge(both, one)),
        "weights of zero": (twice @ twice.T, hinge(y, np.where(np.arange(24) % 3, 1.0, 0.0))),
        "one class only": (X @ X.T, hinge(np.ones(12), np.ones(12))),
        "a single sample": (np.ones((1, 1)), hinge(np.ones(1), np.ones(1))),
        "indefinite kernel": (np.tanh(twice @ twice.T - 1.0), hinge(y, one)),
        "indefinite kernel, no bound": (np.tanh(twice @ twice.T - 1.0), squared_hinge(y, 100 * one)),
        "hard margin on noise": (twice @ twice.T, hinge(y, np.full(24, np.inf))),
        "hard margin, equal points with opposite labels": (twice @ twice.T, hinge(both, np.full(24, np.inf))),
    }


CASES = degenerate()
UNBOUNDED = [case for case in CASES if case.startswith("hard margin")]


@pytest.mark.parametrize(("name", "case"), [(n, case) for n in ALL for case in CASES if takes(n, CASES[case][1])])
def test_every_solver_ends_on_degenerate_data(name, case):
    needs(name)
    K, dual = CASES[case]
    dual = suited(name, dual)
    ALL[name].solve(
        *small_problem("hinge", fixed=name in SINGLES)[:1], FullGram(small_problem("hinge")[1]), Stopping(tol=0.5)
    )
    solver = replace(ALL[name], max_passes=300)
    began = time.perf_counter()
    with np.errstate(all="ignore"):
        solution = solver.solve(dual, FullGram(K), Stopping(tol=1e-3, time_limit=4.0))
    assert time.perf_counter() - began < 8.0
    assert np.isfinite(solution.beta).all() and np.isfinite(solution.Kb).all()
    assert np.all(solution.beta >= dual.lower) and np.all(solution.beta <= dual.upper)
    total = np.abs(solution.beta).sum()
    assert values_at(dual, K, solution.beta).infeasibility <= 1e-9 * max(total, 1e-300)
    np.testing.assert_allclose(
        solution.Kb, K @ solution.beta, atol=1e-7 * np.abs(K).max() * max(total, 1e-300) + 1e-300
    )
    if solution.status is Status.OPTIMAL:
        assert values_at(dual, K, solution.beta).violation <= 1.01e-3 + 1e-9 * np.abs(K).max() * total
        assert case not in UNBOUNDED
    else:
        assert solution.status in set(Status)


@pytest.mark.parametrize("case", UNBOUNDED)
@pytest.mark.parametrize("name", ["platt", "keerthi", "chunking", "osuna"])
def test_hard_margins_that_do_not_exist_are_named(name, case):
    K, dual = CASES[case]
    solution = {**PAIRS, **GENERAL}[name].solve(dual, FullGram(K), Stopping(tol=1e-3, time_limit=20.0))
    assert solution.status is Status.UNBOUNDED


def test_one_class_and_nu_machines_reach_the_solvers_that_take_them():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
    for dual in (one_class(np.ones(30), 0.3), nu_classification(signs(X[:, 0]), 0.4, np.ones(30))):
        solution = Chunking(4).solve(dual, FullGram(K[np.ix_(*2 * [np.arange(30)])]), Stopping(tol=1e-5))
        assert solution.status is Status.OPTIMAL
        for g, (a, b) in enumerate(zip(dual.group_starts, dual.group_starts[1:])):
            assert solution.beta[a:b].sum() == pytest.approx(dual.start[a:b].sum(), abs=1e-12), g
