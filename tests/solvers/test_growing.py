"""The block that grows: the same optimum as on the whole matrix, from fewer rows; and who takes over when it fails."""

import threading

import numpy as np
import pytest

from tests.samples import rows_of_two
from widemargin import SVC, NuSVC, verify
from widemargin.gram import FullGram
from widemargin.gram.class_pair import PairGram
from widemargin.gram.memory import ThreadMemory
from widemargin.gram.row_store import ABSENT, evaluate_now
from widemargin.kernels import Gaussian
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems import hinge, nu_classification
from widemargin.problems.dual import SignedDual
from widemargin.solvers.in_memory.rounds import ROUNDS, STEPS, VIOLATION, Rule, new_progress, solve_rounds
from widemargin.solvers.in_memory.violators import take_largest
from widemargin.solvers.solve import solve_blocks
from widemargin.solvers.state import State
from widemargin.solvers.steps.packed_keys import keys_of
from widemargin.solvers.tuning import BlockTuning


def problem(rng, kernel, sizes=(90, 140), linear_term=1.5, d=6, dtype=np.float64):
    X = rng.normal(size=(sum(sizes), d))
    X[: sizes[0], 0] += linear_term
    classes = rows_of_two(kernel, X, sizes[0], dtype)
    sign = np.where(np.arange(len(X)) < sizes[0], 1.0, -1.0)
    return X, sign, PairGram(*classes, ThreadMemory())


@pytest.mark.parametrize("d", [6, 120], ids=["direct", "products"])
@pytest.mark.parametrize("machine", ["hinge", "nu"])
def test_same_optimum_as_on_the_whole_matrix(d, machine, rng):
    kernel = Gaussian(1.8 / d)
    X, sign, gram = problem(rng, kernel, d=d)
    dual = hinge(sign, np.full(len(X), 2.0)) if machine == "hinge" else nu_classification(sign, 0.3, np.ones(len(X)))
    stopping = Stopping(tol=1e-8)
    best = solve_blocks(dual, FullGram(kernel(X)), stopping)
    solution = solve_blocks(dual, gram, stopping)
    assert solution.status is Status.OPTIMAL
    assert solution.violation <= 1e-8
    np.testing.assert_allclose(solution.objective, best.objective, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(solution.Kb, kernel(X) @ solution.beta, atol=1e-9)
    assert solution.rows_computed == gram.rows_computed <= len(X)


def test_easy_problems_need_few_rows(rng):
    X, sign, gram = problem(rng, Gaussian(0.05), sizes=(400, 500), linear_term=6.0)
    solution = solve_blocks(hinge(sign, np.full(len(X), 1.0)), gram, Stopping(tol=1e-3))
    assert solution.status is Status.OPTIMAL
    assert np.count_nonzero(solution.beta) < gram.rows_computed < 0.3 * len(X)


def test_a_start_is_gone_on_from(rng):
    X, sign, gram = problem(rng, Gaussian(0.3))
    dual = hinge(sign, np.full(len(X), 2.0))
    before = solve_blocks(dual, gram, Stopping(tol=1e-2))
    again = PairGram(gram.first, gram.second, ThreadMemory())
    after = solve_blocks(dual, again, Stopping(tol=1e-7), start=before.beta)
    assert after.violation <= 1e-7
    cold = solve_blocks(dual, PairGram(gram.first, gram.second, ThreadMemory()), Stopping(tol=1e-7))
    assert after.iterations < cold.iterations


def test_what_it_does_not_finish_the_general_solver_continues(rng):
    X, sign, gram = problem(rng, Gaussian(0.3))
    dual = hinge(sign, np.full(len(X), 2.0))
    state = State.at(dual, gram, None, None)
    progress = new_progress(1, len(dual))
    rule = Rule(tol=1e-6, aim=1e-6, first_steps=20, max_steps=20)
    solve_rounds(gram.store, dual.terms, state.beta, state.Kb, rule, keys_of(len(X), gram.dtype), progress)
    assert progress.counts[STEPS] == 20
    assert progress.reached[VIOLATION] > 1e-6
    np.testing.assert_allclose(state.Kb, Gaussian(0.3)(X) @ state.beta, atol=1e-10)
    again = PairGram(gram.first, gram.second, ThreadMemory())
    solution = solve_blocks(dual, again, Stopping(tol=1e-6), tuning=BlockTuning(steps_per_call=20))
    assert solution.status is Status.OPTIMAL
    assert solution.iterations > 40 and solution.rounds > progress.counts[ROUNDS]


@pytest.mark.parametrize("d", [6, 120], ids=["direct", "products"])
def test_rows_that_other_threads_read_never_hold_unfinished_values(d, rng):
    _, _, gram = problem(rng, Gaussian(0.3), sizes=(300, 300), d=d, dtype=np.float32)
    everyone = np.arange(300)
    evaluate_now(gram.store, everyone)
    reference = gram.first.rows.copy()
    ended = threading.Event()

    def again():
        while not ended.is_set():
            gram.store.used[:] = 0
            gram.first.known[:] = False
            evaluate_now(gram.store, everyone)

    other = threading.Thread(target=again)
    other.start()
    try:
        assert all(np.array_equal(gram.first.rows, reference) for _ in range(300))
    finally:
        ended.set()
        other.join()


def test_max_iter_is_kept(rng):
    X, sign, gram = problem(rng, Gaussian(0.3))
    solution = solve_blocks(hinge(sign, np.full(len(X), 2.0)), gram, Stopping(tol=1e-9, max_iter=7))
    assert solution.status is Status.MAX_ITER
    assert solution.iterations == 7


def test_a_hard_margin_without_any_margin_is_named(rng):
    X, sign, gram = problem(rng, Gaussian(1e-12), linear_term=0.0)
    solution = solve_blocks(hinge(sign, np.full(len(X), np.inf)), gram, Stopping(tol=1e-3))
    assert solution.status is Status.UNBOUNDED


def test_the_worst_violators_are_taken():
    amount, number = np.array([5.0, 1.0, 9.0, 4.9, 9.0, 0.1]), np.array([1, 2, 3, 5, 6, 7])
    fresh = np.full(8, -1)
    assert take_largest(number, amount, 3, fresh, 0) == 3
    assert sorted(fresh[:3]) in ([1, 3, 6], [3, 5, 6])  # 5.0 and 4.9 fall into one bin
    assert take_largest(number, amount, 8, fresh, 0) == 6
    assert sorted(fresh[:6]) == [1, 2, 3, 5, 6, 7]


def test_equal_violators_are_taken_evenly():
    fresh = np.empty(4, np.int64)
    assert take_largest(np.arange(1000), np.ones(1000), 4, fresh, 0) == 4
    assert fresh.tolist() == [124, 374, 624, 874]


def test_a_group_that_cannot_move_gets_no_rows(rng):
    X, _, gram = problem(rng, Gaussian(0.3))
    n, half = len(X), 90
    upper = np.where(np.arange(n) < half, 0.0, 1.0)  # the first group has no room at all
    start = np.where(np.arange(n) < half, 0.0, 0.5)
    group = (np.arange(n) >= half).astype(np.int64)
    dual = SignedDual(rng.normal(size=n), np.zeros(n), upper, start=start, group=group, n_groups=2)
    solution = solve_blocks(dual, gram, Stopping(tol=1e-6))
    assert solution.status is Status.OPTIMAL
    assert (gram.store.slot[:half] == ABSENT).all()


@pytest.mark.parametrize("d", [4, 30])
def test_many_class_machines_are_certified(d, rng):
    centres = 2.0 * rng.normal(size=(5, d))
    y = rng.integers(5, size=900)
    X = centres[y] + rng.normal(size=(900, d))
    for machine in (SVC(C=3.0, tol=1e-5), NuSVC(nu=0.2, tol=1e-5), SVC(kernel="linear", tol=1e-5)):
        machine.fit(X, y)
        assert machine.certificate_.holds
        assert machine.certificate_.violation <= 1e-5
        assert max(part.rows_computed for part in machine.certificate_.parts) < 400


@pytest.mark.parametrize("zeros", [0.0, 0.8], ids=["dense", "mostly zeros"])
@pytest.mark.parametrize("d", [40, 120], ids=["direct", "products"])
def test_many_class_machines_in_single_precision_are_exact(d, zeros, rng):
    """Beyond 2,048 samples rows may be float32; the certificate counts their errors, and float64 agrees with it."""
    y = rng.integers(3, size=2400)
    X = rng.normal(size=(3, d))[y] + 2.0 * rng.normal(size=(2400, d))
    X[rng.random(X.shape) < zeros] = 0.0
    machine = SVC(C=50.0, gamma=0.5 / d).fit(X, y)
    assert machine.certificate_.holds
    exact = verify(machine, X, y)
    for own, recomputed in zip(machine.certificates_, exact.parts, strict=True):
        assert recomputed.violation <= own.violation + 1e-9 <= 1e-3 + 1e-9
        assert recomputed.objective == pytest.approx(own.objective, rel=1e-5)
        assert own.dual <= recomputed.objective <= recomputed.primal and recomputed.dual <= own.primal
