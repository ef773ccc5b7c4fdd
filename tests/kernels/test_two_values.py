"""Vectors of two values are packed to bits for the Gaussian kernel, whatever the two values are."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.oracles import as_array
from widemargin import SVC
from widemargin.kernels import Gaussian, Linear
from widemargin.kernels.samples.binary import BinaryRows, two_values

PAIRS = [(0.0, 1.0), (-1.0, 1.0), (0.0, 0.18257), (-0.5, 0.0), (3.0, 7.5)]


def matrix(rng, low, high, shape=(40, 70)):
    return np.where(rng.random(shape) < 0.4, high, low)


@pytest.mark.parametrize("low, high", PAIRS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_equal_the_formula(low, high, dtype, rng):
    X, Z = matrix(rng, low, high), matrix(rng, low, high, (15, 70))
    kernel = Gaussian(0.03)
    samples = kernel.prepare(X, dtype)
    assert isinstance(samples, BinaryRows)
    assert samples.values == (low, high)
    exact = np.exp(-0.03 * ((X[:, None] - Z[None]) ** 2).sum(axis=2))
    other = kernel.prepare(Z, dtype, like=samples)
    for part in (samples, samples.take(np.arange(40)), samples.tile(0, 40)):
        found = kernel.block(part, other, np.empty((40, 15), dtype))
        np.testing.assert_allclose(found, exact, rtol=1e-6 if dtype == np.float32 else 1e-13)
    np.testing.assert_allclose(samples.squares, (X**2).sum(axis=1))


@pytest.mark.parametrize("low, high", [(0.0, 0.18257), (-0.5, 0.0)])
def test_sparse_data(low, high, rng):
    X = sp.csr_array(matrix(rng, low, high))
    assert two_values(X) == (low, high)
    samples = Gaussian(0.03).prepare(X, np.float32)
    assert isinstance(samples, BinaryRows)
    np.testing.assert_allclose(Gaussian(0.03)(X), Gaussian(0.03)(as_array(X) + 1e-9), rtol=1e-6)


def test_what_holds_more_values_is_not_packed(rng):
    X = matrix(rng, -1.0, 1.0)
    X[-1, -1] = 0.5
    assert two_values(X) is None
    assert two_values(sp.csr_array(np.array([[1.0, 2.0, 0.0]]))) is None
    assert not isinstance(Linear().prepare(matrix(rng, -1.0, 1.0), np.float64), BinaryRows)


@pytest.mark.parametrize("value", [0.0, 2.0, -3.0])
def test_constant_data(value):
    X = np.full((5, 30), value)
    np.testing.assert_array_equal(Gaussian(0.1)(X), np.ones((5, 5)))


def test_new_data_with_other_values(rng):
    X = matrix(rng, -1.0, 1.0, (120, 20))
    y = np.where(X[:, :3].sum(axis=1) > 0, 1, 0)
    machine = SVC(gamma=0.1, tol=1e-6).fit(X, y)
    new = rng.normal(size=(9, 20))
    exact = Gaussian(0.1)(new, machine.support_vectors_) @ machine.dual_coef_[0] + machine.intercept_
    np.testing.assert_allclose(machine.decision_function(new), exact, atol=1e-10)
    platt = SVC(gamma=0.1, tol=1e-6, solver="platt").fit(X, y)
    np.testing.assert_allclose(platt.decision_function(new), machine.decision_function(new), atol=1e-4)


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_two_sets_of_two_values_each_but_not_the_same(wrap, rng):
    X, Z = matrix(rng, 0.0, 0.5, (12, 30)), matrix(rng, 0.0, 1.0, (9, 30))
    exact = np.exp(-0.1 * ((X[:, None] - Z[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(Gaussian(0.1)(wrap(X), wrap(Z)), exact, rtol=1e-12)
    machine = SVC(gamma=0.1).fit(wrap(Z), np.arange(9) % 2)
    expected = machine.decision_function(X + 0.0)
    np.testing.assert_allclose(machine.decision_function(wrap(X)), expected, atol=1e-12)
    np.testing.assert_allclose(
        expected,
        Gaussian(0.1)(X, as_array(machine.support_vectors_)) @ as_array(machine.dual_coef_)[0] + machine.intercept_,
    )
