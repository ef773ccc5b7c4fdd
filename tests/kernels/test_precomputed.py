"""A kernel given as a matrix: indices stand for samples, and only the columns of the support vectors are read."""

import pickle

import numpy as np
import pytest

from widemargin.kernels import Linear, Precomputed

KERNEL = Precomputed()


@pytest.fixture
def K(rng):
    X = rng.random((30, 6))
    return X @ X.T


def block(left, right, dtype=np.float64):
    return KERNEL.block(left, right, np.empty((len(left), len(right)), dtype))


@pytest.mark.parametrize("form", ["as it is", "fortran", "read-only", "float32", "list"])
def test_blocks_are_parts_of_the_matrix(K, form, rng):
    given = {
        "as it is": lambda: K,
        "fortran": lambda: np.asfortranarray(K),
        "read-only": lambda: np.broadcast_to(K, K.shape),
        "float32": lambda: K.astype(np.float32),
        "list": lambda: K.tolist(),
    }[form]()
    expected = np.asarray(given)
    samples = KERNEL.prepare(given)
    index, other = rng.permutation(30)[:7], rng.permutation(30)[:5]
    np.testing.assert_array_equal(block(samples, samples), expected)
    np.testing.assert_array_equal(block(samples.take(index), samples.tile(3, 20)), expected[index, 3:20])
    np.testing.assert_array_equal(block(samples.tile(3, 20), samples.take(index)), expected[3:20][:, index])
    np.testing.assert_array_equal(block(samples.take(index), samples.take(other)), expected[np.ix_(index, other)])
    inner = samples.tile(5, 25).take(other % 20).tile(1, 4)
    np.testing.assert_array_equal(block(inner, samples), expected[5 + other[1:4] % 20])
    np.testing.assert_array_equal(KERNEL.diag(samples.take(index)), np.diagonal(expected)[index])


def test_the_matrix_is_not_copied(K):
    samples = KERNEL.prepare(K).take(np.array([3, 1]))
    assert np.shares_memory(samples.matrix, K)
    assert np.shares_memory(KERNEL.prepare(K, np.float32).matrix, K)


def test_new_rows_read_the_columns_of_the_support_vectors(K, rng):
    new = rng.random((8, 30))
    support = KERNEL.prepare(K).take(np.array([20, 4, 11]))
    rows = KERNEL.prepare(new, like=support)
    np.testing.assert_array_equal(block(rows, support), new[:, [20, 4, 11]])
    np.testing.assert_array_equal(block(support, rows), new[:, [20, 4, 11]].T)
    np.testing.assert_array_equal(block(rows.tile(2, 6), support.tile(1, 3)), new[2:6][:, [4, 11]])


def test_precision_and_its_rounding(K):
    samples = KERNEL.prepare(K, np.float32)
    error = np.abs(block(samples, samples, np.float32) - K).max()
    assert 0 < error <= KERNEL.rounding(samples) < 1e-6
    assert KERNEL.rounding(KERNEL.prepare(K)) == 0.0
    assert KERNEL.rounding(KERNEL.prepare(K.astype(np.float32), np.float32)) == 0.0


def test_pickled_samples_remember_columns_and_forget_the_matrix(K, rng):
    support = KERNEL.prepare(K).take(np.array([20, 4]))
    data = pickle.dumps(support)
    assert len(data) < 1000
    again = pickle.loads(data)
    new = rng.random((8, 30))
    np.testing.assert_array_equal(block(KERNEL.prepare(new, like=again), again), new[:, [20, 4]])
    with pytest.raises(ValueError, match="not pickled"):
        block(again, again)


def test_mistakes_are_named(K, rng):
    with pytest.raises(ValueError, match=r"square.*\(30, 20\).*K\(X_test, X_train\) to predict"):
        KERNEL.prepare(K[:, :20])
    samples = KERNEL.prepare(K)
    with pytest.raises(ValueError, match="29 columns .* 30 samples"):
        KERNEL.prepare(rng.random((4, 29)), like=samples)
    new = KERNEL.prepare(rng.random((4, 30)), like=samples)
    with pytest.raises(ValueError, match="both new"):
        block(new, new)
    with pytest.raises(ValueError, match="training samples only"):
        KERNEL.diag(new)


def test_the_same_values_as_the_kernel_the_matrix_was_made_of(rng):
    X = rng.random((12, 5))
    np.testing.assert_array_equal(KERNEL(Linear()(X)), Linear()(X))
