"""Blocks whose pair steps creep go to the interior-point method, but not at the first call."""

import numpy as np
import pytest

from widemargin.gram.full import FullGram
from widemargin.kernels import Gaussian
from widemargin.monitor.stopping import Stopping
from widemargin.problems import hinge
from widemargin.solvers import block
from widemargin.solvers.steps.interior import interior_cost


@pytest.fixture
def asked(monkeypatch, rng):
    """Calls without a halved violation at each time the interior-point method was asked, with 20 steps to a call."""
    monkeypatch.setattr(block, "STEPS_PER_CALL", 20)
    monkeypatch.setattr(block, "newton_step", lambda *_: False)
    X = rng.normal(size=(150, 3))
    kernel = Gaussian(0.1)
    gram = FullGram.of(kernel, kernel.prepare(X, np.float64), np.float64, 1)
    dual = hinge(np.where(X[:, 0] + 0.5 * rng.normal(size=150) > 0, 1.0, -1.0), np.full(150, 1e3))
    solver = block.BlockSolver(dual, gram, Stopping(tol=1e-3))
    counts = []
    monkeypatch.setattr(block, "interior_point", lambda *_: counts.append(solver.creeps))
    solver.run(dual.start.copy(), np.zeros(150), None)
    return counts


def test_it_is_asked_after_some_calls(asked):
    assert asked
    assert min(asked) == block.CREEPS_BEFORE_INTERIOR > 1
    assert interior_cost(150) > block.CREEPS_BEFORE_INTERIOR * 20 * 150 * block.PAIR_STEP


@pytest.fixture
def nearly_free(monkeypatch):
    monkeypatch.setattr(block, "interior_cost", lambda n: 1.0)


def test_it_is_asked_at_once_where_it_is_the_cheaper_way(nearly_free, asked):
    assert min(asked) == 1
