"""The hand-written exponential against the library's in extended precision."""

import numpy as np
import pytest

from widemargin._jit import CONTRACT, jit
from widemargin.kernels.distances import Absolute, rows_of_distances
from widemargin.kernels.exponential import DOUBLE, SINGLE, exp_nonpositive, exp_of_products

POINTS = 20_000


@jit(fastmath=CONTRACT)
def one_by_one(values):
    """exp(-values), in place, as the compiler makes vectors of it."""
    for j in range(len(values)):
        values[j] = exp_nonpositive(-values[j])


def in_vectors(values):
    """The same by the vectors of the kernels: exp(-|x - 0|)."""
    one = values.dtype.type(1.0)
    x, first = np.zeros((1, 1), values.dtype), np.zeros(1, np.int64)
    rows_of_distances(Absolute(one), x, first, values[None].copy(), (0, len(values)), values, first)


both_ways = pytest.mark.parametrize("exponentiate", [one_by_one, in_vectors])


@pytest.mark.needs_compiler
@both_ways
@pytest.mark.parametrize(("dtype", "smallest"), [(np.float32, SINGLE.smallest), (np.float64, DOUBLE.smallest)])
def test_error_below_one_unit_in_the_last_place(exponentiate, dtype, smallest, rng):
    for reach in (1e-6, 1.0, 20.0, -float(smallest)):
        x = (reach * rng.random(POINTS)).astype(dtype)
        values = x.copy()
        exponentiate(values)
        exact = np.exp(-x.astype(np.longdouble))
        kept = x < -smallest
        units = np.abs(values - exact)[kept] / (exact[kept] * np.finfo(dtype).eps)
        assert float(units.max()) < 1.0


@both_ways
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_arguments(exponentiate, dtype):
    values = np.array([0.0, np.finfo(dtype).tiny, 1e4, np.inf], dtype)
    exponentiate(values)
    np.testing.assert_array_equal(values, [1.0, 1.0, 0.0, 0.0])


@both_ways
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_never_above_one_and_never_rising(exponentiate, dtype):
    x = np.linspace(0, 3, POINTS).astype(dtype)
    values = x.copy()
    exponentiate(values)
    assert values.max() == 1.0
    assert (np.diff(values) <= np.finfo(dtype).eps).all()


@pytest.mark.needs_compiler  # interpreted arithmetic warns of inf - inf
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_positive_exponents_from_rounding_are_held_at_one(dtype):
    flat = np.array([1.0, 1.0 + 1e-3, 0.5, np.inf], dtype)  # x'z, with |x|^2 = |z|^2 = 1; the last has overflowed
    squares = np.array([1.0, 1.0, 1.0, np.inf], dtype)
    exp_of_products(flat, 4, dtype(2.0), np.array([1.0], dtype), squares)
    np.testing.assert_allclose(flat, [1.0, 1.0, np.exp(-1.0), 0.0], rtol=1e-6)
