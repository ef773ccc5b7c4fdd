"""The full matrix, blocks of it, symmetric evaluation, products with vectors, and the memory a cache may take."""

import numpy as np
import pytest

from tests.oracles import DATA, KERNELS, GivenMatrix, as_array
from widemargin.gram import FullGram, kernel_product
from widemargin.gram.accumulate import copy_rows, gather_rows
from widemargin.gram.budget import cache_budget, free_memory
from widemargin.gram.full import FEW_ENTRIES
from widemargin.gram.gram import kernel_scores, symmetric_block
from widemargin.linalg.row_sums import add_weighted_rows, several_sums_at, sums_at


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_of_a_kernel(kernel, data, dtype, rng):
    X = DATA[data](70, rng)
    K = KERNELS[kernel][1](as_array(X), as_array(X))
    made, _ = KERNELS[kernel]
    gram = FullGram.of(made, made.prepare(X, dtype), dtype, 2)
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    assert gram.matrix.dtype == dtype and gram.diag.dtype == np.float64
    np.testing.assert_allclose(gram.matrix, K, rtol=tolerance, atol=tolerance * np.abs(K).max())
    np.testing.assert_allclose(gram.diag, np.diag(K), rtol=tolerance)
    np.testing.assert_array_equal(gram.matrix, gram.matrix.T)
    assert gram.rows_computed == 70 and len(gram) == 70


@pytest.mark.parametrize("n", [1, 2, 255, 256, 257, 600])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_symmetric_block_fills_every_entry(n, n_threads, rng):
    A = rng.normal(size=(n, 3))
    K = A @ A.T
    out = np.full((n, n), np.nan)
    symmetric_block(GivenMatrix(K), GivenMatrix(K).prepare(), out, n_threads)
    np.testing.assert_array_equal(out, np.triu(K) + np.triu(K, 1).T)


def test_subset_and_block(rng):
    A = rng.normal(size=(40, 3))
    gram = FullGram(A @ A.T)
    index = rng.permutation(40)[:17]
    part = gram.subset(index)
    np.testing.assert_array_equal(part.matrix, gram.matrix[np.ix_(index, index)])
    np.testing.assert_array_equal(part.diag, gram.diag[index])
    again = np.array([4, 4, 0])
    np.testing.assert_array_equal(part.block(again), gram.matrix[np.ix_(index[again], index[again])])
    np.testing.assert_array_equal(gram.block(np.arange(40)), gram.matrix)
    order = rng.permutation(40)  # as long as the matrix, but not in its order
    np.testing.assert_array_equal(gram.block(order), gram.matrix[np.ix_(order, order)])


@pytest.mark.parametrize("n", [1, 5, 1023, 2500])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 9, 30])
def test_add_rows(n, count, rng):
    K = rng.normal(size=(n, n))
    K = K + K.T
    count = min(n, count)
    index, coefficients = rng.choice(n, count, replace=False), rng.normal(size=count)
    for n_threads in (1, 2):
        gram = FullGram(K, n_threads)
        function = np.ones(n)
        gram.add_rows(index, coefficients, function)
        np.testing.assert_allclose(function, 1 + K[index].T @ coefficients, rtol=1e-10, atol=1e-10)
        assert gram.row_hits == count and gram.rows_computed == 0


@pytest.mark.parametrize("sizes", [(1, 1), (3, 700), (700, 3), (600, 1500)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernel_product(sizes, dtype, rng):
    kernel, independent = KERNELS["rbf"]
    X, Z = rng.normal(size=(sizes[0], 3)), rng.normal(size=(sizes[1], 3))
    weights = rng.normal(size=sizes[1])
    left = kernel.prepare(X, dtype)
    right = kernel.prepare(Z, dtype, like=left)
    for n_threads in (1, 2):
        values = kernel_product(kernel, left, right, weights, np.dtype(dtype), n_threads)
        error = (1e-13 if dtype == np.float64 else 2e-6) * np.abs(weights).sum()
        np.testing.assert_allclose(values, independent(X, Z) @ weights, rtol=0, atol=error)


def test_kernel_product_with_nothing(rng):
    kernel = KERNELS["rbf"][0]
    some, none = kernel.prepare(rng.normal(size=(5, 2))), kernel.prepare(np.empty((0, 2)))
    np.testing.assert_array_equal(kernel_product(kernel, some, none, np.empty(0), np.dtype(float), 1), np.zeros(5))
    assert kernel_product(kernel, none, some, np.ones(5), np.dtype(float), 2).shape == (0,)


@pytest.mark.parametrize("data", DATA)
def test_kernel_scores(data, rng):
    X = DATA[data](50, rng)
    kernel, independent = KERNELS["poly"]
    K = independent(as_array(X), as_array(X))
    samples = kernel.prepare(X)
    support, coefficients = np.array([1, 4, 30, 31]), rng.normal(size=4)
    at = np.array([3, 40, 7])
    scores = kernel_scores(kernel, samples.take(at), samples.take(support), coefficients)
    np.testing.assert_allclose(scores.values, K[np.ix_(at, support)] @ coefficients, atol=1e-9)
    assert (scores.error > 0).all() and (scores.error < 1e-9).all()
    nothing = samples.take(np.empty(0, np.int64))
    np.testing.assert_array_equal(kernel_scores(kernel, samples, nothing, np.empty(0)), np.zeros((2, 50)))


@pytest.mark.parametrize("whole", [True, False])
def test_scores_of_a_kernel_that_states_nothing_bound_their_sums_by_the_sizes_met(whole, rng):
    K = rng.normal(size=(60, 60)) * np.exp(rng.uniform(0, 20, size=60))
    coefficients = rng.normal(size=60)
    if whole:
        scores = FullGram(K + K.T).scores(coefficients)
    else:
        samples = (kernel := GivenMatrix(K + K.T)).prepare(None)
        scores = kernel_scores(kernel, samples, samples, coefficients)
    truth = (K + K.T).astype(np.longdouble) @ coefficients
    assert (np.abs(scores.values - truth) <= scores.error).all()
    assert (scores.error <= 1e-13 * np.abs(K + K.T) @ np.abs(coefficients)).all()


def test_compiled_loops_with_offsets(rng):
    rows = rng.normal(size=(6, 40))
    target = np.zeros(7)
    add_weighted_rows(rows, 30, np.array([5, 0, 5]), np.array([1.0, -2.0, 0.5]), target)
    np.testing.assert_allclose(target, 1.5 * rows[5, 30:37] - 2 * rows[0, 30:37], rtol=1e-13)
    out = np.empty((2, 3))
    gather_rows(rows, np.array([4, 1]), np.array([1, 0]), np.array([0, 39, 2]), out)
    np.testing.assert_array_equal(out, rows[np.ix_([1, 4], [0, 39, 2])])
    runs = np.r_[3:20, 30:39, 0:2]  # read run by run
    out = np.empty((2, len(runs)))
    gather_rows(rows, np.array([4, 1]), np.array([1, 0]), runs, out)
    np.testing.assert_array_equal(out, rows[np.ix_([1, 4], runs)])
    store = np.zeros((3, 10))
    copy_rows(rows[:, :4].copy(), np.array([2, 3]), store, np.array([2, 0]), 5)
    np.testing.assert_array_equal(store[2, 5:9], rows[2, :4])
    np.testing.assert_array_equal(store[0, 5:9], rows[3, :4])
    assert store[1].sum() == 0 and store[:, 9].sum() == 0


@pytest.mark.parametrize("at", [np.arange(40), np.r_[5:17, 3, 20:31, 38, 39], np.array([7, 5, 5]), np.array([], int)])
def test_some_values_of_a_sum_of_rows(rng, at):
    K = rng.normal(size=(40, 40))
    K, out = K + K.T, np.full(len(at), np.nan)
    index, coefficients = np.array([0, 7, 39]), np.array([1.0, -2.0, 0.5])
    sums_at(K, at, index, coefficients, out)
    np.testing.assert_allclose(out, K[at][:, index] @ coefficients, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("at", [np.arange(40), np.r_[3, 5:17, 20:31, 38, 39], np.array([], int)])
def test_some_values_of_several_sums_of_the_same_rows(rng, at):
    K = rng.normal(size=(40, 40))
    K, out = K + K.T, np.full((3, len(at)), np.nan)
    index, coefficients = np.r_[0, 2:38, 39], rng.normal(size=(3, 38))
    several_sums_at(K, at, index, coefficients, out)
    np.testing.assert_allclose(out, coefficients @ K[np.ix_(index, at)], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [20, 300])
def test_few_and_many_rows_add_up_alike(n, rng):
    K = rng.normal(size=(n, n))
    index, coefficients = np.arange(0, n, 2), rng.normal(size=len(range(0, n, 2)))
    start = rng.normal(size=n)
    function = start.copy()
    FullGram(K).add_rows(index, coefficients, function)
    np.testing.assert_allclose(function, start + coefficients @ K[index], rtol=1e-12, atol=1e-12)
    assert (n * len(index) <= FEW_ENTRIES) == (n == 20)


def test_budget_is_megabytes_or_a_share_of_free_memory():
    assert cache_budget(200) == 200 * 1024 * 1024
    assert cache_budget(0.5) == 512 * 1024
    assert 0 < cache_budget(None) < free_memory() * 0.9
