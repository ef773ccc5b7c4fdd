"""Stop rules: the three criteria, both budgets, the watcher, Ctrl-C, and answers that a solver merely claims."""

import dataclasses
import time
from contextlib import contextmanager

import numpy as np
import pytest

from tests.oracles import KERNELS, MACHINES, GivenMatrix, noisy_scores, signs, solve_qp, values_at
from tests.samples import overlapping, problem_of, train_one
from tests.small_blocks import solve_in_small_blocks, tune
from widemargin import solvers
from widemargin.gram import FullGram
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems import hinge
from widemargin.solvers import Solution, solve_blocks
from widemargin.training.fit import Training
from widemargin.training.task import Task

N = 120

pytestmark = pytest.mark.usefixtures("compiled")


def problem(rng, C=1.0):
    X, dual = overlapping(N, rng, C)
    return KERNELS["rbf"][1](X, X), dual


def train(K, dual, **rule):
    rule.setdefault("time_limit", 20.0)
    watch = rule.pop("watch", None)
    with interrupts_stay_inside():
        return train_one(GivenMatrix(K), None, dual, watch=watch, **rule)


@contextmanager
def interrupts_stay_inside():
    """An interrupt that escapes is a failure of the test, not the end of the whole run."""
    try:
        yield
    except KeyboardInterrupt:
        pytest.fail("the interrupt was raised instead of giving the answer reached so far")


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6, 1e-10])
def test_kkt(tol, rng):
    K, dual = problem(rng)
    trained = train(K, dual, tol=tol)
    assert trained.solution.status is Status.OPTIMAL and trained.certificate.holds
    assert values_at(dual, K, trained.solution.beta).violation <= tol * (1 + 1e-9)


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_gap(tol, rng):
    K, dual = problem(rng)
    trained = train(K, dual, tol=tol, criterion="gap")
    best, _ = solve_qp(dual, K)
    assert trained.solution.status is Status.OPTIMAL and trained.certificate.holds
    assert trained.certificate.primal - trained.certificate.dual <= tol * (abs(trained.certificate.primal) + 1)
    assert trained.certificate.dual + best >= -tol * (abs(best) + 1)  # the gap bounds the distance to the optimum


@pytest.mark.parametrize("C", [1e4, 1e6])
def test_gap_at_large_C(C, rng):
    """tol = 1e-3 of the gap needs a far smaller violation here, and it can be had: the KKT rule reaches 1e-10."""
    K, dual = problem(rng, C)
    trained = train(K, dual, tol=1e-3, criterion="gap")
    assert trained.solution.status is Status.OPTIMAL and trained.certificate.holds


def test_objective(rng):
    K, dual = problem(rng)
    trained = train(K, dual, tol=1e-9, criterion="objective")
    assert trained.solution.status is Status.OPTIMAL and trained.certificate.holds
    best, _ = solve_qp(dual, K)
    assert values_at(dual, K, trained.solution.beta).objective == pytest.approx(best, rel=1e-6)


def test_a_finer_tolerance_gives_a_better_objective(rng, monkeypatch):
    tune(monkeypatch, exact=0)
    K, dual = problem(rng, C=100.0)
    values = [values_at(dual, K, train(K, dual, tol=tol).solution.beta).objective for tol in (1.0, 1e-2, 1e-4, 1e-8)]
    assert values[0] > values[1] > values[2] >= values[3]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("budget", [0, 1, 2, 17])
def test_max_iter_is_exact(machine, budget, rng):
    X, dual = problem_of(machine, N, rng)
    K = KERNELS["rbf"][1](X, X)
    trained = train(K, dual, tol=1e-6, max_iter=budget)
    assert trained.solution.status is Status.MAX_ITER
    assert trained.solution.iterations == budget == trained.certificate.iterations
    assert not trained.certificate.holds
    assert values_at(dual, K, trained.solution.beta).infeasibility <= 1e-12 * N


@pytest.mark.parametrize("budget", [1, 2, 5])
@pytest.mark.parametrize("machine", ["hinge", "squared_hinge", "epsilon_insensitive"])
def test_max_iter_counts_every_step(machine, budget, rng):
    """A step moves two multipliers, so from zero no more than 2 max_iter of them can be off zero."""
    X, dual = problem_of(machine, N, rng)
    K = KERNELS["rbf"][1](X, X)
    assert np.count_nonzero(train(K, dual, tol=1e-6, max_iter=budget).solution.beta) <= 2 * budget


def test_max_iter_that_is_never_reached(rng):
    K, dual = problem(rng)
    free = train(K, dual, tol=1e-6).solution.iterations
    trained = train(K, dual, tol=1e-6, max_iter=free + 1)
    assert trained.solution.status is Status.OPTIMAL and trained.solution.iterations == free


def test_time_limit_of_zero_still_gives_an_answer(rng):
    """A problem of microseconds may be solved all the same; what comes back is feasible and truly described."""
    for C in (1.0, 1e8):
        K, dual = problem(rng, C)
        trained = train(K, dual, time_limit=0.0, tol=1e-9)
        here = values_at(dual, K, trained.solution.beta)
        assert trained.solution.status in (Status.TIME_LIMIT, Status.OPTIMAL)
        assert trained.certificate.holds == (here.violation <= 1e-9 * (1 + 1e-9))
        assert here.infeasibility <= 1e-12 * max(1.0, np.abs(trained.solution.beta).sum())


@pytest.mark.alone
def test_time_limit_is_kept(rng):
    """A problem that takes minutes ends within the limit and the length of one call of the inner loop."""
    X = rng.normal(size=(400, 3)) * 1e4  # the effective C is 1e8 times that of scaled data
    dual = hinge(signs(noisy_scores(X, rng)), np.full(400, 1e3))
    began = time.perf_counter()
    trained = train_one(KERNELS["linear"][0], X, dual, tol=1e-3, time_limit=0.05)
    assert time.perf_counter() - began < 2.0
    assert trained.solution.status in (Status.TIME_LIMIT, Status.OPTIMAL)
    assert values_at(dual, X @ X.T, trained.solution.beta).infeasibility <= 1e-9 * np.abs(trained.solution.beta).sum()


@pytest.mark.parametrize("rule", [{"tol": 0.0}, {"tol": -1.0}, {"tol": float("nan")}, {"criterion": "magic"}])
def test_meaningless_rules_are_refused(rule):
    with pytest.raises(ValueError, match="must be"):
        Stopping(**rule)


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param(False, id="at once"),
        pytest.param(True, id="in blocks"),
    ],
)
def test_watch_is_told_the_truth(blocks, rng, monkeypatch):
    K, dual = problem(rng)
    seen = []
    if blocks:
        solve_in_small_blocks(monkeypatch)
    trained = train(K, dual, tol=1e-6, watch=seen.append)
    assert all(a.rounds < b.rounds for a, b in zip(seen, seen[1:]))
    assert all(a.seconds <= b.seconds for a, b in zip(seen, seen[1:]))
    if blocks:
        assert len(seen) > 3
        assert seen[0].iterations == 0 and seen[0].n_support == 0 and seen[0].objective == 0.0
        assert seen[0].violation == 2.0  # at beta = 0 the slopes are -y
    last = values_at(dual, K, trained.solution.beta)
    assert seen[-1].objective == pytest.approx(last.objective, rel=1e-12)
    assert seen[-1].violation == pytest.approx(last.violation, abs=1e-10)
    assert seen[-1].iterations == trained.solution.iterations
    assert seen[-1].n_support == np.count_nonzero(trained.solution.beta)
    assert seen[-1].n_free == trained.certificate.n_free > 0


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("at", [1, 3])
def test_interrupt_between_blocks_returns_a_consistent_point(machine, at, rng, monkeypatch):
    solve_in_small_blocks(monkeypatch)
    X, dual = problem_of(machine, N, rng)
    K = KERNELS["rbf"][1](X, X)
    calls = 0

    def watch(info):
        nonlocal calls
        calls += 1
        if calls == at:
            raise KeyboardInterrupt

    trained = train(K, dual, tol=1e-10, watch=watch)
    here = values_at(dual, K, trained.solution.beta)
    assert trained.solution.status is Status.INTERRUPTED is trained.certificate.status
    assert calls == at
    np.testing.assert_allclose(trained.solution.Kb, here.function.astype(float), atol=1e-10)
    assert trained.certificate.objective == pytest.approx(-here.objective, rel=1e-9, abs=1e-12)
    assert here.infeasibility <= 1e-12 * N


def test_interrupt_of_a_problem_that_is_solved_at_once(rng):
    """The watcher is told after the fact; an interrupt then loses nothing."""
    K, dual = problem(rng)

    def watch(info):
        raise KeyboardInterrupt

    trained = train(K, dual, watch=watch)
    here = values_at(dual, K, trained.solution.beta)
    assert trained.solution.status in (Status.INTERRUPTED, Status.OPTIMAL)
    np.testing.assert_allclose(trained.solution.Kb, here.function.astype(float), atol=1e-10)


def test_interrupt_ends_all_tasks_and_each_has_an_answer(rng):
    K, dual = problem(rng)
    duals = [dataclasses.replace(dual, upper=c * dual.upper, lower=c * dual.lower) for c in (1.0, 2.0, 3.0)]

    def watch(info):
        raise KeyboardInterrupt

    with interrupts_stay_inside():
        results = Training(GivenMatrix(K), None, n_jobs=2).train([Task(d) for d in duals], Stopping(), watch=watch)
    for result, task in zip(results, duals):
        here = values_at(task, K, result.solution.beta)
        assert result.solution.status in (Status.INTERRUPTED, Status.OPTIMAL)
        np.testing.assert_allclose(result.solution.Kb, here.function.astype(float), atol=1e-10)


def test_after_an_interrupt_training_can_go_on(rng):
    K, dual = problem(rng)
    training = Training(GivenMatrix(K), None, n_jobs=1)

    def watch(info):
        raise KeyboardInterrupt

    with interrupts_stay_inside():
        first = training.train([Task(dual)], Stopping(tol=1e-8, criterion="gap"), watch=watch)[0].solution
    second = training.train([Task(dual, start=first.beta)], Stopping(tol=1e-8))[0].solution
    assert first.status is Status.INTERRUPTED and second.status is Status.OPTIMAL


def test_other_errors_of_a_watcher_are_not_swallowed(rng):
    K, dual = problem(rng)

    def watch(info):
        raise RuntimeError("broken watcher")

    with pytest.raises(RuntimeError, match="broken watcher"):
        train(K, dual, watch=watch)


def test_an_interrupt_inside_the_row_update_keeps_beta_and_function_together(rng, monkeypatch):
    """Ctrl-C while F is being updated: the answer is the pair from before the round."""
    tune(monkeypatch, single=10)
    K, dual = problem(rng)

    class Interrupted(FullGram):
        def add_rows(self, index, coefficients, function, keep=None):
            super().add_rows(index[: len(index) // 2], coefficients[: len(index) // 2], function)
            raise KeyboardInterrupt

    solution = solve_blocks(dual, Interrupted(K), Stopping(tol=1e-6))
    assert solution.status is Status.INTERRUPTED
    np.testing.assert_allclose(solution.Kb, K @ solution.beta, atol=1e-12)


def lying_solver(dual, gram, stopping, start=None, function=None, watch=None):
    """Claims the optimum one step further at every call, and is never there."""
    beta = np.array(dual.start if start is None else start, dtype=np.float64)
    y = np.sign(dual.upper + dual.lower)
    i, j = np.flatnonzero((y > 0) & (beta < dual.upper))[0], np.flatnonzero((y < 0) & (beta > dual.lower))[0]
    beta[i], beta[j] = beta[i] + 0.1, beta[j] - 0.1
    return Solution(
        beta=beta, Kb=np.zeros(len(dual)), thresholds=np.zeros(1), status=Status.OPTIMAL, violation=0.0, objective=0.0,
        iterations=1, rounds=1, rows_computed=0, seconds=0.0,
    )  # fmt: skip


def test_a_false_claim_is_not_passed_on(rng, monkeypatch):
    K, dual = problem(rng)
    monkeypatch.setitem(solvers.SOLVERS, "lying", lying_solver)
    trained = Training(GivenMatrix(K), None, n_jobs=1, solver="lying").train([Task(dual)], Stopping())[0]
    assert trained.solution.status is not Status.OPTIMAL
    assert not trained.certificate.holds


def test_the_certificate_belongs_to_the_answer_returned(rng, monkeypatch):
    K, dual = problem(rng)
    monkeypatch.setitem(solvers.SOLVERS, "lying", lying_solver)
    trained = Training(GivenMatrix(K), None, n_jobs=1, solver="lying").train([Task(dual)], Stopping())[0]
    here = values_at(dual, K, trained.solution.beta)
    assert trained.certificate.dual == pytest.approx(-here.objective)
    np.testing.assert_allclose(trained.solution.Kb, here.function.astype(float), atol=1e-12)


def test_unknown_solver_names_are_refused():
    with pytest.raises(ValueError, match="solver must be one of"):
        Training(GivenMatrix(np.eye(2)), None, solver="simplex")
