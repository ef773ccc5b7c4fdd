"""Slopes, thresholds and violation of a point, by hand."""

import numpy as np
import pytest

from widemargin import _jit
from widemargin.problems import SignedDual, epsilon_insensitive, hinge
from widemargin.problems.optimality import (
    evaluate_dual,
    free_of,
    free_variables,
    scan_groups,
    scan_groups_by_numpy,
    thresholds_of,
    violation_of,
)
from widemargin.problems.primal import best_primal, feasible_scales

ALL = np.array([0, 4], np.int64)


def test_the_slope_jumps_at_zero():
    """Slopes of rising and falling: 1.25 and 1.25 above zero, 1.25 and 0.75 at zero, 0.75 and 0.75 below."""
    for b, rise, fall, free in [(0.5, 1.25, 1.25, 1.0), (0.0, 1.25, 0.75, 0.0), (-0.5, 0.75, 0.75, 1.0)]:
        one, start = np.ones(1), np.array([0, 1], np.int64)
        table = scan_groups(one, np.array([b]), -one, one, 0.25 * one, start, 1)
        assert table.tolist() == [[rise, fall, rise * free, free]]


@pytest.mark.parametrize("wild", [0.0, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize(("starts", "n_groups"), [([0, 300], 0), ([0, 300], 1), ([0, 120, 120, 300], 3)])
def test_numpy_scans_groups_to_the_same_bits(wild, starts, n_groups, monkeypatch):
    """At the bounds, at zero, with slopes of -0.0 and 0.0, an empty group and a gradient that is not finite."""
    monkeypatch.setattr(_jit.INTERPRETING, "own", np.inf)  # compiled, not interpreted
    rng = np.random.default_rng(n_groups)
    beta, f = rng.integers(-2, 3, 300) / 2.0, rng.normal(size=300)
    for low in (0.1, -0.0):  # the extreme slopes are unique, or zeros of both signs
        f = np.where(rng.random(300) < 0.3, rng.choice([-0.0, 0.0], 300), f) if low else np.where(beta > 0.0, 0.0, low)
        f[200] = wild if wild else f[200]
        ends = -np.ones(300), np.ones(300)
        given = f, beta, *ends, rng.choice([0.0, 0.25], 300), np.array(starts, np.int64), n_groups
        with np.errstate(invalid="ignore"):
            assert scan_groups_by_numpy(*given).tobytes() == scan_groups(*given).tobytes()


def test_free_is_inside_the_box_and_off_the_kink():
    beta, lower, upper = np.array([0.5, 0.0, 0.0, 0.0, 1.0]), np.array([0.0, -1.0, -1.0, 0.0, 0.0]), np.ones(5)
    epsilon = np.array([0.1, 0.0, 0.1, 0.0, 0.0])
    assert free_of(beta, lower, upper, epsilon).tolist() == [True, True, False, False, False]


def test_one_row_per_group():
    """At the lower end, free, free, at the upper end; slopes 5, 1, 2, -3."""
    f, beta = np.array([5.0, 1.0, 2.0, -3.0]), np.array([0.0, 0.25, 0.5, 1.0])
    box = np.zeros(4), np.ones(4), np.zeros(4)
    assert scan_groups(f, beta, *box, ALL, 1).tolist() == [[1.0, 2.0, 3.0, 2.0]]
    two = scan_groups(f, beta, *box, np.array([0, 2, 4], np.int64), 2)
    assert two.tolist() == [[1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 1.0]]
    assert violation_of(two, 2) == 0.0 and thresholds_of(two, 2).tolist() == [1.0, 2.0]
    assert free_of(beta, *box).tolist() == [False, True, True, False]
    assert free_variables(hinge(np.ones(4), np.ones(4)).terms, beta).tolist() == [1, 2]


def test_the_threshold_is_the_mean_of_the_free_slopes_whatever_the_others_are():
    f, beta = np.array([5.0, 1.0, 2.0, -3.0]), np.array([0.0, 0.25, 0.5, 1.0])
    table = scan_groups(f, beta, np.zeros(4), np.ones(4), np.zeros(4), ALL, 1)
    assert thresholds_of(table, 1).tolist() == [1.5] and violation_of(table, 1) == 1.0


def test_a_gradient_or_point_that_is_not_finite_violates_without_limit():
    good, box = np.array([1.0, 1.0, 1.0, 1.0]), (np.zeros(4), np.ones(4), np.zeros(4))
    for bad in (np.nan, np.inf, -np.inf):
        wild = good.copy()
        wild[2] = bad
        assert violation_of(scan_groups(wild, good / 2, *box, ALL, 1), 1) == np.inf
        assert violation_of(scan_groups(good, wild / 2, *box, ALL, 1), 1) == np.inf


def test_value_and_gradient_of_a_regression():
    dual = epsilon_insensitive(np.array([1.0, -2.0]), np.ones(2), 0.5)
    f, table, value = evaluate_dual(dual.terms, np.array([0.5, -0.5]), np.array([3.0, 4.0]))
    assert f.tolist() == [2.0, 6.0]
    assert value == 0.5 * (0.5 * 3.0 - 0.5 * 4.0) - 0.5 * 1.0 - 0.5 * 2.0 + 0.5 * 1.0
    assert table.tolist() == [[2.5, 5.5, 8.0, 2.0]]


def test_scales_at_which_a_hard_tube_holds():
    """|y - s G| <= eps for y = (2, -4), eps = 0.5: with G = (1, -2) from 1.75 to 2.25, with (1, -1) nowhere."""
    hard = np.full(2, np.inf)
    y, G = np.array([2.0, -4.0]), np.array([1.0, -2.0])
    terms = epsilon_insensitive(y, hard, 0.5).terms
    assert feasible_scales(terms, y, G) == (1.75, 2.25)
    low, high = feasible_scales(terms, y, np.array([1.0, -1.0]))
    assert (low, high) == (3.5, 2.5)
    assert feasible_scales(terms, y, np.array([1.0, 0.0]))[1] < 0.0
    assert feasible_scales(epsilon_insensitive(y, np.ones(2), 0.5).terms, y, G) == (0.0, np.inf)


def test_a_hard_tube_costs_the_smallest_scale_that_holds_it():
    dual = epsilon_insensitive(np.array([2.0, -4.0]), np.full(2, np.inf), 0.5)
    value, scale = best_primal(dual, np.array([1.0, -2.0]), 3.0, np.zeros(1))
    assert scale == 1.75 and value == 0.5 * 1.75**2 * 3.0
    assert best_primal(dual, np.array([1.0, -1.0]), 3.0, np.zeros(1))[0] == np.inf


def test_thresholds_without_free_variables_and_violation_without_groups():
    """Rows: lowest slope that can rise, highest that can fall, sum and count of the free ones."""
    table = np.array([[1.0, 4.0, 0.0, 0.0], [2.0, -np.inf, 0.0, 0.0], [np.inf, 3.0, 0.0, 0.0], [0.0, 9.0, 2.0, 1.0]])
    assert thresholds_of(table, 4).tolist() == [2.5, 2.0, 3.0, 2.0]
    assert thresholds_of(np.array([[np.inf, -np.inf, 0.0, 0.0]]), 1).tolist() == [0.0]
    assert violation_of(table[:1], 1) == 3.0 and violation_of(table[:1], 0) == 4.0
    assert violation_of(np.array([[-5.0, 1.0, 0.0, 0.0]]), 0) == 5.0


def test_the_diagonal_counts_in_value_and_gradient():
    dual = SignedDual(np.array([1.0]), np.zeros(1), np.ones(1), diagonal=np.array([4.0]), n_groups=0)
    f, table, value = evaluate_dual(dual.terms, np.array([0.5]), np.array([3.0]))
    assert f.tolist() == [6.0] and value == 0.5 * 0.5 * (3.0 + 4.0 * 0.5) + 0.5
    assert table.shape == (1, 4)
