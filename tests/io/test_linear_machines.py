"""Linear machines in files and in other libraries: weights instead of support vectors."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import load_iris

from widemargin.io import from_sklearn, load, save, to_onnx, to_sklearn
from widemargin.report import write_report

linear = pytest.importorskip("widemargin.estimators")

X, SPECIES = load_iris(return_X_y=True)
X = X - X.mean(axis=0)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
CASES = {
    "two": (linear.LinearSVC(), X[:100], NAMES[:100]),
    "three": (linear.LinearSVC(C=0.1), X, NAMES),
    "regression": (linear.LinearSVR(C=0.1), X, X @ [1.0, -2.0, 0.5, 1.0] + 3.0),
}


def values(model, data):
    """Decision values, or predictions of a regression."""
    return model.decision_function(data) if hasattr(model, "decision_function") else model.predict(data)


@pytest.mark.parametrize("name", CASES)
def test_files_and_scikit_learn(tmp_path, name):
    machine, data, y = CASES[name]
    model = machine.fit(data, y)
    save(model, tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    assert again.certificate_ == model.certificate_
    np.testing.assert_array_equal(values(again, X), values(model, X))
    theirs = to_sklearn(model)
    assert type(theirs) is getattr(sklearn.svm, type(model).__name__)
    np.testing.assert_allclose(values(theirs, X), values(model, X), atol=1e-12)
    np.testing.assert_array_equal(theirs.predict(X[:9]), model.predict(X[:9]))
    back = from_sklearn(theirs)
    assert type(back) is type(model)
    np.testing.assert_array_equal(values(back, X), values(model, X))


@pytest.mark.parametrize("name", CASES)
def test_onnx(name):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    machine, data, y = CASES[name]
    model = machine.fit(data, y)
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"])
    if name == "regression":
        np.testing.assert_allclose(session.run(["prediction"], {"X": X})[0], model.predict(X), atol=1e-9)
        return
    label, decision = session.run(["label", "decision"], {"X": X})
    np.testing.assert_array_equal(label, model.predict(X))
    np.testing.assert_allclose(decision, model.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_report(tmp_path, name):
    machine, data, y = CASES[name]
    text = write_report(machine.fit(data, y), data, y, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "How close to the optimum" in text
    assert "Support vectors</h2>" not in text
