"""Certificates of kernel systems are theorems: bounds against truths in extended precision, up to singular matrices."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.kernel_system import extended
from tests.oracles import GivenMatrix
from widemargin import LSSVR, GaussianProcessRegressor, KernelRidge
from widemargin.certificate.system_bounds import energy_by_noise
from widemargin.kernels import ChiSquared, Cosine, Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from widemargin.monitor.status import Status
from widemargin.training.kernel_system import Found, KernelSystem, SystemRule
from widemargin.training.kernel_system.bias import certificate_with_bias

pytestmark = pytest.mark.skipif(not extended.IS_EXTENDED, reason="long double is no wider than double here")

KNOWN = ("rbf", "poly", "linear", "laplacian")
UNKNOWN = ("sigmoid", "precomputed")
FITS = 24  # of each kernel
SYMMETRIC = [Gaussian(0.3), Laplacian(0.3), ChiSquared(0.3), Linear(), Polynomial(3, 0.5, 1.0), Cosine()]
SYMMETRIC += [Sigmoid(0.1, 0.2), 2.0 * Gaussian(0.3) + Linear() * Laplacian(0.1)]


def hostile(seed):
    """Data of some scale, with copies, far from the origin at times, and targets of any size."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 90)), int(rng.integers(1, 8))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1)
    if rng.random() < 0.3:
        X[n // 2 :] = X[: n - n // 2] + rng.choice([0.0, 1e-9])
    if rng.random() < 0.2:
        X += 100.0
    y = (np.sin(X[:, 0]) + rng.choice([0.0, 0.5]) * rng.normal(size=n)) * 10.0 ** rng.uniform(-6, 6)
    weight = rng.uniform(0.1, 10.0, n) if rng.random() < 0.5 else np.ones(n)
    return rng, X, y, weight, 10.0 ** rng.uniform(-12, 1), 10.0 ** rng.uniform(-2, 0.5)


def fitted(model, *data):
    """A fitted model and whether it warned."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(*data)
    return model, any(issubclass(one.category, ConvergenceWarning) or "Singular" in str(one.message) for one in seen)


def certify(system, noise, targets, coefficients, residual, rule):
    """Coefficients of anyone, judged."""
    found = Found("cholesky", coefficients, residual, energy=np.zeros(targets.shape[1]))
    return system.certify(noise, targets, rule, found, 0.0)


def exact_system(name, X, gamma, alpha, weight, K=None):
    K = extended.kernel_matrix(name, X, X, gamma) if K is None else K.astype(extended.EXTENDED)
    return K, K + np.diag(extended.EXTENDED(alpha) / weight.astype(extended.EXTENDED))


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
@pytest.mark.parametrize("kernel", KNOWN)
def test_predictions_are_within_the_proven_error(kernel, solver):
    """kmax (a - a*)'A (a - a*) is the squared error at the worst sample that could be; Q lies between its bounds."""
    checked = held = 0
    for seed in range(FITS):
        rng, X, y, weight, alpha, gamma = hostile(seed)
        ridge = KernelRidge(alpha, kernel=kernel, gamma=gamma, solver=solver)
        model, warned = fitted(ridge, X, y, weight)
        certificate = model.certificate_
        assert certificate.holds or warned
        assert certificate.is_psd
        K, A = exact_system(kernel, X, gamma, alpha, weight)
        exact = extended.solution(A, y)
        reach = np.sqrt(K.diagonal().max() / np.mean(y**2))
        if exact is None or reach * extended.uncertainty(A, alpha / weight, y, exact) > 0.1 * certificate.error:
            assert not certificate.holds  # singular even in extended precision
            continue
        wrong = model.dual_coef_ - exact
        assert reach * np.sqrt(wrong @ A @ wrong) <= certificate.error
        Q = y @ exact + (y - A @ exact) @ exact
        assert certificate.lower[0] <= Q <= certificate.upper[0]
        assert np.linalg.norm((y - A @ model.dual_coef_).astype(float)) <= certificate.residual * np.linalg.norm(y)
        checked, held = checked + 1, held + certificate.holds
    assert checked >= FITS // 2 and 0 < held < checked  # both verdicts were seen


@pytest.mark.parametrize("kernel", UNKNOWN)
def test_unknown_kernels_prove_their_residual_and_nothing_else(kernel):
    held = 0
    for seed in range(FITS):
        rng, X, y, weight, alpha, gamma = hostile(seed)
        given = Gaussian(gamma)(X) if kernel == "precomputed" else X
        model, warned = fitted(KernelRidge(alpha, kernel=kernel, gamma=gamma), given, y, weight)
        certificate = model.certificate_
        assert certificate.holds or warned
        assert not certificate.is_psd
        assert "if the kernel is positive semi-definite" in str(certificate)
        K, A = exact_system(kernel, X, gamma, alpha, weight, given if kernel == "precomputed" else None)
        truth = np.linalg.norm((y - A @ model.dual_coef_).astype(float)) / np.linalg.norm(y)
        assert truth <= certificate.residual
        if certificate.holds:
            held += 1
            assert truth <= certificate.tol
            assert model.dual_coef_ @ K @ model.dual_coef_ >= 0
            assert "holds for the residual" in str(certificate)
    assert held > 0


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
@pytest.mark.parametrize("kernel", KNOWN)
def test_machines_with_a_bias_are_within_the_proven_error(kernel, solver):
    held = 0
    for seed in range(FITS):
        rng, X, y, weight, alpha, gamma = hostile(seed)
        y = y + rng.choice([0.0, 3.0]) * np.abs(y).max()
        machine = LSSVR(C=1.0 / max(alpha, 1e-7), kernel=kernel, gamma=gamma, coef0=1.0, solver=solver)
        try:
            model, warned = fitted(machine, X, y, weight)
        except np.linalg.LinAlgError:
            continue
        assert model.certificate_.holds or warned
        K, A = exact_system(kernel, X, gamma, 1.0 / machine.C, weight)
        nu, eta = extended.solution(A, y), extended.solution(A, np.ones(len(y)))
        assert nu is not None and eta is not None
        bias = nu.sum() / eta.sum()
        values = K @ model.dual_coef_[0] + model.intercept_[0] - (K @ (nu - bias * eta) + bias)
        new = X[rng.integers(0, len(X), 20)] * rng.uniform(-1, 1, (20, 1))  # k(x, x) no larger than in training
        cross = extended.kernel_matrix(kernel, new, X, gamma)
        wrong = cross @ model.dual_coef_[0] + model.intercept_[0] - (cross @ (nu - bias * eta) + bias)
        worst = max(np.abs(values).max(), np.abs(wrong).max()) / np.sqrt(np.mean(y**2))
        assert worst <= model.certificate_.error
        held += model.certificate_.holds
    assert held > 0


def test_a_spoilt_answer_does_not_hold():
    """The certificate is about the coefficients it is given, whoever found them."""
    rng = np.random.default_rng(5)
    X, y, noise = rng.normal(size=(50, 2)), rng.normal(size=(50, 1)), np.full(50, 0.1)
    system = KernelSystem(Gaussian(0.5), X)
    good = system.solve(noise, y, SystemRule())
    assert good.certificate.holds
    spoilt = good.coefficients + 1e-6
    residual = system.residual(noise, y, spoilt)
    found = certify(system, noise, y, spoilt, residual, SystemRule()).certificate
    wrong = np.abs(Gaussian(0.5)(X).sum(axis=1) * 1e-6).max() / np.sqrt(np.mean(y**2))
    assert not found.holds and found.error >= wrong


def test_errors_of_kernel_values_are_counted():
    """A hundred thousand equal terms round in the same direction: far more than the sum over four samples."""
    X = np.full((4, 100_000), 0.1) * np.array([[1.0], [1.1], [1.2], [1.3]])
    system = KernelSystem(Linear(), X)
    a, noise, y = np.ones((4, 1)), np.full(4, 0.1), np.zeros((4, 1))
    residual = system.residual(noise, y, a)
    A = extended.kernel_matrix("linear", X, X, 1.0) + np.diag(noise.astype(extended.EXTENDED))
    wrong = np.abs(residual.value + A @ a)
    assert (wrong <= residual.error).all()
    assert (wrong > 2.0**-53 * (system.exact.roundings + 8) * residual.size).any()


def test_a_wrong_bias_is_counted():
    """Samples without any feature: the machine is its bias, and k(x, x) = 0 excuses nothing."""
    y, ones, noise = np.arange(6.0)[:, None], np.ones((6, 1)), np.ones(6)
    system, rule, both = KernelSystem(Linear(), np.zeros((6, 2))), SystemRule(bias=True), np.hstack([y, ones])
    spoilt = system.solve(noise, both, rule).coefficients
    for by, holds in ((0.0, True), (1e-3, False)):
        spoilt[0, 0] += by
        residual = system.residual(noise, both, spoilt)
        solved = certify(system, noise, both, spoilt, residual, rule)
        bias = spoilt[:, :1].sum(axis=0) / spoilt[:, 1].sum()
        machine = spoilt[:, :1] - bias * spoilt[:, 1:]
        certificate = certificate_with_bias(system, noise, y, solved, rule, bias, machine)
        assert certificate.holds == holds
        assert certificate.error * np.sqrt(np.mean(y**2)) >= abs(bias[0] - 2.5)


def test_the_residual_alone_decides_where_the_kernel_may_be_indefinite():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 2))
    model = KernelRidge(2e-4, kernel="precomputed").fit(Gaussian(0.5)(X), rng.normal(size=60))
    assert model.certificate_.residual <= 1e-8 < model.certificate_.error
    assert model.certificate_.holds and model.status_ is Status.OPTIMAL


def test_conjugate_gradients_prove_more_than_the_noise_alone():
    """The trial vector of the preconditioner brings the bound near r'A^-1 r, far below r'D^-1 r."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y, noise = np.sin(X[:, :1]) + 0.1 * rng.normal(size=(400, 1)), np.full(400, 0.01)
    system = KernelSystem(Gaussian(0.5), X)
    solved = system.solve(noise, y, SystemRule(1e-8, max_iter=0), "cg")
    scale = np.ones(1)
    by_noise = energy_by_noise(solved.residual, noise, scale)[0]
    proven = system.energy(noise, solved.residual, scale, 0.5 * by_noise)[0]
    A = Gaussian(0.5)(X) + np.diag(noise)
    rest = solved.residual.value[:, 0]
    truth = rest @ np.linalg.solve(A, rest)
    assert truth <= proven <= 1.2 * solved.energy[0]
    assert proven < 0.1 * by_noise


def test_what_double_precision_cannot_decide_is_said():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    with pytest.warns(ConvergenceWarning, match="as far as double precision can tell.*Proven: predictions within"):
        model = KernelRidge(1e-2, kernel="rbf", tol=1e-11).fit(X, rng.normal(size=60))
    assert model.status_ is Status.UNDECIDED and not model.certificate_.holds
    with pytest.warns(ConvergenceWarning, match="badly conditioned"):
        model = KernelRidge(1e-12, kernel="rbf", tol=1e-12).fit(X, rng.normal(size=60))
    assert model.status_ is Status.STALLED


def test_negative_curvature_never_holds():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    K = -0.01 * Gaussian(0.5)(X)  # with noise a positive definite matrix, but of no kernel
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        model = KernelRidge(1.0, kernel="precomputed").fit(K, y)
    assert model.status_ is Status.INDEFINITE and not model.certificate_.holds
    assert model.certificate_.residual < 1e-12
    with pytest.warns(UserWarning, match="Singular matrix.*not positive semi-definite"):
        model = KernelRidge(1e-3, kernel=Sigmoid(1.0, -1.0)).fit(X, y)
    assert model.status_ is Status.INDEFINITE and not model.certificate_.holds


def test_a_process_without_noise_says_what_is_not_proven():
    X = np.linspace(0.0, 1.0, 40)[:, None]
    with pytest.warns(ConvergenceWarning, match="Proven"):
        model = GaussianProcessRegressor(Gaussian(1.0), optimizer=None).fit(X, np.sin(X[:, 0]))
    assert not model.certificate_.holds


def test_tiny_targets_are_no_excuse():
    """Squares of the targets underflow; the bounds are relative and do not."""
    X = np.random.default_rng(3).normal(size=(30, 2))
    usual, tiny = (KernelRidge(0.1, kernel="rbf").fit(X, size * np.sin(X[:, 0])) for size in (1.0, 1e-200))
    assert usual.certificate_.holds and tiny.certificate_.holds
    assert tiny.certificate_.error == pytest.approx(usual.certificate_.error, rel=0.5)


def test_values_that_overflow_prove_nothing():
    K = np.full((4, 4), 1e308) + np.diag(np.full(4, 1e307))
    system = KernelSystem(GivenMatrix(K), np.arange(4)[:, None])
    y = np.ones((4, 1))
    residual = system.residual(np.ones(4), y, np.full((4, 1), 10.0))
    assert np.isinf(residual.error).all()
    found = certify(system, np.ones(4), y, np.full((4, 1), 10.0), residual, SystemRule())
    assert not found.certificate.holds


@pytest.mark.parametrize("kernel", SYMMETRIC, ids=str)
def test_error_bounds_of_a_pair_do_not_depend_on_its_order(kernel):
    """A tile above the diagonal serves below it as well."""
    terms = kernel.errors(kernel.prepare(np.random.default_rng(0).random((20, 4))))
    bounds = terms.left @ terms.right.T
    assert (bounds > 0).any()
    np.testing.assert_allclose(bounds, bounds.T, rtol=1e-12)
