"""Sums of rows in compiled code are the sums of the rows of a block."""

import numpy as np
import pytest

from widemargin.kernels import ChiSquared, Gaussian, Laplacian
from widemargin.kernels.row_sums import HEIGHT, WIDTH


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 1e-5), (np.float64, 1e-12)])
@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.2), ChiSquared(0.4)])
@pytest.mark.parametrize("is_binary", [False, True])
@pytest.mark.parametrize("n_rows", [0, 1, HEIGHT, HEIGHT + 5])
def test_sums_of_rows(dtype, tolerance, kernel, is_binary, n_rows):
    rng = np.random.default_rng(3)
    X = rng.random((WIDTH + 90, 7))
    X = (X > 0.5).astype(float) if is_binary else X
    columns = kernel.prepare(X, dtype).tile(20, WIDTH + 80)
    rows = columns.take(np.sort(rng.choice(len(columns), n_rows, replace=False)))
    weights = rng.normal(size=n_rows)
    first, last = 10, WIDTH + 31
    target = np.ones(last - first)
    kernel.row_sums(rows, columns)(first, last, weights, target)
    block = kernel.block(rows, columns.tile(first, last), np.empty((n_rows, last - first), dtype))
    assert np.abs(target - 1.0 - weights @ block.astype(float)).max() <= tolerance * max(1.0, np.abs(weights).sum())


def test_kernels_without_cheap_values_have_none():
    samples = Gaussian(0.1).prepare(np.random.default_rng(0).normal(size=(50, 60)), np.float32)
    assert Gaussian(0.1).row_sums(samples, samples) is None
