"""ONNX export: onnxruntime gives our labels and, to rounding, our decision values."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

from widemargin import SVC, SVR, KernelPerceptron, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from widemargin.calibration.sigmoid import probabilities
from widemargin.io import read_libsvm_model, register_with_skl2onnx, to_onnx
from widemargin.kernels import Cosine, Gaussian, Linear

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

X, SPECIES = load_iris(return_X_y=True)
TARGETS = X @ [1.0, -2.0, 0.5, 1.0] + np.random.default_rng(1).normal(scale=0.3, size=150)
NEW = np.abs(X + np.random.default_rng(2).normal(scale=0.5, size=X.shape))
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
BINARY = SPECIES > 0


def run(model, data):
    """The outputs of the exported model by name."""
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": np.asarray(data, np.float64)}), strict=True))


@pytest.mark.parametrize(
    "kernel",
    [
        "linear",
        "poly",
        "rbf",
        "laplacian",
        "chi2",
        "cosine",
        Gaussian(0.2) + 2.0 * Linear() * Gaussian(0.1) + 0.5,
        0.5 * Cosine(),
    ],
    ids=str,
)
@pytest.mark.parametrize("classes", [NAMES, BINARY], ids=["three", "two"])
def test_labels_and_decision_values_of_every_kernel(kernel, classes):
    model = SVC(kernel=kernel, gamma=0.1, degree=3, coef0=0.5).fit(X, classes)
    outputs = run(model, NEW)
    np.testing.assert_array_equal(outputs["label"], model.predict(NEW))
    np.testing.assert_allclose(outputs["decision"], model.decision_function(NEW), atol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # an indefinite kernel
def test_sigmoid_kernel():
    model = SVC(kernel="sigmoid", gamma=0.01, coef0=-0.1).fit(X, NAMES)
    np.testing.assert_allclose(run(model, NEW)["decision"], model.decision_function(NEW), atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        SVC(decision_function_shape="ovo"),
        SVC(break_ties=True),
        SVC(multi_class="ovr"),
        NuSVC(nu=0.1),
    ],
    ids=str,
)
def test_ways_of_several_classes(model):
    model.fit(sp.csr_matrix(X), SPECIES.astype(float))
    outputs = run(model, NEW)
    np.testing.assert_array_equal(outputs["label"], model.predict(NEW))
    np.testing.assert_allclose(outputs["decision"], model.decision_function(NEW), atol=1e-9)
    assert "probabilities" not in outputs


@pytest.mark.parametrize("parameters", [{}, {"multi_class": "ovr"}, {"break_ties": True}], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_probabilities(n_classes, parameters):
    data, y = make_classification(300, 8, n_informative=5, n_classes=n_classes, flip_y=0.4, random_state=n_classes)
    model = SVC(probability=True, random_state=0, C=3.0, **parameters).fit(data[:120], y[:120])
    far = np.concatenate([data, 100.0 * data, np.zeros((1, 8))])
    found, expected = run(model, far)["probabilities"], model.predict_proba(far)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_array_equal(found.argmax(axis=1), expected.argmax(axis=1))
    signed = -model._decision_values(far) if n_classes == 2 else model._decision_values(far)
    first_steps = probabilities(signed, model.probA_, model.probB_, n_classes, model.multi_class)
    assert np.any(first_steps.argmax(axis=1) != expected.argmax(axis=1))  # the last step is part of the graph


@pytest.mark.parametrize("slope", [-1.0, -1e3])
def test_probabilities_of_pairs_that_are_nearly_sure(slope):
    model = SVC(probability=True, random_state=0).fit(X, NAMES)
    model._probA = np.array([slope, 2.0 * slope, 3.0 * slope])  # to 1 - 1e-7, where couple_pairs ends, and cycles
    model._probB = np.array([0.3, -0.2, 0.1])
    np.testing.assert_allclose(run(model, NEW)["probabilities"], model.predict_proba(NEW), atol=1e-9)


@pytest.mark.parametrize("machine", [SVR(), NuSVR()], ids=str)
def test_regression(machine):
    model = machine.fit(X, TARGETS)
    np.testing.assert_allclose(run(model, NEW)["prediction"], model.predict(NEW), atol=1e-9)


def test_one_class_and_precomputed():
    model = OneClassSVM(kernel="precomputed", nu=0.2).fit(X @ X.T)
    outputs = run(model, NEW @ X.T)
    np.testing.assert_array_equal(outputs["label"], model.predict(NEW @ X.T))
    np.testing.assert_allclose(outputs["decision"], model.decision_function(NEW @ X.T), rtol=1e-9, atol=1e-6)


def test_probabilities_of_two_classes():
    model = SVC(probability=True, random_state=0).fit(X[:100:3], SPECIES[:100:3])
    model._probB = model._probB + 1.0  # a sigmoid that crosses 1/2 away from the boundary
    data = np.linspace(X[:50].mean(axis=0), X[50:100].mean(axis=0), 60)
    outputs = run(model, data)
    found, expected = outputs["probabilities"], model.predict_proba(data)
    raw = 1 / (1 + np.exp(-model.probA_ * model.decision_function(data) + model.probB_))
    agree = (raw >= 0.5) == (model.predict(data) == 0)
    assert 0 < agree.sum() < 60
    np.testing.assert_allclose(found[agree], expected[agree], atol=1e-9)
    np.testing.assert_allclose(found[~agree], 0.5)  # as near to the sigmoid as the answer allows
    np.testing.assert_array_equal(outputs["label"], model.predict(data))


@pytest.mark.parametrize("classes", [NAMES, BINARY], ids=["three", "two"])
def test_perceptron(classes):
    model = KernelPerceptron(kernel="rbf", gamma=0.1).fit(X, classes)
    outputs = run(model, NEW)
    np.testing.assert_array_equal(outputs["label"], model.predict(NEW))
    np.testing.assert_allclose(outputs["decision"], model.decision_function(NEW), atol=1e-9)
    with pytest.raises(TypeError, match="A voted perceptron is not one decision function"):
        to_onnx(model.set_params(variant="voted"))


def test_ties_of_votes_and_machines_without_support_vectors(tmp_path):
    path = tmp_path / "m"
    text = "svm_type c_svc\nkernel_type rbf\ngamma 1\nnr_class 3\ntotal_sv 0\n"
    path.write_text(text + "rho -1 1 -1\nlabel 5 1 9\nnr_sv 0 0 0\nSV\n")
    model = read_libsvm_model(path, n_features=2)
    outputs = run(model, np.zeros((2, 2)))
    assert outputs["label"].tolist() == model.predict(np.zeros((2, 2))).tolist() == [5, 5]


def test_the_file_and_what_cannot_be_exported(tmp_path, monkeypatch):
    model = SVC().fit(X, SPECIES)
    exported = to_onnx(model, tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == exported.SerializeToString()
    with pytest.raises(ValueError, match="has no formula in ONNX"):
        to_onnx(SVC(kernel=lambda a, b: a @ b.T).fit(X, SPECIES))
    with pytest.raises(TypeError, match="knows SVC, NuSVC"):
        to_onnx(object())
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'widemargin\[onnx\]'"):
        to_onnx(model)


PEOPLE = pd.DataFrame(
    {"age": [20.0, 31.0, 40.0, 55.0, 61.0, 3.0], "town": ["Oslo", "Rome"] * 3, "rooms": [1, 2, 3] * 2}
)


@pytest.mark.parametrize("columns", [
    [(StandardScaler(), ["age", "rooms"]), (OneHotEncoder(), ["town"])],
    [(OneHotEncoder(handle_unknown="ignore"), [1])],
])  # fmt: skip
def test_a_pipeline_on_named_columns(columns):
    pytest.importorskip("skl2onnx")
    y = ["a", "a", "b", "b", "a", "b"]
    model = make_pipeline(make_column_transformer(*columns), SVC(C=10.0)).fit(PEOPLE, y)
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    kinds = {"age": np.float64, "town": object, "rooms": np.float64}
    given = {entry.name: PEOPLE[[entry.name]].to_numpy(kinds[entry.name]) for entry in session.get_inputs()}
    label, decision = session.run(["label", "decision"], given)
    np.testing.assert_array_equal(label, model.predict(PEOPLE))
    np.testing.assert_allclose(decision, model.decision_function(PEOPLE), atol=1e-9)


def test_steps_that_cannot_be_exported_are_named():
    pytest.importorskip("skl2onnx")
    fill = make_column_transformer((make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["town"]))
    with pytest.raises(ValueError, match="skl2onnx cannot convert ColumnTransformer"):
        to_onnx(make_pipeline(fill, SVC()).fit(PEOPLE, [0, 1] * 3))


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), RobustScaler()], ids=str)
def test_a_scaler_and_a_search(scaler):
    pytest.importorskip("skl2onnx")
    X, y = load_diabetes(return_X_y=True)
    X = 1000.0 * X[:100] + 5000.0
    search = GridSearchCV(make_pipeline(scaler, SVR()), {"svr__C": [1.0, 10.0]}, cv=2).fit(X, y[:100])
    session = onnxruntime.InferenceSession(to_onnx(search).SerializeToString())
    np.testing.assert_allclose(session.run(["prediction"], {"X": X})[0], search.predict(X), rtol=1e-9)


@pytest.mark.parametrize("opset", [15, None])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_through_skl2onnx(n_classes, opset):
    skl2onnx = pytest.importorskip("skl2onnx")
    register_with_skl2onnx()
    data, y = make_classification(120, 6, n_informative=4, n_classes=n_classes, flip_y=0.4, random_state=3)
    y = np.array(["no", "yes", "never", "always"])[y]
    model = make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)).fit(data, y)
    exported = skl2onnx.to_onnx(model, data[:1], options={"zipmap": False}, target_opset=opset)
    session = onnxruntime.InferenceSession(exported.SerializeToString(), providers=["CPUExecutionProvider"])
    labels, found = session.run(None, {"X": data})
    np.testing.assert_array_equal(labels, model.predict(data))
    np.testing.assert_allclose(found, model.predict_proba(data), atol=1e-9)


@pytest.mark.parametrize(
    "model", [SVC(), SVC(kernel="linear"), LinearSVC(), NuSVC(nu=0.1), SVR(), NuSVR(), LinearSVR()], ids=str
)
def test_models_through_skl2onnx(model):
    skl2onnx = pytest.importorskip("skl2onnx")
    register_with_skl2onnx()
    is_regression = type(model).__name__.endswith("SVR")
    model.fit(X, TARGETS if is_regression else SPECIES)
    options = None if is_regression else {"zipmap": False}
    exported = skl2onnx.to_onnx(model, X[:1], options=options, target_opset=15)
    session = onnxruntime.InferenceSession(exported.SerializeToString(), providers=["CPUExecutionProvider"])
    answers, *rest = session.run(None, {"X": NEW})
    np.testing.assert_allclose(np.ravel(answers), model.predict(NEW), atol=1e-9)
    if rest:
        np.testing.assert_allclose(rest[0], model.decision_function(NEW), atol=1e-9)
    elif not is_regression:
        pytest.fail("a classifier has a second output")


def test_what_skl2onnx_cannot_have():
    skl2onnx = pytest.importorskip("skl2onnx")
    register_with_skl2onnx()
    with pytest.raises(TypeError, match="target_opset=15 or higher"):
        skl2onnx.to_onnx(SVC().fit(X, SPECIES), X[:1], target_opset=11)
