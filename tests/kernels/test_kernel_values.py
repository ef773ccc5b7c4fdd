"""Every kernel in every representation and precision, against its formula, within the error it states."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.metrics import pairwise

from tests.kernels.brute_force import KERNELS, error, exact
from widemargin.kernels import ChiSquared, Cosine, Gaussian, Laplacian, Linear, Polynomial, Sigmoid

PRECISIONS = [np.float32, np.float64]


def data(kind: str):
    """Small non-negative data with zero rows, duplicate rows and a constant feature where the kind allows."""
    rng = np.random.default_rng(5)
    if kind == "few features":
        X = rng.random((23, 5))
    elif kind == "many features":
        X = rng.random((23, 37))
    elif kind == "sparse":
        X = rng.random((23, 90)) * (rng.random((23, 90)) < 0.1)
        X[:, 3] = rng.random(23)  # frequent enough for the dense part
    else:
        X = (rng.random((23, {"bits": 150, "few bits": 70, "one word": 9}[kind])) < 0.3) * 1.0
    X[4] = 0.0
    X[7] = X[2]
    return sparse.csr_array(X) if kind == "sparse" else X


KINDS = ["few features", "many features", "sparse", "bits", "few bits", "one word"]


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_block_equals_the_formula_within_the_stated_rounding(kernel, kind, dtype):
    X = data(kind)
    samples = kernel.prepare(X, dtype)
    values = kernel.block(samples, samples, np.empty((23, 23), dtype))
    stated = kernel.rounding(samples)
    assert error(values, kernel, X) <= stated
    scale = float(np.abs(exact(kernel, X)).max())
    assert stated <= 600 * np.finfo(dtype).eps * max(1.0, scale), "a bound this loose says nothing"


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_diagonal_equals_the_formula(kernel, kind, dtype):
    X = data(kind)
    samples = kernel.prepare(X, dtype)
    expected = np.diagonal(exact(kernel, X)).astype(np.float64)
    diagonal = kernel.diag(samples)
    assert diagonal.dtype == np.float64
    np.testing.assert_allclose(diagonal, expected, rtol=0, atol=kernel.rounding(samples))
    if isinstance(kernel, Gaussian | Laplacian | ChiSquared | Cosine):
        np.testing.assert_array_equal(diagonal, expected.round())


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_dense_sparse_and_packed_give_the_same_values(kernel, dtype, rng):
    from widemargin.kernels.samples.binary import binary_rows
    from widemargin.kernels.samples.dense import dense_columns, dense_rows
    from widemargin.kernels.samples.sparse import sparse_rows

    X = (rng.random((31, 100)) < 0.1) * 1.0
    by_column = isinstance(kernel, Laplacian | ChiSquared)
    ways = [
        binary_rows(X, dtype),
        sparse_rows(sparse.csr_array(X), dtype, split=not by_column),
        dense_columns(X, dtype) if by_column else dense_rows(X, dtype),
    ]
    blocks = [kernel.block(s, s, np.empty((31, 31), dtype)) for s in ways]
    for samples, block in zip(ways[1:], blocks[1:], strict=True):
        np.testing.assert_allclose(block, blocks[0], rtol=0, atol=2 * kernel.rounding(samples))


@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        (Linear(), lambda X, Z: pairwise.linear_kernel(X, Z)),
        (Polynomial(3, 0.1, 1.0), lambda X, Z: pairwise.polynomial_kernel(X, Z, degree=3, gamma=0.1, coef0=1.0)),
        (Sigmoid(0.1, 0.3), lambda X, Z: pairwise.sigmoid_kernel(X, Z, gamma=0.1, coef0=0.3)),
        (Cosine(), lambda X, Z: pairwise.cosine_similarity(X, Z)),
        (Gaussian(0.2), lambda X, Z: pairwise.rbf_kernel(X, Z, gamma=0.2)),
        (Laplacian(0.2), lambda X, Z: pairwise.laplacian_kernel(X, Z, gamma=0.2)),
        (ChiSquared(0.2), lambda X, Z: pairwise.chi2_kernel(X, Z, gamma=0.2)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_scikit_learn_agrees(kernel, reference, rng):
    X, Z = rng.random((40, 30)), rng.random((27, 30))
    np.testing.assert_allclose(kernel(X, Z), reference(X, Z), rtol=1e-12, atol=1e-14)


def test_width_as_sigma_and_as_variance():
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    expected = np.exp(-25 / (2 * 1.7**2))
    assert Gaussian.from_sigma(1.7)(X)[0, 1] == pytest.approx(expected, rel=1e-14)
    assert Gaussian.from_variance(1.7**2)(X)[0, 1] == pytest.approx(expected, rel=1e-14)


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9),
        elements=st.floats(-1e3, 1e3, width=32),
    ),
    st.sampled_from(PRECISIONS),
)
def test_gaussian_entries_lie_between_zero_and_one_and_duplicates_at_one(X, dtype):
    kernel = Gaussian(gamma=0.7)
    twice = np.vstack([X, X])
    samples = kernel.prepare(twice, dtype)
    values = kernel.block(samples, samples, np.empty((len(twice), len(twice)), dtype))
    assert values.min() >= 0
    assert values.max() <= 1
    np.testing.assert_allclose(values[: len(X), len(X) :].diagonal(), 1.0, rtol=0, atol=kernel.rounding(samples))
    assert error(values, kernel, twice) <= kernel.rounding(samples)


@given(st.integers(1, 11), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_odd_sizes_are_filled_completely(n_left, n_right, seed):
    rng = np.random.default_rng(seed)
    X, Z = rng.random((n_left, 6)), rng.random((n_right, 6))
    for kernel in (Gaussian(0.5), Laplacian(0.5), ChiSquared(0.5)):
        assert error(kernel(X, Z), kernel, X, Z) < 1e-15


def test_more_right_samples_than_a_strip(rng):
    X, Z = rng.random((3, 7)), rng.random((600, 7))
    for kernel in (Gaussian(0.5), Laplacian(0.5), ChiSquared(0.5)):
        assert error(kernel(X, Z), kernel, X, Z) < 1e-15


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_empty_sets_give_empty_blocks(kernel, rng):
    X = rng.random((4, 30))
    samples = kernel.prepare(X)
    nothing = samples.take(np.array([], np.int64))
    assert kernel.block(nothing, samples, np.empty((0, 4))).shape == (0, 4)
    assert kernel.block(samples, nothing, np.empty((4, 0))).shape == (4, 0)


@pytest.mark.parametrize("bad", [Gaussian, Laplacian, ChiSquared])
def test_a_negative_gamma_is_refused_with_advice(bad):
    with pytest.raises(ValueError, match="0 or more"):
        bad(gamma=-1.0)


def test_a_broken_degree_or_width_is_refused():
    with pytest.raises(ValueError, match="whole number"):
        Polynomial(degree=1.5)
    with pytest.raises(ValueError, match="positive"):
        Gaussian.from_sigma(0.0)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_chi_squared_refuses_negative_values(as_sparse):
    X = np.array([[1.0, -2.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="-2.*MinMaxScaler"):
        ChiSquared().prepare(sparse.csr_array(X) if as_sparse else X)
