"""Stop rules judge full passes: a tighter tolerance is never a worse answer, and OPTIMAL means that the rule holds."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from tests.oracles import primal_at, signs, values_at
from tests.reference.solvers import ALL, SINGLES, suited
from widemargin.gram import FullGram
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import CRITERIA, Stopping
from widemargin.problems import epsilon_insensitive, hinge

SLOW = ("gradient", "gradient-band", "multiplicative", "simplified")  # many passes for a fine tolerance
ITERATIVE = [name for name in ALL if name != "qp"]
ROUNDING = 1e-7  # violations below it are not compared


def small_problems(name):
    """Random well-conditioned problems, with outliers at their bounds, as the solver takes them."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(8, 20))
        X = rng.normal(size=(n, 2))
        K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1)) + 0.2 * np.eye(n) + (1.0 if name in SINGLES else 0.0)
        C = np.full(n, 10.0 ** rng.integers(0, 2))
        target = X[:, 0] + 0.7 * rng.normal(size=n)
        for dual in (hinge(signs(target), C), epsilon_insensitive(target, C, 0.1)):
            try:
                ALL[name].check(suited(name, dual))
            except ValueError:
                continue
            yield suited(name, dual), K


def relative_gap(dual, K, solution):
    """The gap at the best scaling of w, from the definitions."""
    F = K @ solution.beta
    norm2, level = float(solution.beta @ F), solution.thresholds if dual.n_groups else np.zeros(0)
    found = minimize_scalar(lambda scale: primal_at(dual, F, norm2, level, scale), (0.9, 1.1), tol=1e-14)
    dual_value = -float(values_at(dual, K, solution.beta).objective)
    return (float(found.fun) - dual_value) / max(abs(float(found.fun)), abs(dual_value))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", ITERATIVE)
def test_a_tighter_tolerance_is_no_worse_and_optimal_means_that_the_rule_holds(name, criterion):
    for dual, K in small_problems(name):
        lowest = np.inf
        for tol in (1e-2, 1e-4) if name in SLOW else (1e-2, 1e-4, 1e-6, 1e-8):
            solution = ALL[name].solve(dual, FullGram(K), Stopping(tol=tol, criterion=criterion))
            here = values_at(dual, K, solution.beta)
            assert here.violation <= 10.0 * max(lowest, ROUNDING), (tol, solution.status)
            lowest = min(lowest, here.violation)
            if solution.status is not Status.OPTIMAL:
                assert solution.status in (Status.STALLED, Status.OWN_RULE) and tol <= 1e-4
            elif criterion == "kkt":
                assert here.violation <= tol + 1e-12
            elif criterion == "gap":
                assert relative_gap(dual, K, solution) <= tol + 1e-12
            elif here.violation > tol:  # one more pass over all points gains no more than the rule allows
                again = replace(ALL[name], max_passes=1).solve(
                    dual, FullGram(K), Stopping(tol=tol, criterion=criterion), start=solution.beta
                )
                assert solution.objective - again.objective <= 2.0 * tol * abs(solution.objective)
