"""Is it a kernel? Verdicts with their proofs, and the feature maps behind the polynomial kernels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC, Status, check_kernel
from widemargin.kernels import (
    ChiSquared,
    Cosine,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    PairKernel,
    Polynomial,
    Sigmoid,
    Spectrum,
    Subsequence,
)

VALID = [
    Linear(),
    Polynomial(2, 1.0, 1.0),
    Polynomial(3, 0.5, 2.0),
    Gaussian(0.3),
    Gaussian(1e-6),  # all but one eigenvalue are zero up to rounding
    Laplacian(0.5),
    ChiSquared(0.5),
    Cosine(),
    Linear() * Gaussian(1.0) + 0.5,
]


@pytest.mark.parametrize("kernel", VALID, ids=repr)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_nothing_speaks_against_kernels(kernel, scale, rng):
    X = scale * np.abs(rng.normal(size=(80, 4)))
    X[7] = X[3]
    X[9] = 0.0
    for form in (X, sparse.csr_array(X)):
        found = check_kernel(kernel, form)
        assert found and found.symmetric and found.positive_semi_definite, str(found)
        assert found.smallest_eigenvalue >= -found.error
        assert "Nothing on these 80 samples" in str(found)


def test_strings_are_checked_as_well():
    words = ["margin", "marginal", "kernel", "colonel", "dual", "primal", ""]
    for kernel in (Spectrum(2), Spectrum(2, normalize=True), Subsequence(2, normalize=True)):
        assert check_kernel(kernel, words)


@pytest.mark.parametrize("seed", range(5))
def test_a_witness_proves_what_it_says(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    found = check_kernel("sigmoid", X, gamma=1.0, coef0=-1.0)
    assert not found and found.symmetric and not found.positive_semi_definite
    z = found.witness
    K = np.tanh(X @ X.T - 1.0)[np.ix_(found.index, found.index)]
    assert np.linalg.norm(z) == pytest.approx(1.0)
    assert z @ K @ z == pytest.approx(found.witness_value)
    assert z @ K @ z < -0.1
    assert found.smallest_eigenvalue == pytest.approx(np.linalg.eigvalsh(K)[0])
    assert "witness: z'Kz = -" in str(found)


def test_a_little_below_zero_is_found_and_rounding_is_not(rng):
    """K with eigenvalues 1 and one of -1e-12: far above the rounding of a matrix of this size, and proven."""
    Q = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    values = np.ones(30)
    for smallest, valid in ((-1e-12, False), (0.0, True), (-1e-17, True)):
        values[0] = smallest
        K = (Q * values) @ Q.T
        assert bool(check_kernel("precomputed", (K + K.T) / 2)) is valid


def test_asymmetry_comes_with_a_pair():
    first_larger = PairKernel(lambda x, z: float(x[0] > z[0]) + float(x @ z))
    found = check_kernel(first_larger, np.array([[1.0], [1.0], [3.0]]))
    assert not found and not found.symmetric
    assert set(found.asymmetric_pair) in ({0, 2}, {1, 2})
    assert found.asymmetry == 1.0
    assert "differ by 1" in str(found)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite(bad):
    found = check_kernel(lambda A, B: np.full((len(A), len(B)), bad), np.eye(3))
    assert not found and not found.finite
    assert "not finite" in str(found)


def test_a_sample_of_large_data(rng):
    X = rng.normal(size=(3000, 2))
    found = check_kernel(Gaussian(1.0), X, n_samples=100)
    assert len(found.index) == 100 and len(set(found.index.tolist())) == 100
    np.testing.assert_array_equal(found.index, check_kernel(Gaussian(1.0), X, n_samples=100).index)
    assert not np.array_equal(found.index, check_kernel(Gaussian(1.0), X, n_samples=100, random_state=1).index)


def test_what_cannot_be_checked_is_named():
    with pytest.raises(ValueError, match="at least one sample"):
        check_kernel("linear", np.empty((0, 2)))
    with pytest.raises(ValueError, match=r"square matrix; got shape \(3, 2\)"):
        check_kernel("precomputed", np.ones((3, 2)))


def test_a_kernel_class_that_bounds_no_errors_is_checked_all_the_same():
    class Overlap(Linear):
        def rounding(self, samples):
            return Kernel.rounding(self, samples)

    assert check_kernel(Overlap(), np.eye(4))


# ----- machines on functions that are no kernels
@pytest.mark.needs_compiler
@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("coef0", [-1.0, -3.0])
def test_machines_on_an_indefinite_sigmoid_end_and_say_so(C, coef0, rng):
    X = rng.normal(size=(150, 3))
    y = X[:, 0] * X[:, 1] > 0
    assert not check_kernel("sigmoid", X, gamma=1.0, coef0=coef0)
    machine = SVC(kernel="sigmoid", gamma=1.0, coef0=coef0, C=C, time_limit=20.0)
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        machine.fit(X, y)
    found = machine.certificate_
    assert machine.status_ is Status.INDEFINITE and not found.holds
    assert found.primal >= found.dual * (1 - 1e-9) and found.gap >= -1e-9  # never a gap that proves too much
    assert np.isfinite(machine.decision_function(X)).all()
    assert np.abs(machine.dual_coef_).max() <= C and abs(machine.dual_coef_.sum()) < 1e-9 * C * 150


# ----- feature maps (Ng & Ma, CS229 notes, part V)
vectors = st.lists(st.floats(-10, 10, width=32), min_size=3, max_size=3).map(np.array)


def all_products(x, degree):
    """x_i, x_i x_j, x_i x_j x_k, ...: every product of `degree` entries, repetitions and orders apart."""
    products = np.ones(1)
    for _ in range(degree):
        products = np.multiply.outer(products, x).ravel()
    return products


@given(vectors, vectors)
def test_all_products_of_two_entries_are_the_square_of_the_inner_product(x, z):
    k = Polynomial(degree=2, gamma=1.0, coef0=0.0)(x[None], z[None])[0, 0]
    assert len(all_products(x, 2)) == 9
    assert k == pytest.approx(all_products(x, 2) @ all_products(z, 2), rel=1e-9, abs=1e-6)


@given(vectors, vectors, st.floats(0, 5))
def test_with_a_constant_the_features_include_single_entries(x, z, c):
    def phi(x):
        return np.concatenate([all_products(x, 2), np.sqrt(2 * c) * x, [c]])

    k = Polynomial(degree=2, gamma=1.0, coef0=c)(x[None], z[None])[0, 0]
    assert k == pytest.approx(phi(x) @ phi(z), rel=1e-9, abs=1e-6)


@given(vectors, vectors)
def test_monomials_up_to_degree_three_are_a_sum_of_powers(x, z):
    """Equation (9) of the notes: 1 + d + d^2 + d^3 features, and a kernel at the price of one inner product."""

    def phi(x):
        return np.concatenate([all_products(x, degree) for degree in range(4)])

    assert len(phi(x)) == 1 + 3 + 9 + 27
    powers = Linear() + Polynomial(2, 1.0, 0.0) + Polynomial(3, 1.0, 0.0) + 1.0
    t = x @ z
    assert phi(x) @ phi(z) == pytest.approx(1 + t + t**2 + t**3, rel=1e-9, abs=1e-5)
    assert powers(x[None], z[None])[0, 0] == pytest.approx(phi(x) @ phi(z), rel=1e-9, abs=1e-5)


@given(vectors, vectors, st.floats(0, 3))
def test_a_cube_has_the_features_of_all_lower_degrees(x, z, c):
    """(x'z + c)^3 by the binomial theorem: products of three, two, one and no entries, each with its weight."""
    weights = [c**3, 3 * c**2, 3 * c, 1.0]

    def phi(x):
        return np.concatenate([np.sqrt(weight) * all_products(x, degree) for degree, weight in enumerate(weights)])

    k = Polynomial(degree=3, gamma=1.0, coef0=c)(x[None], z[None])[0, 0]
    assert k == pytest.approx(phi(x) @ phi(z), rel=1e-9, abs=1e-5)


def test_sigmoid_is_a_kernel_for_some_parameters(rng):
    X = rng.normal(size=(40, 2))
    assert check_kernel(Sigmoid(1e-6, 1e-3), X[:1])  # one sample: tanh(a positive number)
    assert not check_kernel(Sigmoid(1.0, -0.1), X)
