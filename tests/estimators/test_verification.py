"""verify accepts right answers, ours and scikit-learn's, and rejects changed multipliers, a wrong bias, early stops."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import widemargin
from widemargin import io, verify
from widemargin.kernels import PairKernel

MACHINES = {
    "SVC": {"C": 2.0},
    "NuSVC": {"nu": 0.3},
    "SVR": {"C": 0.5},
    "NuSVR": {"C": 0.5, "nu": 0.4},
    "OneClassSVM": {"nu": 0.3},
}


def data_for(machine):
    if machine in ("SVR", "NuSVR"):
        X, y = load_diabetes(return_X_y=True)
        return X[:60] * 20, y[:60] / 50
    X, y = load_iris(return_X_y=True)
    return X[::3], y[::3]


def fitted(library, machine, **more):
    X, y = data_for(machine)
    return getattr(library, machine)(**MACHINES[machine], **more).fit(X, y), X, y


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("library", [widemargin, sklearn.svm], ids=["ours", "sklearn"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_right_answers_hold(machine, library, kernel):
    model, X, y = fitted(library, machine, kernel=kernel)
    certificate = verify(model, X, y)
    assert certificate.holds, str(certificate)
    assert -1e-12 <= certificate.gap < 0.01
    if library is widemargin:
        assert certificate.violation == pytest.approx(model.certificate_.violation, rel=1e-3, abs=1e-9)
        assert certificate.dual == pytest.approx(model.certificate_.dual, rel=1e-9)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("library", [widemargin, sklearn.svm], ids=["ours", "sklearn"])
def test_a_wrong_bias_shows(machine, library):
    model, X, y = fitted(library, machine)
    model.intercept_ = model.intercept_ + 0.05 * (np.abs(model.intercept_).max() + 1)
    assert not verify(model, X, y).holds


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("library", [widemargin, sklearn.svm], ids=["ours", "sklearn"])
@pytest.mark.parametrize("change", ["shift", "scale", "drop", "shuffle"])
def test_wrong_multipliers_show(machine, library, change):
    model, X, y = fitted(library, machine)
    coefficients = model.dual_coef_.copy()
    if change == "shift":
        coefficients[:, 0] += 0.3
    elif change == "scale":
        coefficients *= 0.9
    elif change == "drop":
        coefficients[:, :3] = 0.0
    else:
        coefficients = coefficients[:, np.random.default_rng(0).permutation(coefficients.shape[1])]
    model.dual_coef_ = coefficients
    assert not verify(model, X, y).holds


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("library", [widemargin, sklearn.svm], ids=["ours", "sklearn"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_early_stop_shows(machine, library):
    model, X, y = fitted(library, machine, max_iter=3)
    certificate = verify(model, X, y)
    assert not certificate.holds
    assert certificate.violation > certificate.tol


@pytest.mark.parametrize("library", [widemargin, sklearn.svm], ids=["ours", "sklearn"])
def test_sparse_weighted_and_precomputed(library):
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, size=150).astype(float)
    model = library.SVC(gamma=0.3).fit(sp.csr_matrix(X), y, sample_weight=weight)
    assert verify(model, sp.csr_matrix(X), y, sample_weight=weight).holds
    assert not verify(model, sp.csr_matrix(X), y, sample_weight=weight + (weight > 0)).holds
    K = X @ X.T
    assert verify(library.SVC(kernel="precomputed").fit(K, y), K, y).holds
    balanced = library.SVC(class_weight={0: 0.3, 1: 4.0}).fit(X, y)
    assert verify(balanced, X, y).holds


def test_ours_in_all_its_forms():
    X, y = load_iris(return_X_y=True)
    for model in (
        widemargin.SVC(multi_class="ovr"),
        widemargin.SVC(loss="squared_hinge"),
        widemargin.NuSVC(nu=0.1, multi_class="ovr", class_weight={1: 2.0}),
        widemargin.SVC(kernel="poly", degree=2, C=10.0),
    ):
        certificate = verify(model.fit(X, y), X, y)
        assert certificate.holds
        assert certificate.violation == pytest.approx(model.certificate_.violation, rel=1e-3, abs=1e-9)
        assert certificate.n_free == model.certificate_.n_free  # also where boxes have no end


@pytest.mark.parametrize("stopping", ["gap", "objective"])
def test_the_criterion_of_the_fit_is_verified(stopping):
    X, y = load_iris(return_X_y=True)
    model = widemargin.SVC(stopping=stopping, tol=1e-2, C=100.0).fit(X, y)
    certificate = verify(model, X, y)
    assert certificate.criterion == model.certificate_.criterion
    assert certificate.holds == model.certificate_.holds
    assert certificate.computed == pytest.approx(model.certificate_.computed, rel=1e-3, abs=1e-9)


def test_a_hard_margin_without_one_class():
    """A class of weight zero has an empty box, also where the others have no bound."""
    X, y = load_iris(return_X_y=True)
    model = widemargin.SVC(kernel="linear", C=np.inf, class_weight={2: 0.0})
    certificate = verify(model.fit(X, y), X, y)
    assert certificate.holds == model.certificate_.holds
    assert certificate.violation == pytest.approx(model.certificate_.violation, abs=1e-6)


@pytest.mark.parametrize("solver", ["adatron", "coordinate"])
@pytest.mark.parametrize(
    "machine",
    [widemargin.SVC(), widemargin.SVC(loss="squared_hinge"), widemargin.SVR()],
    ids=["hinge", "squared hinge", "regression"],
)
def test_machines_with_a_fixed_bias(machine, solver):
    """Their multipliers need not sum to zero, and their bias is tau^2 times the sum: verify asks for that one."""
    X, y = load_iris(return_X_y=True)
    model = clone(machine).set_params(solver=solver).fit(X, y)
    certificate = verify(model, X, y)
    assert certificate.holds and certificate.infeasibility < 1e-9
    assert certificate.violation == pytest.approx(model.certificate_.violation, rel=1e-3)
    assert certificate.dual == pytest.approx(model.certificate_.dual, rel=1e-9)
    assert abs(model.dual_coef_.sum()) > 1e-3  # what a machine with a free bias would call infeasible
    model.intercept_ = model.intercept_ + 0.05
    assert not verify(model, X, y).holds


def test_nu_regression_without_a_tube():
    X = np.linspace(-1, 1, 30)[:, None]
    y = np.r_[np.ones(15), -np.ones(15)] + 0.01 * np.arange(30)
    model = widemargin.NuSVR(nu=1.0, C=0.1, tol=1e-6).fit(X, y)
    assert model.epsilon_ == pytest.approx(0.0, abs=0.2)
    assert verify(model, X, y).holds


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_nu_regression_whose_coefficients_are_tiny_beside_their_multipliers(C):
    """alpha and alpha* are both large; their difference must not drown in the rounding of either."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(33, 97)), rng.normal(size=33)
    model = widemargin.NuSVR(C=C, nu=0.5, kernel="poly", degree=4, gamma=1.0, tol=1e-4).fit(X, y)
    assert model.certificate_.holds
    assert verify(model, X, y, tol=1e-4).holds


def test_tolerance_can_be_asked_for():
    model, X, y = fitted(sklearn.svm, "SVC")
    assert verify(model, X, y).holds
    assert not verify(model, X, y, tol=1e-9).holds


@pytest.mark.parametrize("digits", ["17", "8"])
@pytest.mark.parametrize("machine", MACHINES)
def test_a_model_from_libsvms_file_is_verified(machine, digits, tmp_path):
    """The file holds neither indices of support vectors nor C, and LIBSVM writes features with eight digits."""
    model, X, y = fitted(widemargin, machine, gamma=0.02)
    io.write_libsvm_model(model, tmp_path / "model")
    if digits == "8":
        text = re.sub(r"(?<=:)\S+", lambda number: f"{float(number[0]):.8g}", (tmp_path / "model").read_text())
        (tmp_path / "model").write_text(text)
    read = io.read_libsvm_model(tmp_path / "model")
    given = {name: value for name, value in MACHINES[machine].items() if name != "kernel"}
    read.set_params(tol=1e-3, **given)
    before = read.support_.copy(), read.shape_fit_
    order = np.random.default_rng(0).permutation(len(X))
    again = verify(read, X[order], y[order])
    assert again.holds and again.n_support == model.certificate_.n_support
    assert again.dual == pytest.approx(model.certificate_.dual, rel=1e-6)
    assert np.array_equal(read.support_, before[0]) and read.shape_fit_ == before[1]  # the model is not changed
    with pytest.raises(ValueError, match="A support vector of the model is not among the given samples"):
        verify(read, X + 0.1, y)


def test_a_precomputed_model_from_libsvms_file_is_verified(tmp_path):
    _, X, y = fitted(widemargin, "SVC")
    K = X @ X.T
    model = widemargin.SVC(kernel="precomputed").fit(K, y > 0)
    io.write_libsvm_model(model, tmp_path / "model")
    read = io.read_libsvm_model(tmp_path / "model").set_params(C=1.0)
    assert verify(read, K, y > 0).violation == pytest.approx(model.certificate_.violation, rel=1e-6)


def test_errors_are_sentences():
    model, X, y = fitted(widemargin, "SVC")
    with pytest.raises(ValueError, match="X has 49 samples, but the model was fitted on 50"):
        verify(model, X[1:], y[1:])
    with pytest.raises(ValueError, match="not the samples of X at support_"):
        verify(model, X[::-1], y)
    with pytest.raises(ValueError, match="labels the model does not know"):
        verify(model, X, y + 1)
    with pytest.raises(ValueError, match="y must hold the 50 targets"):
        verify(model, X)
    with pytest.raises(TypeError, match="verify recomputes the certificates of SVC"):
        verify(LogisticRegression(max_iter=1000).fit(X, y), X, y)
    weight = np.ones(50)
    weight[model.support_[0]] = 0
    with pytest.raises(ValueError, match="not among the samples with positive weight"):
        verify(model, X, y, sample_weight=weight)


def test_the_warning_and_the_certificate_say_the_same():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        model = widemargin.SVC(max_iter=2).fit(X, y)
    assert f"{model.certificate_.violation:.3g}" in str(caught[0].message)
    assert verify(model, X, y).violation == pytest.approx(model.certificate_.violation)


@pytest.mark.parametrize("sparse", [sp.csr_matrix, sp.csr_array])
def test_sparse_data_without_support_vectors(sparse, rng):
    X, y = sparse(rng.normal(size=(10, 3))), np.zeros(10)
    model = widemargin.SVR().fit(X, y)
    assert len(model.support_) == 0
    assert verify(model, X, y).holds
    assert model.resume(X, y).certificate_.holds


def test_objects_that_are_not_equal_to_themselves():
    """A kernel decides what a sample is: the string "nan" and a value NaN are as good as any."""
    words, y = ["nan", "inf", "1", "nan", "2", "inf"], [0, 1, 0, 0, 1, 1]
    model = widemargin.SVC(kernel=PairKernel(lambda a, b: float(a == b))).fit(words, y)
    assert verify(model, words, y).holds
    X = np.where(np.eye(6, 3) > 0, np.nan, 1.0)
    model = widemargin.SVC(kernel=PairKernel(lambda a, b: float(np.nansum(a * b)))).fit(X, y)
    assert verify(model, X, y).holds == model.certificate_.holds


def test_a_verified_model_has_no_steps_and_no_seconds_to_show():
    model, X, y = fitted(widemargin, "SVC")
    names = [line.partition("  ")[0] for line in str(verify(model, X, y)).splitlines()]
    assert "support vectors" in names and not {"steps / kernel rows", "seconds"} & set(names)
    assert "seconds" in str(model.certificate_)
