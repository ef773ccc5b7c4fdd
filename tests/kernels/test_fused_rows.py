"""Sums of rows and squares in compiled code are those of a block."""

import numpy as np
import pytest

from widemargin.kernels import ChiSquared, Gaussian, Laplacian
from widemargin.kernels.fused_rows import HEIGHT, SQUARE_HEIGHT, WIDTH


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 1e-5), (np.float64, 1e-12)])
@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.2), ChiSquared(0.4)])
@pytest.mark.parametrize("is_binary", [False, True])
@pytest.mark.parametrize("n_rows", [0, 1, HEIGHT, HEIGHT + 5])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_sums_of_rows(dtype, tolerance, kernel, is_binary, n_rows, n_threads):
    rng = np.random.default_rng(3)
    X = rng.random((WIDTH + 90, 7))
    X = (X > 0.5).astype(float) if is_binary else X
    columns = kernel.prepare(X, dtype).tile(20, WIDTH + 80)
    rows = columns.take(np.sort(rng.choice(len(columns), n_rows, replace=False)))
    weights = rng.normal(size=n_rows)
    first, last = 10, WIDTH + 31
    target = np.ones(last - first)
    kernel.fused_rows(rows, columns.tile(first, last)).add_rows(weights, target, n_threads)
    block = kernel.block(rows, columns.tile(first, last), np.empty((n_rows, last - first), dtype))
    assert np.abs(target - 1.0 - weights @ block.astype(float)).max() <= tolerance * max(1.0, np.abs(weights).sum())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.2)])
@pytest.mark.parametrize("is_binary", [False, True])
@pytest.mark.parametrize("n", [1, SQUARE_HEIGHT, WIDTH + SQUARE_HEIGHT + 7])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_squares(dtype, kernel, is_binary, n, n_threads):
    X = np.random.default_rng(3).random((n + 30, 7))
    X = (X > 0.5).astype(float) if is_binary else X
    samples = kernel.prepare(X, dtype).tile(20, n + 20)
    filled = kernel.fused_rows(samples, samples).fill_square(np.full((n, n), np.nan, dtype), n_threads)
    assert np.array_equal(filled, filled.T)
    np.testing.assert_allclose(filled, kernel.block(samples, samples, np.empty((n, n), dtype)), rtol=1e-5)


def test_kernels_without_fused_rows_have_none():
    samples = Gaussian(0.1).prepare(np.random.default_rng(0).normal(size=(50, 60)), np.float32)
    assert Gaussian(0.1).fused_rows(samples, samples) is None
