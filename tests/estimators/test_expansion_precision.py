"""Many predictions at once: float32 kernel values only where a measurement says that they are accurate enough."""

import numpy as np
import pytest

from widemargin import expansion
from widemargin.expansion import Expansion
from widemargin.kernels import Gaussian


def machine(rng, scale, outputs=1, starts=None):
    vectors = rng.normal(size=(200, 24))
    coefficients = scale * rng.normal(size=(outputs, 200))
    n_values = outputs if starts is None else len(starts) * (len(starts) - 1) // 2 - (len(starts) - 1)
    return Expansion(Gaussian(0.05), vectors, coefficients, np.zeros(n_values), starts)


@pytest.mark.parametrize("outputs, starts", [(1, None), (3, None), (3, [0, 60, 100, 160, 200])])
def test_large_work_is_done_in_float32_to_the_stated_accuracy(outputs, starts, rng, monkeypatch):
    f = machine(rng, 1.0, outputs, starts)
    X = rng.normal(size=(1000, 24))
    exact = f.decision(X)
    monkeypatch.setattr(expansion, "LARGE_WORK", 10_000)
    quick = f.decision(X)
    error = np.abs(quick - exact).max()
    assert 0.0 < error <= 5 * expansion.MEASURED_ERROR * np.abs(exact).max()


def test_values_that_cancel_stay_in_float64(rng, monkeypatch):
    f = machine(rng, 1.0)
    f.vectors = np.repeat(f.vectors[:100], 2, axis=0) + 1e-3 * rng.normal(size=(200, 24))
    f.coefficients = 1e6 * np.tile([[1.0, -1.0]], 100)  # a difference quotient: large terms, small sums
    X = rng.normal(size=(1000, 24))
    exact = f.decision(X)
    monkeypatch.setattr(expansion, "LARGE_WORK", 10_000)
    np.testing.assert_array_equal(f.decision(X), exact)


def test_small_work_is_float64(rng):
    f = machine(rng, 1.0)
    X = rng.normal(size=(300, 24))
    exact = Gaussian(0.05)(X, f.vectors) @ f.coefficients[0]
    np.testing.assert_allclose(f.decision(X)[:, 0], exact, rtol=0, atol=1e-12)
