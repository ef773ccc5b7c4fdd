"""Paths of problems on one full matrix, by compiled calls."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin.gram.full import FullGram
from widemargin.kernels import Gaussian, Linear
from widemargin.monitor.stopping import Stopping
from widemargin.problems.classification import hinge, nu_classification
from widemargin.problems.regression import epsilon_insensitive
from widemargin.solvers import solve_blocks
from widemargin.training import along_path
from widemargin.training.along_path import Reached, solve_links, suits


def path_of(kind, X, weight):
    """Problems of one kind with growing boxes, and the ratios of these."""
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, -1] > 0, 1.0, -1.0)
    Cs = np.array([0.01, 0.1, 1.0, 3.0, 100.0, 1e4])
    if kind == "hinge":
        duals = [hinge(y, C * weight) for C in Cs]
    elif kind == "epsilon":
        duals = [epsilon_insensitive(np.sin(X[:, 0]) + X[:, 1], C * weight, 0.05) for C in Cs]
    else:
        order = np.argsort(-y, kind="stable")
        duals, Cs = [nu_classification(y[order], nu, weight[order]) for nu in (0.1, 0.2, 0.3)], np.ones(3)
    return duals, [1.0, *(Cs[1:] / Cs[:-1])]


@given(
    kind=st.sampled_from(["hinge", "epsilon", "nu"]), n=st.integers(20, 120), dtype=st.sampled_from(["f4", "f8"]),
    fast=st.booleans(), seed=st.integers(0, 10**6), scale=st.sampled_from([0.1, 1.0, 30.0]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_answers_of_a_path_are_proven_and_those_of_single_problems(kind, n, dtype, fast, seed, scale):
    rng = np.random.default_rng(seed)
    X, kernel, rule = scale * rng.normal(size=(n, 3)), Gaussian(0.3), Stopping(1e-3, "kkt", -1, None)
    gram = FullGram.of(kernel, kernel.prepare(X, dtype), dtype)
    if fast:
        gram.add_fast()
    weight = rng.integers(0, 3, n).astype(float)  # those of weight zero are held out
    weight[:4] = 1.0
    duals, ratios = path_of(kind, X, weight)
    if any(dual.largest_bound == 0.0 for dual in duals) or not suits(duals, gram, rule):
        return
    done, reached = solve_links(duals, ratios, gram, rule, Reached.start_of(duals[0], gram))
    assert len(done) == len(duals) or dtype == "f4" or scale > 1.0
    assert reached.is_begun == (len(done) < len(duals))
    matrix = gram.matrix.astype(np.longdouble)
    for dual, trained in zip(duals, done):
        found, certificate = trained.solution, trained.certificate
        assert certificate.holds and (dual.lower <= found.beta).all() and (found.beta <= dual.upper).all()
        exact = matrix @ found.beta.astype(np.longdouble)
        error = certificate.rounding
        assert np.abs(found.Kb - exact).max() <= error
        # the violation, again by NumPy in extended precision on the matrix as it is
        f = exact + dual.diagonal * found.beta + dual.linear_term
        for group in range(dual.n_groups):
            own = slice(dual.group_starts[group], dual.group_starts[group + 1])
            b, e = found.beta[own], dual.epsilon[own]
            rise, fall = f[own] + np.where(b >= 0, e, -e), f[own] + np.where(b > 0, e, -e)
            low = rise[b < dual.upper[own]].min(initial=np.inf)
            assert fall[b > dual.lower[own]].max(initial=-np.inf) - low <= certificate.violation
            assert b.sum() == pytest.approx(dual.start[own].sum(), abs=1e-9 * np.abs(b).sum() + 1e-300)
        alone = solve_blocks(dual, gram, Stopping(1e-4, "kkt", -1, None))
        slack = 2e-3 * np.abs(found.beta).sum() + 1e-9
        assert dual.objective(found.beta, exact.astype(float)) == pytest.approx(alone.objective, abs=slack)


def test_a_newton_step_is_made_where_pair_steps_are_slow(rng, monkeypatch):
    made = []
    newton = along_path.newton_on_free
    monkeypatch.setattr(along_path, "newton_on_free", lambda state: made.append(newton(state)) or made[-1])
    monkeypatch.setattr(along_path, "WORTH", 0.01)
    X = rng.normal(size=(700, 30))  # more free variables than an active set takes
    kernel = Gaussian(0.05)
    gram = FullGram.of(kernel, kernel.prepare(X, np.float64), np.float64)
    duals, ratios = path_of("hinge", X, np.ones(700))
    done, _ = solve_links(duals, ratios, gram, Stopping(1e-3, "kkt", -1, None), Reached.start_of(duals[0], gram))
    assert any(made) and len(done) == len(duals) and all(trained.certificate.holds for trained in done)


def test_it_ends_in_the_problem_that_steps_cannot_solve(rng):
    X = rng.normal(size=(60, 2))
    kernel = Linear()
    gram = FullGram.of(kernel, kernel.prepare(X, np.float32), np.float32)
    duals, ratios = path_of("hinge", X, np.ones(60))
    rule = Stopping(1e-9, "kkt", -1, None)  # less than float32 rows can prove
    done, reached = solve_links(duals, ratios, gram, rule, Reached.start_of(duals[0], gram))
    assert len(done) < len(duals) and reached.is_begun
    dual = duals[len(done)]
    assert (dual.lower <= reached.beta).all() and (reached.beta <= dual.upper).all()


def test_a_box_without_room_for_the_sums_is_left_to_the_caller(rng):
    X = rng.normal(size=(30, 2))
    kernel = Gaussian(0.5)
    gram = FullGram.of(kernel, kernel.prepare(X, np.float64), np.float64)
    y = np.repeat([1.0, -1.0], 15)
    wide, narrow = nu_classification(y, 0.8, np.ones(30)), nu_classification(y, 0.8, np.r_[np.ones(29), 0.5])
    narrow.upper[:] *= 0.1  # its sums cannot be reached any more
    done, reached = solve_links(
        [wide, narrow], [1.0, 1.0], gram, Stopping(1e-3, "kkt", -1, None), Reached.start_of(wide, gram)
    )
    assert len(done) == 1 and not reached.is_begun
    np.testing.assert_array_equal(reached.beta, done[0].solution.beta)


def test_problems_that_have_other_solvers(rng):
    X = rng.normal(size=(20, 2))
    kernel, rule = Gaussian(0.5), Stopping(1e-3, "kkt", -1, None)
    gram = FullGram.of(kernel, kernel.prepare(X, np.float64), np.float64)
    y = np.tile([1.0, -1.0], 10)
    assert suits([hinge(y, np.ones(20))], gram, rule)
    assert not suits([hinge(y, np.full(20, np.inf))], gram, rule)
    assert not suits([nu_classification(y, 0.5, np.ones(20))], gram, rule)  # variables in another order than samples
    assert not suits([hinge(y, np.ones(20))], gram, Stopping(1e-3, "gap", -1, None))
    assert not suits([hinge(y, np.ones(20))], FullGram(gram.matrix), rule)  # nothing is known about its values
