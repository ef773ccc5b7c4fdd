"""The lower half of a matrix from its upper half."""

import numpy as np
import pytest

from widemargin.kernels.mirror import mirror


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [(0, 1), (0, 16), (3, 40), (10, 74)])
@pytest.mark.parametrize("columns", [(80, 80), (80, 81), (75, 91), (74, 150)])
def test_every_entry_of_the_range_is_turned_and_nothing_else(dtype, rows, columns):
    n = 150
    matrix = np.random.default_rng(0).normal(size=(n, n)).astype(dtype)
    expected = matrix.copy()
    expected[slice(*columns), slice(*rows)] = matrix[slice(*rows), slice(*columns)].T
    mirror(matrix, *rows, *columns)
    assert np.array_equal(matrix, expected)
