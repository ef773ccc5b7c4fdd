"""Small problems are solved to rounding whatever tol asks for, so that the order of samples hardly matters."""

import numpy as np
import pytest

from tests.oracles import MACHINES, values_at
from tests.samples import train_one
from tests.small_blocks import tune
from widemargin.kernels import Gaussian
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.training.fit import Training
from widemargin.training.task import Task


def solved(machine, X, target, weight, **rule):
    dual = MACHINES[machine](target, weight)
    return dual, train_one(Gaussian(0.5), X, dual, **rule)


@pytest.fixture
def data(rng):
    return rng.normal(size=(40, 3)), rng.normal(size=40), rng.uniform(0.5, 2.0, size=40)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_violation_is_near_rounding(machine, data):
    dual, trained = solved(machine, *data, tol=0.1)
    assert trained.solution.status is Status.OPTIMAL
    assert values_at(dual, Gaussian(0.5)(data[0]), trained.solution.beta).violation < 1e-7


@pytest.mark.parametrize("machine", ["hinge", "epsilon_insensitive"])
def test_a_start_that_meets_the_tolerance_is_left_as_it_is(machine, data, monkeypatch):
    tune(monkeypatch, exact=0)
    dual, rough = solved(machine, *data, tol=0.05)
    assert rough.certificate.violation > 1e-6
    monkeypatch.undo()
    training = Training(Gaussian(0.5), data[0], n_jobs=1)
    again = training.train([Task(dual, start=rough.solution.beta)], Stopping(tol=0.05))[0]
    assert again.solution.iterations == 0
    np.testing.assert_array_equal(again.solution.beta, rough.solution.beta)


def test_max_iter_holds_for_these_steps_too(data):
    _, trained = solved("hinge", *data, tol=0.5, max_iter=3)
    assert trained.solution.iterations <= 3
