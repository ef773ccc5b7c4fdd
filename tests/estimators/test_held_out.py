"""Folds behind probabilities: problems that begin at the answer with all samples, and are solved as exactly."""

import numpy as np
import pytest

from widemargin.calibration.held_out import without_samples
from widemargin.kernels import Gaussian
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems import hinge, nu_classification
from widemargin.training.fit import Training
from widemargin.training.task import Task

N = 150


@pytest.fixture
def samples(rng):
    X = rng.normal(size=(N, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=N) > 0, 1.0, -1.0)


@pytest.mark.parametrize("in_memory", [2048, 0], ids=["in memory", "on demand"])
@pytest.mark.parametrize("machine", ["hinge", "nu"])
def test_a_fold_left_out_is_the_fit_without_it(machine, in_memory, samples, rng):
    X, sign = samples
    if machine == "nu":
        X, sign = X[np.argsort(-sign)], np.sort(sign)[::-1]
    whole = hinge(sign, np.full(N, 5.0)) if machine == "hinge" else nu_classification(sign, 0.4, np.ones(N))
    away = rng.random(N) < 0.2
    dual = without_samples(whole, away)
    rule, kernel = Stopping(tol=1e-7), Gaussian(0.5)
    first, left_out = Training(kernel, X, in_memory=in_memory).train([Task(whole), Task(dual, neighbour=0)], rule)
    cold = Training(kernel, X, in_memory=in_memory).train([Task(dual)], rule)[0]
    assert first.certificate.holds and left_out.certificate.holds and cold.certificate.holds
    assert left_out.solution.status is Status.OPTIMAL
    assert not left_out.solution.beta[away].any()
    truth = kernel(X) @ left_out.solution.beta
    assert (np.abs(left_out.solution.Kb - truth) <= left_out.solution.error).all()
    np.testing.assert_allclose(left_out.solution.Kb, cold.solution.Kb, atol=1e-4)
    np.testing.assert_allclose(left_out.solution.thresholds, cold.solution.thresholds, atol=1e-4)
    assert left_out.solution.iterations < cold.solution.iterations


def test_sums_of_nu_machines_shrink_with_what_is_left(samples):
    _, sign = samples
    sign = np.sort(sign)[::-1]
    dual = nu_classification(sign, 0.3, np.ones(N))
    away = np.arange(N) % 5 == 0
    left = without_samples(dual, away)
    share = np.add.reduceat(left.start, dual.group_starts[:-1]) / np.add.reduceat(dual.start, dual.group_starts[:-1])
    np.testing.assert_allclose(share, share[0])
    assert share[0] == pytest.approx(0.8, abs=0.02)
    assert not left.upper[away].any() and not left.lower[away].any()


def test_tasks_that_follow_report_nothing(samples):
    X, sign = samples
    whole = hinge(sign, np.full(N, 5.0))
    dual = without_samples(whole, np.arange(N) < 20)
    seen = []
    Training(Gaussian(0.5), X).train([Task(whole), Task(dual, neighbour=0)], Stopping(), watch=seen.append)
    assert {(now.task, now.n_tasks) for now in seen} == {(0, 1)}
