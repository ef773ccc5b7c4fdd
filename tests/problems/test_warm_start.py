"""Multipliers of an earlier fit moved into a new problem, by hand."""

import numpy as np
import pytest

from widemargin.problems import hinge, nu_classification
from widemargin.problems.fixed_bias import without_bias
from widemargin.problems.warm_start import SAME, restart, restore_sum, room_of, sums_of

Y = np.array([1.0, 1.0, -1.0, -1.0])


def test_a_feasible_point_is_scaled_and_kept():
    previous = np.array([0.5, 1.0, -1.0, -0.5])
    assert restart(hinge(Y, np.full(4, 3.0)), previous, scale=3.0).tolist() == [1.5, 3.0, -3.0, -1.5]
    assert restart(hinge(Y, np.full(4, 1.0)), previous).tolist() == previous.tolist()


def test_values_next_to_a_bound_are_moved_to_it_exactly():
    near = 1.0 - 0.5 * SAME
    assert restart(hinge(Y, np.ones(4)), np.array([near, 0.5, -near, -0.5])).tolist() == [1.0, 0.5, -1.0, -0.5]
    far = 1.0 - 100 * SAME
    assert restart(hinge(Y, np.ones(4)), np.array([far, 0.5, -far, -0.5])).tolist() == [far, 0.5, -far, -0.5]


def test_a_point_outside_the_box_is_clipped_and_its_sum_restored():
    """Clipped to (1, 0.5, -1, -0.25), which is 0.25 too much: the free multiplier that can moves towards zero."""
    found = restart(hinge(Y, np.ones(4)), np.array([2.0, 0.5, -2.0, -0.25]))
    assert found.tolist() == [1.0, 0.25, -1.0, -0.25]


def test_each_group_gets_its_own_sum_back():
    dual = nu_classification(Y, 0.5, np.ones(4))
    assert sums_of(dual).tolist() == [1.0, -1.0]
    found = restart(dual, np.array([0.25, 0.25, -1.0, -1.0]))
    assert found[:2].sum() == 1.0 and found[2:].sum() == -1.0
    assert found.tolist() == [0.5, 0.5, -0.5, -0.5]


def test_what_cannot_be_restored_is_none():
    dual = hinge(Y, np.ones(4))
    assert restart(dual, np.zeros(3)) is None
    assert restart(dual, np.array([np.nan, 0.0, 0.0, 0.0])) is None
    assert restart(dual, np.array([np.inf, 0.0, 0.0, 0.0])) is None


@pytest.mark.parametrize(
    "beta, lower, upper, target, expected",
    [
        ([0.5, 1.0], 0.0, 1.0, 1.25, [0.25, 1.0]),  # inside the box first, towards zero
        ([0.5, 1.0], 0.0, 1.0, 0.75, [0.25, 0.5]),  # then all, in proportion to the room
        ([0.0, 0.5], 0.0, 1.0, 1.25, [0.5, 0.75]),  # then away from zero, in proportion to the room
        ([1.0, 2.0], 0.0, np.inf, 4.0, [1.5, 2.5]),  # without an end: equal shares
        ([-0.5, -1.0], -1.0, 0.0, -1.25, [-0.25, -1.0]),
    ],
)
def test_restored_sums(beta, lower, upper, target, expected):
    beta = np.array(beta)
    assert restore_sum(beta, np.full(2, lower), np.full(2, upper), 0, 2, target)
    np.testing.assert_allclose(beta, expected, rtol=1e-15)


def test_a_sum_beyond_the_box_is_refused_and_one_at_its_end_is_not():
    for target, possible in [(2.0, True), (2.1, False), (-0.1, False)]:
        assert restore_sum(np.array([0.5, 0.5]), np.zeros(2), np.ones(2), 0, 2, target) == possible


def test_only_the_group_is_moved():
    beta = np.array([0.5, 0.5, 0.5, 0.5])
    assert restore_sum(beta, np.zeros(4), np.ones(4), 1, 3, 0.5)
    assert beta.tolist() == [0.5, 0.25, 0.25, 0.5]


@pytest.mark.parametrize(
    "b, missing, kind, expected",
    [
        (0.25, -1.0, 0, -0.25),  # inside its box: to zero
        (1.0, -1.0, 0, 0.0),  # at its bound: not in the first round
        (1.0, -1.0, 1, -1.0),
        (0.25, 1.0, 0, 0.0),  # away from zero: not in the first two
        (0.25, 1.0, 1, 0.0),
        (0.25, 1.0, 2, 0.75),
        (0.25, -1.0, 2, -2.25),
        (-0.5, 1.0, 0, 0.5),
        (-0.5, -1.0, 1, 0.0),
    ],
)
def test_room(b, missing, kind, expected):
    assert room_of(b, -2.0, 1.0, missing, kind) == expected


def test_without_bias_one_sum_is_dropped_and_the_other_kept():
    plain = without_bias(hinge(Y, np.ones(4)))
    assert plain.n_groups == 0 and plain.sign is None
    assert without_bias(plain) is plain
    nu = without_bias(nu_classification(Y, 0.5, np.array([1.0, 2.0, 1.0, 2.0])))
    assert nu.n_groups == 1 and nu.sign.tolist() == [1.0, 1.0, -1.0, -1.0]
    assert nu.lower.tolist() == [0.0] * 4 and nu.upper.tolist() == [1.0, 2.0, 1.0, 2.0]
    assert nu.start.sum() == 3.0 and nu.group.tolist() == [0] * 4
