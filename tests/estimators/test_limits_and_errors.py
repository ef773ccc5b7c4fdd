"""Limits and wrong input: hard margins, budgets, interrupts, degenerate data, and errors that are sentences."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, Status, verify

pytestmark = pytest.mark.needs_compiler  # too many fits for interpreted code

ALL = [SVC(), NuSVC(nu=0.3), SVR(), NuSVR(), OneClassSVM()]


# ---- hard margin


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_hard_margin_on_separable_data(kernel):
    X, y = make_blobs(80, centers=[[-3, 0], [3, 0]], cluster_std=0.7, random_state=0)
    machine = SVC(C=np.inf, kernel=kernel, tol=1e-6).fit(X, y)
    margin = np.where(y == 1, 1, -1) * machine.decision_function(X)
    assert machine.status_ is Status.OPTIMAL
    assert margin.min() == pytest.approx(1.0, abs=1e-5)
    np.testing.assert_allclose(
        machine.decision_function(X), SVC(C=1e8, kernel=kernel, tol=1e-6).fit(X, y).decision_function(X), atol=1e-4
    )


@pytest.mark.alone
def test_hard_margin_on_inseparable_data_is_a_sentence():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    start = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="[Hh]ard margin"):
        machine = SVC(C=np.inf, kernel="linear").fit(X, y)
    assert time.perf_counter() - start < 20
    assert machine.status_ is Status.UNBOUNDED and machine.fit_status_ == 1
    assert not machine.certificate_.holds


# ---- budgets


def test_max_iter(iris):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        machine = SVC(max_iter=1).fit(*iris)
    assert machine.fit_status_ == 1 and machine.status_ is Status.MAX_ITER
    assert machine.predict(iris[0]).shape == (150,)


@pytest.mark.alone
def test_time_limit_returns_a_model():
    X, y = make_classification(4000, 30, flip_y=0.3, random_state=0)
    machine = SVC(C=1e6, gamma=0.5, kernel="poly", time_limit=0.2, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        machine.fit(X, y)  # compiles
    start = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="time limit"):
        machine.fit(X, y)
    assert time.perf_counter() - start < 5.0
    assert machine.status_ is Status.TIME_LIMIT
    assert np.isfinite(machine.decision_function(X[:10])).all()


@pytest.mark.parametrize("stopping", ["kkt", "gap", "objective"])
def test_stop_rules(stopping, iris):
    X, y = iris
    machine = SVC(stopping=stopping, tol=1e-5).fit(X, y)
    assert machine.certificate_.criterion == stopping and machine.certificate_.holds
    np.testing.assert_allclose(machine.decision_function(X), SVC(tol=1e-8).fit(X, y).decision_function(X), atol=0.05)


INTERRUPTED_FIT = """
import os, signal, sys, threading, time, warnings
from sklearn.datasets import make_classification
from widemargin import SVC, Status
X, y = make_classification(200, 5, random_state=0)
SVC(kernel="poly").fit(X, y)                                  # compiled before the clock starts
X, y = make_classification(6000, 30, flip_y=0.3, random_state=0)
def press():
    time.sleep(0.7)  # the fit takes two seconds
    global pressed
    pressed = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    machine = SVC(C=1e6, gamma=0.5, kernel="poly", tol=1e-12, on_interrupt="keep").fit(X, y)
took = time.perf_counter() - pressed
assert machine.status_ is Status.INTERRUPTED, machine.status_
assert any("interrupted" in str(w.message) for w in caught)
assert machine.certificate_.violation > 0
assert machine.predict(X[:5]).shape == (5,)
print(took)
"""


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_ctrl_c_returns_the_model_so_far():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_FIT], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 5.0  # a round, and one pass over the kernel for the certificate


# ---- input


@pytest.mark.parametrize("machine", ALL, ids=str)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_not_finite(machine, bad, sparse, iris):
    X, y = iris[0].copy(), iris[1]
    X[3, 2] = bad
    with pytest.raises(ValueError, match="contains (NaN|infinity)"):
        machine.fit(sp.csr_matrix(X) if sparse else X, y)
    fitted = machine.fit(*iris)
    with pytest.raises(ValueError, match="contains (NaN|infinity)"):
        fitted.predict(X)


@pytest.mark.parametrize("machine", [SVR(), NuSVR()], ids=str)
def test_targets_not_finite(machine, iris):
    with pytest.raises(ValueError, match="contains NaN"):
        machine.fit(iris[0], np.r_[np.nan, np.ones(149)])


@pytest.mark.parametrize("machine", [SVC(), NuSVC()], ids=str)
def test_one_class_only(machine, iris):
    with pytest.raises(ValueError, match="greater than one; got 1 class"):
        machine.fit(iris[0], np.ones(150))


@pytest.mark.parametrize("machine", ALL, ids=str)
def test_no_samples_or_not_fitted_or_wrong_width(machine, iris):
    with pytest.raises(ValueError, match="0 sample"):
        machine.fit(np.empty((0, 3)), np.empty(0))
    with pytest.raises(NotFittedError):
        type(machine)().predict(iris[0])
    with pytest.raises(ValueError, match="features"):
        machine.fit(*iris).predict(iris[0][:, :2])


def test_targets_that_are_not_classes(iris):
    with pytest.raises(ValueError, match="Unknown label type"):
        SVC().fit(iris[0], iris[0][:, 0])


def test_precomputed_must_be_square(iris):
    with pytest.raises(ValueError, match="square matrix"):
        SVC(kernel="precomputed").fit(*iris)


def test_infeasible_nu(iris):
    y = np.r_[np.zeros(140), np.ones(10)]
    with pytest.raises(ValueError, match="nu is infeasible.*at most 0.13"):
        NuSVC(nu=0.5).fit(iris[0], y)


@pytest.mark.parametrize(
    "wrong",
    [{"C": -1.0}, {"C": 0.0}, {"kernel": "gauss"}, {"tol": 0.0}, {"loss": "logistic"}, {"stopping": "never"}],
    ids=str,
)
def test_wrong_parameters(wrong, iris):
    with pytest.raises(ValueError, match=f"The '{next(iter(wrong))}' parameter of SVC"):
        SVC(**wrong).fit(*iris)


def test_n_jobs_zero(iris):
    with pytest.raises(ValueError, match="n_jobs=0 has no meaning"):
        SVC(n_jobs=0).fit(*iris)


# ---- degenerate data


@pytest.mark.alone
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_two_points_that_hang_elsewhere():
    start = time.perf_counter()
    machine = SVC(kernel="poly", degree=2, gamma=0.5).fit([[1, 99999], [2, 99999]], [0, 1])
    assert time.perf_counter() - start < 20
    assert machine.certificate_ is not None and machine.support_.size <= 2


def test_duplicates_with_opposite_labels():
    X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 4, axis=0)
    machine = SVC(kernel="linear").fit(X, np.tile([0, 1], 4))
    assert machine.certificate_.holds
    np.testing.assert_allclose(machine.decision_function(X), machine.intercept_[0], atol=1e-3)


@pytest.mark.parametrize("machine", [SVC(), NuSVC(nu=0.5), SVR(), NuSVR(), OneClassSVM()], ids=str)
def test_constant_features_and_zero_rows(machine):
    X = np.zeros((12, 3))
    X[:, 1] = 5.0
    y = np.tile([0, 1], 6)
    machine.fit(X, y)
    assert np.isfinite(machine.predict(X)).all() and machine._gamma > 0


def test_one_sample_per_class():
    machine = SVC(kernel="linear").fit([[0.0], [2.0]], ["a", "b"])
    assert machine.predict([[0.5], [1.5]]).tolist() == ["a", "b"]
    assert machine.coef_[0, 0] == pytest.approx(1.0, abs=1e-3)


def test_verbose_fit_is_the_same_fit(iris, capsys):
    X, y = iris
    np.testing.assert_array_equal(SVC(verbose=True).fit(X, y).dual_coef_, SVC().fit(X, y).dual_coef_)
    assert capsys.readouterr().out == ""


def test_number_of_threads_does_not_matter():
    X, y = make_classification(1500, 10, n_classes=3, n_informative=6, random_state=0)
    one, two = SVC(n_jobs=1, tol=1e-6).fit(X, y), SVC(n_jobs=2, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-4)
    assert verify(two, X, y).holds


# ---- data unlike those of the fit


@pytest.mark.parametrize("machine", ALL, ids=str)
@pytest.mark.parametrize("columns", [3, 5])
@pytest.mark.parametrize("given", [np.asarray, sp.csr_matrix, sp.csc_array, list], ids=["dense", "csr", "csc", "list"])
def test_more_or_fewer_features_than_in_fit(machine, columns, given, iris):
    X, y = iris
    name = type(machine).__name__
    for data in (X, sp.csr_matrix(X)):
        fitted = clone(machine).fit(data, y)
        with pytest.raises(ValueError, match=f"X has {columns} features, but {name} is expecting 4 features"):
            fitted.predict(given(np.ones((2, columns))))


@pytest.mark.parametrize("columns", [3, 5])
def test_more_or_fewer_features_for_a_kernel_function(columns, iris):
    machine = SVC(kernel=lambda A, B: np.minimum(A[:, None, :1], B[None, :, :1]).sum(axis=2)).fit(*iris)
    with pytest.raises(ValueError, match=f"X has {columns} features, but SVC is expecting 4 features"):
        machine.predict(np.ones((2, columns)))
    assert machine.predict(iris[0][:2].tolist()).shape == (2,)  # lists become the array the function was given in fit


def test_kernel_matrix_unlike_that_of_the_fit(iris):
    X, y = iris
    K = X @ X.T
    machine = SVC(kernel="precomputed")
    with pytest.raises(TypeError, match=r"Sparse precomputed kernels are not supported.*toarray"):
        machine.fit(sp.csr_matrix(K), y)
    machine.fit(K, y)
    with pytest.raises(TypeError, match="Sparse precomputed kernels"):
        machine.predict(sp.csr_matrix(K))
    for columns in (149, 151):
        with pytest.raises(ValueError, match=f"X has {columns} features, but SVC is expecting 150"):
            machine.predict(np.ones((1, columns)))


def test_dense_and_sparse_mixed(iris):
    X, y = iris
    dense, sparse = SVC(gamma=0.1).fit(X, y), SVC(gamma=0.1).fit(sp.csr_matrix(X), y)
    for machine in (dense, sparse):
        for given in (X, sp.csr_matrix(X), sp.lil_matrix(X)):
            np.testing.assert_allclose(machine.decision_function(given), dense.decision_function(X), atol=1e-6)


def test_kernel_functions_may_return_sparse_matrices(iris):
    X, y = iris
    sparse = SVC(kernel=lambda A, B: A @ B.T).fit(sp.csr_array(X), y)
    dense = SVC(kernel="linear").fit(X, y)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=1e-6)


def test_values_whose_variance_overflows():
    X = 1e308 * np.random.default_rng(0).uniform(size=(10, 2))
    with pytest.raises(ValueError, match="not finite.*variance of X.*overflows.*StandardScaler"):
        SVC().fit(X, np.tile([0, 1], 5))
