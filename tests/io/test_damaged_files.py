"""Model files whose attributes are of the wrong kind or do not fit together: one sentence each, while loading."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import widemargin
from widemargin import LSSVC, RVC, RVR, SVC, SVR, KernelLMS, KernelPerceptron, KernelRidge, LinearSVC, OneClassSVM
from widemargin.estimators.registry import ESTIMATORS
from widemargin.io import load, read_libsvm, read_table, save
from widemargin.storage.archive import read_archive, write_archive
from widemargin.storage.errors import FileError

DATA = np.random.default_rng(0).normal(size=(24, 3)), np.arange(24) % 3
TWO = DATA[0], (DATA[1] > 0).astype(int)
MODELS = {
    "SVC": lambda: SVC(probability=True).fit(*DATA),
    "LinearSVC": lambda: LinearSVC().fit(*DATA),
    "RVC": lambda: RVC().fit(*TWO),
    "RVR": lambda: RVR().fit(*TWO),
    "SVR": lambda: SVR().fit(*TWO),
    "KernelPerceptron": lambda: KernelPerceptron().fit(*TWO),
    "LSSVC": lambda: LSSVC().fit(*DATA),
    "KernelRidge": lambda: KernelRidge(kernel="rbf").fit(*DATA),
    "KernelLMS": lambda: KernelLMS(max_iter=5, tol=0.9).fit(*DATA),
    "OneClassSVM": lambda: OneClassSVM().fit(DATA[0]),
    "pipeline": lambda: make_pipeline(
        ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", OneHotEncoder(handle_unknown="ignore"), [2])]), SVC()
    ).fit(np.column_stack([DATA[0][:, :2], DATA[1]]), TWO[1]),
}


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Folder with a file of each model."""
    folder = tmp_path_factory.mktemp("originals")
    for name, make in MODELS.items():
        save(make(), folder / f"{name}.model")
    return folder


def fitted(name, value):
    return lambda header, arrays: header["fitted"].__setitem__(name, value)


def array(name, change):
    return lambda header, arrays: arrays.__setitem__(name, change(arrays[name]))


def without(name):
    return lambda header, arrays: header["fitted"].pop(name)


def nan_first(values):
    values = values.copy()
    values.flat[0] = np.nan
    return values


STRINGS = {"kind": "kernel", "text": "Spectrum(k=2)"}
EMPTY_LIST = {"kind": "list", "items": []}
DAMAGES = [
    ("SVC", fitted("classes_", EMPTY_LIST), "two or more different labels"),
    ("SVC", array("classes_", lambda a: np.zeros_like(a)), "two or more different labels"),
    ("SVC", without("classes_"), "a classifier has classes_"),
    ("SVC", array("support_vectors_", nan_first), "support_vectors_ must be samples"),
    ("SVC", array("dual_coef_", nan_first), "finite numbers"),
    ("SVC", array("_probA", lambda a: a[:1]), "3 sigmoids"),
    ("SVC", array("_probB", lambda a: a.astype("S2")), "finite numbers"),
    ("SVC", array("support_", lambda a: -a - 1), "whole numbers, 0 or more"),
    ("SVC", fitted("status_", 3), "a status"),
    ("SVC", fitted("certificate_", "x"), "a certificate"),
    ("SVC", fitted("n_features_in_", "3"), "a whole number above 0"),
    ("SVC", fitted("shape_fit_", 24), "a shape"),
    ("SVC", lambda header, arrays: header.__setitem__("fitted", [1]), "must have names"),
    ("LinearSVC", array("coef_", lambda a: a[:, :2]), "coef_ of shape"),
    ("LinearSVC", array("intercept_", lambda a: a[:1]), "intercept_ must be 3"),
    ("LinearSVC", without("classes_"), "a classifier has classes_"),
    ("RVC", without("_used"), "_used"),
    ("RVC", lambda header, arrays: header["parameters"].__setitem__("kernel", STRINGS), "samples of different kinds"),
    ("RVC", fitted("_used", True), "_used must be a list of vectors"),
    ("RVC", fitted("_models", 5), "_models must be a list"),
    ("RVR", fitted("noise_variance_", "low"), "noise_variance_ must be finite"),
    ("SVR", fitted("probA_", 5), "probA_ must be a vector"),
    ("SVR", fitted("note_", 5), "note_ is unknown"),
    ("KernelLMS", fitted("errors_", 5), "errors_ must be a list"),
    ("KernelPerceptron", fitted("_histories", 5), "_histories must be a list"),
    ("LinearSVC", fitted("_multipliers", 5), "_multipliers must be a list"),
    ("RVC", array("_used", lambda a: a + 2**30), "whole numbers from 0 to"),
    ("RVC", without("relevance_vectors_"), "relevance_vectors_"),
    ("RVC", fitted("_models", EMPTY_LIST), "0 models"),
    ("LSSVC", fitted("_fitted_kernel", 1), "_fitted_kernel must be a kernel"),
    ("LSSVC", array("_coefficients", lambda a: a[:5]), "5 training samples"),
    ("LSSVC", array("intercept_", lambda a: a[:1]), "intercept_ must be finite numbers of shape"),
    ("KernelRidge", fitted("_fitted_kernel", 1), "_fitted_kernel must be a kernel"),
    ("KernelRidge", array("_vectors", lambda a: a[:, :2]), "do not have 3 features"),
    ("KernelLMS", array("dual_coef_", lambda a: a[:2]), "2 training samples"),
    ("OneClassSVM", array("offset_", lambda a: np.concatenate([a, a])), "offset_ must be finite numbers of shape"),
]


@pytest.mark.parametrize(
    ("model", "damage", "sentence"), DAMAGES, ids=lambda part: part if isinstance(part, str) else ""
)
def test_attributes_that_do_not_fit_together_are_refused(tmp_path, originals, model, damage, sentence):
    header, arrays = read_archive(originals / f"{model}.model")
    damage(header, arrays)
    path = tmp_path / "damaged.model"
    write_archive(path, header, arrays)
    with pytest.raises(FileError, match=sentence):
        load(path)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [name for name, entry in ESTIMATORS.items() if entry.in_files])
def test_the_kind_of_every_attribute_is_known(tmp_path, name):
    model = getattr(widemargin, name)()
    if name == "OneClassSVM":
        model.fit(DATA[0])
    else:
        model.fit(*TWO)
    save(model, tmp_path / "a.model")
    assert vars(load(tmp_path / "a.model")).keys() >= {name for name in vars(model) if name.endswith("_")}
    model.note_ = "mine"
    with pytest.raises(FileError, match="note_ is no attribute"):
        save(model, tmp_path / "a.model")


def states_of(tree, kind):
    """The packed states of all transformers of a class in a header."""
    if isinstance(tree, dict) and tree.get("class") == kind:
        yield tree["state"]["items"]
    for value in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from states_of(value, kind)


@pytest.mark.parametrize("lost", ["copy", "scale_"])
def test_a_scaler_without_an_attribute_is_refused(tmp_path, originals, lost):
    header, arrays = read_archive(originals / "pipeline.model")
    for items in states_of(header, "StandardScaler"):
        items[:] = [pair for pair in items if pair[0] != lost]
    write_archive(tmp_path / "damaged.model", header, arrays)
    with pytest.raises(FileError, match=lost):
        load(tmp_path / "damaged.model")


def test_categories_that_are_no_vectors_are_refused(tmp_path, originals):
    header, arrays = read_archive(originals / "pipeline.model")
    for items in states_of(header, "OneHotEncoder"):
        pair = next((pair for pair in items if pair[0] == "categories_"), [None, None])
        pair[1] = {"kind": "list", "items": [EMPTY_LIST]}
    write_archive(tmp_path / "damaged.model", header, arrays)
    with pytest.raises(FileError, match="are no vectors"):
        load(tmp_path / "damaged.model")


def test_undamaged_files_are_loaded(originals):
    for name in MODELS:
        load(originals / f"{name}.model")


def test_labels_of_any_size_are_read_and_predicted(tmp_path):
    rows, table = tmp_path / "a.libsvm", tmp_path / "a.csv"
    label = 99999999999999999999999
    rows.write_text(f"{label} 1:1\n1 1:2\n{label} 2:3\n1 1:4\n")
    table.write_text(f"a,y\n1,{label}\n2,1\n")
    X, y = read_libsvm(rows)
    save(SVC().fit(X, y), tmp_path / "a.model")
    assert load(tmp_path / "a.model").classes_.tolist() == [1.0, float(label)]
    assert read_table(table).columns["y"].tolist() == [float(label), 1.0]
