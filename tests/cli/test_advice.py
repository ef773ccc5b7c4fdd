"""What `train` says at the end: agreement with the training data, labelled so, and one line of advice."""

import json
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_diabetes, make_classification

from widemargin import SVC, SVR
from widemargin.cli import advice
from widemargin.cli.main import main
from widemargin.io import load

CONSTANT = "hardly better than a constant answer"


def trained(capsys, *arguments):
    """The last lines and the facts of a training."""
    assert main(["train", *arguments]) == 0
    said = capsys.readouterr().err.splitlines()
    assert main(["train", *arguments, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    return said, facts["training"], facts["advice"]


def test_accuracy_is_that_of_the_training_data_and_labelled_so(cancer, capsys):
    X, y = cancer
    said, training, advised = trained(capsys, "cancer")
    right = int(np.sum(load("cancer.model").predict(csr_matrix(X)) == y))
    assert training == {"accuracy": right / 200, "right": right, "samples": 200}
    assert f"training accuracy {right / 200:.4%} ({right} of 200); for new data: `widemargin cv`" in said
    assert (
        said[-1] == f"advice: {advised}" == "advice: trained with defaults: `widemargin cv --grid` searches C and gamma"
    )
    assert trained(capsys, "cancer", "-c", "2")[2] is None


def test_a_part_of_many_samples_is_enough_and_said(cancer, monkeypatch, capsys):
    monkeypatch.setattr(advice, "MOST_SAMPLES", 50)
    said, training, _ = trained(capsys, "cancer")
    assert training["samples"] == 50
    assert any("of 50), from 50 of 200 samples; for new data" in line for line in said)


def test_no_advice_nor_accuracy_where_there_is_none(cancer, capsys):
    assert trained(capsys, "cancer", "-s", "oneclass")[1:] == ({}, None)
    K = np.column_stack([np.arange(1, 201), cancer[0] @ cancer[0].T])
    dump_svmlight_file(K, cancer[1], "matrix", zero_based=True)
    said, training, advised = trained(capsys, "matrix", "-t", "precomputed")
    assert training["samples"] == 200
    assert advised == "trained with defaults: `widemargin cv --grid` searches C"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["raw"], "feature 24 spans 4,069, a typical feature 0.467: `widemargin scale` it first"),
        (["raw.csv", "--target", "y"], "'area' spans 2,358, a typical feature 0.326: --scale standard"),
        (["raw.npz"], "feature 24 spans 4,069, a typical feature 0.467: scale the features first"),
        (["cancer", "-c", "1e-6"], f"{CONSTANT}: `widemargin cv --grid` searches C and gamma"),
        (["cancer", "-c", "1e-6", "-t", "linear"], f"{CONSTANT}: `widemargin cv --grid` searches C"),
        (["cancer", "-s", "nusvc", "-g", "50"], "gamma may be too large: try other nu and gamma"),
        (["diabetes", "-s", "svr", "-c", "0.1"], f"{CONSTANT}: `widemargin cv --grid` searches C and gamma"),
        (["cancer", "-g", "50"], "nearly all samples are support vectors, gamma may be too large: `widemargin cv"),
        (["diabetes"], "different labels of 100 samples: this looks like regression, -s svr"),
    ],
)
def test_advice(cancer, folder, arguments, expected, capsys):
    X, y = load_breast_cancer(return_X_y=True)
    dump_svmlight_file(X, y, "raw", zero_based=False)
    np.savez("raw.npz", X=X, y=y)
    lines = [",".join(map(str, row)) for row in np.column_stack([X[:, 3:6], y.astype(int)])]
    (folder / "raw.csv").write_text("\n".join(["area,smooth,compact,y", *lines]) + "\n")
    X, y = load_diabetes(return_X_y=True)
    dump_svmlight_file(X[:100], y[:100], "diabetes", zero_based=False)
    said, _, advised = trained(capsys, *arguments)
    assert expected in advised
    assert said[-1] == f"advice: {advised}"


def test_what_a_training_cut_short_does_is_no_reason_for_advice(cancer):
    data = SimpleNamespace(X=cancer[0], preparation=None)
    options = SimpleNamespace(kernel="rbf", scale="none", C=2.0, gamma="auto")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = SVC(max_iter=1).fit(*cancer)
    agreed = {"accuracy": 0.5}
    assert advice.advice(machine, data, cancer[1], options, agreed) is None
    machine.set_params(max_iter=-1).fit(*cancer)
    assert advice.advice(machine, data, cancer[1], options, agreed).startswith(CONSTANT)


def test_labels_of_many_classes_are_not_taken_for_numbers():
    X, y = make_classification(600, 10, n_informative=8, n_classes=26, n_clusters_per_class=1, random_state=0)
    assert advice.looks_like_regression(SVC(), y) is None
    assert advice.looks_like_regression(SVC(), np.arange(600)) is not None
    assert advice.looks_like_regression(SVC(), np.arange(600).astype(str)) is None
    assert advice.looks_like_regression(SVR(), np.arange(600.0)) is None
    assert advice.looks_like_regression(SVC(), np.array([1, 2, 3])) is None
