"""Class numbers in one pass are those of numpy.unique."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.estimators.classes import MOST, classes_and_numbers


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int32, "U4"])
@pytest.mark.parametrize("n_classes", [1, 2, 3, MOST, MOST + 1])
def test_classes_and_numbers_are_those_of_unique(n_classes, dtype):
    rng = np.random.default_rng(n_classes)
    y = np.concatenate([rng.permutation(n_classes), rng.integers(0, n_classes, 500)]) - 2
    y = y.astype(dtype)
    classes, numbers = classes_and_numbers(y)
    expected_classes, expected_numbers = np.unique(y, return_inverse=True)
    np.testing.assert_array_equal(classes, expected_classes)
    np.testing.assert_array_equal(numbers, expected_numbers)
    assert classes.dtype == expected_classes.dtype
