"""The error a kernel states is not exceeded, on data made to round badly, and says when a precision is not enough."""

import numpy as np
import pytest
from scipy import sparse

from tests.kernels.brute_force import KERNELS, error
from widemargin.kernels import ChiSquared, Cosine, Gaussian, Laplacian, Linear
from widemargin.kernels.samples.dense import DenseColumns


def stated_and_true(kernel, X, dtype, rows=12):
    samples = kernel.prepare(X, dtype)
    values = kernel.block(samples.tile(0, rows), samples, np.empty((rows, len(samples)), dtype))
    return kernel.rounding(samples), error(values, kernel, X[:rows], X)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 30.0])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e4])
@pytest.mark.parametrize("n_features", [3, 16, 17, 200])
@pytest.mark.parametrize("gamma", [0.01, 1.0])
def test_gaussian_of_moved_and_stretched_data(gamma, n_features, offset, scale, rng):
    X = offset + scale * rng.standard_normal((40, n_features))
    X[20:] = X[:20] + 1e-3 * scale * rng.standard_normal((20, n_features))  # near pairs, where cancellation hurts
    for dtype in (np.float32, np.float64):
        stated, true = stated_and_true(Gaussian(gamma), X, dtype)
        assert true <= stated


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("n_features", [6, 400])
def test_all_kernels_on_equal_signs(kernel, n_features, rng):
    X = rng.random((40, n_features)) * 3 + 1  # sums of one sign grow and round most
    stated, true = stated_and_true(kernel, X, np.float32)
    assert true <= stated


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_all_kernels_on_sparse_data_with_long_rows(kernel, rng):
    X = rng.random((40, 800)) * (rng.random((40, 800)) < rng.random((40, 1)) * 0.4)
    stated, true = stated_and_true(kernel, sparse.csr_array(X), np.float32)
    assert true <= stated


@pytest.mark.parametrize("n_features", [54, 320, 1000])
def test_rows_of_one_repeated_value_where_all_roundings_go_one_way(n_features, rng):
    X = np.repeat(rng.random((60, 1)), n_features, axis=1)
    for kernel in (Linear(), Gaussian(0.01), Cosine()):
        stated, true = stated_and_true(kernel, X, np.float32)
        assert true <= stated


def test_a_remote_origin_costs_no_digits(rng):
    X = rng.standard_normal((40, 50)) + 1e6
    for dtype, allowed in ((np.float32, 2e-5), (np.float64, 1e-12)):
        stated, true = stated_and_true(Gaussian(0.02), X, dtype)
        assert true <= stated <= allowed


def test_packed_and_direct_values_are_good_to_the_last_digits(rng):
    bits = (rng.random((40, 300)) < 0.3) * 1.0
    assert Gaussian(0.02).rounding(Gaussian(0.02).prepare(bits, np.float32)) < 1e-7
    few = rng.standard_normal((40, 8))
    assert Gaussian(0.1).rounding(Gaussian(0.1).prepare(few, np.float32)) < 2e-6


@pytest.mark.needs_compiler  # interpreted arithmetic warns of overflow
@pytest.mark.parametrize("size", [1e20, 1e200])
def test_data_beyond_a_precision_are_reported_as_such(size):
    X = size * np.arange(1.0, 61.0).reshape(3, 20)
    for kernel in (Linear(), Gaussian(1.0), Laplacian(1.0)):
        assert kernel.rounding(kernel.prepare(X, np.float32)) > 1e3
    samples = Gaussian(1.0).prepare(X, np.float64)
    assert type(samples) is DenseColumns, "products would cancel or overflow: differences do not"
    np.testing.assert_array_equal(Gaussian(1.0)(X), np.eye(3))


def test_large_scales_go_by_differences(rng):
    X = rng.standard_normal((30, 40)) * 1e5
    X[1] = X[0] + 0.01
    kernel = Gaussian(1.0)
    samples = kernel.prepare(X)
    values = kernel.block(samples, samples, np.empty((30, 30)))
    assert error(values, kernel, X) <= kernel.rounding(samples) < 1e-9
    assert values[0, 1] == pytest.approx(np.exp(-40 * 1e-4), rel=1e-8)


def test_outliers_in_float32_go_by_differences_while_features_are_few(rng):
    X = rng.standard_normal((30, 40))
    X[3] *= 100
    kernel = Gaussian(0.02)
    samples = kernel.prepare(X, np.float32)
    assert type(samples) is DenseColumns
    stated, true = stated_and_true(kernel, X, np.float32)
    assert true <= stated < 1e-4
    wide = np.hstack([X, X, X])
    assert kernel.rounding(kernel.prepare(wide, np.float32)) > 1e-4


@pytest.mark.needs_compiler
def test_sparse_data_that_overflow_are_far_apart_not_equal():
    X = sparse.csr_array(np.diag(np.full(70, 1e200)))
    np.testing.assert_array_equal(Gaussian(1.0)(X)[0, 1:], 0.0)


def test_cosine_of_very_short_vectors_is_not_trusted_in_float32():
    X = np.array([[1e-25, 2e-25], [3e-25, 1e-25]])
    assert Cosine().rounding(Cosine().prepare(X, np.float32)) == np.inf
    assert Cosine().rounding(Cosine().prepare(X, np.float64)) < 1e-14
    assert Cosine()(X)[0, 1] == pytest.approx(5 / np.sqrt(50), rel=1e-12)


def test_zero_over_zero_counts_nothing():
    X = np.array([[0.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
    np.testing.assert_allclose(ChiSquared(0.5)(X), [[1.0, np.exp(-1.0)], [np.exp(-1.0), 1.0]], rtol=1e-15)
