"""Very wide sparse data: only the columns that occur take memory, and values are those of the narrow data."""

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse

from widemargin import SVC, SVR, KernelRidge, LinearSVC, OneClassSVM, verify
from widemargin.kernels import ChiSquared, Cosine, Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from widemargin.linalg import columns

WIDTH = 10**8


@pytest.fixture
def wide(rng):
    """Training rows, and test rows of which some entries are in columns that no training row has."""
    places = np.sort(rng.choice(WIDTH, 40, replace=False))
    dense = np.where(rng.random((90, 40)) < 0.3, rng.random((90, 40)), 0.0)
    dense[:60, 30:] = 0.0
    rows, cols = np.nonzero(dense)
    X = sparse.csr_array((dense[rows, cols], (rows, places[cols])), shape=(90, WIDTH))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # scikit-learn takes no others
    return X[:60], X[60:], dense[:60], dense[60:], np.arange(60) % 2


@pytest.mark.filterwarnings("ignore:The kernel is not positive semi-definite")
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
def test_decision_values_are_those_of_scikit_learn(wide, kernel):
    X, T, _, _, y = wide
    for gamma in (0.5, 1e-3):
        ours = SVC(kernel=kernel, gamma=gamma, tol=1e-8).fit(X, y)
        theirs = sklearn.svm.SVC(kernel=kernel, gamma=gamma, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(ours.decision_function(T), theirs.decision_function(T), atol=1e-5)
        assert verify(ours, X, y).holds or kernel == "sigmoid"


KERNELS = [Linear(), Polynomial(2), Sigmoid(0.1), Gaussian(0.3), Laplacian(0.3), ChiSquared(0.3), Cosine()]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernel_values_are_those_of_narrow_data(wide, kernel, dtype):
    X, T, narrow, narrow_T, _ = wide
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(kernel(T, X, dtype), kernel(narrow_T, narrow, np.float64), rtol=0, atol=tolerance)
    np.testing.assert_allclose(kernel(X, T, dtype), kernel(narrow, narrow_T, np.float64), rtol=0, atol=tolerance)


@pytest.mark.parametrize("model", [SVR(), OneClassSVM(), KernelRidge(kernel="rbf", gamma=0.5)])
def test_other_estimators_take_wide_data(wide, model):
    X, T, narrow, narrow_T, y = wide
    model.set_params(gamma=0.5)
    expected = model.fit(narrow, y).predict(narrow_T)
    np.testing.assert_allclose(model.fit(X, y).predict(T), expected, atol=1e-3)


def spread(dense, places, width):
    rows, cols = np.nonzero(dense)
    return sparse.csr_array((dense[rows, cols], (rows, places[cols])), shape=(len(dense), width))


@pytest.mark.parametrize("options", [{}, {"penalty": "l1"}, {"multi_class": "crammer_singer"}, {"loss": "hinge"}])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_models_of_wide_data(wide, monkeypatch, options, n_classes):
    """With a narrow limit, so that coef_ stays small."""
    _, _, narrow, narrow_T, _ = wide
    monkeypatch.setattr(columns, "FEW_COLUMNS", 50)
    y = np.arange(60) % n_classes
    places = np.arange(40) * 100 + 7
    X, T = (spread(part, places, 5000) for part in (narrow, narrow_T))
    model, plain = LinearSVC(tol=1e-6, **options).fit(X, y), LinearSVC(tol=1e-6, **options).fit(narrow, y)
    assert model.coef_.shape == (plain.coef_.shape[0], 5000)
    np.testing.assert_allclose(model.coef_[:, places], plain.coef_, atol=1e-3)
    np.testing.assert_allclose(model.decision_function(T), plain.decision_function(narrow_T), atol=1e-2)
    again = model.resume(X, y, tol=1e-8)
    np.testing.assert_allclose(again.decision_function(T), plain.decision_function(narrow_T), atol=1e-2)


def test_data_without_entries_are_taken(wide):
    X = sparse.csr_array((6, WIDTH))
    assert SVC(gamma=1.0).fit(X, [0, 1] * 3).decision_function(X).shape == (6,)
    assert LinearSVC().fit(X, [0, 1] * 3).decision_function(X).shape == (6,)


@pytest.mark.parametrize("options", [{}, {"penalty": "l1"}, {"penalize_intercept": False}])
def test_indices_of_64_bits_give_the_same_linear_model(wide, options):
    _, _, narrow, _, y = wide
    X = sparse.csr_array(narrow)
    expected = LinearSVC(tol=1e-8, **options).fit(X, y).coef_
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    np.testing.assert_array_equal(LinearSVC(tol=1e-8, **options).fit(X, y).coef_, expected)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_memory_does_not_depend_on_the_width(wide, kernel):
    import tracemalloc

    X, T, _, _, y = wide
    tracemalloc.start()
    SVC(kernel=kernel, gamma=0.5).fit(X, y).decision_function(T)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
