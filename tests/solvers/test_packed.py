"""Packed keys: integer order is float order, and the low bits give the position back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin._jit import jit
from widemargin.solvers.steps.packed_keys import keys_of, larger, larger_key, ordered_key, positive_key, smaller_key


@jit(cache=False)
def lowest(values, position, limits):
    best = limits[0]
    for t in range(values.shape[0]):
        best = smaller_key(best, ordered_key(values[t], position[t], limits[1]))
    return best & limits[2]


@jit(cache=False)
def highest_positive(values, position, limits):
    best = limits[1] ^ limits[1]
    for t in range(values.shape[0]):
        best = larger_key(best, positive_key(values[t], position[t], limits[1]))
    return best & limits[2]


@jit(cache=False)
def ordered_keys(values, position, mask, out):
    for t in range(values.shape[0]):
        out[t] = ordered_key(values[t], position[t], mask)


@jit(cache=False)
def maximum(values):
    best = values[0]
    for t in range(values.shape[0]):
        best = larger(best, values[t])
    return best


# The value loses the bits that hold the position: that much may a choice differ from the true extreme, relatively.
LOST = {np.float32: lambda n: 2.0 ** (np.ceil(np.log2(max(2, n))) - 23), np.float64: lambda n: n * 2.0**-51}


def finite(dtype):
    width = 32 if dtype == np.float32 else 64
    return st.floats(width=width, allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(data=st.data())
def test_integer_order_is_float_order(dtype, data):
    values = np.array(data.draw(st.lists(finite(dtype), min_size=1, max_size=50)), dtype)
    position, limits = keys_of(len(values), np.dtype(dtype))
    values = values + dtype(0)  # -0 becomes +0: the two zeros are equal as floats and apart as keys
    keys = np.empty(len(values), limits.dtype)
    ordered_keys(values, position * 0, limits.dtype.type(-1), keys)  # no bit given to the position: the order is exact
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    assert np.all(values[1:] >= values[:-1])
    assert np.all((keys[1:] > keys[:-1]) == (values[1:] > values[:-1]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 64, 65, 1000, 4096])
def test_position_of_the_lowest(dtype, n, rng):
    for _ in range(20):
        values = (rng.normal(size=n) * 10.0 ** rng.integers(-20, 20, n)).astype(dtype)
        position, limits = keys_of(n, np.dtype(dtype))
        at = lowest(values, position, limits)
        assert 0 <= at < n
        true = values.min()
        assert values[at] - true <= abs(true) * LOST[dtype](n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 7, 64, 1000, 4096])
def test_position_of_the_highest_positive(dtype, n, rng):
    for _ in range(20):
        values = np.abs(rng.normal(size=n) * 10.0 ** rng.integers(-15, 15, n)).astype(dtype)
        values[rng.random(n) < 0.5] = 0.0
        position, limits = keys_of(n, np.dtype(dtype))
        at = highest_positive(values, position, limits)
        assert 0 <= at < n
        assert values.max() - values[at] <= values.max() * LOST[dtype](n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ties_and_both_zeros_give_a_valid_position(dtype):
    for values in ([0.0, -0.0, 0.0], [-0.0, 0.0], [1.0] * 5, [-1.0] * 5, [-1e30, 1e30, -1e30]):
        array = np.array(values, dtype)
        position, limits = keys_of(len(array), np.dtype(dtype))
        assert array[lowest(array, position, limits)] == array.min()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_that_differ_only_in_the_lost_bits_are_told_apart_by_position_alone(dtype):
    """The choice is approximate by design; it must still be one of the near-equal values."""
    base = dtype(1.0)
    values = np.array([5.0, np.nextafter(base, dtype(2)), base, 7.0], dtype)
    position, limits = keys_of(len(values), np.dtype(dtype))
    assert lowest(values, position, limits) in (1, 2)


def test_limits_leave_room_for_every_position():
    for n in (1, 2, 3, 4, 5, 1023, 1024, 1025, 4096):
        for dtype in (np.float32, np.float64):
            position, (largest, mask, low) = keys_of(n, np.dtype(dtype))
            assert low >= n - 1
            assert mask & low == 0 and mask | low == -1
            assert largest == np.iinfo(position.dtype).max
            assert position.dtype.itemsize == np.dtype(dtype).itemsize


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_larger_is_the_maximum(dtype, rng):
    values = rng.normal(size=101).astype(dtype)
    assert maximum(values) == values.max()
