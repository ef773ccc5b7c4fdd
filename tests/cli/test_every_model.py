"""Every estimator x every command that opens a model: an answer, or a sentence with the documented exit code."""

import functools
import re
import warnings

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
REGRESSIONS = ("SVR", "NuSVR", "LinearSVR", "KernelRidge", "LSSVR", "KernelLMS", "RVR")

NO_VERIFY = "verify recomputes the certificates of SVC"
NO_ONNX = "ONNX export knows SVC"
#: What is refused: command -> (estimators, the sentence).
REFUSED = {
    "predict d {m} out": ((), ""),
    "predict d {m} out --decision": (REGRESSIONS, "A regression has no decision values"),
    "predict d {m} out -b 1": ([m for m in MODELS if m not in ("RVC", "OneClassSVM")], "gives no probabilities"),
    "verify {m} d": ([m for m in MODELS if m not in (*LIBSVM_TYPES, "Pipeline")], NO_VERIFY),
    "report {m} d -o r.html": ((), ""),
    "plot {m} d -o p.png": ((), ""),
    "convert {m} c.model": ((), ""),
    "convert {m} c.libsvm": ([m for m in MODELS if m not in LIBSVM_TYPES], "LIBSVM has SVC"),
    "convert {m} c.pkl": ([m for m in MODELS if m not in SKLEARN_COUNTERPARTS], "Expected a fitted SVC"),
    "convert {m} c.onnx": (
        [m for m in MODELS if m not in (*SKLEARN_COUNTERPARTS, "KernelPerceptron", "Pipeline")], NO_ONNX
    ),
}  # fmt: skip


def samples():
    X = np.random.default_rng(0).normal(size=(30, 2))
    return X, np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1, -1)


@functools.cache
def fitted(name):
    if name == "Pipeline":
        return make_pipeline(StandardScaler(), widemargin.SVC()).fit(*samples())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(widemargin, name)().fit(*samples())


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("command", REFUSED)
def test_an_answer_or_a_sentence(folder, capsys, name, command):
    X, y = samples()
    if name == "Pipeline":  # a scaler shifts dense data only
        np.savez("d.npz", X=X, y=y)
        command_line = re.sub(r"\bd\b", "d.npz", command)
    else:
        dump_svmlight_file(X, y, "d", zero_based=False)
        command_line = command
    save(fitted(name), name)
    estimators, sentence = REFUSED[command]
    code = main(command_line.format(m=name).split())
    said = capsys.readouterr().err
    assert code == (2 if name in estimators else 0), said
    assert sentence in said or name not in estimators
    assert "should not happen" not in said
