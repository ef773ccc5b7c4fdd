"""Classes are those of numpy.unique, whatever the type of the labels."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin import SVC, LinearSVC


@pytest.mark.parametrize("estimator", [LinearSVC, SVC])
@pytest.mark.parametrize(
    "y",
    [
        np.array([3, 1, 2, 3, 1]),
        np.array([3.0, 1.0, 7.0, 3.0]),
        np.array([-1.0, 1.0, -1.0]),
        np.array([-128, 127, 0], np.int8),
        np.array([0, 255, 3], np.uint8),
        np.array([2**62 + 1, 2**62, 2**62 + 1]),
        np.array([5.0, 4.0], np.float32),
        np.array(["b", "a", "b"]),
        np.array([True, False]),
        np.array([0, 10**9, 0]),
    ],
    ids=lambda y: f"{y.dtype}-{y[0]}",
)
def test_classes_are_the_sorted_labels(estimator, y):
    X = np.unique(y, return_inverse=True)[1][:, None].astype(float)
    model = estimator(C=1e3).fit(X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert model.classes_.dtype == y.dtype
    np.testing.assert_array_equal(model.predict(X[:2]), y[:2])
