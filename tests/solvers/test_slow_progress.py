"""Working sets on which pair steps are slow go to the interior-point method, but not at the first call."""

import numpy as np
import pytest

from tests.small_blocks import tune
from widemargin.costs import COSTS
from widemargin.gram.full import FullGram
from widemargin.kernels import Gaussian
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
    X = rng.normal(size=(150, 3))
    kernel = Gaussian(0.1)
    gram = FullGram.of(kernel, kernel.prepare(X, np.float64), np.float64, 1)
    dual = hinge(np.where(X[:, 0] + 0.5 * rng.normal(size=150) > 0, 1.0, -1.0), np.full(150, 1e3))
    solver = BlockSolver(State.at(dual, gram, None, None), Stopping(tol=1e-3), tuning.DEFAULT)
    counts = []
    monkeypatch.setattr(inner, "interior_point", lambda *_: counts.append(solver.inner.slow_calls))
    solver.run(None)
    return counts


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
