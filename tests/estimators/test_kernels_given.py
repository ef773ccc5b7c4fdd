"""Kernels given as a matrix, as a function, as an object, and data that are not vectors."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from widemargin import SVC, SVR, KernelRidge, NuSVC, NuSVR, OneClassSVM, verify
from widemargin.kernels import Gaussian, Linear, PairKernel, Precomputed

pytestmark = pytest.mark.needs_compiler  # too many fits for interpreted code

GAMMA = 0.4


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::2], y[::2], X[1::2]


def gaussian(A, B):
    return rbf_kernel(A, B, gamma=GAMMA)


@pytest.mark.parametrize("machine", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
def test_one_kernel_said_in_four_ways(machine, iris):
    X, y, new = iris
    parameters = {"tol": 1e-9} | ({"nu": 0.3} if "Nu" in machine.__name__ else {})
    by_name = machine(kernel="rbf", gamma=GAMMA, **parameters).fit(X, y)
    expected = by_name.predict(new) if "SVR" in machine.__name__ else by_name.decision_function(new)
    ways = [
        (machine(kernel=Gaussian(GAMMA), **parameters).fit(X, y), new),
        (machine(kernel=gaussian, **parameters).fit(X, y), new),
        (machine(kernel="precomputed", **parameters).fit(gaussian(X, X), y), gaussian(new, X)),
        (machine(kernel=Precomputed(), **parameters).fit(gaussian(X, X), y), gaussian(new, X)),
    ]
    for other, given in ways:
        values = other.predict(given) if "SVR" in machine.__name__ else other.decision_function(given)
        np.testing.assert_allclose(values, expected, atol=1e-6)
        np.testing.assert_array_equal(other.support_, by_name.support_)


def test_precomputed_reads_support_columns_only(iris):
    X, y, new = iris
    machine = SVC(kernel="precomputed").fit(gaussian(X, X), y)
    K = gaussian(new, X)
    others = np.setdiff1d(np.arange(len(X)), machine.support_)
    assert len(others) > 0
    poisoned = K.copy()
    poisoned[:, others] = 1e6
    np.testing.assert_array_equal(machine.decision_function(poisoned), machine.decision_function(K))
    assert machine.support_vectors_.shape == (0, 0)
    assert machine.__sklearn_tags__().input_tags.pairwise


def test_sums_and_products_of_kernels(iris):
    X, y, new = iris
    machine = SVC(kernel=0.5 * Gaussian(GAMMA) + Linear(), tol=1e-9).fit(X, y)
    K = 0.5 * gaussian(X, X) + X @ X.T
    other = SVC(kernel="precomputed", tol=1e-9).fit(K, y)
    np.testing.assert_allclose(machine.decision_function(X), other.decision_function(K), atol=1e-6)
    assert machine.predict(new).shape == (75,)


def test_strings_with_a_function_of_two_words():
    words = ["margin", "marginal", "margins", "kernel", "kernels", "colonel"] * 3
    y = np.array(["m", "m", "m", "k", "k", "k"] * 3)

    def common_pairs(a, b):
        return float(len({a[i : i + 2] for i in range(len(a) - 1)} & {b[i : i + 2] for i in range(len(b) - 1)}))

    machine = SVC(kernel=PairKernel(common_pairs)).fit(words, y)
    assert machine.predict(["marginalia", "kernelled"]).tolist() == ["m", "k"]
    assert machine.certificate_.holds and verify(machine, words, y).holds


def test_gram_function_is_never_asked_for_more_than_pairs_of_samples(iris):
    X, y, _ = iris
    seen = []

    def watched(A, B):
        seen.append((len(A), len(B)))
        return gaussian(A, B)

    machine = SVC(kernel=watched).fit(X[:60], y[:60])
    seen.clear()
    machine.predict(X[60:])
    assert sum(b for _, b in seen) <= len(machine.support_) * len(seen)  # support vectors, not all training samples


@pytest.mark.parametrize("trained_sparse", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_sparse_and_dense_mix_at_predict(trained_sparse, kernel, iris):
    X, y, new = iris
    machine = SVC(kernel=kernel).fit(sp.csr_matrix(X) if trained_sparse else X, y)
    dense, sparse = machine.decision_function(new), machine.decision_function(sp.csr_matrix(new))
    np.testing.assert_allclose(dense, sparse, atol=1e-10)


def test_int64_indices(iris):
    X, y, new = iris
    wide = sp.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_allclose(
        SVC().fit(wide, y).decision_function(wide), SVC().fit(X, y).decision_function(X), atol=5e-3
    )


def test_binary_support_vectors_meet_real_numbers():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(80, 70)).astype(float)
    y = X[:, 0] + X[:, 1] > 1
    machine = SVC(gamma=0.05, tol=1e-9).fit(X, y)
    real = rng.uniform(size=(20, 70))
    expected = rbf_kernel(real, machine.support_vectors_, gamma=0.05) @ machine.dual_coef_[0] + machine.intercept_
    np.testing.assert_allclose(machine.decision_function(real), expected, atol=1e-9)
    np.testing.assert_allclose(machine.decision_function(np.vstack([X, real]))[80:], expected, atol=1e-9)


def test_single_precision_input_is_kept(iris):
    X, y, new = iris
    single = SVC(C=0.1).fit(X.astype(np.float32), y)
    double = SVC(C=0.1).fit(X, y)
    assert single.support_vectors_.dtype == np.float32
    np.testing.assert_allclose(
        single.decision_function(new.astype(np.float32)), double.decision_function(new), atol=5e-3
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_fortran_order_and_read_only(kernel, iris):
    X, y, new = iris
    frozen = np.asfortranarray(X)
    frozen.flags.writeable = False
    np.testing.assert_allclose(
        SVC(kernel=kernel).fit(frozen, y).decision_function(new), SVC(kernel=kernel).fit(X, y).decision_function(new)
    )


def nowhere_defined(A, B):
    return np.full((len(A), len(B)), np.nan)


def undefined_for_one(A, B):
    return np.where(np.isclose(A[:, :1], 5.1) & np.isclose(B[:, :1].T, 5.1), np.nan, A @ B.T)


MIDDLE = np.array([5.8, 3.0, 3.8, 1.2])  # of the samples


def undefined_off_the_diagonal(A, B):
    with np.errstate(invalid="ignore"):
        return np.log((A - MIDDLE) @ (B - MIDDLE).T)


@pytest.mark.parametrize("machine", [SVC, SVR, OneClassSVM])
@pytest.mark.parametrize("function", [nowhere_defined, undefined_for_one, undefined_off_the_diagonal])
def test_a_function_that_returns_nan_is_named_and_makes_no_model(machine, function, iris):
    X, y, _ = iris
    model = machine(kernel=function)
    with pytest.raises(ValueError, match=f"kernel function {function.__name__} returned NaN or infinity"):
        model.fit(X, y)
    assert not hasattr(model, "support_")


def undefined_for_far_samples(x, z):
    return np.sqrt(1.0 - np.abs(x - z).max())


@pytest.mark.parametrize("machine", [SVC, SVR, OneClassSVM, KernelRidge])
def test_a_compiled_function_that_returns_nan_is_named(machine, iris):
    X, y, _ = iris
    with pytest.raises(ValueError, match="undefined_for_far_samples returned NaN or infinity"):
        machine(kernel=PairKernel(undefined_for_far_samples)).fit(X, y)


def test_of_an_asymmetric_matrix_and_its_transpose_at_most_the_mean_is_certified(rng):
    X = rng.normal(size=(60, 3))
    y = X[:, 0] > 0
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1)) + 0.05 * rng.normal(size=(60, 60))
    for matrix in (K, K.T):
        model = SVC(kernel="precomputed")
        with pytest.warns(UserWarning, match="not symmetric"), pytest.warns(ConvergenceWarning):
            model.fit(matrix, y)
        assert not model.certificate_.holds
