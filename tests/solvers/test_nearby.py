"""Problems that start near their answer, on a full matrix."""

import numpy as np
import pytest

from widemargin.gram.full import FullGram
from widemargin.gram.scores import Scores
from widemargin.kernels import Gaussian
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems.classification import hinge
from widemargin.problems.regression import epsilon_insensitive
from widemargin.solvers import solve_blocks
from widemargin.solvers.in_memory.nearby import look_around, newton_on_free
from widemargin.solvers.state import State
from widemargin.training.along_path import Reached
from widemargin.training.family import begin_at
from widemargin.training.task import Task

RULE = Stopping(1e-6, "kkt", -1, None)


def gram_of(rng, n=300, dtype=np.float64):
    X = rng.normal(size=(n, 4))
    kernel = Gaussian(0.2)
    return X, FullGram.of(kernel, kernel.prepare(X, dtype), dtype)


def duals(X, Cs, loss):
    sign = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0, 1.0, -1.0)
    if loss == "hinge":
        return [hinge(sign, np.full(len(X), C)) for C in Cs]
    return [epsilon_insensitive(np.sin(X[:, 0]) + X[:, 1], np.full(len(X), C), 0.05) for C in Cs]


@pytest.mark.parametrize("loss", ["hinge", "epsilon"])
@pytest.mark.parametrize(("dtype", "fast"), [(np.float64, False), (np.float64, True), (np.float32, False)])
def test_a_path_of_C_has_the_answers_of_cold_starts(rng, loss, dtype, fast):
    X, gram = gram_of(rng, dtype=dtype)
    if fast:  # the tolerance below needs more than float32 has: sums in float64 correct the steps
        gram.add_fast()
        assert gram.fast.dtype == np.float32
    Cs = [0.1, 1.0, 10.0, 1e3, 1e5]
    rule = RULE if dtype == np.float64 else Stopping(1e-4, "kkt", -1, None)
    reached = None
    for place, dual in enumerate(duals(X, Cs, loss)):
        reached = Reached.start_of(dual, gram) if reached is None else reached
        task, known = begin_at(reached, Task(dual), gram, Cs[place] / Cs[max(0, place - 1)])
        before = solve_blocks(dual, gram, rule, start=task.start, function=known)
        reached = Reached(before.beta, before.scores)
        cold = solve_blocks(dual, gram, rule)
        assert before.status is Status.OPTIMAL
        assert before.objective == pytest.approx(cold.objective, rel=1e-6 if dtype == np.float64 else 1e-4)
        exact = gram.matrix.astype(np.longdouble) @ before.beta.astype(np.longdouble)
        assert before.error is not None
        rounding = before.error - gram.errors.of_values(np.abs(before.beta))  # without the errors of the matrix itself
        assert (np.abs(before.Kb - exact) <= before.error).all() and (rounding > -1e-12).all()


def test_a_start_at_the_answer_takes_no_step(rng):
    X, gram = gram_of(rng)
    dual = duals(X, [1.0], "hinge")[0]
    answer = solve_blocks(dual, gram, RULE)
    again = solve_blocks(dual, gram, RULE, start=answer.beta, function=Scores(answer.Kb, np.zeros(len(X))))
    assert again.iterations == 0 and np.array_equal(again.beta, answer.beta)


def test_a_newton_step_lowers_the_objective_and_keeps_the_sum(rng):
    X, gram = gram_of(rng)
    dual = duals(X, [100.0], "hinge")[0]
    rough = solve_blocks(dual, gram, Stopping(0.3, "kkt", -1, None))
    state = State.at(dual, gram, rough.beta, Scores(rough.Kb, np.zeros(len(X))))
    before = state.evaluate()[2]
    assert newton_on_free(state)
    assert state.evaluate()[2] < before
    assert abs(state.beta.sum()) < 1e-9
    np.testing.assert_allclose(state.Kb, gram.matrix @ state.beta, atol=1e-9)


def test_many_variables_take_part_at_zero_and_few_at_the_answer(rng):
    X, gram = gram_of(rng)
    dual = duals(X, [0.01], "hinge")[0]
    zero = Scores(np.zeros(len(X)), np.zeros(len(X)))
    table = np.empty((1, 4))
    assert look_around(dual.terms, dual.start, zero.values, table) == (True, 0.0)
    answer = solve_blocks(dual, gram, RULE)
    takes_many, n_free = look_around(dual.terms, answer.beta, answer.Kb, table)
    assert not takes_many and n_free == np.count_nonzero((answer.beta != 0.0) & (np.abs(answer.beta) < 0.01))


@pytest.mark.parametrize("scale", [1e-20, 1e20, np.inf])
def test_float32_steps_are_not_made_on_values_beyond_float32(rng, scale):
    _, gram = gram_of(rng, n=40)
    with np.errstate(invalid="ignore"):
        scaled = FullGram(gram.matrix * scale)
    scaled.add_fast()
    assert scaled.fast is scaled.matrix
    gram.matrix[3, 5] = gram.matrix[5, 3] = 1e200  # no matrix of inner products has such a value beside its diagonal
    gram.add_fast()
    assert gram.fast is gram.matrix


def test_the_fast_rows_of_a_subset_are_those_of_its_samples(rng):
    _, gram = gram_of(rng, n=60)
    gram.add_fast()
    part = gram.subset(np.array([5, 3, 50]))
    assert part.fast.dtype == np.float32
    np.testing.assert_array_equal(part.fast, part.matrix.astype(np.float32))


def test_targets_beyond_float32_are_solved_in_float64(rng):
    X, gram = gram_of(rng, n=60)
    gram.add_fast()
    dual = epsilon_insensitive(1e60 * np.sin(X[:, 0]), np.full(len(X), 1e61), 1e58)
    rule = Stopping(1e57, "kkt", -1, None)
    answer = solve_blocks(dual, gram, rule, start=dual.start, function=Scores(np.zeros(60), np.zeros(60)))
    assert answer.status is Status.OPTIMAL
    assert answer.objective == pytest.approx(solve_blocks(dual, FullGram(gram.matrix), rule).objective, rel=1e-3)
