"""Kernels made of a user's function: by block, by pair, on vectors and on anything else."""

import pickle

import numba
import numpy as np
import pytest
from scipy import sparse

from widemargin.kernels import BlockKernel, Gaussian, Linear, PairKernel
from widemargin.kernels.user_function import _loops_around


def products(A, B):
    result = A @ B.T
    return result.toarray() if sparse.issparse(result) else result


def shared_letters(A, B):
    return np.array([[len(set(a) & set(b)) for b in B] for a in A])


def minimum_sum(x, z):
    total = 0.0
    for k in range(len(x)):
        total += min(x[k], z[k])
    return total


def equal_starts(x, z):
    """Length of the common beginning of two sequences."""
    return float(next((k for k, (a, b) in enumerate(zip(x, z, strict=False)) if a != b), min(len(x), len(z))))


compiled_minimum = numba.njit(minimum_sum)


# ----- by block
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_block_function_on_arrays_and_sparse_matrices(dtype, rng):
    X = rng.random((20, 7)) * (rng.random((20, 7)) < 0.4)
    kernel = BlockKernel(products)
    for form in (X, sparse.csr_array(X), sparse.csc_matrix(X)):
        samples = kernel.prepare(form, dtype)
        index = rng.permutation(20)[:6]
        values = kernel.block(samples.take(index), samples.tile(3, 15), np.empty((6, 12), dtype))
        np.testing.assert_allclose(values, (X @ X.T)[index, 3:15], rtol=0, atol=4 * np.finfo(dtype).eps)
        np.testing.assert_allclose(kernel.diag(samples), (X * X).sum(axis=1), rtol=1e-14)


def test_a_block_function_on_strings():
    kernel = BlockKernel(shared_letters)
    words = ["margin", "kernel", "dual", "primal"] * 20
    assert kernel(words[:4], ["lard"]).ravel().tolist() == [2.0, 2.0, 3.0, 3.0]
    samples = kernel.prepare(words)
    np.testing.assert_array_equal(kernel.diag(samples), [6, 5, 4, 6] * 20)
    assert kernel.block(samples.take(np.array([3, 0])), samples.tile(1, 2), np.empty((2, 1))).tolist() == [[2.0], [2.0]]


def test_an_answer_of_the_wrong_shape_is_named():
    kernel = BlockKernel(lambda A, B: np.zeros(len(A)))
    with pytest.raises(ValueError, match=r"shape \(3,\) for 3 x 3 samples"):
        kernel(np.eye(3))


def test_new_data_take_the_precision_of_the_old(rng):
    kernel = BlockKernel(products)
    old = kernel.prepare(rng.random((4, 3)), np.float32)
    assert kernel.prepare(rng.random((2, 3)), like=old).dtype == np.float32


# ----- by pair
@pytest.mark.parametrize("function", [minimum_sum, compiled_minimum], ids=["plain", "compiled"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_pair_function_on_vectors(function, dtype, rng):
    X = rng.random((20, 7))
    expected = np.minimum(X[:, None], X[None]).sum(axis=2)
    kernel = PairKernel(function)
    for form in (X, sparse.csr_array(X), np.asfortranarray(X)):
        samples = kernel.prepare(form, dtype)
        out = np.zeros((20, 30), dtype)
        kernel.block(samples.take(np.arange(20)), samples.tile(2, 9), out[:, 4:11])
        np.testing.assert_allclose(out[:, 4:11], expected[:, 2:9], rtol=20 * np.finfo(dtype).eps)
        np.testing.assert_allclose(kernel.diag(samples), X.sum(axis=1), rtol=20 * np.finfo(dtype).eps)
    np.testing.assert_allclose(kernel(X, X[:3]), expected[:, :3], rtol=1e-14)


def test_a_function_is_compiled_once_for_all_kernels_made_of_it():
    PairKernel(minimum_sum)(np.eye(3))
    loops = _loops_around(minimum_sum)
    PairKernel(minimum_sum)(np.ones((4, 3)))
    assert _loops_around(minimum_sum) is loops
    assert loops.works
    assert PairKernel(minimum_sum).releases_gil


@pytest.mark.needs_compiler
def test_what_cannot_be_compiled_runs_in_python(rng):
    def through_strings(x, z):
        return sum(float(f"{a!r}") * b for a, b in zip(map(float, x), z, strict=True))

    X = rng.random((5, 4))
    kernel = PairKernel(through_strings)
    np.testing.assert_allclose(kernel(X), X @ X.T, rtol=1e-14)
    assert not kernel.releases_gil


def test_errors_of_the_function_itself_come_through():
    def broken(x, z):
        raise ValueError("not for these two")

    with pytest.raises(ValueError, match="not for these two"):
        PairKernel(broken)(np.eye(2))


def test_a_pair_function_on_strings():
    kernel = PairKernel(equal_starts)
    assert kernel(["kernel", "kern", "key"], ["ker"]).ravel().tolist() == [3.0, 3.0, 2.0]
    samples = kernel.prepare(["kernel", "kern", "key"])
    assert kernel.diag(samples).tolist() == [6.0, 4.0, 3.0]


def test_float32_of_an_unknown_function_is_not_trusted():
    kernel = PairKernel(minimum_sum)
    assert kernel.rounding(kernel.prepare(np.eye(3), np.float32)) == np.inf
    assert kernel.rounding(kernel.prepare(np.eye(3))) == 0.0


def test_user_kernels_combine_with_others_and_pickle(rng):
    X = rng.random((9, 4))
    kernel = PairKernel(minimum_sum) + 2.0 * BlockKernel(products) * Gaussian(0.5)
    expected = np.minimum(X[:, None], X[None]).sum(axis=2) + 2.0 * Linear()(X) * Gaussian(0.5)(X)
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-13)
    again = pickle.loads(pickle.dumps(kernel))
    assert again == kernel
    np.testing.assert_array_equal(again(X), kernel(X))
    assert not kernel.releases_gil
