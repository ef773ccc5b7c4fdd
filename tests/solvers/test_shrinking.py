"""Variables left out for a while: the same answers, also where the wrong ones are left out, and nothing is lost."""

import time
from dataclasses import replace

import numpy as np
import pytest

from tests.oracles import KERNELS, MACHINES, WITHOUT_BIAS, noisy_scores, values_at, without_groups
from tests.samples import overlapping
from tests.small_blocks import solve_in_small_blocks, tune
from widemargin.costs import COSTS
from widemargin.gram import CachedGram, FullGram, cached, source
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems.dual import SignedDual
from widemargin.solvers import solve_blocks, tuning
from widemargin.solvers.on_demand.shrinking import active_variables
from widemargin.solvers.on_demand.solver import BlockSolver
from widemargin.solvers.state import Origin, State
from widemargin.training.fit import Training
from widemargin.training.task import Task
from widemargin.training.trace import Trace

N = 400
TOL = 1e-4
ONE_VARIABLE_EACH = [name for name in MACHINES if MACHINES[name](np.linspace(-1, 1, 8), np.ones(8)).row is None]


@pytest.fixture
def parts(monkeypatch):
    """Small blocks, and every part that is made: sizes of the part and of what it was taken from."""
    made = []
    plain = CachedGram.part

    def part(self, index, n_rows):
        gram = plain(self, index, n_rows)
        if gram is not None:
            made.append((len(gram), len(self)))
        return gram

    monkeypatch.setattr(CachedGram, "part", part)
    monkeypatch.setattr(cached, "COSTS", replace(COSTS, worth_a_part=0.0))
    monkeypatch.setattr(cached, "FULL", 40)
    monkeypatch.setattr(cached, "ROUNDS_AHEAD", 0)
    solve_in_small_blocks(monkeypatch, single=40, first=16, smallest=64, largest=128)
    monkeypatch.setattr(source, "FULL", 40)
    return made


@pytest.fixture(params=["rows on demand", "blocks of a whole matrix", "one block to the end"])
def kind_of_part(request, monkeypatch):
    """How the variables of a part are solved."""
    whole = request.param != "rows on demand"
    monkeypatch.setattr(cached, "FULL", N if whole else 40)
    tune(monkeypatch, single_active=N if request.param == "one block to the end" else 0)


def problem(rng, C=10.0):
    """Two classes with some overlap, of which a third become support vectors."""
    return overlapping(N, rng, C)


def cached_gram(X):
    kernel = KERNELS["rbf"][0]
    return CachedGram(kernel, kernel.prepare(X, np.float64), np.float64, 10**7), KERNELS["rbf"][1](X, X)


@pytest.mark.parametrize("share", [-0.25, 0.0, 0.5])  # of the violation: with the first ones violators are left out
@pytest.mark.parametrize(
    ("machine", "bias"), [(name, True) for name in ONE_VARIABLE_EACH] + [(name, False) for name in WITHOUT_BIAS]
)
def test_same_answer_as_with_all_variables(machine, bias, share, parts, kind_of_part, rng, monkeypatch):
    tune(monkeypatch, inactive=share)
    tune(monkeypatch, active_share=0.9)
    X = rng.normal(size=(N, 3))
    dual = MACHINES[machine](noisy_scores(X, rng), rng.choice([0.5, 1.0, 2.0], N))
    dual = dual if bias else without_groups(dual)
    gram, K = cached_gram(X)
    answer = solve_blocks(dual, gram, Stopping(tol=TOL, time_limit=60.0))
    here = values_at(dual, K, answer.beta)
    assert parts, "nothing was left out"
    assert answer.status is Status.OPTIMAL
    np.testing.assert_allclose(answer.Kb, K @ dual.per_sample(answer.beta), atol=1e-9 * np.abs(answer.beta).sum())
    assert here.violation <= TOL * (1 + 1e-6)
    assert here.infeasibility <= 1e-9 * np.abs(answer.beta).sum()
    assert answer.objective == pytest.approx(here.objective, rel=1e-9)
    with pytest.MonkeyPatch.context() as undo:
        tune(undo, single=2048)
        best = values_at(dual, K, solve_blocks(dual, FullGram(K), Stopping(tol=1e-9)).beta).objective
    assert here.objective - best <= TOL * np.abs(answer.beta).sum()


def test_parts_of_parts(parts, rng, monkeypatch):
    tune(monkeypatch, active_share=0.9)
    X, dual = problem(rng)
    gram, _ = cached_gram(X)
    assert solve_blocks(dual, gram, Stopping(tol=TOL)).status is Status.OPTIMAL
    assert any(of < N for _, of in parts)
    assert all(size <= 0.9 * of for size, of in parts)


def test_objective_of_a_part_is_that_of_the_whole(rng):
    X = rng.normal(size=(60, 3))
    K = KERNELS["rbf"][1](X, X)
    for machine in ONE_VARIABLE_EACH:
        dual = MACHINES[machine](noisy_scores(X, rng), np.ones(60))
        before = rng.uniform(np.maximum(dual.lower, -1.0), np.minimum(dual.upper, 1.0))
        active = np.sort(rng.choice(60, 25, replace=False))
        f = dual.gradient(before, K @ before)
        whole = State(dual, FullGram(K), before, K @ before)
        origin = Origin(before[active], f[active], dual.objective(before, K @ before))
        part = whole.restrict(active, FullGram(K[np.ix_(active, active)]), origin)
        after = before.copy()
        after[active] = part.beta = rng.uniform(-1.0, 1.0, 25)
        part.Kb = (K @ after)[active]
        assert part.evaluate()[2] == pytest.approx(dual.objective(after, K @ after), rel=1e-9)
        whole.join(part, active)
        np.testing.assert_allclose(whole.Kb, K @ after, atol=1e-12)


def test_active_are_those_that_violate_or_nearly_do():
    f = np.array([0.0, 1.0, -1.0, 2.0, -2.0, 0.9])
    lower, upper = np.full(6, -1.0), np.full(6, 1.0)
    beta = np.array(
        [0.5, -1.0, -1.0, 1.0, 1.0, -1.0]
    )  # free; at lo, fine; at lo, violates; at hi, violates; fine; near
    dual = SignedDual(linear_term=np.zeros(6), lower=lower, upper=upper)
    active = active_variables(dual.terms, f, beta, np.zeros(1), 0.95)
    np.testing.assert_array_equal(active, [0, 2, 3, 5])


def test_a_round_inside_a_part_tells_of_the_whole(parts, rng):
    X, dual = problem(rng)
    gram, K = cached_gram(X)
    seen = []

    def watch(info):
        beta, function = info.point()
        seen.append((info.rounds, info.n_support - np.count_nonzero(beta)))
        np.testing.assert_allclose(function, K @ beta, atol=1e-8)
        assert info.objective == pytest.approx(dual.objective(beta, function), rel=1e-9)

    answer = solve_blocks(dual, gram, Stopping(tol=TOL), watch=watch)
    assert parts and answer.status is Status.OPTIMAL
    assert all(difference == 0 for _, difference in seen)
    rounds = [number for number, _ in seen]
    assert rounds == sorted(set(rounds))


@pytest.mark.alone
@pytest.mark.parametrize("ending", ["interrupt", "steps", "time"])
def test_a_part_ends_with_the_whole(ending, parts, rng):
    X, dual = problem(rng, C=1000.0)
    gram, K = cached_gram(X)
    began = []

    def watch(info):
        if parts:
            began.append(info.iterations)
            if ending == "interrupt" and len(began) == 2:
                raise KeyboardInterrupt
            if ending == "time":
                time.sleep(0.2)

    whole = solve_blocks(dual, cached_gram(X)[0], Stopping(tol=TOL))
    parts.clear()
    rule = {
        "interrupt": Stopping(tol=TOL),
        "steps": Stopping(tol=TOL, max_iter=whole.iterations - 1),
        "time": Stopping(tol=1e-9, time_limit=0.3),
    }[ending]
    answer = solve_blocks(dual, gram, rule, watch=watch)
    expected = {"interrupt": Status.INTERRUPTED, "steps": Status.MAX_ITER, "time": Status.TIME_LIMIT}[ending]
    assert parts and answer.status is expected
    assert answer.iterations <= whole.iterations or ending == "time"
    np.testing.assert_allclose(answer.Kb, K @ answer.beta, atol=1e-9 * np.abs(answer.beta).sum())
    assert abs(answer.beta.sum()) <= 1e-9 * np.abs(answer.beta).sum()
    assert ((answer.beta >= dual.lower) & (answer.beta <= dual.upper)).all()


def test_float32_rows_are_certified_in_float64(parts, rng, monkeypatch):
    monkeypatch.setattr(source, "SAFE_ROUNDING", np.inf)
    X, dual = problem(rng)
    kernel, function = KERNELS["rbf"]
    trained = Training(kernel, X, n_jobs=2).train([Task(dual)], Stopping(tol=1e-3))[0]
    assert parts and trained.certificate.holds
    assert values_at(dual, function(X, X), trained.solution.beta).violation <= 1e-3


def test_a_large_matrix_at_hand_is_not_one_block_from_the_start(rng, monkeypatch):
    sizes = []
    plain = BlockSolver.improve

    def improve(self, working_set, *arguments):
        sizes.append(len(working_set))
        return plain(self, working_set, *arguments)

    monkeypatch.setattr(BlockSolver, "improve", improve)
    tune(monkeypatch, single=40)
    X, dual = problem(rng)
    answer = solve_blocks(dual, FullGram(KERNELS["rbf"][1](X, X)), Stopping(tol=TOL))
    assert answer.status is Status.OPTIMAL
    assert sizes[0] == tuning.DEFAULT.first


def test_a_history_costs_no_kernel_values(parts, monkeypatch, rng):
    asked = []
    plain = CachedGram.sum_at

    def sum_at(self, at, index, coefficients):
        asked[-1] += len(at) * len(index)
        return plain(self, at, index, coefficients)

    monkeypatch.setattr(CachedGram, "sum_at", sum_at)  # for the samples outside of a part
    tune(monkeypatch, active_share=0.9)
    X, dual = problem(rng)
    trace = Trace()
    for solver in (solve_blocks, trace.of(solve_blocks)):
        asked.append(0)
        solver(dual, cached_gram(X)[0], Stopping(tol=TOL))
    assert parts and asked[0] == asked[1] > 0
    assert np.isnan(trace.gap).any() and np.isfinite(trace.gap[[0, -1]]).all()  # known where all variables take part
    assert np.isfinite(trace.objective).all() and np.all(np.diff(trace.objective) <= 1e-9)


def test_rows_that_only_a_listener_needs_are_not_counted(parts, monkeypatch, rng):
    tune(monkeypatch, active_share=0.9)
    X, dual = problem(rng)
    plain, watched = (cached_gram(X)[0] for _ in range(2))
    alone = solve_blocks(dual, plain, Stopping(tol=TOL))
    seen = solve_blocks(dual, watched, Stopping(tol=TOL), watch=lambda now: now.point())
    assert parts  # inside of which K b of all samples must be computed for the listener
    assert seen.rows_computed == alone.rows_computed and seen.iterations == alone.iterations
    np.testing.assert_array_equal(seen.beta, alone.beta)
