"""Every reference solver on every machine it claims: the objective of the block solver, a certificate that holds."""

import numpy as np
import pytest

from tests.oracles import MACHINES, values_at
from tests.reference.solvers import (
    GENERAL,
    NO_BOX,
    NO_SUM,
    ONE_SIGN,
    ONE_SUM,
    PAIRS,
    SIGNED,
    SINGLES,
    needs,
    small_problem,
)
from widemargin.certificate import certify_function
from widemargin.gram import FullGram
from widemargin.gram.scores import Scores
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.solvers import solve_blocks

TOL = 1e-3
RULE = Stopping(tol=TOL)


def check(solver, dual, K, tol=TOL):
    """Solve; the status is OPTIMAL, and everything it implies holds when computed from the definitions."""
    best = solve_blocks(dual, FullGram(K), Stopping(tol=1e-9))
    solution = solver.solve(dual, FullGram(K), Stopping(tol=tol))
    here = values_at(dual, K, solution.beta)
    size = max(1.0, abs(best.objective))
    assert solution.status is Status.OPTIMAL
    assert here.violation <= 1.001 * tol
    assert np.all(solution.beta >= dual.lower) and np.all(solution.beta <= dual.upper)
    assert here.infeasibility <= 1e-12 * max(1.0, np.abs(solution.beta).sum())
    assert -1e-8 * size <= here.objective - best.objective <= 2e-3 * size
    assert solution.objective == pytest.approx(here.objective, abs=1e-9 * size)
    np.testing.assert_allclose(solution.Kb, here.function.astype(float), atol=1e-9 * size)
    Kb = K @ dual.per_sample(solution.beta)
    certificate = certify_function(dual, solution.beta, Scores(Kb, np.zeros(len(Kb))), 1.001 * tol, diagonal=K.max())
    assert certificate.holds, str(certificate)
    assert certificate.primal - certificate.dual <= 0.05 * max(1.0, abs(certificate.primal))


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("machine", ONE_SUM)
@pytest.mark.parametrize("name", PAIRS)
def test_two_multipliers_at_a_time(name, machine, kernel):
    check(PAIRS[name], *small_problem(machine, kernel))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", [name for name in GENERAL if not name.startswith("gradient")])
def test_solvers_of_every_machine(name, machine):
    needs(name)
    check(GENERAL[name], *small_problem(machine))
    if machine in NO_SUM:
        check(GENERAL[name], *small_problem(machine, fixed=True))


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["chunking", "osuna", "qp"])
def test_solvers_of_every_machine_on_other_kernels(name, machine, kernel):
    needs(name)
    check(GENERAL[name], *small_problem(machine, kernel))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["gradient", "gradient-band"])
def test_gradient_ascent(name, machine):
    check(GENERAL[name], *small_problem(machine, n=20), tol=1e-2)
    if machine in NO_SUM:
        check(GENERAL[name], *small_problem(machine, fixed=True), tol=1e-2)


@pytest.mark.parametrize("machine", NO_SUM)
@pytest.mark.parametrize("name", SINGLES)
def test_one_multiplier_at_a_time(name, machine):
    check(SINGLES[name], *small_problem(machine, fixed=True))


@pytest.mark.parametrize("machine", SIGNED)
def test_multiplicative_updates(machine):
    check(ONE_SIGN["multiplicative"], *small_problem(machine))
    if machine in NO_SUM:
        check(ONE_SIGN["multiplicative"], *small_problem(machine, n=20, fixed=True), tol=1e-2)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_nearest_points_of_the_hulls(kernel):
    check(NO_BOX["nearest-points"], *small_problem("squared_hinge", kernel))


@pytest.mark.parametrize("name", ["platt", "keerthi", "keerthi-gain", "chunking", "osuna", "qp"])
@pytest.mark.parametrize("machine", ["hinge", "epsilon_insensitive"])
def test_fine_tolerances(name, machine):
    """1e-6 is met, and the objective agrees with the block solver to nine digits."""
    needs(name)
    dual, K = small_problem(machine)
    best = solve_blocks(dual, FullGram(K), Stopping(tol=1e-10))
    solution = {**PAIRS, **GENERAL}[name].solve(dual, FullGram(K), Stopping(tol=1e-6))
    assert solution.status is Status.OPTIMAL
    assert values_at(dual, K, solution.beta).violation <= 1.01e-6
    assert solution.objective == pytest.approx(best.objective, rel=1e-9)


@pytest.mark.parametrize(
    "name", ["platt", "keerthi", "simplified", "chunking", "osuna", "qp", "multiplicative", "nearest-points"]
)
def test_hard_margin(name):
    needs(name)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += y
    from widemargin.problems import hinge

    check({**PAIRS, **GENERAL, **ONE_SIGN, **NO_BOX}[name], hinge(y, np.full(30, np.inf)), X @ X.T)


@pytest.mark.parametrize("name", [*PAIRS, "chunking", "osuna"])
def test_a_start_at_the_optimum_takes_no_step(name):
    dual, K = small_problem("hinge")
    best = solve_blocks(dual, FullGram(K), Stopping(tol=1e-9))
    solution = {**PAIRS, **GENERAL}[name].solve(dual, FullGram(K), RULE, start=best.beta, function=best.Kb)
    assert solution.status is Status.OPTIMAL and solution.iterations == 0
    np.testing.assert_array_equal(solution.beta, best.beta)


@pytest.mark.parametrize("name", [*PAIRS, *NO_BOX, "chunking", "osuna"])
def test_a_warm_start_is_used(name):
    """From an answer of coarse tolerance, far fewer steps are left than from zero."""
    dual, K = small_problem("squared_hinge", n=60)
    solver = {**PAIRS, **GENERAL, **NO_BOX}[name]
    coarse = solve_blocks(dual, FullGram(K), Stopping(tol=2e-3))
    cold = solver.solve(dual, FullGram(K), RULE)
    warm = solver.solve(dual, FullGram(K), RULE, start=coarse.beta)
    assert warm.status is cold.status is Status.OPTIMAL
    assert warm.iterations < cold.iterations


@pytest.mark.parametrize("name", ["platt", "adatron-sequential", "simplified", "coordinate-random"])
def test_the_same_seed_gives_the_same_run(name):
    dual, K = small_problem("hinge", fixed=name in SINGLES)
    solver = {**PAIRS, **SINGLES}[name]
    one, two = (solver.solve(dual, FullGram(K), RULE) for _ in range(2))
    np.testing.assert_array_equal(one.beta, two.beta)
    assert one.iterations == two.iterations
