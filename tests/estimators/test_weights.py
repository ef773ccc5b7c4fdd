"""Weights mean repetition: weight 2 equals the sample given twice, weight 0 the sample left out, for every machine."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
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
        (np.r_[np.nan, np.ones(59)], "NaN or infinity"),
        (np.ones(59), "incompatible shapes"),
    ],
    ids=["zero", "negative", "nan", "short"],
)
def test_weights_without_meaning(machine, weight, sentence, problem):
    X, y, _ = problem
    with pytest.raises(ValueError, match=sentence):
        machine.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("machine", [SVC(), NuSVC(nu=0.1), SVR(), NuSVR(), OneClassSVM()], ids=str)
def test_negative_weights_leave_samples_out_and_say_so(machine, problem):
    X, y, weight = problem
    negative = np.where(weight == 0, -1.5, weight)
    with pytest.warns(UserWarning, match="negative values.*samples with one are left out.*weights >= 0") as caught:
        warned = clone(machine).fit(X, y, sample_weight=negative)
    assert caught[0].filename == __file__
    silent = clone(machine).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(warned.dual_coef_, silent.dual_coef_)
    np.testing.assert_array_equal(warned.support_, silent.support_)


# ---- any weights, at the default tolerance

SMALL = [SVC(), SVC(kernel="linear", loss="squared_hinge"), SVC(multi_class="ovr"), SVC(class_weight="balanced")]
SMALL += [NuSVC(nu=0.15), SVR(), SVR(loss="squared_epsilon_insensitive"), NuSVR(nu=0.4), OneClassSVM(nu=0.3)]


@pytest.mark.needs_compiler
@pytest.mark.parametrize("machine", SMALL, ids=str)
@settings(max_examples=12)
@given(seed=st.integers(0, 2**20), weight=st.lists(st.integers(0, 3), min_size=12, max_size=24))
def test_any_whole_weights_equal_repetition(machine, seed, weight):
    rng = np.random.default_rng(seed)
    weight = np.array(weight)
    X = rng.normal(size=(len(weight), 3))
    y = rng.integers(0, 3, size=len(weight))
    repeated, labels = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    counts = np.bincount(labels, minlength=3)
    assume((counts > 0).all() and 2 * np.sort(counts)[0] >= 0.15 * (counts.min() + counts.max()))
    order = rng.permutation(len(labels))
    weighted = clone(machine).fit(X, y, sample_weight=weight)
    copied = clone(machine).fit(repeated[order], labels[order])
    scale = 1.0 + np.abs(values_of(copied, X)).max()
    np.testing.assert_allclose(values_of(weighted, X), values_of(copied, X), atol=1e-5 * scale)
    removed = clone(machine).fit(X[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    np.testing.assert_array_equal(weighted.support_, np.flatnonzero(weight > 0)[removed.support_])
    np.testing.assert_array_equal(weighted.dual_coef_, removed.dual_coef_)


@pytest.mark.parametrize("machine", [SVC(), NuSVC(nu=0.1), SVR(), NuSVR(), OneClassSVM()], ids=str)
def test_scale_of_gamma_counts_the_weights(machine, problem):
    """scikit-learn takes the variance of X as it is given, with whatever weights."""
    X, y, weight = problem
    repeated = np.repeat(X, weight, axis=0)
    weighted = clone(machine).fit(X, y, sample_weight=weight)
    assert weighted._gamma == pytest.approx(1.0 / (4 * repeated.var()), rel=1e-12)
    assert weighted._gamma != pytest.approx(1.0 / (4 * X.var()), rel=1e-3)


# ---- class weights in nu-classification


def test_nu_gives_way_to_class_weights(problem):
    X, y, _ = problem
    y = y > 0  # 20 and 40 samples
    largest = 2 * 20 / (20 + 40 * 9)
    with pytest.warns(UserWarning, match=f"nu can be at most {largest:.6g}.*in place of nu=0.5") as caught:
        heavy = NuSVC(nu=0.5, class_weight={True: 9.0}).fit(X, y)
    assert caught[0].filename == __file__
    at_largest = NuSVC(nu=largest, class_weight={True: 9.0}, gamma=heavy._gamma).fit(X, y)
    assert verify(heavy, X, y).holds and verify(at_largest, X, y).holds
    np.testing.assert_allclose(  # the same function up to scale and offset
        heavy.dual_coef_ / np.abs(heavy.dual_coef_).max(),
        at_largest.dual_coef_ / np.abs(at_largest.dual_coef_).max(),
        atol=1e-6,
    )
    assert heavy.predict(X).mean() > at_largest.predict(X).mean() > NuSVC(nu=0.5).fit(X, y).predict(X).mean()


def test_infeasible_nu_without_class_weights_is_an_error(problem):
    X, y, _ = problem
    with pytest.raises(ValueError, match="specified nu is infeasible: nu=0.9 .* at most 0.666667"):
        NuSVC(nu=0.9).fit(X, y > 0)


def test_class_weights_equal_repetition_of_the_class(problem):
    X, y, _ = problem
    by_weight = SVC(class_weight={0: 2, 2: 3}, gamma=0.02).fit(X, y)
    times = np.array([2, 1, 3])[y]
    by_hand = SVC(gamma=0.02, tol=1e-9).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(by_weight.decision_function(X), by_hand.decision_function(X), atol=1e-6)


def test_weights_that_leave_one_class(problem):
    X, y, _ = problem
    with pytest.raises(ValueError, match="same class"):
        SVC().fit(X, y, sample_weight=(y == 1).astype(float))
