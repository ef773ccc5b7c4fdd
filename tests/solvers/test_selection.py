"""The selector with hand-written slopes: which variables must be in the block, and which must not."""

from types import SimpleNamespace

import numpy as np
import pytest

from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import scan_groups, thresholds_of, violation_of
from widemargin.solvers.on_demand.working_set import Selector, Violators, collect_violators, worst
from widemargin.solvers.tuning import BlockTuning


def boxed(n, group=None, n_groups=1):
    return SignedDual(linear_term=np.zeros(n), lower=-np.ones(n), upper=np.ones(n), group=group, n_groups=n_groups)


def a_gram(limit=np.inf, good=0.0):
    """What a Gram says about blocks."""
    return SimpleNamespace(block_limit=limit, good_block=good)


def table_of(dual, f, beta):
    return scan_groups(f, beta, dual.lower, dual.upper, dual.epsilon, dual.group_starts, dual.n_groups)


def selector_of(dual, size, cap=None):
    """Working sets of one size, filled up with free variables to `cap`."""
    cap = cap or size
    return Selector(dual, BlockTuning(first=size, smallest=cap, usual=cap, largest=cap, free_share=0.0), a_gram())


def choose(dual, f, beta, size, selector=None):
    f, beta = np.asarray(f, float), np.asarray(beta, float)
    return (selector or selector_of(dual, size)).choose(f, beta, table_of(dual, f, beta)).tolist()


def test_half_of_the_block_from_each_side():
    #            0   1   2   3  4  5  6  7     all may move both ways; threshold 0.5
    f = np.array([-9, -7, -5, -3, 4, 6, 8, 10.0])
    assert choose(boxed(8), f, np.zeros(8), 4) == [0, 1, 6, 7]


def test_closed_directions_do_not_count():
    f = np.array([-9, -7, -5, -3, 4, 6, 8, 10.0])
    beta = np.array([1, 0, 0, 0, 0, 0, 0, -1.0])  # 0 cannot rise, 7 cannot fall
    assert choose(boxed(8), f, beta, 4) == [1, 2, 5, 6]


def test_a_side_with_few_violators_leaves_its_room_to_the_other():
    f = np.array([-9, 1, 2, 3, 4, 5.0])
    beta = np.array([0, 1, 1, 1, 1, 1.0])
    # only 0 can rise below the middle; three of the falling side fill the rest, the highest ones
    assert choose(boxed(6), f, beta, 4) == [0, 3, 4, 5]


def test_every_group_gets_its_share():
    group = np.repeat(np.array([0, 1]), 6)
    f = np.concatenate([[-100, -90, -80, 80, 90, 100], [-0.3, -0.2, -0.1, 0.1, 0.2, 0.3]])
    chosen = choose(boxed(12, group, 2), f, np.zeros(12), 4)
    assert chosen == [0, 5, 6, 11]  # the mild group is served although all of the other group violates more


def test_without_groups_only_violators_enter():
    f = np.array([-5, 5, 3, -3, 0, 1.0])
    beta = np.array([1, -1, 0, 0, 1, -1.0])  # 0 wants to rise but cannot, 1 and 5 want to fall but cannot
    assert choose(boxed(6, n_groups=0), f, beta, 6) == [2, 3]


def test_kinks_shift_the_slopes():
    dual = SignedDual(linear_term=np.zeros(4), lower=-np.ones(4), upper=np.ones(4), epsilon=np.full(4, 2.0), n_groups=0)
    # at zero a slope must exceed the kink; off zero the kink adds to the slope of its side
    f, beta = np.array([1.9, -1.9, -1.9, 2.1]), np.array([0.0, 0.0, 0.5, 0.0])
    assert choose(dual, f, beta, 4) == [2, 3]


def test_part_of_the_last_block_stays_and_free_ones_fill_up():
    dual = boxed(10)
    selector = selector_of(dual, 4, cap=7)
    f = np.array([-9, -8, -7, -6, -5, 5, 6, 7, 8, 9.0])
    bounds = np.where(f < 0.0, -1.0, 1.0)  # none is free, all want to move
    first = choose(dual, f, bounds, 4, selector)
    assert first == [0, 1, 8, 9]
    calm = np.zeros(10)
    calm[4], calm[5] = -1.0, 1.0  # now only 4 and 5 violate; others sit at the threshold
    selector.size = 4
    beta = np.array([1, 1, 0, 0, 0, 0, 0, 0, 1, 1.0])
    second = choose(dual, calm, beta, 4, selector)
    assert {4, 5} <= set(second)
    assert len(second) == 7 and second == sorted(set(second))
    assert len(set(second) & {0, 1, 8, 9}) == 2  # half of the last new ones
    assert len(set(second) & {2, 3, 6, 7}) == 3  # free ones up to the cap


def test_a_group_that_cannot_move_is_left_out():
    group = np.repeat(np.array([0, 1]), 3)
    dual = SignedDual(
        linear_term=np.zeros(6), lower=np.zeros(6), upper=np.array([1, 1, 1, 0, 0, 0.0]), group=group, n_groups=2
    )
    f = np.array([-1, 0, 1, -50, 0, 50.0])
    beta = np.array([0.5, 0.0, 0.5, 0, 0, 0])
    assert choose(dual, f, beta, 4) == [0, 2]


def test_the_most_violating_pair_is_always_in_the_block(rng):
    for n_groups in (1, 2, 3):
        for _ in range(30):
            n = 40
            group = np.sort(rng.integers(0, n_groups, n))
            dual = boxed(n, group, n_groups)
            f, beta = rng.normal(size=n), rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], n)
            chosen = set(choose(dual, f, beta, 4 * n_groups))
            for g in range(n_groups):
                rising = [t for t in range(n) if group[t] == g and beta[t] < 1]
                falling = [t for t in range(n) if group[t] == g and beta[t] > -1]
                if rising and falling:
                    low, high = min(rising, key=lambda t: f[t]), max(falling, key=lambda t: f[t])
                    if f[low] < f[high]:
                        assert {low, high} <= chosen


def test_collect_violators_lists_amounts():
    f, beta = np.array([-3.0, 2.0, 5.0, -1.0]), np.zeros(4)
    taken = np.array([False, False, False, True])
    found = Violators(taken, np.empty(4, np.int64), np.empty(4), np.empty(4, np.int64), np.empty(4))
    assert collect_violators(boxed(4).terms, f, beta, 0, 1.0, found) == (1, 2)
    assert found.rising[0] == 0 and found.rise_by[0] == -4.0
    assert found.falling[:2].tolist() == [1, 2] and found.fall_by[:2].tolist() == [-1.0, -4.0]


def test_worst_takes_the_smallest_amounts():
    numbers = np.array([10, 11, 12, 13], np.int64)
    amounts = np.array([-1.0, -4.0, -2.0, -3.0])
    assert sorted(worst(numbers, amounts, 2).tolist()) == [11, 13]
    assert worst(numbers, amounts, 9).tolist() == [10, 11, 12, 13]
    assert worst(numbers, amounts, 0).tolist() == []
    assert worst(numbers, amounts, -3).tolist() == []


def test_violation_and_levels_by_hand():
    dual = boxed(4)
    f, beta = np.array([-2.0, 1.0, 3.0, 9.0]), np.array([1.0, 0.5, 0.0, -1.0])
    table = table_of(dual, f, beta)
    # can rise: 1, 2, 3 -> lowest 1; can fall: 0, 1, 2 -> highest 3; free: 1 and 2
    assert table.tolist() == [[1.0, 3.0, 4.0, 2.0]]
    assert violation_of(table, 1) == 2.0
    assert thresholds_of(table, 1).tolist() == [2.0]
    assert violation_of(table, 0) == 3.0


def test_levels_where_no_variable_is_free():
    table = np.array(
        [[4.0, -1.0, 0.0, 0.0], [np.inf, 2.0, 0.0, 0.0], [3.0, -np.inf, 0.0, 0.0], [np.inf, -np.inf, 0, 0]]
    )
    assert thresholds_of(table, 4).tolist() == [1.5, 2.0, 3.0, 0.0]


@pytest.mark.parametrize(
    "n_free, limit, expected",
    [(10, np.inf, 1008), (1000, np.inf, 2032), (4000, np.inf, 4080), (6000, np.inf, 5400), (9000, np.inf, 6640)]
    + [(6000, 5000.0, 5000), (6000, 100.0, 4080)],
)
def test_blocks_hold_most_free_variables_within_limits(n_free, limit, expected):
    assert Selector(boxed(20_000), BlockTuning(), a_gram(limit)).cap(n_free) == expected


@pytest.mark.parametrize(
    "good, limit, expected", [(500, np.inf, 1008), (4000, np.inf, 4016), (1e5, np.inf, 6640), (1e5, 3000.0, 2992)]
)
def test_blocks_are_at_least_as_large_as_the_gram_finds_good(good, limit, expected):
    assert Selector(boxed(20_000), BlockTuning(), a_gram(limit, good)).cap(10) == expected
