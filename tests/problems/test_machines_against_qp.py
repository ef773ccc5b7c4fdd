"""Every machine, kernel and representation against a generic solver of quadratic programmes (n = 50)."""

import numpy as np
import pytest

from tests.oracles import (
    DATA,
    KERNELS,
    MACHINES,
    WITHOUT_BIAS,
    GivenMatrix,
    as_array,
    noisy_scores,
    primal_at,
    solve_qp,
    values_at,
    without_groups,
)
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems import hinge
from widemargin.problems.fixed_bias import safe_tau, without_bias
from widemargin.training.fit import Training
from widemargin.training.task import Task

N = 50
TIGHT = Stopping(tol=1e-7, time_limit=60.0)


def check(kernel, X, K, dual):
    """Train, and compare status, certificate, conditions and objective with what the definitions and the oracle say."""
    trained = Training(kernel, X, n_jobs=1).train([Task(dual)], TIGHT)[0]
    solution, certificate = trained.solution, trained.certificate
    best, _ = solve_qp(dual, K)
    here = values_at(dual, K, solution.beta)
    size = max(1.0, abs(best))
    assert solution.status is Status.OPTIMAL
    assert certificate.holds, str(certificate)
    assert here.violation <= 1.1e-7
    assert np.all(solution.beta >= dual.lower) and np.all(solution.beta <= dual.upper)
    assert here.infeasibility <= 1e-10 * np.abs(solution.beta).sum()
    assert abs(here.objective - best) <= 1e-6 * size
    assert abs(certificate.dual + best) <= 1e-6 * size
    # The primal at the solver's own levels is an upper bound of the optimum, found without any code of the package.
    primal = primal_at(dual, here.function, here.norm2, solution.thresholds)
    assert -best - 1e-6 * size <= certificate.primal <= primal + 1e-9 * abs(primal)
    assert -1e-12 * size <= certificate.primal - certificate.dual <= 1e-4 * size  # the optimum itself can be zero
    np.testing.assert_allclose(solution.Kb, here.function.astype(float), rtol=0, atol=1e-9 * np.abs(K).max() * size)


def problem(data, rng):
    X = DATA[data](N, rng)
    return X, noisy_scores(X, rng)


@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
def test_every_machine(machine, kernel, data, weighted, rng):
    X, target = problem(data, rng)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], N) if weighted else np.ones(N)
    K = KERNELS[kernel][1](as_array(X), as_array(X))
    check(KERNELS[kernel][0], X, K, MACHINES[machine](target, weight))


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("kernel", KERNELS)
def test_hard_margin_on_separable_data(kernel, data, rng):
    X = DATA[data](2 * N, rng)
    scores = as_array(X) @ rng.normal(size=as_array(X).shape[1])
    order = np.argsort(scores)
    far = np.sort(np.concatenate([order[:25], order[-25:]]))  # the middle half is left out, so the margin is not tiny
    X, y = X[far], np.where(scores[far] > np.median(scores), 1.0, -1.0)
    K = KERNELS[kernel][1](as_array(X), as_array(X))
    check(KERNELS[kernel][0], X, K, hinge(y, np.full(N, np.inf)))


@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
def test_fixed_bias(machine, kernel, weighted, rng):
    X, target = problem("narrow", rng)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], N) if weighted else np.ones(N)
    K = KERNELS[kernel][1](X, X) + (X**2).sum(axis=1).max()  # K + tau^2, tau the length of the longest sample
    dual = MACHINES[machine](target, weight)
    free = without_bias(dual)
    assert free.n_groups == (0 if machine in WITHOUT_BIAS else 1)
    check(GivenMatrix(K), np.arange(N), K, free)
    if free.n_groups == 0:  # a problem with fewer constraints has the lower value
        assert solve_qp(free, K)[0] <= solve_qp(dual, K)[0] + 1e-9


def test_tau_is_the_length_of_the_longest_sample(rng):
    X = rng.normal(size=(N, 4))
    assert safe_tau((X**2).sum(axis=1)) == pytest.approx(np.sqrt((X**2).sum(axis=1)).max())


def test_hard_margin_without_bias(rng):
    X, target = problem("narrow", rng)
    K = KERNELS["rbf"][1](X, X) + 1.0
    dual = without_groups(hinge(np.where(target > 0, 1.0, -1.0), np.full(N, np.inf)))
    check(GivenMatrix(K), np.arange(N), K, dual)
