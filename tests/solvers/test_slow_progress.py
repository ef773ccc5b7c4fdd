"""Working sets on which pair steps are slow go to the interior-point method, but not at the first call."""

import numpy as np
import pytest

from tests.small_blocks import tune
from widemargin.costs import COSTS
from widemargin.gram.full import FullGram
from widemargin.kernels import Gaussian
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems import hinge
from widemargin.solvers import tuning
from widemargin.solvers.on_demand import inner
from widemargin.solvers.on_demand.solver import BlockSolver
from widemargin.solvers.state import State
from widemargin.solvers.steps.interior import interior_cost


@pytest.fixture
def asked(monkeypatch, rng):
    """Calls without a halved violation at each time the interior-point method was asked, with 20 steps to a call."""
    tune(monkeypatch, steps_per_call=20)
    monkeypatch.setattr(inner, "newton_step", lambda *_: False)
    counts, solver = [], slow_solver(rng, np.float64)
    monkeypatch.setattr(inner, "interior_point", lambda *_: counts.append(solver.inner.slow_calls))
    solver.run(None)
    return counts


def slow_solver(rng, dtype):
    X = rng.normal(size=(150, 3))
    kernel = Gaussian(0.1)
    gram = FullGram.of(kernel, kernel.prepare(X, dtype), dtype, 1)
    dual = hinge(np.where(X[:, 0] + 0.5 * rng.normal(size=150) > 0, 1.0, -1.0), np.full(150, 1e3))
    return BlockSolver(State.at(dual, gram, None, None), Stopping(tol=1e-3), tuning.DEFAULT)


def test_it_is_asked_after_some_calls(asked):
    first = tuning.DEFAULT.slow_calls_before_interior
    assert asked
    assert min(asked) == first > 1
    assert interior_cost(150) > first * 20 * 150 * COSTS.pair_step


@pytest.fixture
def nearly_free(monkeypatch):
    monkeypatch.setattr(inner, "interior_cost", lambda n: 1.0)


def test_it_is_asked_at_once_where_it_is_the_cheaper_way(nearly_free, asked):
    assert min(asked) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_that_fails_is_not_asked_again_and_ends_the_work_on_float32_rows(monkeypatch, rng, dtype):
    """It takes 1.4 s for 2,000 variables, and fails on rows rounded so coarsely that their block is not convex."""
    tune(monkeypatch, steps_per_call=20)
    monkeypatch.setattr(inner, "newton_step", lambda *_: False)
    asked, solver = [], slow_solver(rng, dtype)
    monkeypatch.setattr(inner, "interior_point", lambda *_: asked.append(solver.inner.slow_violation))
    solution = solver.run(None)
    assert asked and len(set(asked)) == len(asked)  # once until the violation is halved
    if dtype == np.float32:
        assert solution.status is Status.STALLED and len(asked) == 1
        assert solver.inner.slow_calls == tuning.DEFAULT.slow_calls_before_interior


def test_two_that_do_not_halve_the_violation_end_the_work_on_float32_rows(monkeypatch, rng):
    tune(monkeypatch, steps_per_call=20)
    monkeypatch.setattr(inner, "newton_step", lambda *_: False)
    asked, solver = [], slow_solver(rng, np.float32)
    monkeypatch.setattr(inner, "interior_point", lambda block: asked.append(1) or block.beta.copy())
    monkeypatch.setattr(solver.inner, "slow_violation", 1e-9)  # so that none counts as halved
    assert solver.run(None).status is Status.STALLED
    assert len(asked) == tuning.DEFAULT.most_interior_rounded == 2
