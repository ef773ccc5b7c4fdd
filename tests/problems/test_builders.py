"""Builders: the box, the linear term and the start of each machine, by hand, and sentences for what cannot be."""

import numpy as np
import pytest

from tests.oracles import MACHINES
from widemargin.linalg.design import design_of
from widemargin.problems import (
    SignedDual,
    epsilon_insensitive,
    hinge,
    nu_classification,
    nu_margin,
    nu_regression,
    nu_tube,
    one_class,
    squared_epsilon_insensitive,
    squared_hinge,
)
from widemargin.problems.classification import box_of, largest_nu
from widemargin.problems.linear import linear_problem

Y = np.array([1.0, -1.0, 1.0])
C = np.array([2.0, 3.0, 0.0])


def test_hinge():
    dual = hinge(Y, C)
    assert dual.linear_term.tolist() == [-1, 1, -1]
    assert dual.lower.tolist() == [0, -3, 0] and dual.upper.tolist() == [2, 0, 0]
    assert dual.n_groups == 1 and len(dual) == 3 and not dual.start.any()


def test_squared_hinge():
    dual = squared_hinge(Y, C)
    assert dual.lower.tolist() == [0, -np.inf, 0] and dual.upper.tolist() == [np.inf, 0, 0]
    assert dual.diagonal.tolist() == [0.5, 1 / 3, 0] and dual.linear_term.tolist() == [-1, 1, -1]


@pytest.mark.parametrize("builder", [squared_hinge, lambda y, C: squared_epsilon_insensitive(y, C, 0.1)])
def test_a_small_C_is_not_none(builder):
    dual = builder(Y, np.array([0.5, 1.0, 0.0]))
    assert dual.diagonal.tolist() == [2, 1, 0] and np.maximum(dual.upper, -dual.lower).tolist() == [np.inf, np.inf, 0]


def test_squared_hinge_with_infinite_C_is_the_hard_margin():
    dual = squared_hinge(Y, np.full(3, np.inf))
    assert dual.diagonal.tolist() == [0, 0, 0] and dual.upper.tolist() == [np.inf, 0, np.inf]


def test_epsilon_insensitive():
    dual = epsilon_insensitive(Y, C, 0.25)
    assert dual.lower.tolist() == [-2, -3, 0] and dual.upper.tolist() == [2, 3, 0]
    assert dual.epsilon.tolist() == [0.25] * 3 and dual.linear_term.tolist() == [-1, 1, -1]
    dual = squared_epsilon_insensitive(Y, C, 0.25)
    assert dual.lower.tolist() == [-np.inf, -np.inf, 0] and dual.diagonal.tolist() == [0.5, 1 / 3, 0]
    assert dual.upper.tolist() == [np.inf, np.inf, 0] and dual.linear_term.tolist() == [-1, 1, -1]


def test_nu_classification_orders_by_class_and_starts_feasible():
    y, weight = np.array([-1.0, 1.0, -1.0, 1.0, 1.0]), np.array([1.0, 2.0, 3.0, 0.5, 1.5])
    dual = nu_classification(y, 0.5, weight)
    assert dual.row.tolist() == [1, 3, 4, 0, 2] and dual.group.tolist() == [0, 0, 0, 1, 1]
    assert dual.group_starts.tolist() == [0, 3, 5]
    assert dual.start.tolist() == [2, 0, 0, -1, -1]  # each class sums to nu m / 2 = 2
    assert dual.per_sample(np.arange(5.0)).tolist() == [3, 0, 4, 1, 2]
    assert dual.per_variable(np.arange(5.0)).tolist() == [1, 3, 4, 0, 2]


def test_nu_too_large_is_said_with_the_largest_that_fits():
    y = np.array([1.0, -1.0, -1.0, -1.0])
    with pytest.raises(ValueError, match=r"infeasible.*at most 0\.5"):
        nu_classification(y, 0.6, np.ones(4))
    assert nu_classification(y, 0.5, np.ones(4)).start.tolist() == [1, -1, 0, 0]


def test_nu_regression():
    dual = nu_regression(np.array([5.0, 7.0, 9.0]), C, 0.4)
    assert len(dual) == 6 and dual.n_samples == 3 and dual.group_starts.tolist() == [0, 3, 6]
    assert dual.upper.tolist() == [2, 3, 0, 0, 0, 0] and dual.lower.tolist() == [0, 0, 0, -2, -3, 0]
    assert dual.linear_term.tolist() == [-5, -7, -9, -5, -7, -9]
    np.testing.assert_allclose(dual.start, [1, 0, 0, -1, 0, 0])
    assert dual.per_sample(np.array([1.0, 2, 3, -10, -20, -30])).tolist() == [-9, -18, -27]


def test_one_class():
    dual = one_class(np.array([1.0, 2.0, 1.0]), 0.5)
    assert dual.start.tolist() == [1, 1, 0] and dual.upper.tolist() == [1, 2, 1] and not dual.lower.any()


def test_levels_become_margins_and_tubes():
    assert nu_margin(np.array([3.0, -1.0])) == (2.0, -1.0)
    assert nu_tube(np.array([-3.0, 1.0])) == (2.0, 1.0)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("n", [4, 31])
def test_every_start_is_feasible(machine, n, rng):
    dual = MACHINES[machine](rng.normal(size=n), np.ones(n))
    assert np.all(dual.start >= dual.lower) and np.all(dual.start <= dual.upper)
    assert np.all(np.diff(dual.group) >= 0)


def test_builders_do_not_hold_on_to_the_callers_arrays():
    y, C = np.array([1.0, 2.0]), np.array([1.0, 1.0])
    duals = [epsilon_insensitive(y, C, 0.1), one_class(C, 0.5), nu_regression(y, C, 0.5), hinge(np.sign(y), C)]
    y[:], C[:] = 99.0, 99.0
    for dual in duals:
        assert np.abs(dual.linear_term).max() <= 2.0 and dual.upper.max() <= 1.0


def test_gradient_and_objective_by_hand():
    dual = SignedDual(
        linear_term=np.array([1.0, -1.0]),
        lower=-np.ones(2),
        upper=np.ones(2),
        diagonal=np.array([0.5, 0.0]),
        epsilon=np.array([0.1, 0.2]),
    )
    beta, function = np.array([1.0, -0.5]), np.array([2.0, 3.0])
    assert dual.gradient(beta, function).tolist() == [3.5, 2.0]
    # 1/2 (1 * 2 - 0.5 * 3 + 0.5) + (1 + 0.5) + (0.1 + 0.1)
    assert dual.objective(beta, function) == pytest.approx(0.5 + 1.5 + 0.2)


def test_a_linear_problem_and_a_subsample_of_it():
    """rate: C of a linear loss, 1 / D of a squared one; scale: the mean distance of targets from their median."""
    X = np.arange(8.0).reshape(4, 2)
    tube = linear_problem(
        design_of(X, 1.0), epsilon_insensitive(np.array([0.0, 1.0, 1.0, 7.0]), np.arange(1.0, 5), 0.1)
    )
    assert not tube.squared and tube.scale == 1.75 and tube.free_bias and tube.penalty.tolist() == [1, 1, 0]
    assert tube.rate.tolist() == [1, 2, 3, 4]
    same = linear_problem(design_of(X, 1.0), epsilon_insensitive(np.ones(4), np.ones(4), 0.1))
    assert same.scale == 1.0  # of equal targets
    squared = linear_problem(design_of(X, 1.0), squared_hinge(np.array([1.0, -1, 1, -1]), np.array([1.0, 2, 4, 8])))
    assert squared.squared and squared.scale == 1.0 and squared.rate.tolist() == [1, 2, 4, 8]
    half = squared.every(2)
    assert half.dual.diagonal.tolist() == [0.5, 0.125] and half.rate.tolist() == [2, 8]
    assert tube.every(2).dual.upper.tolist() == [2, 6] and tube.every(2).dual.lower.tolist() == [-2, -6]


def test_no_multiplier_exceeds_the_sum_of_the_other_class():
    problem = linear_problem(design_of(np.ones((3, 1)), 1.0), hinge(np.array([1.0, 1.0, -1.0]), np.array([5.0, 1, 2])))
    assert problem.rate.tolist() == [2, 1, 2]


def test_the_largest_nu_is_twice_the_share_of_the_lighter_class():
    assert largest_nu(np.array([1.0, -1.0, -1.0]), np.array([1.0, 2.0, 5.0])) == 0.25
    assert largest_nu(np.array([1.0, 1.0, -1.0]), np.array([2.0, 5.0, 1.0])) == 0.25
    assert largest_nu(np.array([1.0, -1.0]), np.zeros(2)) == 1.0


def test_the_box_is_C_times_the_weight():
    weight = np.array([0.5, 2.0, 0.0])
    assert box_of(3.0, weight).tolist() == [1.5, 6.0, 0.0]
    assert box_of(np.inf, weight).tolist() == [np.inf, np.inf, 0.0]
