"""train, predict and verify: what they do, what they say, and how they end when things go wrong."""

import json
import lzma
import os
import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_iris
from sklearn.svm import SVC as ScikitLearnSVC

import widemargin
from widemargin.cli.main import main
from widemargin.io import load, save

# ---- train, predict, verify ----


def test_train_predict_verify(cancer, capsys):
    X, y = cancer
    assert main(["train", "cancer", "-c", "10", "-g", "0.01"]) == 0
    said = capsys.readouterr().err
    assert "200 samples, 30 features, 2 classes (-1: " in said
    assert "holds" in said
    assert "SVC 100%" in said  # no terminal here: progress comes as plain lines
    reference = ScikitLearnSVC(C=10, gamma=0.01, tol=1e-6).fit(X, y)
    model = load("cancer.model")
    np.testing.assert_allclose(model.decision_function(csr_matrix(X)), reference.decision_function(X), atol=5e-3)

    assert main(["predict", "cancer", "cancer.model"]) == 0
    printed = capsys.readouterr()
    np.testing.assert_array_equal(np.array(printed.out.split(), int), model.predict(csr_matrix(X)))
    right = int((model.predict(csr_matrix(X)) == y).sum())
    assert f"accuracy {right / 200:.4%} ({right} of 200)" in printed.err

    assert main(["verify", "cancer.model", "cancer"]) == 0
    assert "holds" in capsys.readouterr().out


def test_verify_tells_a_wrong_model_by_its_exit_code(cancer, capsys):
    main(["train", "cancer", "-q"])
    model = load("cancer.model")
    model.intercept_ = model.intercept_ + 0.1
    save(model, "cancer.model")
    assert main(["verify", "cancer.model", "cancer"]) == 1
    assert "DOES NOT HOLD" in capsys.readouterr().out


def test_train_that_cannot_be_certified_saves_and_returns_one(cancer, capsys):
    X, y = cancer
    dump_svmlight_file(np.vstack([X, X[:1]]), np.append(y, -y[0]), "torn", zero_based=False)
    assert main(["train", "torn", "-c", "inf", "-t", "linear"]) == 1
    assert "Hard margin (C=inf) needs separable data" in " ".join(capsys.readouterr().err.split())
    assert np.isinf(load("torn.model").C)


def test_regression_one_class_and_many_classes(folder, capsys):
    X, y = load_diabetes(return_X_y=True)
    dump_svmlight_file(X[:150], y[:150], "diabetes", zero_based=False)
    assert main(["train", "-s", "svr", "-c", "100", "-t", "linear", "diabetes", "-q"]) == 0
    assert main(["predict", "diabetes", "diabetes.model", "-o", "answers.txt"]) == 0
    answers = np.loadtxt("answers.txt")
    np.testing.assert_allclose(answers, load("diabetes.model").predict(csr_matrix(X[:150])), rtol=1e-12)
    error = np.mean((answers - y[:150]) ** 2)
    assert f"mean squared error {error:.6g}" in capsys.readouterr().err

    assert main(["train", "-s", "oneclass", "-n", "0.1", "diabetes", "-o", "usual.model", "-q"]) == 0
    assert main(["verify", "usual.model", "diabetes", "-q"]) == 0

    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X, y, "iris", zero_based=False)
    assert main(["train", "iris"]) == 0
    assert "3 classes (0: 50, 1: 50, 2: 50)" in capsys.readouterr().err
    assert main(["verify", "iris.model", "iris"]) == 0


def test_precomputed_kernels_in_libsvm_s_notation(cancer, capsys):
    X, y = cancer
    K = X @ X.T
    dump_svmlight_file(np.column_stack([np.arange(1, 201), K]), y, "matrix", zero_based=True)
    assert main(["train", "-t", "4", "matrix", "-q"]) == 0
    assert main(["verify", "matrix.model", "matrix"]) == 0
    capsys.readouterr()
    assert main(["predict", "matrix", "matrix.model"]) == 0
    reference = ScikitLearnSVC(kernel="precomputed").fit(K, y).predict(K)
    assert np.mean(np.array(capsys.readouterr().out.split(), int) == reference) > 0.99
    assert main(["train", "-t", "4", "cancer"]) == 2
    assert "is not a precomputed kernel" in capsys.readouterr().err


def test_compressed_files_standard_input_and_fewer_or_more_features(cancer, monkeypatch, capsys):
    with open("cancer", "rb") as plain, lzma.open("cancer.xz", "wb") as packed:
        packed.write(plain.read())
    assert main(["train", "cancer.xz", "-q"]) == 0
    assert os.path.exists("cancer.model")
    with open("few", "w") as few:
        few.write("1 1:0.5\n-1 2:0.25 31:7\n")
    assert main(["predict", "few", "cancer.model"]) == 0
    X = np.zeros((2, 30))
    X[0, 0], X[1, 1] = 0.5, 0.25
    given = np.array(capsys.readouterr().out.split(), int)
    np.testing.assert_array_equal(given, load("cancer.model").predict(csr_matrix(X)))
    with open("cancer") as standard_input:
        monkeypatch.setattr(sys, "stdin", standard_input)
        assert main(["train", "-", "-q"]) == 0
    assert os.path.exists("widemargin.model")


def test_quiet_says_nothing(cancer, capsys):
    assert main(["train", "cancer", "-q"]) == 0
    assert main(["verify", "cancer.model", "cancer", "-q"]) == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")


# ---- errors ----


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "missing"], "missing does not exist"),
        (["train", "torn"], "torn, line 2, column 3: 'oops' has no colon"),
        (["train", "cancer", "-o", "nowhere/a.model"], "the folder nowhere does not exist"),
        (["train", "cancer", "-s", "nusvc", "-n", "0.999"], "nu"),
        (["train", "cancer", "-s", "svr", "-w1", "2"], "--weight is for svc and nusvc"),
        (["train", "cancer", "-s", "oneclass", "--loss", "quadratic"], "--loss is for svc and svr"),
        (["train", "cancer", "-w", "1", "two"], "--weight needs a label and a number"),
        (["train", "cancer", "-w", "one", "2"], "no class is called one; there are -1, 1"),
        (["train", "cancer", "--scale", "minmax"], "are for tables (CSV, TSV, Parquet, Arrow): use `widemargin scale`"),
        (["predict", "cancer", "pickled"], "pickled is a pickle, and reading one can run code"),
        (["predict", "cancer", "missing.model"], "missing.model does not exist"),
        (["predict", "cancer", "cancer"], "cancer is not a widemargin model file"),
        (["verify", "torn", "cancer"], "torn is not a widemargin model file"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_two(cancer, arguments, message, capsys):
    with open("torn", "w") as torn:
        torn.write("1 1:2\n1 oops\n")
    with open("pickled", "wb") as pickled:
        pickled.write(b"\x80\x04K\x01.")
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith("widemargin: ")


def test_a_model_in_the_place_of_its_data_is_said(cancer, capsys):
    main(["train", "cancer", "-q"])
    main(["convert", "cancer.model", "cancer.libsvm", "-q"])
    for model in ("cancer.model", "cancer.libsvm"):
        for swapped in (["verify", "cancer", model], ["report", "cancer", model], ["predict", model, "cancer"]):
            assert main(swapped) == 2
            assert f"{model} is a model and cancer is not: they are the wrong way round" in capsys.readouterr().err


def test_a_missing_file_is_named_not_the_other_one(cancer, capsys):
    for command in ("verify", "report", "plot"):
        assert main([command, "cancer", "missing.model"]) == 2
        assert "missing.model does not exist: check the path." in capsys.readouterr().err


def test_verify_wants_the_training_data(cancer, capsys):
    X, y = cancer
    main(["train", "cancer", "-q"])
    dump_svmlight_file(X[:50], y[:50], "fifty", zero_based=False)
    assert main(["verify", "cancer.model", "fifty"]) == 2
    assert "was trained on 200 samples, but fifty has 50" in capsys.readouterr().err


def test_bugs_do_not_show_a_traceback_unless_asked(cancer, monkeypatch, capsys):
    monkeypatch.setattr(widemargin.SVC, "fit", lambda *_: 1 / 0)
    assert main(["train", "cancer", "-q"]) == 3
    assert "ZeroDivisionError: division by zero. This should not happen; --debug shows where" in capsys.readouterr().err
    assert main(["train", "cancer", "-q", "--debug"]) == 3
    assert "Traceback" in capsys.readouterr().err
    assert main(["train", "missing", "--debug"]) == 2
    assert "FileError: missing does not exist" in capsys.readouterr().err


# ---- more ways to say it ----


def test_positional_model_and_answers_as_in_libsvm(cancer, capsys):
    assert main(["train", "-c", "10", "cancer", "mine.model", "-q"]) == 0
    assert main(["predict", "cancer", "mine.model", "answers.txt", "-q"]) == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")
    X, _ = cancer
    np.testing.assert_array_equal(np.loadtxt("answers.txt", int), load("mine.model").predict(csr_matrix(X)))


def test_features_the_model_does_not_know_are_told(cancer, capsys):
    assert main(["train", "cancer", "-q"]) == 0
    with open("more", "w") as more:
        more.write("1 1:0.5 31:7 40:1\n")
    assert main(["predict", "more", "cancer.model"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "more has 40 features, the model was trained on 30: those beyond are ignored" in said


def test_a_model_remembers_where_its_indices_began(folder, capsys):
    with open("zero", "w") as zero:
        zero.write("1 0:1 1:3\n-1 0:-1 1:3\n" * 5)
    assert main(["train", "zero", "-t", "linear", "-q"]) == 0
    with open("new", "w") as new:  # the only feature given is the second: index 1 counts from 0 here too
        new.write("1 1:5\n")
    assert main(["predict", "new", "zero.model", "--decision", "--json"]) == 0
    given = json.loads(capsys.readouterr().out)
    expected = load("zero.model").decision_function(csr_matrix([[0.0, 5.0]]))
    np.testing.assert_allclose(given["decision"], expected[:, None])
    with open("one", "w") as one:
        one.write("1 1:1 2:3\n-1 1:-1 2:3\n" * 5)
    assert main(["train", "one", "-q"]) == 0
    assert main(["predict", "zero", "one.model"]) == 2
    assert "zero has feature 0, but indices were expected to count from 1" in capsys.readouterr().err


def test_probabilities_in_the_layout_of_svm_predict(cancer, capsys):
    X, _ = cancer
    assert main(["train", "cancer", "-b", "1", "-q"]) == 0
    assert main(["predict", "cancer", "cancer.model", "-b", "1", "-q"]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "labels -1 1"
    rows = np.array([line.split() for line in lines], float)
    model = load("cancer.model")
    np.testing.assert_allclose(rows[:, 1:], model.predict_proba(csr_matrix(X)), rtol=1e-12)
    np.testing.assert_array_equal(rows[:, 0], model.predict(csr_matrix(X)))
    assert main(["train", "cancer", "-q"]) == 0
    assert main(["predict", "cancer", "cancer.model", "-b", "1"]) == 2
    assert "gives no probabilities: train it with -b 1" in capsys.readouterr().err


def test_json_is_one_object_and_nothing_else(cancer, capsys):
    X, y = cancer
    assert main(["train", "cancer", "--json"]) == 0
    trained = json.loads(capsys.readouterr().out)
    model = load("cancer.model")
    assert (trained["samples"], trained["features"], trained["model"]) == (200, 30, "cancer.model")
    assert trained["certificate"]["violation"] == model.certificate_.violation
    assert trained["certificate"]["holds"] is True
    assert main(["predict", "cancer", "cancer.model", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)
    assert answers["answers"] == model.predict(csr_matrix(X)).tolist()
    assert answers["accuracy"] == model.score(csr_matrix(X), y)
    assert main(["verify", "cancer.model", "cancer", "--json", "-e", "1e-9"]) == 1
    assert json.loads(capsys.readouterr().out)["certificate"]["holds"] is False
    assert main(["predict", "cancer", "missing", "--json"]) == 2
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"error": "missing does not exist: check the path.", "exit_code": 2}


def test_a_model_in_full_agreement_with_the_python_api(cancer):
    X, y = cancer
    assert main(["train", "cancer", "-c", "3", "-g", "0.02", "-w1", "2", "-q"]) == 0
    ours = widemargin.SVC(C=3, gamma=0.02, class_weight={1: 2.0}).fit(csr_matrix(X), y)
    np.testing.assert_allclose(
        load("cancer.model").decision_function(csr_matrix(X)), ours.decision_function(csr_matrix(X)), atol=1e-9
    )
    assert load("cancer.model").verbose is False


def test_train_goes_on_from_a_checkpoint(cancer, capsys, monkeypatch):
    from widemargin.training import checkpoint

    train = ["train", "cancer", "-c", "100", "--checkpoint", "parts"]
    with monkeypatch.context() as as_if_killed:
        as_if_killed.setattr(checkpoint, "EVERY", 0.0)
        as_if_killed.setattr(checkpoint.Checkpoint, "end", lambda file, answers: None)
        assert main(train) == 0
    assert len(os.listdir("parts")) == 1
    steps = load("cancer.model").n_iter_[0]
    assert main(train) == 0
    assert steps > 100 and load("cancer.model").n_iter_[0] == 0  # the file had the whole answer
    assert not os.listdir("parts") and load("cancer.model").checkpoint is None
    assert main(["train", "cancer", "-v", "3", "--checkpoint", "parts"]) == 2
    assert "--checkpoint is for training" in capsys.readouterr().err
    assert main(["train", "cancer", "--checkpoint", "cancer"]) == 2
    assert "cannot be made a folder" in capsys.readouterr().err
