"""Every estimator x every command that opens a model: an answer, or a sentence with the documented exit code."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import widemargin
from widemargin.cli.main import main
from widemargin.estimators.registry import ESTIMATORS, LIBSVM_TYPES, SKLEARN_COUNTERPARTS
from widemargin.io import save

MODELS = [name for name, entry in ESTIMATORS.items() if entry.in_files] + ["Pipeline"]
REGRESSIONS = ("SVR", "SVRCV", "NuSVR", "LinearSVR", "KernelRidge", "LSSVR", "KernelLMS", "RVR")

TUNED = ("SVCCV", "SVRCV")  # as the SVC and SVR they are

NO_VERIFY = "verify recomputes the certificates of SVC"
NO_ONNX = "ONNX export knows SVC"
#: What is refused: command -> (estimators, the sentence).
REFUSED = {
    "predict d {m} out": ((), ""),
    "predict d {m} out --decision": (REGRESSIONS, "A regression has no decision values"),
    "predict d {m} out -b 1": ([m for m in MODELS if m not in ("RVC", "OneClassSVM")], "gives no probabilities"),
    "verify {m} d": ([m for m in MODELS if m not in (*LIBSVM_TYPES, *TUNED, "Pipeline")], NO_VERIFY),
    "report {m} d -o r.html": ((), ""),
    "plot {m} d -o p.png --dpi 20": ((), ""),
    "info {m}": ((), ""),
    "convert {m} c.model": ((), ""),
    "convert {m} c.libsvm": ([m for m in MODELS if m not in (*LIBSVM_TYPES, *TUNED)], "LIBSVM has SVC"),
    "convert {m} c.pkl": ([m for m in MODELS if m not in (*SKLEARN_COUNTERPARTS, *TUNED)], "Expected a fitted SVC"),
    "convert {m} c.onnx": (
        [m for m in MODELS if m not in (*SKLEARN_COUNTERPARTS, *TUNED, "KernelPerceptron", "Pipeline")], NO_ONNX
    ),
}  # fmt: skip


OUTPUTS = {"report": "r.html", "plot": "p.png"}


def samples():
    X = np.random.default_rng(0).normal(size=(30, 2))
    return X, np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1, -1)


def fitted(name):
    if name == "Pipeline":
        return make_pipeline(StandardScaler(), widemargin.SVC()).fit(*samples())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(widemargin, name)().fit(*samples())


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The samples as text, and for a pipeline, whose scaler shifts dense data only, as arrays."""
    folder = tmp_path_factory.mktemp("data")
    X, y = samples()
    dump_svmlight_file(X, y, str(folder / "d"), zero_based=False)
    np.savez(folder / "d.npz", X=X, y=y)
    return folder


def output_of(words):
    if words[0] in ("predict", "convert"):
        return Path(words[3 if words[0] == "predict" else 2])
    return Path(OUTPUTS[words[0]]) if words[0] in OUTPUTS else None


@pytest.mark.parametrize("name", MODELS)
def test_an_answer_or_a_sentence(folder, data, capsys, name):
    model = fitted(name)
    save(model, name)
    given = str(data / ("d.npz" if name == "Pipeline" else "d"))
    for command, (estimators, sentence) in REFUSED.items():
        words = [given if word == "d" else word for word in command.format(m=name).split()]
        output = output_of(words)
        if output is not None:
            output.unlink(missing_ok=True)
        code = main(words)
        said = capsys.readouterr().err
        assert code == (2 if name in estimators else 0), (command, said)
        assert sentence in said or name not in estimators, (command, said)
        assert "should not happen" not in said
        if output is not None:
            assert output.exists() == (name not in estimators), command
        if command == "predict d {m} out":
            np.testing.assert_allclose(np.loadtxt("out"), model.predict(samples()[0]), rtol=1e-9)
