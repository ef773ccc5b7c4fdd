"""The kernel expansion: tiles, threads, few rows, either input precision and collapsed weights give the plain sum."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from widemargin.kernels import Gaussian, Kernel, Linear, Polynomial, Precomputed
from widemargin.models.expansion import COLUMN_TILE, FEW_ROWS, ROW_TILE, Expansion

RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(COLUMN_TILE + 37, 6))
COEFFICIENTS = RNG.normal(size=(2, COLUMN_TILE + 37))
INTERCEPT = np.array([0.5, -2.0])


@pytest.mark.parametrize("n_rows", [1, FEW_ROWS, FEW_ROWS + 1, ROW_TILE, 2 * ROW_TILE + 3])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize(
    ("kernel", "name", "parameters"),
    [
        (Gaussian(0.3), "rbf", {"gamma": 0.3}),
        (Polynomial(2, 0.5, 1.0), "poly", {"degree": 2, "gamma": 0.5, "coef0": 1.0}),
        (Linear(), "linear", {}),
    ],
    ids=["rbf", "poly", "linear"],
)
def test_the_plain_sum(kernel, name, parameters, sparse, n_rows):
    X = RNG.normal(size=(n_rows, 6))
    expected = pairwise_kernels(X, VECTORS, metric=name, **parameters) @ COEFFICIENTS.T + INTERCEPT
    make = sp.csr_matrix if sparse else np.asarray
    found = Expansion(kernel, make(VECTORS), COEFFICIENTS, INTERCEPT).decision(make(X))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


def test_no_support_vectors():
    f = Expansion(Gaussian(1.0), np.empty((0, 2)), np.empty((2, 0)), INTERCEPT)
    np.testing.assert_array_equal(f.decision(np.zeros((3, 2))), np.tile(INTERCEPT, (3, 1)))


def test_precomputed_columns():
    K = RNG.normal(size=(2000, 50))
    columns = np.array([3, 7, 49])
    f = Expansion(Precomputed(), columns, COEFFICIENTS[:, :3], INTERCEPT)
    np.testing.assert_allclose(f.decision(K), K[:, columns] @ COEFFICIENTS[:, :3].T + INTERCEPT, atol=1e-12)


def test_threads_give_the_same_numbers():
    X = RNG.normal(size=(5 * ROW_TILE, 6))
    f = Expansion(Gaussian(0.3), VECTORS, COEFFICIENTS, INTERCEPT)
    np.testing.assert_array_equal(f.decision(X, n_jobs=1), f.decision(X, n_jobs=3))


def test_pickle_drops_prepared_samples():
    f = Expansion(Gaussian(0.3), VECTORS, COEFFICIENTS, INTERCEPT)
    fresh = len(pickle.dumps(f))
    X = RNG.normal(size=(20, 6))
    values = f.decision(X)
    assert len(pickle.dumps(f)) == fresh
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f)).decision(X), values)


class Watched(Kernel):
    """A Gaussian kernel that remembers the precision it was asked for."""

    releases_gil = True

    def __init__(self):
        self.inner, self.precisions = Gaussian(0.3), set()

    def prepare(self, X, dtype=np.float64, like=None):
        return self.inner.prepare(X, dtype, like)

    def block(self, left, right, out):
        self.precisions.add(out.dtype.name)
        return self.inner.block(left, right, out)

    def diag(self, samples):
        return self.inner.diag(samples)

    def errors(self, samples):
        return self.inner.errors(samples)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_decision_values_are_float64(scale, dtype):
    kernel = Watched()
    X = RNG.normal(size=(1500, 6)).astype(dtype)
    coefficients = scale * COEFFICIENTS[:1]
    f = Expansion(kernel, VECTORS, coefficients, np.zeros(1))
    found = f.decision(X)
    assert kernel.precisions == {"float64"}
    np.testing.assert_array_equal(found, f.decision(X.astype(np.float64)))
    expected = rbf_kernel(X.astype(np.float64), VECTORS, gamma=0.3) @ coefficients.T
    assert np.abs(found - expected).max() <= 1e-11 * scale


def test_wide_linear_machines_are_not_collapsed(monkeypatch):
    monkeypatch.setattr("widemargin.models.expansion.COLLAPSE_LIMIT", 1)
    X = RNG.normal(size=(40, 6))
    f = Expansion(Linear(), VECTORS, COEFFICIENTS, INTERCEPT)
    np.testing.assert_allclose(f.decision(X), X @ VECTORS.T @ COEFFICIENTS.T + INTERCEPT, atol=1e-9)
    assert "weights" not in f._prepared
