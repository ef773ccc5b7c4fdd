"""GaussianProcessRegressor beside scikit-learn's: kernels, targets, parameters fitted, means, deviations, samples."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor as Theirs
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, RationalQuadratic, WhiteKernel

from widemargin import GaussianProcessRegressor
from widemargin.kernels import BlockKernel, Gaussian, Precomputed

KERNELS = {
    "with noise": 1.0 * RBF(1.0) + WhiteKernel(0.1),
    "fixed scale": ConstantKernel(2.0, "fixed") * RBF(1.0) + WhiteKernel(0.1),
    "product of noises": ConstantKernel(2.0) * RBF(1.5) * WhiteKernel(0.3) + RBF(2.0) + WhiteKernel(0.1),
    "dot product": DotProduct(1.0) + WhiteKernel(0.1) + RBF(1.0),
    "smooth Matern": Matern(1.0, nu=np.inf) + WhiteKernel(0.1),
    "called: Matern": Matern(nu=1.5) + WhiteKernel(0.1),
    "called: two scales": RBF([1.0, 2.0]) + WhiteKernel(0.1),
    "called: rational": RationalQuadratic() + WhiteKernel(0.1),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(70, 2))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=70), rng.normal(size=(15, 2))


@pytest.mark.parametrize("name", KERNELS)
def test_likelihood_gradient_mean_and_deviation(data, name):
    X, y, new = data
    ours, theirs = (C(KERNELS[name], optimizer=None).fit(X, y) for C in (GaussianProcessRegressor, Theirs))
    assert (ours._model.node is None) == name.startswith("called")
    assert ours.log_marginal_likelihood() == pytest.approx(theirs.log_marginal_likelihood(), rel=1e-10)
    theta = KERNELS[name].theta + 0.2
    (value, slope), (expected, gradient) = (
        m.log_marginal_likelihood(theta, eval_gradient=True) for m in (ours, theirs)
    )
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(slope, gradient, rtol=1e-7, atol=1e-7)
    assert ours.log_marginal_likelihood(theta) == pytest.approx(expected, rel=1e-10)
    for one, other in zip(ours.predict(new, return_std=True), theirs.predict(new, return_std=True), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        ours.predict(new, return_cov=True)[1], theirs.predict(new, return_cov=True)[1], rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(ours.alpha_, theirs.alpha_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.L_, theirs.L_, rtol=0, atol=1e-9)
    assert ours.certificate_.holds


@pytest.mark.parametrize("name", ["with noise", "called: Matern"])
def test_fitted_parameters(data, name):
    X, y, new = data
    ours, theirs = (C(KERNELS[name], normalize_y=True).fit(X, y) for C in (GaussianProcessRegressor, Theirs))
    assert ours.log_marginal_likelihood_value_ == pytest.approx(theirs.log_marginal_likelihood_value_, abs=1e-5)
    np.testing.assert_allclose(ours.kernel_.theta, theirs.kernel_.theta, rtol=0, atol=1e-3)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=0, atol=1e-4)


def test_the_default_kernel(data):
    X, y, new = data
    ours, theirs = (C(alpha=0.01).fit(X, y) for C in (GaussianProcessRegressor, Theirs))
    assert str(ours.kernel_) == str(theirs.kernel_)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=0, atol=1e-4)


def test_several_targets_and_noise_of_each_sample(data):
    X, y, new = data
    Y = np.column_stack([y, y**2, -3.0 * y])
    alpha = np.linspace(0.01, 0.5, len(y))
    settings = {"alpha": alpha, "optimizer": None, "normalize_y": True, "n_targets": 3}
    ours, theirs = (C(RBF(0.8), **settings).fit(X, Y) for C in (GaussianProcessRegressor, Theirs))
    assert ours.log_marginal_likelihood_value_ == pytest.approx(theirs.log_marginal_likelihood_value_, rel=1e-10)
    for flag in ("return_std", "return_cov"):
        for one, other in zip(ours.predict(new, **{flag: True}), theirs.predict(new, **{flag: True}), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    assert ours.sample_y(new, 4).shape == theirs.sample_y(new, 4).shape == (15, 3, 4)


def test_samples_have_the_right_mean_and_covariance(data):
    X, y, new = data
    model = GaussianProcessRegressor(RBF(0.8), alpha=0.1, optimizer=None).fit(X, y)
    mean, cov = model.predict(new, return_cov=True)
    draws = model.sample_y(new, 4000, random_state=1)
    assert draws.shape == (15, 4000)
    assert np.abs(draws.mean(axis=1) - mean).max() < 5 * np.sqrt(cov.diagonal().max() / 4000)
    assert np.abs(np.cov(draws) - cov).max() < 0.1 * cov.diagonal().max()


def test_the_prior_before_fit(data):
    new = data[2]
    for kernel in (None, 2.0 * RBF(0.7) + WhiteKernel(0.5)):
        for settings in ({}, {"n_targets": 2}):
            ours, theirs = (C(kernel, **settings) for C in (GaussianProcessRegressor, Theirs))
            for flag in ("return_std", "return_cov"):
                pairs = zip(ours.predict(new, **{flag: True}), theirs.predict(new, **{flag: True}), strict=True)
                for one, other in pairs:
                    np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_our_kernels_are_theirs(data):
    X, y, new = data
    ours = GaussianProcessRegressor(1.0 * Gaussian(0.5), alpha=1e-10, noise_variance=0.1).fit(X, y)
    theirs = Theirs(1.0 * RBF(1.0) + WhiteKernel(0.1)).fit(X, y)
    assert ours.log_marginal_likelihood_value_ == pytest.approx(theirs.log_marginal_likelihood_value_, abs=1e-5)
    assert ours.kernel_.kernel.gamma == pytest.approx(0.5 / theirs.kernel_.k1.k2.length_scale**2, rel=1e-2)
    assert ours.noise_variance_ == pytest.approx(theirs.kernel_.k2.noise_level, rel=1e-2)
    (mean, std), (their_mean, their_std) = (model.predict(new, return_std=True) for model in (ours, theirs))
    np.testing.assert_allclose(mean, their_mean, rtol=0, atol=1e-3)
    np.testing.assert_allclose(std, their_std, rtol=0, atol=1e-3)


def test_sparse_data_objects_and_pickles(data):
    X, y, new = data
    settings = {"alpha": 0.1, "optimizer": None}
    dense = GaussianProcessRegressor(Gaussian(0.5), **settings).fit(X, y).predict(new, return_std=True)
    model = GaussianProcessRegressor(Gaussian(0.5), **settings).fit(sparse.csr_array(X), y)
    for one, other in zip(model.predict(sparse.csr_array(new), return_std=True), dense, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    called = GaussianProcessRegressor(Matern(), **settings).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(called)).predict(new), called.predict(new))

    words = ["margin", "kernel", "vector", "dual", "support"]
    letters = BlockKernel(lambda A, B: np.array([[float(len(set(a) & set(b))) for b in B] for a in A]))
    lengths = np.array([len(word) for word in words], float)
    mean, std = GaussianProcessRegressor(letters, alpha=0.01).fit(words, lengths).predict(words[:1], return_std=True)
    assert mean[0] == pytest.approx(6.0, abs=0.1) and 0 < std[0] < 0.2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_restarts_find_a_better_place(data):
    X, y, _ = data
    stuck = RBF(1e-4, (1e-5, 1e3)) + WhiteKernel(0.5, (1e-5, 1e3))
    one = GaussianProcessRegressor(stuck, random_state=0).fit(X, y)
    more = GaussianProcessRegressor(stuck, random_state=0, n_restarts_optimizer=3).fit(X, y)
    assert more.log_marginal_likelihood_value_ > one.log_marginal_likelihood_value_ + 10


def test_an_optimizer_of_ones_own_and_part_of_the_samples(data):
    X, y, _ = data
    seen = []

    def stay(objective, initial_theta, bounds):
        seen.append((objective(initial_theta)[0], objective(initial_theta, eval_gradient=False), bounds.shape))
        return initial_theta, 0.0

    model = GaussianProcessRegressor(RBF(0.8), alpha=0.1, optimizer=stay).fit(X, y)
    assert seen[0][0] == pytest.approx(seen[0][1], rel=1e-12) and seen[0][2] == (1, 2)
    assert -seen[0][0] == pytest.approx(model.log_marginal_likelihood_value_, rel=1e-10)
    part = GaussianProcessRegressor(RBF(0.8), alpha=0.1, n_optimizer_samples=40, random_state=0).fit(X, y)
    whole = GaussianProcessRegressor(RBF(0.8), alpha=0.1).fit(X, y)
    assert part.alpha_.shape == (70,)
    assert abs(part.kernel_.length_scale - whole.kernel_.length_scale) > 1e-6


def test_bad_input_gets_a_sentence(data):
    X, y, new = data
    with pytest.raises(ValueError, match="same number of entries"):
        GaussianProcessRegressor(alpha=np.ones(3)).fit(X, y)
    with pytest.raises(ValueError, match="number of targets"):
        GaussianProcessRegressor(n_targets=2).fit(X, y)
    with pytest.raises(ValueError, match="precomputed"):
        GaussianProcessRegressor(Precomputed()).fit(np.eye(70), y)
    with pytest.raises(RuntimeError, match="At most one"):
        GaussianProcessRegressor().predict(new, return_std=True, return_cov=True)
    with pytest.raises(np.linalg.LinAlgError, match="increasing the 'alpha'"):
        GaussianProcessRegressor(DotProduct(1.0), alpha=0.0, optimizer=None).fit(np.repeat(X, 2, 0), np.repeat(y, 2))
    with pytest.raises(ValueError, match="theta!=None"):
        GaussianProcessRegressor(RBF(), optimizer=None, alpha=0.1).fit(X, y).log_marginal_likelihood(eval_gradient=True)


def test_a_bound_that_is_reached_is_said(data):
    X, y, _ = data
    with pytest.warns(ConvergenceWarning, match="close to the upper bound"):
        GaussianProcessRegressor(RBF(0.1, (1e-2, 0.2)), alpha=0.1).fit(X, y)
