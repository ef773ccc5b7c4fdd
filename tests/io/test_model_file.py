"""Model files: what is loaded answers as what was saved, and nothing but data is ever read from a file."""

import json
import os
import pickle
import subprocess
import sys
import textwrap
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris
from sklearn.svm import SVC as ScikitLearnSVC

import widemargin
from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from widemargin.io import FileError, load, model_file, save
from widemargin.io.kernel_text import kernel_from_text
from widemargin.io.packing import pack, unpack
from widemargin.kernels import BlockKernel, Gaussian, Linear
from widemargin.storage import archive
from widemargin.storage.archive import read_archive, write_archive

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
    with pytest.raises(FileError, match="holds data, no functions, so kernel=.* cannot be saved"):
        save(SVC(kernel=BlockKernel(lambda a, b: a @ b.T) + Linear()).fit(X, y), tmp_path / "a.model")
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


def test_the_preparation_of_the_data_comes_back_verbatim(tmp_path):
    model = SVC().fit(*BINARY)
    save(model, tmp_path / "a.model")
    assert load(tmp_path / "a.model").preparation_ is None
    model.preparation_ = {"columns": ["age", "sex"], "mean": [0.1, -3], "one_hot": {"sex": ["f", "m", "\u00e4"]}}
    save(model, tmp_path / "a.model")
    assert load(tmp_path / "a.model").preparation_ == model.preparation_
    for wrong in ({"mean": np.zeros(2)}, {1: "a"}, {"a": (1, 2)}, {"a": float("nan")}):
        model.preparation_ = wrong
        with pytest.raises(FileError, match="preparation_ must be a dict of strings"):
            save(model, tmp_path / "b.model")


def test_a_list_of_arrays_keeps_all_of_them():
    arrays = {}
    value = [np.arange(3.0), sp.csr_matrix(np.eye(2)), {"a": np.array(["x"])}, sp.csr_array(np.ones((1, 2)))]
    packed = json.loads(json.dumps(pack("parts_", value, arrays)))
    again = unpack(packed, arrays)
    np.testing.assert_array_equal(again[0], value[0])
    np.testing.assert_array_equal(again[1].toarray(), np.eye(2))
    assert again[2]["a"].tolist() == ["x"]
    np.testing.assert_array_equal(again[3].toarray(), [[1.0, 1.0]])


def test_every_estimator_of_a_file_exists_and_says_what_is_kept():
    for name in model_file.SAVED:
        kind = getattr(widemargin.estimators, name)
        assert kind.__module__.startswith("widemargin.")
        assert all(attribute.startswith("_") for attribute in getattr(kind, "_kept_private", ()))


GOLDEN = Path(__file__).parent / "golden"


def test_files_of_format_version_1_load_for_ever():
    """Written once and never again; whoever changes the format keeps reading them."""
    model = load(GOLDEN / "version-1-svc.model")
    assert model.get_params()["C"] == 3.0
    assert model.classes_.tolist() == ["left", "middle", "right"]
    assert model.feature_names_in_.tolist() == ["height", "width"]
    assert model.preparation_ == {"scale": [1.0, 0.5]}
    assert model.certificate_.holds
    with pytest.warns(UserWarning, match="feature names"):
        values = model.set_params(decision_function_shape="ovo").decision_function([[2.0, 0.5]])
    np.testing.assert_allclose(values, [[-0.35328927526972864, 0.49526804479689324, 0.9212194526087845]], rtol=1e-12)
    tube = load(GOLDEN / "version-1-nusvr.model")
    assert sp.issparse(tube.support_vectors_)
    np.testing.assert_allclose(tube.predict([[1.5, 0.0]]), 2.36752868, rtol=1e-8)


# ---- while the machine dies ----


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed through fork")
def test_kill_9_while_saving_leaves_the_old_file_whole(tmp_path):
    script = """
        import os, signal, sys, zipfile
        import numpy as np
        from widemargin.storage import archive
        path = sys.argv[1]
        def die(*_, **__):
            os.kill(os.getpid(), signal.SIGKILL)
        archive.write_archive(path, {"age": "old"}, {"a": np.zeros(10)})
        for owner, name in ((zipfile.ZipFile, "writestr"), (zipfile.ZipFile, "close"), (os, "fsync"), (os, "replace")):
            child = os.fork()
            if child == 0:
                setattr(owner, name, die)
                archive.write_archive(path, {"age": "new"}, {"a": np.ones(10)})
                os._exit(0)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), archive.read_archive(path)[0]["age"])
        archive.write_archive(path, {"age": "new"}, {"a": np.ones(10)})
    """
    path = tmp_path / "a.model"
    command = [sys.executable, "-c", textwrap.dedent(script), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["-9 old"] * 4
    header, arrays = read_archive(path)
    assert header == {"age": "new"}
    assert arrays["a"].tolist() == [1.0] * 10


# ---- files that are not what they should be ----


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "a.model"
    save(SVC().fit(*IRIS), path)
    return path


def test_damage_anywhere_is_noticed(saved):
    expected = load(saved).decision_function(IRIS[0])
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
        np.testing.assert_array_equal(again.decision_function(IRIS[0]), expected)
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


def test_parameters_of_other_versions(saved):
    rewritten(saved, lambda header, arrays: header["parameters"].pop("time_limit"))
    assert load(saved).time_limit is None
    rewritten(saved, lambda header, arrays: header["parameters"].update(sharpness=1.0))
    with pytest.raises(FileError, match=r"parameter sharpness, which widemargin .* does not know.*--upgrade"):
        load(saved)


def test_files_from_machines_with_the_other_byte_order(saved):
    expected = load(saved).decision_function(IRIS[0])
    rewritten(
        saved, lambda header, arrays: arrays.update({k: v.astype(v.dtype.newbyteorder(">")) for k, v in arrays.items()})
    )
    assert b"'>f8'" in saved.read_bytes()
    np.testing.assert_array_equal(load(saved).decision_function(IRIS[0]), expected)


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
        "Gaussian('a' * 1000000000)",
        "(1, 2) * 1000000000",
        "BlockKernel('os.system')",
    ],
)
def test_kernel_text_is_a_formula_not_a_programme(text):
    with pytest.raises(FileError, match="is not a formula of kernels"):
        kernel_from_text(text)


def test_kernel_text_gives_the_kernel_back():
    kernel = Gaussian(gamma=0.5) * Linear() + 2.0 * Linear()
    assert kernel_from_text(repr(kernel)) == kernel


# ---- hostile files ----


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A saved model, its bytes, and a place for damaged copies, which need not survive a power cut."""
    path = tmp_path_factory.mktemp("hostile") / "a.model"
    save(SVC(gamma=0.5).fit(sp.csr_matrix(IRIS[0][::5]), IRIS[1][::5]), path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield path, path.read_bytes(), path.with_name("damaged.model")


@given(data=st.data())
def test_any_damage_of_the_bytes_is_refused_or_harmless(whole, data):
    _, good, path = whole
    if data.draw(st.booleans()):
        damaged = bytearray(good[: data.draw(st.integers(0, len(good) - 1))])
    else:
        damaged = bytearray(good)
        for _ in range(data.draw(st.integers(1, 8))):
            damaged[data.draw(st.integers(0, len(good) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(damaged)
    load_or_sentence(path)


def load_or_sentence(path):
    """A file gives a model that predicts, or a sentence with its name; never anything else."""
    try:
        model = load(path)
    except FileError as error:
        assert str(path) in str(error)
        return
    with suppress(ValueError, TypeError, AttributeError, IndexError, KeyError):
        model.predict(np.zeros((3, 4)))  # attributes may be nonsense; what matters is that compiled code never sees it


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**40) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["kind", "name", "a"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(data=st.data())
def test_any_change_of_the_header_with_a_right_checksum_is_refused_or_harmless(whole, data):
    good, _, path = whole
    header, arrays = read_archive(good)
    place = header
    while True:  # walk to a random place in the header and put something else there
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(list(keys)))
        if isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
            place = place[key]
        else:
            break
    place[key] = data.draw(JSON_VALUES.filter(lambda value: "nan" not in repr(value) and "inf" not in repr(value)))
    write_archive(path, header, arrays)
    load_or_sentence(path)


@given(data=st.data())
def test_any_other_array_with_a_right_checksum_is_refused_or_harmless(whole, data):
    good, _, path = whole
    header, arrays = read_archive(good)
    name = data.draw(st.sampled_from(sorted(arrays)))
    dtype = data.draw(st.sampled_from([np.float64, np.float32, np.int32, np.int64, np.uint8, bool, "U3", "S2"]))
    size = data.draw(st.integers(0, 6))
    array = np.array(data.draw(st.lists(st.integers(-2, 200), min_size=size, max_size=size))).astype(dtype)
    arrays[name] = array.reshape(data.draw(st.sampled_from([(-1,), (1, -1), (-1, 1)])))
    if data.draw(st.booleans()) and arrays[name].dtype.kind in "if":  # the same size as before, other values
        arrays[name] = np.resize(arrays[name], read_archive(good)[1][name].shape)
    write_archive(path, header, arrays)
    load_or_sentence(path)


def test_files_that_would_unpack_to_more_than_their_size(saved):
    header, arrays = read_archive(saved)
    large = b"\x93NUMPY\x01\x00v\x00" + str({"descr": "<f8", "fortran_order": False, "shape": (10**12,)}).encode()
    members = {archive.HEADER: json.dumps(header).encode(), "arrays/intercept_.npy": large.ljust(127) + b"\n"}
    with zipfile.ZipFile(saved, "w") as zipped:
        for name, data in {**members, archive.CHECKSUM: archive._checksum(members).encode()}.items():
            zipped.writestr(name, data)
    with pytest.raises(FileError, match=r"shape \(1000000000000,\) and type float64 does not fill its 128 bytes"):
        load(saved)
    deep = {archive.HEADER: b"[" * 100_000}
    with zipfile.ZipFile(saved, "w") as zipped:
        for name, data in {**deep, archive.CHECKSUM: archive._checksum(deep).encode()}.items():
            zipped.writestr(name, data)
    with pytest.raises(FileError, match="was not written by widemargin"):
        load(saved)


def test_indices_of_sparse_support_vectors_are_checked(whole):
    good, _, path = whole
    header, arrays = read_archive(good)
    arrays["support_vectors_.indices"] = arrays["support_vectors_.indices"] + 10_000
    write_archive(path, header, arrays)
    with pytest.raises(FileError, match="SVC that does not fit together"):
        load(path)
