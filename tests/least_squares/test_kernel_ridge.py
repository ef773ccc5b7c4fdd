"""KernelRidge beside scikit-learn's, and what it adds."""

import numpy as np
import pytest
import sklearn.kernel_ridge
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from widemargin import KernelRidge
from widemargin.kernels import BlockKernel, Gaussian

NAMES = ["linear", "poly", "polynomial", "rbf", "laplacian", "cosine"]


@pytest.fixture
def data(rng):
    X = rng.normal(size=(120, 4))
    return X, np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]]), rng.normal(size=(30, 4))


@pytest.mark.parametrize("kernel", NAMES)
def test_every_kernel_by_name_gives_their_predictions(data, kernel):
    X, Y, new = data
    parameters = {"kernel": kernel, "alpha": 0.3}
    ours, theirs = (C(**parameters).fit(X, Y) for C in (KernelRidge, sklearn.kernel_ridge.KernelRidge))
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-7, atol=1e-7)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    assert ours.certificate_.holds and ours.certificate_.is_psd


def test_sigmoid_gives_their_predictions_and_says_that_it_is_indefinite(data):
    X, Y, new = data
    theirs = sklearn.kernel_ridge.KernelRidge(50.0, kernel="sigmoid").fit(X, Y)  # indefinite below
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        ours = KernelRidge(50.0, kernel="sigmoid").fit(X, Y)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=1e-8, atol=1e-8)
    assert ours.certificate_.residual < 1e-12 and not ours.certificate_.holds


@pytest.mark.parametrize("kernel", ["chi2", "additive_chi2"])
def test_kernels_of_histograms(rng, kernel):
    X, y = rng.random((60, 5)), rng.normal(size=60)
    parameters = {"kernel": kernel, "alpha": 60.0, "gamma": 0.7}
    theirs = sklearn.kernel_ridge.KernelRidge(**parameters).fit(X, y)
    np.testing.assert_allclose(KernelRidge(**parameters).fit(X, y).predict(X), theirs.predict(X), rtol=1e-8)


@pytest.mark.parametrize("solver", ["cholesky", "cg", "plain-cg"])
def test_a_penalty_for_each_target(data, solver):
    X, Y, new = data
    alphas = np.array([0.1, 3.0])
    ours = KernelRidge(alphas, kernel="rbf", solver=solver, tol=1e-10).fit(X, Y)
    theirs = sklearn.kernel_ridge.KernelRidge(alphas, kernel="rbf").fit(X, Y)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=0, atol=1e-8)
    assert len(ours.certificates_) == 2


@pytest.mark.parametrize("solver", ["cholesky", "cg", "plain-cg"])
def test_weights_are_repetitions_and_theirs(data, rng, solver):
    X, Y, new = data
    weight = rng.integers(0, 4, len(X)).astype(float)
    parameters = {"alpha": 0.5, "kernel": "rbf", "gamma": 0.3}
    weighted = KernelRidge(solver=solver, tol=1e-11, **parameters).fit(X, Y, weight)
    repeated = KernelRidge(**parameters).fit(*(np.repeat(part, weight.astype(int), axis=0) for part in (X, Y)))
    theirs = sklearn.kernel_ridge.KernelRidge(**parameters).fit(X, Y, weight)
    np.testing.assert_allclose(weighted.predict(new), repeated.predict(new), rtol=0, atol=1e-9)
    np.testing.assert_allclose(weighted.dual_coef_, theirs.dual_coef_, rtol=0, atol=1e-8)
    assert (weighted.dual_coef_[weight == 0] == 0).all()


def test_precomputed_with_samples_left_out(data):
    X, Y, new = data
    weight = np.ones(len(X))
    weight[::3] = 0.0
    kernel = Gaussian(0.3)
    by_matrix = KernelRidge(0.1, kernel="precomputed").fit(kernel(X), Y, weight)
    by_name = KernelRidge(0.1, kernel=kernel).fit(X, Y, weight)
    np.testing.assert_allclose(by_matrix.predict(kernel(new, X)), by_name.predict(new), rtol=0, atol=1e-10)


def test_sparse_data_and_objects(data, rng):
    X, Y, new = data
    X = np.where(rng.random(X.shape) < 0.5, 0.0, X)
    dense = KernelRidge(0.1, kernel="rbf").fit(X, Y).predict(new)
    for form in (sparse.csr_matrix, sparse.csr_array, sparse.csc_array):
        model = KernelRidge(0.1, kernel="rbf").fit(form(X), Y)
        np.testing.assert_allclose(model.predict(form(new)), dense, rtol=0, atol=1e-9)

    words = ["margin", "kernel", "vector", "dual", "support", "primal"]
    letters = BlockKernel(lambda A, B: np.array([[float(len(set(a) & set(b))) for b in B] for a in A]))
    lengths = np.array([len(word) for word in words], float)
    assert KernelRidge(1e-3, kernel=letters).fit(words, lengths).predict(["margin"])[0] == pytest.approx(6.0, abs=0.1)


def test_a_function_of_two_samples_with_parameters(data):
    X, Y, new = data

    def close(x, z, width=1.0):
        return np.exp(-np.abs(x - z).sum() / width)

    theirs = sklearn.kernel_ridge.KernelRidge(0.1, kernel=close, kernel_params={"width": 2.0}).fit(X[:40], Y[:40])
    ours = KernelRidge(0.1, kernel=close, kernel_params={"width": 2.0}).fit(X[:40], Y[:40])
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=1e-8, atol=1e-9)


def test_a_singular_matrix_gets_the_solution_of_least_norm(rng):
    X = np.repeat(rng.normal(size=(10, 2)), 2, axis=0)
    y = rng.normal(size=20)
    with pytest.warns(UserWarning, match="Singular matrix"):
        model = KernelRidge(alpha=0.0, kernel="linear").fit(X, y)
    expected = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), X @ expected, rtol=0, atol=1e-9)


def test_eigenvalues_of_a_singular_matrix_are_computed_on_one_thread_of_blas(rng, monkeypatch):
    """Threads of LAPACK busy-wait: on a busy machine two of them took 80 s for 3,000 samples, one takes 4 s."""
    from threadpoolctl import threadpool_info

    seen, eigh = [], np.linalg.eigh

    def noted(K):
        seen.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return eigh(K)

    monkeypatch.setattr(np.linalg, "eigh", noted)
    X = np.repeat(rng.normal(size=(10, 2)), 2, axis=0)
    with pytest.warns(UserWarning, match="Singular matrix"):
        KernelRidge(alpha=0.0, kernel="linear").fit(X, X[:, 0])
    assert set(seen) == {1}


def test_large_problems_agree_by_both_methods(rng):
    X = rng.normal(size=(1500, 6))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=1500)
    parameters = {"alpha": 0.1, "kernel": "rbf", "gamma": 0.1}
    by_cg = KernelRidge(solver="cg", **parameters).fit(X, y)
    by_factor = KernelRidge(solver="cholesky", **parameters).fit(X, y)
    assert by_cg.n_iter_ > 1 and by_cg.certificate_.holds
    wrong = np.abs(by_cg.predict(X) - by_factor.predict(X)).max()
    assert wrong <= by_cg.certificate_.error * np.sqrt(np.mean(y**2)) + 1e-12 and wrong < 1e-8


def test_an_early_end_is_said_with_both_bounds(rng):
    X, y = rng.normal(size=(300, 5)), rng.normal(size=300)
    with pytest.warns(ConvergenceWarning, match=r"max_iter.*between.*and.*certificate_"):
        model = KernelRidge(1e-3, kernel="rbf", solver="cg", max_iter=2).fit(X, y)
    assert model.n_iter_ == 2 and np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"alpha": [1.0, 2.0, 3.0]}, "do not correspond"),
        ({"alpha": np.array([-1.0])}, "0 or more"),
        ({"kernel": "poly", "degree": 2.5}, "whole number"),
    ],
)
def test_bad_parameters_get_a_sentence(data, change, sentence):
    X, Y, _ = data
    with pytest.raises(ValueError, match=sentence):
        KernelRidge(**change).fit(X, Y)


def test_the_progress_bar_is_fed(data, capsys):
    X, Y, _ = data
    KernelRidge(0.1, kernel="rbf", solver="cg", verbose=True).fit(X, Y)  # no terminal here: nothing is drawn
    assert capsys.readouterr().out == ""
