"""Kernel matrices from shared distances, and the errors that they state."""

import numpy as np
import pytest
import scipy.sparse as sp

from widemargin.gram.shared_distances import SharedDistances
from widemargin.kernels import Gaussian, Laplacian


def data(kind, rng, n=300):
    if kind == "two values":
        return np.where(rng.random((n, 40)) < 0.3, 2.5, -1.0)
    if kind == "sparse":
        return sp.random(n, 200, 0.05, "csr", random_state=0)
    return rng.normal(size=(n, 7)) + (1.0 if kind == "moved" else 0.0)


def exact_distances(X):
    X = (X.toarray() if sp.issparse(X) else X).astype(np.longdouble)
    return ((X[:, None] - X[None, :]) ** 2).sum(axis=2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["two values", "sparse", "dense", "moved"])
def test_every_value_is_within_its_stated_error(kind, dtype, rng):
    X = data(kind, rng)
    kernels = [Gaussian(gamma) for gamma in (1e-3, 0.1, 20.0)]
    shared = SharedDistances.of(kernels, X, dtype, 2)
    distances = exact_distances(X)
    for kernel in kernels:
        gram = shared.gram(kernel, 2)
        assert gram.dtype == dtype and np.array_equal(gram.matrix, gram.matrix.T)
        assert (gram.matrix.diagonal() == 1.0).all()
        wrong = np.abs(gram.matrix - np.exp(-np.longdouble(kernel.gamma) * distances))
        bound = gram.errors.left @ gram.errors.right.T
        assert (wrong <= bound).all()
        assert bound.max() < (1e-11 if dtype == np.float64 else 2e-7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_matrix_takes_the_place_of_one_that_is_not_needed_any_more(dtype, rng):
    kernels = [Gaussian(0.1), Gaussian(2.0)]
    shared = SharedDistances.of(kernels, data("dense", rng), dtype, 2)
    before, fresh = shared.gram(kernels[0]), shared.gram(kernels[1])
    reused = shared.gram(kernels[1], 2, before)
    assert reused.matrix is before.matrix and reused.fast is before.fast
    np.testing.assert_array_equal(reused.matrix, fresh.matrix)
    np.testing.assert_array_equal(reused.fast, fresh.matrix.astype(np.float32))


def test_distances_of_two_values_are_whole_numbers_in_16_bits(rng):
    shared = SharedDistances.of([Gaussian(1.0)], data("two values", rng), np.float32, 1)
    assert shared.values.dtype == np.uint16


def test_other_kernels_and_distances_that_cancel_are_not_shared(rng):
    X = rng.normal(size=(50, 3))
    assert SharedDistances.of([Gaussian(1.0), Laplacian(1.0)], X, np.float64, 1) is None
    apart = np.vstack([X, X + 1e6])  # two clouds: no origin makes both small
    assert SharedDistances.of([Gaussian(1.0)], apart, np.float64, 1) is None
