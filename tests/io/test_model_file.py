"""Model files: what is loaded answers as what was saved, and nothing but data is ever read from a file."""

import os
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_iris
from sklearn.svm import SVC as ScikitLearnSVC

from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from widemargin.io import FileError, archive, load, save
from widemargin.io.archive import read_archive, write_archive
from widemargin.io.kernel_text import kernel_from_text
from widemargin.kernels import Gaussian, Linear

IRIS = load_iris(return_X_y=True)
BINARY = IRIS[0][:100], IRIS[1][:100]
DIABETES = tuple(part[:120] for part in load_diabetes(return_X_y=True))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize(
    ("model", "data"),
    [
        (SVC(), IRIS),
        (SVC(kernel="poly", degree=2, coef0=1.0, class_weight={0: 2.0, 1: 1.0}), BINARY),
        (SVC(multi_class="ovr", gamma=0.5), IRIS),
        (SVC(kernel="linear", C=np.inf), BINARY),
        (SVC(loss="squared_hinge", stopping="gap", time_limit=60.0), BINARY),
        (SVC(kernel=Gaussian(gamma=0.5) + 2.0 * Linear()), BINARY),
        (NuSVC(nu=0.3), IRIS),
        (SVR(C=10.0), DIABETES),
        (NuSVR(nu=0.4, kernel="linear"), DIABETES),
        (OneClassSVM(nu=0.2), IRIS),
    ],
    ids=lambda value: str(value).replace(" ", "") if not isinstance(value, tuple) else "",
)
def test_a_loaded_model_is_the_saved_one(tmp_path, model, data, sparse):
    X, y = data
    X = sp.csr_matrix(X) if sparse else X
    fitted = model.fit(X) if isinstance(model, OneClassSVM) else model.fit(X, y)
    save(fitted, tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    assert type(again) is type(fitted)
    assert again.get_params() == fitted.get_params()
    assert again.certificate_ == fitted.certificate_
    assert again.status_ is fitted.status_
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    decide = "predict" if isinstance(model, SVR | NuSVR) else "decision_function"
    np.testing.assert_array_equal(getattr(again, decide)(X), getattr(fitted, decide)(X))
    for name, value in vars(fitted).items():
        if name.endswith("_") and isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(again, name), value)
            assert getattr(again, name).dtype == value.dtype
    assert sp.issparse(again.support_vectors_) == sparse


def test_string_labels_feature_names_and_probabilities(tmp_path):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(IRIS[0], columns=["a", "b", "c", "d"])
    y = np.array(["setosa", "versicolor", "virginica"], dtype=object)[IRIS[1]]
    fitted = SVC(probability=True, random_state=0).fit(X, y)
    save(fitted, tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    assert again.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert again.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


def test_precomputed_kernels(tmp_path):
    X, y = BINARY
    K = X @ X.T
    fitted = SVC(kernel="precomputed").fit(K, y)
    save(fitted, tmp_path / "a.model")
    np.testing.assert_array_equal(load(tmp_path / "a.model").decision_function(K), fitted.decision_function(K))


def test_the_same_model_gives_the_same_bytes(tmp_path):
    model = SVC().fit(*BINARY)
    for name in ("a", "b"):
        save(model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_models_that_no_safe_file_can_hold(tmp_path):
    X, y = BINARY
    with pytest.raises(FileError, match="holds data, no functions, so kernel=.* cannot be saved"):
        save(SVC(kernel=lambda a, b: a @ b.T).fit(X, y), tmp_path / "a.model")
    with pytest.raises(FileError, match=r"sklearn\.svm\._classes\.SVC is none"):
        save(ScikitLearnSVC().fit(X, y), tmp_path / "a.model")
    assert os.listdir(tmp_path) == []


def test_a_failed_save_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "a.model"
    save(SVC().fit(*BINARY), path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive.os, "fsync", full)
    with pytest.raises(FileError, match="cannot be written: No space left on device"):
        save(SVC(C=100.0).fit(*BINARY), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.model"]


def test_permissions_are_those_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_text("")
    save(SVC().fit(*BINARY), tmp_path / "a.model")
    assert (tmp_path / "a.model").stat().st_mode == (tmp_path / "plain").stat().st_mode


# ---- files that are not what they should be ----


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "a.model"
    save(SVC().fit(*IRIS), path)
    return path


def test_damage_anywhere_is_noticed(saved):
    whole = saved.read_bytes()
    step = max(1, len(whole) // 60)
    for place in range(0, len(whole), step):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        saved.write_bytes(damaged)
        try:
            again = load(saved)
        except FileError:
            continue
        # Bytes of the zip's own bookkeeping, such as dates, may change without a trace in the model.
        np.testing.assert_array_equal(again.decision_function(IRIS[0]), SVC().fit(*IRIS).decision_function(IRIS[0]))
    saved.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match="is not a widemargin model file, or it is damaged"):
        load(saved)


def rewritten(path, change):
    """Change header or arrays of a file and put a right checksum on it, as someone with bad intentions would."""
    header, arrays = read_archive(path)
    change(header, arrays)
    write_archive(path, header, arrays)


def test_a_file_can_set_fitted_attributes_only(saved):
    rewritten(saved, lambda header, arrays: header["fitted"].update(predict=1))
    with pytest.raises(FileError, match="sets 'predict', which is no fitted attribute"):
        load(saved)


@pytest.mark.parametrize("machine", ["os.system", "Pipeline", "KernelMachine"])
def test_only_machines_are_made(saved, machine):
    rewritten(saved, lambda header, arrays: header.update(machine=machine))
    with pytest.raises(FileError, match="does not hold a widemargin model"):
        load(saved)


def test_shapes_must_fit_together(saved):
    rewritten(saved, lambda header, arrays: arrays.update(dual_coef_=arrays["dual_coef_"][:, 1:]))
    with pytest.raises(FileError, match="which must be as many"):
        load(saved)


def test_newer_formats_ask_for_an_upgrade(saved):
    rewritten(saved, lambda header, arrays: header.update(format_version=99, package_version="9.0"))
    with pytest.raises(FileError, match=r"written by widemargin 9\.0 .* pip install --upgrade widemargin"):
        load(saved)


def test_pickles_and_other_files_are_refused(saved, tmp_path):
    saved.write_bytes(pickle.dumps(SVC()))
    with pytest.raises(FileError, match="is not a widemargin model file"):
        load(saved)
    with zipfile.ZipFile(saved, "w") as other:
        other.writestr("readme.txt", "hello")
    with pytest.raises(FileError, match="is a zip, but not a widemargin model file"):
        load(saved)
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("arrays/x.npy", b"0" * 10_000)
    with pytest.raises(FileError, match="has compressed members"):
        load(saved)
    with pytest.raises(FileError, match="does not exist"):
        load(tmp_path / "missing.model")


def test_objects_in_arrays_are_refused(saved):
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        rewritten(saved, lambda header, arrays: arrays.update(intercept_=np.array([{}], dtype=object)))


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "Gaussian.from_sigma(1.0)",
        "Gaussian(gamma=open('x'))",
        "Samples()",
        "Gaussian(gamma=0.5) ** 2",
        "3.0",
        "(",
        "Gaussian(*[1])",
    ],
)
def test_kernel_text_is_a_formula_not_a_programme(text):
    with pytest.raises(FileError, match="is not a formula of kernels"):
        kernel_from_text(text)


def test_kernel_text_gives_the_kernel_back():
    kernel = Gaussian(gamma=0.5) * Linear() + 2.0 * Linear()
    assert kernel_from_text(repr(kernel)) == kernel
