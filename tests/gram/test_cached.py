"""The row cache: whatever its history and however small, sums of rows equal K b and the budget is kept."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.oracles import GivenMatrix
from widemargin.costs import COSTS
from widemargin.gram import CachedGram, FullGram, cached
from widemargin.kernels import Gaussian


def matrix(n, seed=0):
    """A valid kernel matrix without structure: every row is different from every other."""
    A = np.random.default_rng(seed).normal(size=(n, 5))
    return A @ A.T + np.eye(n)


def made(K, rows, dtype=np.float64, n_threads=1, spare=0):
    """A cache with room for `rows` rows (and some bytes that make no row)."""
    return CachedGram(
        GivenMatrix(K), GivenMatrix(K).prepare(), dtype, rows * len(K) * np.dtype(dtype).itemsize + spare, n_threads
    )


def ask(gram, K, index, coefficients, keep=None):
    """One sum of rows, compared with the dense product."""
    function = np.arange(len(K), dtype=np.float64)
    index = np.asarray(index, np.int64)
    coefficients = np.asarray(coefficients, np.float64)
    gram.add_rows(index, coefficients, function, None if keep is None else np.asarray(keep, np.bool_))
    tolerance = 1e-12 if gram.dtype == np.float64 else 1e-5
    np.testing.assert_allclose(
        function, np.arange(len(K)) + K[:, index] @ coefficients, rtol=tolerance, atol=tolerance * 50
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [0, 1, 3, 20])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_random_histories(rows, dtype, n_threads, rng):
    K = matrix(37)
    gram = made(K, rows, dtype, n_threads)
    for _ in range(60):
        count = rng.integers(0, 12)
        index = rng.choice(37, count, replace=False)
        ask(gram, K, index, rng.normal(size=count), rng.random(count) < 0.7)
    assert gram.cache.used <= rows
    assert sum(slab.nbytes for slab in gram.cache.slabs) <= rows * 37 * np.dtype(dtype).itemsize


def test_counters():
    K = matrix(20)
    gram = made(K, 5)
    ask(gram, K, [1, 2, 3], [1, 1, 1], [True, True, False])
    assert (gram.rows_computed, gram.row_hits) == (3, 0)
    ask(gram, K, [1, 2, 3], [1, 2, 3], [False, False, False])
    assert (gram.rows_computed, gram.row_hits) == (4, 2)
    ask(gram, K, [], [])
    assert (gram.rows_computed, gram.row_hits) == (4, 2)
    gram.block(np.array([4, 5]))
    assert (gram.rows_computed, gram.row_hits) == (4, 2)  # blocks are not rows


def test_without_keep_nothing_is_kept():
    K = matrix(20)
    gram = made(K, 5)
    ask(gram, K, [1, 2], [1, 1])
    ask(gram, K, [1, 2], [1, 1], [False, False])
    assert gram.cache.used == 0 and gram.cache.slabs == [] and gram.rows_computed == 4


def test_the_row_not_used_for_longest_goes_first():
    K = matrix(20)
    gram = made(K, 3)
    for sample in (7, 8, 9):
        ask(gram, K, [sample], [1.0], [True])
    ask(gram, K, [7], [1.0], [True])  # 8 is now the oldest
    ask(gram, K, [10], [1.0], [True])
    hits = gram.row_hits
    ask(gram, K, [7, 9, 10], [1, 1, 1])
    assert gram.row_hits == hits + 3
    ask(gram, K, [8], [1.0])
    assert gram.row_hits == hits + 3


def test_more_rows_wanted_than_fit():
    K = matrix(20)
    gram = made(K, 3)
    ask(gram, K, range(10), np.ones(10), np.ones(10))
    assert gram.cache.used == 3
    ask(gram, K, range(10), np.arange(10), np.ones(10))
    assert gram.row_hits == 3 and gram.rows_computed == 17
    ask(gram, K, range(10, 20), np.ones(10), np.ones(10))  # all three old rows go, none of the new ones
    ask(gram, K, range(20), np.arange(20.0))
    assert gram.row_hits == 6


def test_rows_of_one_call_do_not_push_each_other_out():
    K = matrix(20)
    gram = made(K, 3)
    ask(gram, K, [1, 2, 3], [1, 1, 1], [True] * 3)
    ask(gram, K, [1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [True] * 5)  # the hits of this call may not be evicted by its misses
    ask(gram, K, [1, 2, 3], [1, 1, 1])
    assert gram.row_hits == 6


def test_memory_grows_slab_by_slab(monkeypatch):
    monkeypatch.setattr(cached, "SLAB_ROWS", 4)
    K = matrix(50)
    gram = made(K, 10, spare=50 * 8 - 1)  # almost an eleventh row: not one
    sizes = []
    for sample in range(12):
        ask(gram, K, [sample, 20 + sample], [1.0, -1.0], [True, False])
        sizes.append(sum(slab.shape[0] for slab in gram.cache.slabs))
    assert sizes == [4, 4, 4, 4, 8, 8, 8, 8, 10, 10, 10, 10]
    assert gram.cache.capacity == 10
    ask(gram, K, range(50), np.linspace(-1, 1, 50))
    assert gram.row_hits == 10


def test_a_huge_budget_takes_no_memory_in_advance():
    K = matrix(10)
    gram = CachedGram(GivenMatrix(K), GivenMatrix(K).prepare(), np.float64, 1 << 60)
    assert gram.cache.capacity == 10 and gram.cache.slabs == []
    gram = CachedGram(GivenMatrix(K), GivenMatrix(K).prepare(), np.float64, -5)
    assert gram.cache.capacity == 0


@pytest.mark.parametrize("n", [1, 255, 257, 700])
@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_tiles_of_any_shape(n, n_threads, rng):
    K = matrix(n)
    gram = made(K, n, n_threads=n_threads)
    for _ in range(3):
        count = min(n, 300)
        index = rng.choice(n, count, replace=False)
        ask(gram, K, index, rng.normal(size=count), rng.random(count) < 0.5)
    index = rng.choice(n, min(n, 270), replace=False)
    np.testing.assert_allclose(gram.block(index), K[np.ix_(index, index)], rtol=1e-14)


def test_block_takes_repeated_samples():
    K = matrix(6)
    index = np.array([3, 3, 0, 5, 3])
    np.testing.assert_array_equal(made(K, 2).block(index), K[np.ix_(index, index)])


def test_a_sample_asked_for_twice_in_one_call_counts_twice():
    K = matrix(12)
    gram = made(K, 4)
    for _ in range(4):
        ask(gram, K, [2, 5, 2], [1.0, 10.0, 100.0], [True] * 3)
        ask(gram, K, [7, 8, 9, 2], [1.0, 1.0, 1.0, 1.0], [True] * 4)


class AnyHistory(RuleBasedStateMachine):
    """Sums, with any samples kept, in any order; slabs of three rows so that every edge is met."""

    @initialize(rows=st.integers(0, 9), seed=st.integers(0, 99))
    def begin(self, rows, seed):
        self.before = cached.SLAB_ROWS
        cached.SLAB_ROWS = 3
        self.K = matrix(11, seed)
        self.gram = made(self.K, rows)
        self.asked = 0

    @rule(samples=st.lists(st.integers(0, 10), unique=True), keep=st.integers(0, 2**11 - 1), weight=st.floats(-9, 9))
    def add(self, samples, keep, weight):
        marks = [(keep >> k) & 1 for k in range(len(samples))]
        ask(self.gram, self.K, samples, [weight + k for k in range(len(samples))], marks)
        self.asked += len(samples)

    @invariant()
    def books_are_kept(self):
        if not hasattr(self, "gram"):
            return
        gram = self.gram
        assert gram.rows_computed + gram.row_hits == self.asked
        assert gram.cache.used <= gram.cache.capacity
        assert sum(slab.shape[0] for slab in gram.cache.slabs) <= gram.cache.capacity
        held = np.flatnonzero(gram.cache.slot_of != cached.ABSENT)
        assert len(set(gram.cache.slot_of[held])) == len(held)
        for sample in held:
            slot = gram.cache.slot_of[sample]
            assert gram.cache.sample_in[slot] == sample
            np.testing.assert_array_equal(gram.cache.slabs[slot // 3][slot % 3], self.K[sample])

    def teardown(self):
        if hasattr(self, "before"):
            cached.SLAB_ROWS = self.before


TestAnyHistory = AnyHistory.TestCase
TestAnyHistory.settings = settings(max_examples=30, stateful_step_count=25)


def test_cheap_rows_are_kept_only_when_evaluating_them_has_cost_as_much(rng):
    kernel = Gaussian(0.5)
    samples = kernel.prepare(rng.normal(size=(300, 5)), np.float32)
    gram = CachedGram(kernel, samples, np.float32, 10**8)
    asks = int(np.ceil(COSTS.store_value / kernel.entry_cost(samples)))
    assert asks > 2
    index, weights, keep = np.array([7, 100]), np.array([1.0, -2.0]), np.array([True, False])
    expected = weights @ kernel.block(samples.take(index), samples, np.empty((2, 300), np.float32))
    for turn in range(asks + 3):
        function = np.zeros(300)
        gram.add_rows(index, weights, function, keep)
        np.testing.assert_allclose(function, expected, atol=1e-6)
        assert gram.row_hits == max(0, turn + 1 - asks)  # the second row is never to be kept


@pytest.mark.parametrize("n_threads", [1, 2])
def test_values_of_rows_that_were_kept_are_not_evaluated_again(n_threads, rng, monkeypatch):
    monkeypatch.setattr(cached, "SLAB_ROWS", 8)
    monkeypatch.setattr(cached, "COSTS", replace(COSTS, gather_value=0.0, store_value=0.0))
    kernel = Gaussian(0.5)
    X = rng.normal(size=(60, 3))
    K = kernel(X)
    asked = []

    class Counting(Gaussian):
        def block(self, left, right, out):
            asked.append((len(left), len(right)))
            return super().block(left, right, out)

    counting = Counting(0.5)
    gram = CachedGram(counting, counting.prepare(X), np.float64, 10**6, n_threads)
    index = np.array([3, 7, 8, 20, 21, 40, 41, 42, 43, 59])
    some = np.array([7, 8, 20, 30, 31, 32, 33, 34, 43, 59])
    gram.add_rows(some, np.ones(10), np.zeros(60), keep=np.ones(10, bool))
    asked.clear()
    np.testing.assert_allclose(gram.block(index), K[np.ix_(index, index)], rtol=1e-12)
    assert asked == [(5, 5)]  # 3, 21, 40, 41 and 42 among themselves
    asked.clear()
    np.testing.assert_allclose(gram.block(some), K[np.ix_(some, some)], rtol=1e-12)
    assert asked == []


@pytest.mark.parametrize("whole", [True, False])
def test_sums_at_some_samples(whole, rng):
    kernel = Gaussian(0.5)
    X = rng.normal(size=(300, 5))
    K = kernel(X)
    gram = FullGram(K) if whole else CachedGram(kernel, kernel.prepare(X), np.float64, 10**6)
    at, index, weights = np.array([3, 4, 200]), np.array([0, 17, 299]), np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(gram.sum_at(at, index, weights), weights @ K[np.ix_(index, at)], atol=1e-12)
