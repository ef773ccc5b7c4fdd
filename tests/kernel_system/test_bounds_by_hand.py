"""Bounds on solutions of a system of two unknowns, against values worked out by hand."""

import numpy as np
import pytest

from widemargin.certificate import system_bounds
from widemargin.certificate.system_bounds import Residual
from widemargin.kernels.errors import UNIT, ErrorTerms

COUNTED = 1.09  # bounds are at least the exact value, and at most this multiple: four factors of 1.02
EXACT = ErrorTerms(np.zeros((2, 1)), np.zeros((2, 1)), np.ones(2))


def is_bound(found, exact):
    return bool(
        np.all(np.asarray(found) >= exact) and np.all(np.asarray(found) <= COUNTED * np.asarray(exact) + 1e-300)
    )


def residual_of(value, error=0.0):
    value = np.array(value, float)[:, None]
    return Residual(value, np.full(value.shape, error), np.abs(value), np.ones(1))


def test_lengths():
    columns = np.array([[3.0, 3e200, 3e-200, 0.0, np.inf, np.nan], [4.0, 4e200, 4e-200, 0.0, 1.0, 1.0]])
    np.testing.assert_allclose(system_bounds.lengths(columns), [5.0, 5e200, 5e-200, 0.0, np.inf, np.inf])
    assert system_bounds.lengths(np.empty((0, 2))).tolist() == [0.0, 0.0]


def test_root_mean_squares():
    found = system_bounds.root_mean_squares(np.array([[3.0, 0.0, 1e-300], [4.0, 0.0, 1e-300]]))
    np.testing.assert_allclose(found, [np.sqrt(12.5), 0.0, 0.0])
    assert system_bounds.root_mean_squares(np.empty((0, 1))).tolist() == [0.0]


def test_quotients():
    over = system_bounds.over(np.array([0.0, 1.0, 0.5, 3.0, 0.25]), np.array([0.0, 0.0, 0.0, 2.0, 0.5]))
    assert over.tolist() == [0.0, np.inf, np.inf, 1.5, 0.5]


def test_largest_residuals_and_norms():
    residual = residual_of([3.0, -4.0], 0.5)
    assert is_bound(residual.largest()[:, 0], [3.5, 4.5])
    assert is_bound(residual.norms(), [np.sqrt(3.5**2 + 4.5**2)])
    assert is_bound(residual.of_rounding().largest()[:, 0], [0.5, 0.5])


def test_energy_from_the_noise():
    """r = (3, 4), D = (1, 2), relative to a scale of 2: 9/4 + 16/8."""
    noise, scale = np.array([1.0, 2.0]), np.full(1, 2.0)
    assert is_bound(system_bounds.energy_by_noise(residual_of([3.0, 4.0]), noise, scale), [4.25])
    assert system_bounds.energy_by_noise(residual_of([3.0, 4.0]), np.array([1.0, 0.0]), scale).tolist() == [np.inf]
    assert system_bounds.energy_by_noise(residual_of([0.0, 0.0]), np.array([1.0, 0.0]), scale).tolist() == [0.0]
    assert system_bounds.energy_by_noise(residual_of([1e-200, 0.0]), noise, scale) > 0.0  # its square underflows


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_energy_from_a_trial(scale):
    """K = (1, 1/2; 1/2, 1), v = (2, 0): v'K v = 4, r - K v = (3, 2) - (2, 1) = (1, 1), D = (1, 2): 4 + 1 + 1/2."""
    trial, product = np.array([[2.0]]), np.array([[2.0], [1.0]])
    arguments = (np.array([1.0, 2.0]), np.full(1, scale), EXACT, np.array([0]), trial, product, product)
    assert is_bound(system_bounds.energy_by_trial(residual_of([3.0, 2.0]), *arguments), [5.5 / scale**2])
    # values of the kernel that err by 1/4 add 1/2 to (K v)_i and 2 times as much to v'K v
    terms = ErrorTerms(np.full((2, 1), 0.25), np.ones((2, 1)), np.ones(2))
    arguments = (np.array([1.0, 2.0]), np.full(1, scale), terms, np.array([0]), trial, product, product)
    expected = (4.0 + 2.0 * 0.5 + 1.5**2 * 1.5) / scale**2
    assert is_bound(system_bounds.energy_by_trial(residual_of([3.0, 2.0]), *arguments), [expected])


def test_bounds_on_the_value():
    """y = (3, 1), r = (1/2, -1/2), a = (2, -1): (y + r)'a = 7 - 1/2; errors of r of 1/4 add 3/4; the energy is 2."""
    y, a = np.array([[3.0], [1.0]]), np.array([[2.0], [-1.0]])
    value, lower, upper = system_bounds.value_bounds(y, a, residual_of([0.5, -0.5], 0.25), np.full(1, 2.0))
    assert value == pytest.approx(6.5)
    assert 6.5 - COUNTED * 0.75 <= lower <= 5.75 and 9.25 <= upper <= 6.5 + COUNTED * 2.75
    large = 2.0**20 * a / np.abs(a)  # sizes (3 + 1/2 + 1 + 1/2) 2^20, and five roundings of each product and sum
    value, lower, upper = system_bounds.value_bounds(y, large, residual_of([0.5, -0.5]), np.zeros(1))
    assert value - lower >= 5 * UNIT * 5 * 2.0**20 and upper - value >= 5 * UNIT * 5 * 2.0**20
    value, lower, upper = system_bounds.value_bounds(y, a, residual_of([np.nan, 0.0]), np.full(1, 2.0))
    assert lower == -np.inf and upper == np.inf
