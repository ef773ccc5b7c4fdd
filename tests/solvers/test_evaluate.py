"""Gradient, thresholds and value in one compiled pass are those of the dual."""

import numpy as np
import pytest

from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import evaluate_dual, free_variables, scan_groups


@pytest.fixture
def point():
    rng = np.random.default_rng(4)
    n = 97
    upper = rng.uniform(0.5, 2.0, n)
    upper[5] = np.inf
    dual = SignedDual(
        linear_term=rng.normal(size=n),
        lower=-rng.uniform(0.5, 2.0, n),
        upper=upper,
        diagonal=rng.choice([0.0, 0.3], n),
        epsilon=rng.choice([0.0, 0.1], n),
        group=np.sort(rng.integers(0, 3, n)),
        n_groups=3,
    )
    beta = np.clip(rng.normal(size=n), dual.lower, dual.upper)
    beta[::7] = 0.0
    return dual, beta, rng.normal(size=n)


def test_the_same_as_the_dual_says(point):
    dual, beta, function = point
    box = (dual.lower, dual.upper)
    f, table, value = evaluate_dual(dual.terms, beta, function)
    expected = dual.gradient(beta, function)
    assert np.allclose(f, expected, rtol=0, atol=1e-15)
    assert np.array_equal(table, scan_groups(f, beta, *box, dual.epsilon, dual.group_starts, dual.n_groups))
    assert value == pytest.approx(dual.objective(beta, function), rel=1e-13)


def test_free_variables_are_inside_their_box_and_off_the_kink(point):
    dual, beta, _ = point
    inside = (beta > dual.lower) & (beta < dual.upper)
    expected = np.flatnonzero(inside & ((beta != 0.0) | (dual.epsilon == 0.0)))
    assert 0 < len(expected) < len(beta)
    assert np.array_equal(free_variables(dual.terms, beta), expected)


@pytest.mark.parametrize("wild", [np.nan, np.inf, -np.inf])
def test_a_gradient_that_is_not_finite_shows(point, wild):
    dual, beta, function = point
    function[3] = wild
    _, table, _ = evaluate_dual(dual.terms, beta, function)
    assert np.isnan(table[0, 2]) and not np.isnan(table[1:, 2]).any()
