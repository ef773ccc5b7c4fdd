"""The path of large problems, forced on small ones: blocks, cached rows, float32, threads, mixed certificates."""

import numpy as np
import pytest

from tests.oracles import (
    DATA,
    KERNELS,
    MACHINES,
    WITHOUT_BIAS,
    as_array,
    noisy_scores,
    signs,
    values_at,
    without_groups,
)
from tests.samples import overlapping, train_one
from tests.small_blocks import solve_in_small_blocks, tune
from widemargin.gram import CachedGram, FullGram, source
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems import hinge
from widemargin.solvers import solve_blocks
from widemargin.training.fit import Training
from widemargin.training.task import Task

N = 300
TOL = 1e-4


@pytest.fixture(params=["float32", "float64"])
def precision(request, monkeypatch):
    """No full matrix, blocks far smaller than the problem, and rows in one precision whatever their rounding."""
    monkeypatch.setattr(source, "FULL", 40)
    monkeypatch.setattr(source, "SAFE_ROUNDING", np.inf if request.param == "float32" else 0.0)
    solve_in_small_blocks(monkeypatch, single=40, first=16, smallest=64, largest=128)
    return np.dtype(request.param)


@pytest.fixture
def grams(monkeypatch):
    """Every CachedGram made during a test."""
    made = []

    class Noted(CachedGram):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            made.append(self)

    monkeypatch.setattr(source, "CachedGram", Noted)
    return made


def whole_problem(dual, X, kernel, tol=1e-9):
    """The answer of the small-problem path, checked elsewhere against other software."""
    return train_one(KERNELS[kernel][0], X, dual, tol=tol).solution


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
def test_same_answer_as_the_small_path(machine, kernel, precision, grams, rng):
    X = rng.normal(size=(N, 4))
    dual = MACHINES[machine](noisy_scores(X, rng), rng.choice([0.5, 1.0, 2.0], N))
    trained = train_one(KERNELS[kernel][0], X, dual, tol=TOL, time_limit=60.0)
    K = KERNELS[kernel][1](X, X)
    here = values_at(dual, K, trained.solution.beta)
    assert grams and grams[0].dtype == precision
    assert trained.solution.rounds > 3
    assert trained.solution.status is Status.OPTIMAL and trained.certificate.holds
    assert here.violation <= TOL * (1 + 1e-6)  # the true one, in extended precision
    assert here.violation * (1 - 1e-6) - 1e-9 <= trained.certificate.violation <= TOL
    if precision == np.float64:
        assert trained.certificate.computed == pytest.approx(here.violation, rel=1e-6, abs=1e-9)
    assert here.infeasibility <= 1e-9 * np.abs(trained.solution.beta).sum()
    with pytest.MonkeyPatch.context() as undo:
        undo.setattr(source, "FULL", 2048)
        tune(undo, single=2048)
        reference = whole_problem(dual, X, kernel)
    best = values_at(dual, K, reference.beta).objective
    assert here.objective - best <= TOL * np.abs(trained.solution.beta).sum()  # what a violation of TOL allows
    assert here.objective - best >= -1e-7 * max(1.0, abs(best))


@pytest.mark.parametrize("machine", WITHOUT_BIAS)
def test_fixed_bias_in_blocks(machine, precision, rng):
    X = rng.normal(size=(N, 4))
    K = KERNELS["rbf"][1](X, X)
    dual = without_groups(MACHINES[machine](noisy_scores(X, rng), np.ones(N)))
    trained = train_one(KERNELS["rbf"][0], X, dual, tol=TOL, time_limit=60.0)
    assert trained.solution.status is Status.OPTIMAL
    assert trained.solution.rounds > 2
    assert values_at(dual, K, trained.solution.beta).violation <= TOL * (1 + 1e-6)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_representation(data, kernel, precision, rng):
    X = DATA[data](N, rng)
    K = KERNELS[kernel][1](as_array(X), as_array(X))
    dual = hinge(signs(noisy_scores(X, rng)), np.full(N, 2.0))
    trained = train_one(KERNELS[kernel][0], X, dual, tol=TOL, time_limit=60.0)
    here = values_at(dual, K, trained.solution.beta)
    assert trained.solution.status is Status.OPTIMAL and trained.certificate.holds
    assert here.violation <= TOL * (1 + 1e-5)
    assert trained.certificate.objective == pytest.approx(-here.objective, rel=1e-5)
    assert trained.certificate.dual <= -here.objective <= trained.certificate.primal


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_thread_is_many_threads(kernel, precision, rng):
    X = rng.normal(size=(N, 30)) / 3
    K = KERNELS[kernel][1](X, X)
    dual = hinge(signs(noisy_scores(X, rng)), np.ones(N))
    answers = [
        Training(KERNELS[kernel][0], X, n_jobs=n_jobs)
        .train([Task(dual)], Stopping(tol=1e-5, time_limit=60.0))[0]
        .solution
        for n_jobs in (1, 2, 5)
    ]
    values = [values_at(dual, K, answer.beta).objective for answer in answers]
    np.testing.assert_allclose(values, values[0], rtol=1e-5)
    for answer in answers:
        np.testing.assert_allclose(answer.Kb - answer.thresholds, answers[0].Kb - answers[0].thresholds, atol=1e-3)


@pytest.mark.parametrize("megabytes", [0.0, 1e-3, 4e-3, 0.1, 100.0])
def test_any_cache_size_gives_the_same_answer(megabytes, precision, grams, rng):
    X, dual = overlapping(N, rng, 10.0, d=4)
    K = KERNELS["rbf"][1](X, X)
    trained = Training(KERNELS["rbf"][0], X, cache_size=megabytes, n_jobs=1).train([Task(dual)], Stopping(tol=TOL))[0]
    assert values_at(dual, K, trained.solution.beta).violation <= TOL * (1 + 1e-6)
    for gram in grams:
        assert sum(slab.nbytes for slab in gram.cache.slabs) <= megabytes * (1 << 20)
    if megabytes == 0.0:
        assert sum(gram.row_hits for gram in grams) == 0
    if megabytes == 100.0:
        assert trained.solution.rows_computed <= 2 * N  # everything that moves twice is kept


def test_tasks_on_parts_of_the_samples(precision, rng):
    X = rng.normal(size=(N, 4))
    y = signs(noisy_scores(X, rng))
    parts = [rng.permutation(N)[:size] for size in (20, 100, 250)]
    tasks = [Task(hinge(y[part], np.ones(len(part))), index=part) for part in parts]
    for n_jobs in (1, 2):
        results = Training(KERNELS["rbf"][0], X, n_jobs=n_jobs).train(tasks, Stopping(tol=TOL))
        for part, task, trained in zip(parts, tasks, results):
            K = KERNELS["rbf"][1](X[part], X[part])
            assert trained.solution.status is Status.OPTIMAL
            assert values_at(task.dual, K, trained.solution.beta).violation <= TOL * (1 + 1e-6)


def test_dual_objective_falls_over_blocks(precision, rng):
    X, dual = overlapping(N, rng, 100.0, d=4)
    seen = []
    Training(KERNELS["rbf"][0], X, n_jobs=1).train(
        [Task(dual)], Stopping(tol=TOL), watch=lambda info: seen.append(info.objective)
    )
    rounding = 1e-6 if precision == np.float32 else 1e-13
    assert len(seen) > 5
    assert np.all(np.diff(seen) <= rounding * np.abs(seen).max())


def test_interrupted_between_blocks(precision, rng):
    X, dual = overlapping(N, rng, d=4)
    K = KERNELS["rbf"][1](X, X)

    def watch(info):
        if info.rounds == 3:
            raise KeyboardInterrupt

    trained = train_one(KERNELS["rbf"][0], X, dual, watch=watch, tol=1e-8)
    here = values_at(dual, K, trained.solution.beta)
    assert trained.solution.status is Status.INTERRUPTED and trained.solution.rounds == 3
    np.testing.assert_allclose(trained.solution.Kb, here.function.astype(float), atol=1e-4)
    assert trained.certificate.objective == pytest.approx(-here.objective, rel=1e-5)
    assert trained.certificate.dual <= -here.objective <= trained.certificate.primal


def test_large_C_in_float32_ends_in_a_true_certificate(monkeypatch, rng, grams):
    """Here float32 sums would claim what is not so; the answer must hold in extended precision."""
    monkeypatch.setattr(source, "FULL", 40)
    X, dual = overlapping(N, rng, 1e5, d=4)
    K = KERNELS["rbf"][1](X, X)
    trained = train_one(KERNELS["rbf"][0], X, dual, tol=1e-3, time_limit=60.0)
    assert grams[0].dtype == np.float32
    assert trained.solution.status is Status.OPTIMAL and trained.certificate.holds
    assert values_at(dual, K, trained.solution.beta).violation <= 1e-3 * (1 + 1e-6)


def test_the_word_of_another_solver_is_not_taken(monkeypatch, rng):
    """One that is wrong about F at a single sample, of many: a probe would hardly find it."""
    monkeypatch.setattr(source, "FULL", 40)
    X, dual = overlapping(N, rng, d=4)
    K = KERNELS["rbf"][1](X, X)

    def wrong_at_one(dual, gram, stopping, start=None, function=None, watch=None):
        solution = solve_blocks(dual, gram, stopping, start=start, function=function)
        solution.Kb[N // 2] += 0.5
        return solution

    trained = Training(KERNELS["rbf"][0], X, n_jobs=1, solver=wrong_at_one).train([Task(dual)], Stopping(tol=TOL))[0]
    np.testing.assert_allclose(trained.solution.Kb, K @ trained.solution.beta, atol=1e-9)
    assert trained.certificate.drift == pytest.approx(0.5, abs=1e-3)


def test_blocks_and_the_whole_matrix_agree(monkeypatch, rng):
    """The block loop on a full matrix: only the cutting into blocks differs."""
    X = rng.normal(size=(N, 4))
    K = KERNELS["poly"][1](X, X)
    for machine in ("hinge", "nu_regression", "squared_epsilon_insensitive"):
        dual = MACHINES[machine](noisy_scores(X, rng), np.ones(N))
        whole = solve_blocks(dual, FullGram(K), Stopping(tol=1e-6))
        with monkeypatch.context() as small:
            solve_in_small_blocks(small)
            blocks = solve_blocks(dual, FullGram(K), Stopping(tol=1e-6, time_limit=60.0))
        assert blocks.status is Status.OPTIMAL and blocks.rounds > whole.rounds
        assert blocks.objective == pytest.approx(whole.objective, rel=1e-6)
