"""Ranges of C, gamma and epsilon from the data."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from widemargin.model_selection import ranges


@pytest.fixture
def X(rng):
    return rng.normal(size=(300, 6))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_gamma_scales_with_the_data_and_spans_the_quantiles(X, scale):
    values = ranges.gamma_values(scale * X, "rbf", 5)
    np.testing.assert_allclose(values * scale**2, ranges.gamma_values(X, "rbf", 5), rtol=0.01)
    K = rbf_kernel(X, gamma=values[-1] * scale**2)[np.triu_indices(300, 1)]
    assert np.quantile(K, 0.9) == pytest.approx(np.exp(-1.0), rel=0.02)  # the nearest tenth is closer than 1 / gamma
    K = rbf_kernel(X, gamma=values[0] * scale**2)[np.triu_indices(300, 1)]
    assert np.quantile(K, 0.1) == pytest.approx(np.exp(-0.1), rel=0.02)


def test_other_kernels_use_their_own_distances(X):
    K = laplacian_kernel(X, gamma=ranges.gamma_values(X, "laplacian", 5)[-1])[np.triu_indices(300, 1)]
    assert np.quantile(K, 0.9) == pytest.approx(np.exp(-1.0), rel=0.02)
    assert ranges.gamma_values(np.abs(X), "chi2", 3)[0] > 0
    middle = ranges.gamma_values(X, "poly", 3)[1]
    assert middle == pytest.approx(1.0 / np.mean(np.sum(X**2, axis=1)), rel=0.01)


def test_sparse_and_dense_data_have_the_same_ranges(X):
    X[X < 0.5] = 0.0
    for kernel in ("rbf", "laplacian", "chi2", "poly"):
        dense, sparse = (ranges.gamma_values(data, kernel, 5) for data in (X, sp.csr_matrix(X)))
        np.testing.assert_allclose(dense, sparse, rtol=0.01)


def test_nearly_equal_distances_still_give_different_values(rng):
    X = rng.normal(size=(100, 5000))
    values = ranges.gamma_values(X, "rbf", 9)
    assert np.min(values[1:] / values[:-1]) == pytest.approx(ranges.SMALLEST_STEP, rel=0.01)


def test_data_without_any_distance():
    assert np.isfinite(ranges.gamma_values(np.ones((5, 2)), "rbf", 3)).all()
    assert np.isfinite(ranges.gamma_values(np.zeros((5, 2)), "poly", 3)).all()
    assert ranges.variance_in_feature_space(np.ones((5, 5)), "precomputed") == 1.0


def test_C_is_measured_by_the_variance_in_feature_space(X):
    total = X.var(axis=0).sum()
    np.testing.assert_allclose(ranges.C_values(X, "linear", 3) * total, [0.1, 10.0, 1000.0], rtol=0.01)
    np.testing.assert_allclose(ranges.C_values(X @ X.T, "precomputed", 3), ranges.C_values(X, "linear", 3))
    np.testing.assert_allclose(ranges.C_values(X, lambda A, B: A @ B.T, 3), ranges.C_values(X, "linear", 3))
    assert ranges.C_values(X, "rbf", 3, spread=5.0).tolist() == [0.5, 50.0, 5000.0]


def test_the_sample_is_seeded_and_bounded(rng):
    X = rng.normal(size=(2000, 2))
    drawn, rows = ranges.draw(X, "rbf")
    assert len(drawn) == ranges.SAMPLE == len(set(rows.tolist()))
    np.testing.assert_array_equal(rows, ranges.draw(X, "rbf")[1])
    assert ranges.draw(X[:600] @ X[:600].T, "precomputed")[0].shape == (500, 500)


@pytest.mark.parametrize("noise", [0.05, 0.3])
@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_the_noise_of_a_regression_and_its_epsilon(rng, noise, unit):
    X = np.linspace(0.0, 6.0, 400)[:, None]
    y = unit * (np.sin(X[:, 0]) + noise * rng.normal(size=400))
    found = ranges.noise_of(np.square(X - X.T), y)
    assert found == pytest.approx(unit * noise, rel=0.25)
    values = ranges.epsilon_values(X, y, "rbf", 3, 400)
    assert values[1] == pytest.approx(3 * found * np.sqrt(np.log(400) / 400), rel=0.01)
    np.testing.assert_allclose(values[1:] / values[:-1], ranges.EPSILON_STEP, rtol=0.01)
    in_feature_space = ranges.epsilon_values(X, y, "linear", 3, 400)
    np.testing.assert_allclose(in_feature_space, values, rtol=0.05)


def test_weights_and_copies_of_samples_give_the_same_range(rng):
    X = 100.0 + rng.normal(size=(40, 3))  # far from zero, so that the distance of copies is rounded
    weight = rng.integers(1, 4, 40)
    for kernel in ("rbf", "laplacian", "poly"):
        copied = ranges.gamma_values(np.repeat(X, weight, axis=0), kernel, 5)
        np.testing.assert_allclose(ranges.gamma_values(X, kernel, 5, weight.astype(float)), copied)
