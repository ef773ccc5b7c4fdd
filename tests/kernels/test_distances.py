"""Blocks of exponential kernels by direct differences, against NumPy, at sizes around those of vectors and strips."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.kernels.distances import ROWS, STRIP, Absolute, Chi, Squared, rows_of_distances

DISTANCES = {
    Squared: lambda x, z: ((x - z) ** 2).sum(-1),
    Absolute: lambda x, z: np.abs(x - z).sum(-1),
    Chi: lambda x, z: ((x - z) ** 2 / np.where(x + z > 0, x + z, 1.0)).sum(-1),
}
UNTOUCHED = -7.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("distance", DISTANCES)
@given(
    n_left=st.integers(1, 2 * ROWS + 1),
    n_right=st.one_of(st.integers(1, 40), st.sampled_from([STRIP - 1, STRIP, STRIP + 1, 2 * STRIP + 17])),
    n_features=st.integers(1, 5),
    starts=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    gap=st.integers(0, 20),
    seed=st.integers(0, 1000),
)
def test_values_and_nothing_beside_them(distance, dtype, n_left, n_right, n_features, starts, gap, seed):
    rng = np.random.default_rng(seed)
    x = rng.random((n_features, starts[0] + n_left + 2)).astype(dtype)
    z = rng.random((n_features, starts[1] + n_right + 2)).astype(dtype)
    z[:, ::3] = 0.0
    x[:, ::2] = 0.0
    step = n_right + gap
    flat = np.full(n_left * step + 50, UNTOUCHED, dtype)
    index, span = np.arange(starts[0], starts[0] + n_left), (starts[1], starts[1] + n_right)
    rows_of_distances(distance(dtype(0.7)), x.T.copy(), index, z, span, flat, step * np.arange(n_left))
    block = flat[: n_left * step].reshape(n_left, step)
    left = x[:, starts[0] : starts[0] + n_left].T.astype(np.float64)
    right = z[:, starts[1] : starts[1] + n_right].T.astype(np.float64)
    expected = np.exp(-0.7 * DISTANCES[distance](left[:, None], right[None]))
    np.testing.assert_allclose(block[:, :n_right], expected, rtol=20 * np.finfo(dtype).eps)
    assert (block[:, n_right:] == UNTOUCHED).all()
    assert (flat[n_left * step :] == UNTOUCHED).all()


@pytest.mark.needs_compiler  # interpreted arithmetic warns of overflow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_that_overflow_are_far(dtype):
    x, z = np.array([[np.finfo(dtype).max, 0.0]], dtype), np.array([[-np.finfo(dtype).max, 0.0, 1.0]], dtype)
    flat = np.empty(6, dtype)
    rows_of_distances(Squared(dtype(1.0)), x.T.copy(), np.arange(2), z, (0, 3), flat, 3 * np.arange(2))
    np.testing.assert_allclose(flat, [0.0, 0.0, 0.0, 0.0, 1.0, np.exp(-1.0)], rtol=1e-6)
