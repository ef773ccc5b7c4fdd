"""Sums, products and multiples of kernels are the sums, products and multiples of their values."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.kernels.brute_force import exact
from widemargin.kernels import Constant, Cosine, Gaussian, Laplacian, Linear, Polynomial, Product, Scaled, Sum
from widemargin.kernels.kernel import RepresentationMismatch

PARTS = [Linear(), Polynomial(2, 0.5, 1.0), Gaussian(0.3), Laplacian(0.2), Cosine()]


def value(kernel, X):
    """The combination of exact parts."""
    if isinstance(kernel, Sum):
        return sum(value(part, X) for part in kernel.parts)
    if isinstance(kernel, Product):
        return np.prod([value(part, X) for part in kernel.parts], axis=0)
    if isinstance(kernel, Scaled):
        return kernel.factor * value(kernel.kernel, X)
    if isinstance(kernel, Constant):
        return np.full((X.shape[0],) * 2, kernel.value)
    return exact(kernel, X)


formulas = st.recursive(
    st.sampled_from(PARTS),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, st.sampled_from([0.5, 3.0])).map(lambda pair: pair[1] * pair[0]),
        st.tuples(inner, st.sampled_from([0.25, 2.0])).map(lambda pair: pair[0] + pair[1]),
    ),
    max_leaves=5,
)


def data(kind):
    rng = np.random.default_rng(3)
    if kind == "bits":
        return (rng.random((15, 40)) < 0.3) * 1.0
    if kind == "sparse":
        return sparse.random_array((15, 60), density=0.1, rng=rng, format="csr")
    return rng.random((15, 8 if kind == "few" else 40))


@pytest.mark.parametrize("kind", ["few", "many", "bits", "sparse"])
@given(formulas, st.sampled_from([np.float32, np.float64]))
def test_any_formula_of_kernels(kind, kernel, dtype):
    X = data(kind)
    samples = kernel.prepare(X, dtype)
    expected = value(kernel, X)
    values = kernel.block(samples, samples, np.empty((15, 15), dtype))
    stated = kernel.rounding(samples)
    assert float(np.abs(values - expected).max()) <= stated < 1e-3 * max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(kernel.diag(samples), np.diagonal(expected).astype(float), rtol=0, atol=stated)
    index = np.array([3, 3, 11])
    part = kernel.block(samples.take(index), samples.tile(4, 9), np.empty((3, 5), dtype))
    np.testing.assert_allclose(part, values[index, 4:9], rtol=0, atol=stated)


@given(formulas)
def test_the_text_of_a_formula_is_the_formula(kernel):
    names = {c.__name__: c for c in (Constant, Cosine, Gaussian, Laplacian, Linear, Polynomial)}
    again = eval(repr(kernel), names)
    assert again == kernel
    assert hash(again) == hash(kernel)
    assert pickle.loads(pickle.dumps(kernel)) == kernel


def test_the_usual_notations():
    k = Gaussian(0.5)
    X = data("few")
    assert 3.0 * k == k * 3.0 == Scaled(3.0, k)
    assert k + 0.5 == 0.5 + k == Sum(k, Constant(0.5))
    assert k + 0 is k
    assert sum([k, Linear()]) == k + Linear()
    assert 2.0 * (3.0 * k) == 6.0 * k
    assert (k + Linear()) + Cosine() == k + (Linear() + Cosine())
    assert k + Linear() != Linear() + k
    assert repr(2.0 * (k + Linear()) * k + 0.5) == (
        "(2.0 * (Gaussian(gamma=0.5) + Linear())) * Gaussian(gamma=0.5) + Constant(value=0.5)"
    )
    np.testing.assert_allclose((k + 0.5)(X), k(X) + 0.5, rtol=1e-15)


def test_equal_representations_are_prepared_once():
    X = data("many")
    samples = (Linear() + Polynomial(2, 1.0, 1.0) + Cosine() + Gaussian(0.1)).prepare(X)
    assert samples.which == (0, 0, 1, 2)  # a cosine needs to know vectors that only look like zero


def test_new_data_follow_part_by_part():
    X, Z = data("many"), data("many")[:4] + 1
    kernel = Linear() * Gaussian(0.1) + Laplacian(0.2)
    right = kernel.prepare(X, np.float32)
    left = kernel.prepare(Z, like=right)
    values = kernel.block(left, right, np.empty((4, 15), np.float32))
    np.testing.assert_allclose(values, Linear()(Z, X) * Gaussian(0.1)(Z, X) + Laplacian(0.2)(Z, X), rtol=1e-5)
    with pytest.raises(RepresentationMismatch):
        kernel.prepare(Z, like=Linear().prepare(X))


@pytest.mark.parametrize("make", [lambda: -1.0 * Linear(), lambda: Linear() + -0.5, lambda: np.inf * Linear()])
def test_what_is_no_kernel_any_more_is_refused(make):
    with pytest.raises(ValueError, match="no kernel any more"):
        make()


def test_other_things_do_not_combine():
    with pytest.raises(TypeError):
        Linear() + "rbf"
    with pytest.raises(TypeError):
        Linear() * [1.0]
    with pytest.raises(TypeError, match="takes kernels"):
        Sum(Linear(), 2.0)
