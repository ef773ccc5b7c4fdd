"""Data on which a rounding, an underflow or a NaN that nobody counts would make a certificate false.

Roundings of one sign: 2,000 squares of 1.02 u, each added to a number near 1, are all rounded up to 2 u.
"""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm

import widemargin
from widemargin import RVC, SVC, KernelRidge, LinearSVC, LinearSVR, NuSVC
from widemargin.certificate import certify_function
from widemargin.gram.full import FullGram
from widemargin.gram.scores import Scores
from widemargin.kernels import BlockKernel, ChiSquared, Cosine, Gaussian, Precomputed, Subsequence
from widemargin.kernels.errors import UNIT
from widemargin.problems import hinge, one_class
from widemargin.solvers.state import State

LONG = np.longdouble
SMALL = math.sqrt(1.02 * UNIT)
MANY = 2000


def one_sided(rest):
    """Two samples that agree in one feature and differ in the sign of many small ones; `rest` others are far away."""
    X = np.zeros((2 + rest, 2 * MANY))
    X[:2, 0] = math.sqrt(1.01)
    X[0, 1 : MANY + 1], X[1, 1 : MANY + 1] = SMALL, -SMALL
    X[2:, MANY + 1 :][np.arange(rest), np.arange(rest)] = 1e3
    return X


def stated(kernel, samples, i, j):
    terms = kernel.errors(samples)
    return float(terms.left[i] @ terms.right[j])


def test_roundings_of_squared_norms_in_float64_are_counted():
    X = one_sided(18)
    product, small = Fraction(X[0, 0]) ** 2, MANY * Fraction(SMALL) ** 2
    truth = {Gaussian(1.0): -math.expm1(-4.0 * float(small)), Cosine(): float(2 * small / (product + small))}
    for kernel, distance in truth.items():
        samples = kernel.prepare(sp.csr_array(X))
        value = kernel.block(samples, samples, np.empty((len(X), len(X))))[0, 1]
        error = abs((1.0 - value) - distance)
        assert 1e-13 < error <= stated(kernel, samples, 0, 1)


def test_roundings_of_squared_norms_in_sparse_tiles_are_counted():
    X = np.zeros((100, 7000))
    X[np.arange(100), 3000 + np.arange(100)] = 1.5
    X[:3], X[0, 0], X[1, 1], X[2, 2] = 0.0, 1.005, 1.005, 1.005
    X[:3, 10 : 10 + MANY] = SMALL
    kernel = Gaussian(1.0)
    arrange, errors = kernel.fused_layout(kernel.prepare(X))
    squares = arrange(kernel.prepare(X)).samples.rows.squares  # gamma = 1
    truth = float(Fraction(1.005) ** 2 + MANY * Fraction(SMALL) ** 2)
    assert 1e-13 < 2.0 * abs(squares[0] - truth) <= float(errors.left[0] @ errors.right[0])


def test_additions_to_a_start_that_is_not_zero_are_counted():
    n, kernel = 64, Gaussian(1.0)
    gram = FullGram.of(kernel, kernel.prepare(1e-30 * np.arange(2.0 * n).reshape(n, 2)), np.float64)
    dual = one_class(np.ones(n), 0.5)
    start = gram.scores(dual.start)
    state = State(dual, gram, dual.start.copy(), Scores(start.values.copy(), start.error))
    function, exact = start.values.copy(), sum(map(Fraction, dual.start.tolist()))  # all kernel values are 1
    spacing = float(np.spacing(function[0]))
    for step in range(20_000):
        change = np.array([0.51 * spacing if step % 2 == 0 else -0.49 * spacing])
        gram.add_rows(np.array([0]), change, function)
        state.moved[0] += abs(change[0])
        state.rows_added += 1
        exact += Fraction(float(change[0]))
    assert 1e-11 < abs(float(Fraction(float(function[5])) - exact)) <= state.error[5]


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-160, 1e-25, 1e-20, 1.0, 1e20, 1e25, 1e160, 1e300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ["chi2", "cosine", "scaled", "product"])
def test_underflow_inside_a_kernel_is_counted(name, form, dtype, scale, rng):
    X = np.abs(rng.normal(size=(30, 3))) * (rng.random((30, 3)) < 0.7)
    long = X.astype(LONG)
    if name == "chi2":
        kernel = ChiSquared(1.0 / scale)
        difference, mass = long[:, None] - long[None], long[:, None] + long[None]
        truth = np.exp(-(difference**2 / np.where(mass > 0, mass, 1)).sum(axis=2))
    elif name == "cosine":
        kernel = Cosine()
        length = np.sqrt((long**2).sum(axis=1))
        truth = (long @ long.T) / np.outer(*2 * [np.where(length > 0, length, 1)])
    else:
        root = np.sqrt(np.float64(scale))
        kernel = scale * Gaussian(0.5) if name == "scaled" else (root * Gaussian(0.5)) * (root * Gaussian(0.5))
        squares = ((long[:, None] - long[None]) ** 2).sum(axis=2)
        truth = LONG(scale) * np.exp(-squares / 2) if name == "scaled" else LONG(root) ** 2 * np.exp(-squares)
    given = X * scale if name in ("chi2", "cosine") else X
    with np.errstate(all="ignore"):
        samples = kernel.prepare(form(given), dtype)
        values = kernel.block(samples, samples, np.empty((30, 30), dtype)).astype(LONG)
        terms = kernel.errors(samples)
        bound = np.nan_to_num((terms.left[:, None] * terms.right[None]).sum(axis=2), nan=np.inf, posinf=np.inf)
    known = np.isfinite(values)
    spare = 8.0 * UNIT * (np.abs(truth) + (name in ("chi2", "cosine")))  # data that were rounded when scaled
    assert (np.abs(values - truth) <= bound + spare)[known].all()
    assert np.isinf(bound[~known]).all()


@pytest.mark.parametrize(
    ("kernel", "scale", "C"),
    [("chi2", 1e-200, 10.0), ("chi2", 1e160, 10.0), ("cosine", 1e-200, 10.0)],
)
def test_a_machine_on_data_whose_squares_do_not_exist_is_right_or_says_so(kernel, scale, C, rng):
    X = rng.random((60, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0.5, 1.0, -1.0)
    if kernel == "chi2":
        K = np.exp(-3.0 * sum((a[:, None] - a) ** 2 / (a[:, None] + a) for a in X.T))
        data, gamma = X * scale, 3.0 / scale
    else:
        Z = X - 0.5
        N = Z / np.linalg.norm(Z, axis=1)[:, None]
        K, data, gamma = N @ N.T, Z * scale, 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SVC(kernel=kernel, gamma=gamma, C=C).fit(data, y)
        ridge = KernelRidge(kernel=kernel, gamma=gamma).fit(data, y)
    b = np.zeros(60)
    b[model.support_] = model.dual_coef_[0]
    slopes, upper, lower = K @ b - y, np.maximum(C * y, 0), np.minimum(C * y, 0)
    violation = slopes[b > lower].max() - slopes[b < upper].min()
    assert not model.certificate_.holds or violation <= model.certificate_.tol
    residual = np.linalg.norm(y - K @ ridge.dual_coef_ - ridge.dual_coef_) / np.linalg.norm(y)
    assert not ridge.certificate_.holds or residual <= ridge.certificate_.residual + 1e-12


def test_underflow_in_a_string_kernel_is_counted():
    strings = ["abcdef", "abxdef"]
    lost, kept = (Subsequence(k=2, decay=decay, normalize=True) for decay in (1e-90, 1e-20))
    assert lost.errors(lost.prepare(strings)).largest() == np.inf
    assert kept.errors(kept.prepare([*strings, "a", 400 * "abc"])).largest() < 1e-6  # too short: exactly zero


@pytest.mark.parametrize("where", ["thresholds", "error", "Kb", "beta", "shift"])
@pytest.mark.parametrize("criterion", ["kkt", "gap"])
def test_nan_anywhere_proves_nothing(where, criterion):
    dual = hinge(np.array([1.0, -1.0, 1.0]), np.ones(3))
    values = {"beta": np.array([0.5, -0.5, 0.0]), "Kb": np.array([1.0, -1.0, 2.0]), "error": np.zeros(3)}
    thresholds = np.zeros(1)

    def certified():
        scores = Scores(values["Kb"], values["error"])
        return certify_function(
            dual, values["beta"], scores, 1e-3, thresholds=thresholds, criterion=criterion, diagonal=1.0
        )

    assert certified().holds
    target = {"thresholds": thresholds, "shift": dual.linear_term, **values}[where]
    for place in range(len(target)):
        before, target[place] = target[place], np.nan
        certificate = certified()
        assert not certificate.holds
        assert not certificate.violation <= 1e-3 or where == "thresholds"
        assert not np.isnan(certificate.primal) and not np.isnan(certificate.dual)
        target[place] = before


@pytest.mark.parametrize("library", [widemargin, sklearn.svm])
@pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM"])
def test_a_model_without_an_intercept_is_refused(library, name, rng):
    X = rng.normal(size=(60, 3))
    model = getattr(library, name)().fit(X, X[:, 0] > 0)
    assert widemargin.verify(model, X, X[:, 0] > 0).holds
    bad = np.array([np.nan])
    if library is widemargin:
        model.intercept_ = bad
    else:
        model._intercept_ = model.intercept_ = bad
    assert not widemargin.verify(model, X, X[:, 0] > 0).holds


def test_a_wrong_penalised_bias_leaves_the_dual_a_bound(rng):
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + 0.5 * rng.normal(size=60) > 0
    model = SVC(solver="coordinate", gamma=0.5).fit(X, y)
    right = widemargin.verify(model, X, y)
    model.intercept_ = model.intercept_ - 5.0
    wrong = widemargin.verify(model, X, y)
    assert right.holds and not wrong.holds
    assert wrong.violation >= 4.9
    assert wrong.dual == right.dual <= right.primal


def test_a_kernel_matrix_that_is_not_symmetric_is_told_and_not_certified(rng):
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    nearly = K + 1e-15 * np.triu(rng.normal(size=K.shape))
    assert SVC(kernel="precomputed").fit(nearly, y).certificate_.holds
    K[np.tril_indices(80, -1)] *= 0.5
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = SVC(kernel="precomputed").fit(K, y)
    assert not model.certificate_.holds
    assert any("not symmetric" in str(warning.message) for warning in caught)


def test_a_hard_margin_to_a_gap(rng):
    X = rng.normal(size=(90, 4))
    model = SVC(C=np.inf, gamma=0.5, stopping="gap").fit(X, X[:, 0] > 0)
    assert model.certificate_.holds and model.certificate_.gap <= 1e-3


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_kernel_function_without_values_is_named(value, rng):
    model = SVC(kernel=lambda A, B: np.full((len(A), len(B)), value))
    with pytest.raises(ValueError, match="returned NaN or infinity"):
        model.fit(rng.normal(size=(30, 2)), np.arange(30) % 2)


def test_squares_of_losses_that_underflow_are_counted():
    """X = 7e-151 I, y = 5e-162: the optimum 1/2 w^2 + C (x w - y)^2 for each feature, by rational numbers."""
    x, y, C = 7e-151, 5e-162, 1e300
    optimum = 5 * Fraction(C) * Fraction(y) ** 2 / (1 + 2 * Fraction(C) * Fraction(x) ** 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearSVR(
            loss="squared_epsilon_insensitive", C=C, epsilon=0.0, fit_intercept=False, tol=1e-3
        ).fit(x * np.eye(5), np.full(5, y))  # fmt: skip
    certificate = model.certificate_
    assert certificate.dual <= float(optimum) <= certificate.primal
    value = sum(Fraction(float(w)) ** 2 / 2 + Fraction(C) * (Fraction(x) * Fraction(float(w)) - Fraction(y)) ** 2
                for w in model.coef_.ravel())  # fmt: skip
    assert not certificate.holds or (value - optimum) / value <= 1e-3


@pytest.mark.parametrize("C", [1e-162, 1e-160, 1e-159, 1e-150])
def test_an_l1_machine_of_tiny_C_has_no_dual_above_its_primal(C, rng):
    X = rng.normal(size=(50, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        certificate = LinearSVC(penalty="l1", C=C, tol=1e-6).fit(X, X[:, 0] > 0).certificate_
    assert certificate.dual <= 50 * C <= certificate.primal  # w = 0
    assert certificate.gap >= 0.0


@pytest.mark.parametrize("combine", [lambda k, zero: k + zero, lambda k, zero: 2.0 * k + zero], ids=["sum", "scaled"])
def test_an_asymmetric_matrix_inside_a_combination_is_counted(combine, rng):
    K = np.exp(-((rng.normal(size=(40, 1)) - rng.normal(size=(1, 40))) ** 2))
    zero = BlockKernel(lambda A, B: np.zeros((len(A), len(B))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = combine(Precomputed(), zero)
        assert kernel.errors(kernel.prepare(K)).largest() > 0.1
        product = Precomputed() * zero
        assert product.errors(product.prepare(K)).largest() == np.inf
    assert kernel.errors(kernel.prepare(K + K.T)).largest() == 0.0


def test_a_string_kernel_that_overflows_states_nothing():
    kernel = Subsequence(k=270, decay=1.0, normalize=True)
    with np.errstate(all="ignore"):
        terms = kernel.errors(kernel.prepare(["a" * 560, "a" * 270, "b" * 270]))
    assert np.isinf(terms.size[0]) and np.isfinite(terms.size[1:]).all()


def test_a_table_of_subnormal_steps_states_nothing():
    X = np.where(np.arange(12.0).reshape(4, 3) % 2 == 0, 0.0, 3.3e-158)
    kernel = Gaussian(1e307)
    assert kernel.errors(kernel.prepare(X)).largest() == np.inf


@pytest.mark.needs_compiler
def test_systems_that_overflow_end():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ridge = KernelRidge(alpha=2e-2, kernel="rbf", gamma=0.5, solver="cg", cache_size=1, time_limit=3)
        ridge.fit(X, 1.5e152 * rng.normal(size=2500))
        assert not ridge.certificate_.holds
        RVC(kernel="linear", time_limit=3).fit(3e76 * X[:60, :2], X[:60, 0] > 0)


def test_a_margin_too_small_to_divide_by_leaves_finite_coefficients(rng):
    X = 1e-155 * rng.normal(size=(22, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NuSVC(kernel="linear", nu=0.4).fit(X, np.arange(22) % 2)
    assert np.isfinite(model.dual_coef_).all()
    assert widemargin.verify(model, X, np.arange(22) % 2).holds == model.certificate_.holds


def test_a_penalised_bias_of_many_classes_is_that_of_all_samples(rng):
    X = rng.normal(size=(60, 3))
    X[:20] *= 3.0
    y = np.repeat([0, 1, 2], 20)
    model = SVC(solver="coordinate", kernel="linear", C=0.1).fit(X, y)
    assert model.certificate_.holds and widemargin.verify(model, X, y).holds
