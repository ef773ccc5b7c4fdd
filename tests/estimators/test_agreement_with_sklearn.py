"""Same data, same parameters: the same machine as scikit-learn's, by objective, decision values and predictions."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import widemargin
from widemargin import verify

pytestmark = pytest.mark.needs_compiler  # too many fits for interpreted code

TOL = 1e-7
SAME_OBJECTIVE = 1e-6  # relative
STEPS = 300_000  # LIBSVM would go on for ever where its single precision cannot meet TOL
SAME_VALUE = 2e-3  # relative to the largest decision value: LIBSVM keeps its kernel matrix in single precision

KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.2},
    "rbf": {"kernel": "rbf"},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.1},
}
MACHINES = {
    "SVC": {"C": 0.7},
    "NuSVC": {"nu": 0.2},
    "SVR": {"C": 0.7, "epsilon": 0.05},
    "NuSVR": {"C": 0.7, "nu": 0.4},
    "OneClassSVM": {"nu": 0.3},
}


def data_for(machine):
    if machine in ("SVR", "NuSVR"):
        X, y = load_diabetes(return_X_y=True)
        return StandardScaler().fit_transform(X)[:150], y[:150] / 100.0
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:150, :12]
    return (X + 2.0 if machine == "OneClassSVM" else X), y[:150]  # off the origin, which is the outlier of that machine


def values_of(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.filterwarnings("ignore:Solver terminated early")
@pytest.mark.filterwarnings("ignore:The kernel is not positive semi-definite")
@pytest.mark.parametrize(
    ("machine", "kernel"),
    # an indefinite kernel makes the problem not convex: without a linear term the two end in different places
    [(m, k) for m in MACHINES for k in KERNELS if k != "sigmoid" or m not in ("NuSVC", "OneClassSVM")],
)
def test_two_class_and_regression(machine, kernel, sparse):
    X, y = data_for(machine)
    given = sp.csr_matrix(np.where(np.abs(X) < 0.4, 0.0, X)) if sparse else X
    parameters = {**MACHINES[machine], **KERNELS[kernel], "tol": TOL}
    ours = getattr(widemargin, machine)(**parameters).fit(given, y)
    theirs = getattr(sklearn.svm, machine)(**parameters, max_iter=STEPS).fit(given, y)

    assert ours.certificate_.holds or kernel == "sigmoid"
    mine, reference = verify(ours, given, y), verify(theirs, given, y)
    assert mine.dual == pytest.approx(reference.dual, rel=SAME_OBJECTIVE)
    expected = values_of(theirs, given)
    np.testing.assert_allclose(values_of(ours, given), expected, atol=SAME_VALUE * np.abs(expected).max())
    if machine in ("SVC", "NuSVC"):
        np.testing.assert_array_equal(ours.predict(given), theirs.predict(given))
    assert ours.intercept_.shape == theirs.intercept_.shape
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0] == 1
    assert sp.issparse(ours.dual_coef_) == sp.issparse(theirs.dual_coef_) == sparse
    assert sp.issparse(ours.support_vectors_) == sparse
    assert ours.support_.dtype == theirs.support_.dtype
    assert ours.n_support_.shape == theirs.n_support_.shape
    assert type(ours.n_iter_) is type(theirs.n_iter_)
    assert ours.shape_fit_ == theirs.shape_fit_
    if kernel == "linear":
        expected = theirs.coef_.toarray() if sparse else theirs.coef_
        found = ours.coef_.toarray() if sparse else ours.coef_
        np.testing.assert_allclose(found, expected, atol=SAME_VALUE * np.abs(expected).max())


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("machine", ["SVC", "NuSVC"])
@pytest.mark.parametrize("shape", ["ovo", "ovr"])
def test_many_classes(machine, shape, sparse):
    X, y = load_digits(return_X_y=True)
    X, y, new = X[:300] / 16.0, y[:300], X[300:500] / 16.0
    if sparse:
        X, new = sp.csr_matrix(X), sp.csr_matrix(new)
    parameters = {"tol": TOL, "decision_function_shape": shape, "gamma": 0.1}
    parameters |= {"nu": 0.1} if machine == "NuSVC" else {"C": 3.0}
    ours = getattr(widemargin, machine)(**parameters).fit(X, y)
    theirs = getattr(sklearn.svm, machine)(**parameters).fit(X, y)

    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
    np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(new), atol=2e-4)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    found = ours.dual_coef_.toarray() if sparse else ours.dual_coef_
    expected = theirs.dual_coef_.toarray() if sparse else theirs.dual_coef_
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-4)
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    assert len(ours.certificates_) == 45
    assert verify(ours, X, y).dual == pytest.approx(verify(theirs, X, y).dual, rel=SAME_OBJECTIVE)


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
def test_gamma_means_the_same(gamma):
    X, y = load_iris(return_X_y=True)
    ours = widemargin.SVC(gamma=gamma, tol=TOL).fit(X, y)
    theirs = sklearn.svm.SVC(gamma=gamma, tol=TOL).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.2, 1: 5.0}])
def test_class_weight(class_weight):
    X, y = data_for("SVC")
    ours = widemargin.SVC(class_weight=class_weight, tol=TOL).fit(X, y)
    theirs = sklearn.svm.SVC(class_weight=class_weight, tol=TOL).fit(X, y)
    np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_sample_weight():
    X, y = data_for("SVC")
    weight = np.random.default_rng(1).uniform(0.1, 3.0, len(y))
    ours = widemargin.SVC(gamma=0.1, tol=TOL).fit(X, y, weight)
    theirs = sklearn.svm.SVC(gamma=0.1, tol=TOL).fit(X, y, weight)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("name", ["laplacian", "chi2", "cosine"])
def test_kernels_beyond_those_of_sklearn(name):
    from sklearn.metrics.pairwise import chi2_kernel, cosine_similarity, laplacian_kernel

    X, y = data_for("SVC")
    X = MinMaxScaler().fit_transform(X)
    matrix = {
        "laplacian": lambda: laplacian_kernel(X, gamma=0.5),
        "chi2": lambda: chi2_kernel(X, gamma=0.5),
        "cosine": lambda: cosine_similarity(X),
    }[name]()
    ours = widemargin.SVC(kernel=name, gamma=0.5, tol=TOL).fit(X, y)
    theirs = sklearn.svm.SVC(kernel="precomputed", tol=TOL).fit(matrix, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(matrix), atol=1e-4)


def test_squared_hinge_is_the_hard_margin_on_a_shifted_diagonal():
    X, y = data_for("SVC")
    C = 2.0
    matrix = sklearn.metrics.pairwise.rbf_kernel(X, gamma=0.05)
    ours = widemargin.SVC(loss="squared_hinge", gamma=0.05, C=C, tol=TOL).fit(X, y)
    shifted = sklearn.svm.SVC(kernel="precomputed", C=1e8, tol=TOL).fit(matrix + np.eye(len(y)) / C, y)
    expected = matrix[:, shifted.support_] @ shifted.dual_coef_[0] + shifted.intercept_
    np.testing.assert_allclose(ours.decision_function(X), expected, atol=1e-4)


def test_squared_epsilon_insensitive_without_a_tube_is_kernel_ridge():
    X, y = data_for("SVR")
    C = 2.0
    matrix = sklearn.metrics.pairwise.rbf_kernel(X, gamma=0.05)
    ours = widemargin.SVR(loss="squared_epsilon_insensitive", gamma=0.05, C=C, epsilon=0.0, tol=1e-9).fit(X, y)
    n = len(y)
    system = np.block([[matrix + np.eye(n) / C, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    answer = np.linalg.solve(system, np.append(y, 0.0))
    np.testing.assert_allclose(ours.predict(X), matrix @ answer[:n] + answer[n], atol=1e-6)
