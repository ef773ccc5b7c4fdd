"""The active set of problems with few free variables, and its growing factor."""

import numpy as np
import pytest

from widemargin.gram.full import FullGram
from widemargin.kernels import Gaussian
from widemargin.linalg.growing_factor import append, remove
from widemargin.monitor.stopping import Stopping
from widemargin.problems.classification import hinge, nu_classification
from widemargin.problems.regression import epsilon_insensitive
from widemargin.solvers import solve_blocks
from widemargin.solvers.in_memory.active_set import active_set_rounds
from widemargin.solvers.in_memory.rounds import STEPS, VIOLATION, new_progress


def test_the_factor_is_that_of_the_variables_left(rng):
    X = rng.normal(size=(12, 20))
    K, D, delta = X @ X.T, rng.random(12), 1e-3
    L, free, m = np.zeros((12, 12)), np.empty(12, np.int64), 0
    for k in (3, 7, 0, 11, 5, 2):
        m = append(K, D, delta, L, free, m, k)
    for place in (1, 0, 3):
        m = remove(L, free, m, place)
    assert free[:m].tolist() == [0, 11, 5]
    expected = np.linalg.cholesky((K + np.diag(D + delta))[np.ix_([0, 11, 5], [0, 11, 5])])
    np.testing.assert_allclose(np.tril(L[:m, :m]), expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["hinge", "epsilon"])
def test_it_solves_the_next_problem_of_a_path(kind, rng):
    X = rng.normal(size=(200, 2))
    kernel = Gaussian(0.3)
    gram = FullGram.of(kernel, kernel.prepare(X, np.float64), np.float64)
    values = np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=200)

    def problem(C):
        box = np.full(200, C)
        return hinge(np.sign(values), box) if kind == "hinge" else epsilon_insensitive(values, box, 0.3)

    before, dual = solve_blocks(problem(1e3), gram, Stopping(1e-4, "kkt", -1, None)), problem(1.1e3)
    beta = before.beta.copy()
    Kb, progress = gram.matrix @ beta, new_progress(dual.n_groups, len(dual))
    assert active_set_rounds(gram.store, dual.terms, beta, Kb, 1e-6, 200, progress)
    assert progress.reached[VIOLATION] <= 1e-6
    assert (dual.lower <= beta).all() and (beta <= dual.upper).all()
    assert beta.sum() == pytest.approx(0.0, abs=1e-12 * np.abs(beta).sum())
    np.testing.assert_allclose(Kb, gram.matrix @ beta, atol=1e-8)
    best = solve_blocks(dual, gram, Stopping(1e-7, "kkt", -1, None)).objective
    assert dual.objective(beta, Kb) == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("seed", [1, 4])
def test_it_keeps_the_sum_of_each_class(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 2))
    y = np.repeat([1.0, -1.0], [101, 99])
    X[:, 0] += 0.7 * y
    kernel = Gaussian(0.3)
    gram = FullGram.of(kernel, kernel.prepare(X, np.float64), np.float64)
    dual = nu_classification(y, 0.5, np.ones(200))
    beta = solve_blocks(dual, gram, Stopping(1e-1, "kkt", -1, None)).beta.copy()
    Kb, progress = gram.matrix @ beta, new_progress(dual.n_groups, len(dual))
    assert active_set_rounds(gram.store, dual.terms, beta, Kb, 1e-6, 200, progress)
    assert progress.counts[STEPS] > 0
    assert (dual.lower <= beta).all() and (beta <= dual.upper).all()
    assert (beta[:101].sum(), beta[101:].sum()) == pytest.approx((50.0, -50.0), abs=1e-11)
    np.testing.assert_allclose(Kb, gram.matrix @ beta, atol=1e-11)
    best = solve_blocks(dual, gram, Stopping(1e-7, "kkt", -1, None)).objective
    assert dual.objective(beta, Kb) == pytest.approx(best, abs=1e-9)
