"""Weights mean repetition: weight 2 equals the sample given twice, weight 0 the sample left out, for every machine."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, verify
from widemargin.estimators.training_set import variance_of_entries

TOL = 1e-9
MACHINES = [
    SVC(tol=TOL),
    SVC(tol=TOL, class_weight="balanced"),
    SVC(tol=TOL, loss="squared_hinge", multi_class="ovr"),
    NuSVC(nu=0.2, tol=TOL),
    NuSVC(nu=0.1, tol=TOL, class_weight="balanced"),
    SVR(tol=TOL),
    SVR(tol=TOL, loss="squared_epsilon_insensitive"),
    NuSVR(tol=TOL),
    OneClassSVM(nu=0.3, tol=TOL),
]


@pytest.fixture(scope="module")
def problem():
    X, y = make_blobs(60, centers=3, n_features=4, cluster_std=4.0, random_state=2)
    weight = np.random.default_rng(0).integers(0, 4, size=60)
    return X, y, weight


def values_of(machine, X):
    return machine.decision_function(X) if hasattr(machine, "decision_function") else machine.predict(X)


@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_weights_equal_repetition(machine, sparse, problem):
    X, y, weight = problem
    given = sp.csr_matrix(X) if sparse else X
    repeated = np.repeat(X, weight, axis=0)
    weighted = type(machine)(**machine.get_params()).fit(given, y, sample_weight=weight)
    copied = type(machine)(**machine.get_params()).fit(
        sp.csr_matrix(repeated) if sparse else repeated, np.repeat(y, weight)
    )
    expected = values_of(copied, given)
    np.testing.assert_allclose(values_of(weighted, given), expected, atol=1e-6 * np.abs(expected).max())
    assert weighted._gamma == pytest.approx(copied._gamma, rel=1e-12)
    assert (weight[weighted.support_] > 0).all()
    assert verify(weighted, given, y, sample_weight=weight, tol=1e-8).holds


def test_precomputed_with_left_out_samples(problem):
    X, y, weight = problem
    K = X @ X.T
    kept = weight > 0
    weighted = SVC(kernel="precomputed", tol=TOL).fit(K, y, sample_weight=kept)
    removed = SVC(kernel="precomputed", tol=TOL).fit(K[np.ix_(kept, kept)], y[kept])
    np.testing.assert_allclose(weighted.decision_function(K), removed.decision_function(K[:, kept]), atol=1e-9)
    np.testing.assert_array_equal(weighted.support_, np.flatnonzero(kept)[removed.support_])


def test_scaling_all_weights_is_scaling_C(problem):
    X, y, _ = problem
    plain = SVC(C=1.0, tol=TOL).fit(X, y)
    scaled = SVC(C=100.0, tol=TOL).fit(X, y, sample_weight=np.full(60, 0.01))
    np.testing.assert_allclose(scaled.dual_coef_, plain.dual_coef_, atol=1e-6)


def test_nu_class_weight_multiplies_the_sample_weight(problem):
    X, y, _ = problem
    y = y > 0
    by_class = NuSVC(nu=0.2, class_weight={True: 3.0}, tol=TOL).fit(X, y)
    by_sample = NuSVC(nu=0.2, gamma=by_class._gamma, tol=TOL).fit(X, y, sample_weight=np.where(y, 3.0, 1.0))
    plain = NuSVC(nu=0.2, tol=TOL).fit(X, y)
    assert by_class.class_weight_.tolist() == [1.0, 3.0]
    np.testing.assert_allclose(by_class.decision_function(X), by_sample.decision_function(X), atol=1e-7)
    assert np.abs(by_class.decision_function(X) - plain.decision_function(X)).max() > 0.1


def test_weighted_variance():
    X = np.random.default_rng(1).normal(3.0, size=(40, 5))
    weight = np.arange(40)
    expected = np.repeat(X, weight, axis=0).var()
    assert variance_of_entries(X, weight.astype(float)) == pytest.approx(expected, rel=1e-12)
    assert variance_of_entries(sp.csr_matrix(X), weight.astype(float)) == pytest.approx(expected, rel=1e-10)
    assert variance_of_entries(X.astype(np.float32), None) == pytest.approx(X.var(), rel=1e-6)


@pytest.mark.parametrize("machine", [SVC(), NuSVC(nu=0.1), SVR(), NuSVR(), OneClassSVM()], ids=str)
@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        (np.zeros(60), "all samples have zero or negative weights"),
        (np.full(60, -1.0), "all samples have zero or negative weights"),
        (np.r_[-1.0, np.ones(59)], "negative values"),
        (np.r_[np.nan, np.ones(59)], "NaN or infinity"),
        (np.ones(59), "incompatible shapes"),
    ],
    ids=["zero", "negative", "one negative", "nan", "short"],
)
def test_weights_without_meaning(machine, weight, sentence, problem):
    X, y, _ = problem
    with pytest.raises(ValueError, match=sentence):
        machine.fit(X, y, sample_weight=weight)


def test_weights_that_leave_one_class(problem):
    X, y, _ = problem
    with pytest.raises(ValueError, match="same class"):
        SVC().fit(X, y, sample_weight=(y == 1).astype(float))
