"""The same options give the same machine as LIBSVM's programs: decision values and answers, for all five machines."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_iris

from widemargin.cli.main import main
from widemargin.io import load

svmutil = pytest.importorskip("libsvm.svmutil")

FINE = "-e 0.000001"  # both close to the one optimum, so that their decision values must agree


def decision_values(model, name):
    """LIBSVM's decision values, one column per pair of classes, with positive for our second class."""
    y, x = svmutil.svm_read_problem(name)
    answers, _, values = svmutil.svm_predict(y, x, model, "-q")
    values = np.array(values)
    if model.get_svm_type() in (0, 1) and values.shape[1] == 1:
        values = values if model.get_labels()[0] == max(model.get_labels()) else -values
    return np.array(answers), values


@pytest.mark.parametrize(
    "options",
    [
        "-c 10 -g 0.02",
        "-t 0",
        "-t 1 -d 2 -g 0.05 -r 1",
        "-t 3 -g 0.001",
        "-s 1 -n 0.2 -g 0.02",
        "-s 2 -n 0.1 -g 0.02",
        "-c 2 -g 0.02 -w1 3 -w-1 0.5",
    ],
)
def test_two_classes(cancer, options):
    X, _ = cancer
    not_certified = "-t 3" in options  # the sigmoid is not positive semi-definite on these data
    assert main(["train", "cancer", "-q", *options.split(), *FINE.split()]) == not_certified
    y, x = svmutil.svm_read_problem("cancer")
    answers, values = decision_values(svmutil.svm_train(y, x, f"-q {options} {FINE}"), "cancer")
    model = load("cancer.model")
    np.testing.assert_allclose(model.decision_function(csr_matrix(X)), values[:, 0], atol=2e-4)
    clear = np.abs(values[:, 0]) > 1e-3
    np.testing.assert_array_equal(model.predict(csr_matrix(X))[clear], answers[clear])


@pytest.mark.parametrize("options", ["-s 3 -c 100 -p 5 -t 0", "-s 4 -c 100 -n 0.3 -g 10"])
def test_regression(folder, options):
    X, y = load_diabetes(return_X_y=True)
    dump_svmlight_file(X[:120], y[:120], "diabetes", zero_based=False)
    assert main(["train", "diabetes", "-q", *options.split(), *FINE.split()]) == 0
    y, x = svmutil.svm_read_problem("diabetes")
    answers, _ = decision_values(svmutil.svm_train(y, x, f"-q {options} {FINE}"), "diabetes")
    np.testing.assert_allclose(load("diabetes.model").predict(csr_matrix(X[:120])), answers, atol=2e-2)


def test_three_classes(folder):
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X, y, "iris", zero_based=False)
    assert main(["train", "iris", "-q", "-c", "5", "-g", "0.5", *FINE.split()]) == 0
    y, x = svmutil.svm_read_problem("iris")
    answers, _ = decision_values(svmutil.svm_train(y, x, f"-q -c 5 -g 0.5 {FINE}"), "iris")
    np.testing.assert_array_equal(load("iris.model").predict(csr_matrix(X)), answers)


def test_a_model_of_libsvm_predicts_and_is_verified(cancer, capsys):
    y, x = svmutil.svm_read_problem("cancer")
    theirs = svmutil.svm_train(y, x, "-q -c 10 -g 0.02")
    svmutil.svm_save_model("theirs.model", theirs)
    answers, _ = decision_values(theirs, "cancer")
    assert main(["predict", "cancer", "theirs.model", "-q"]) == 0
    np.testing.assert_array_equal(np.array(capsys.readouterr().out.split(), float), answers)
    assert main(["verify", "theirs.model", "cancer", "-c", "10"]) == 0
    assert "holds" in capsys.readouterr().out
    assert main(["verify", "theirs.model", "cancer", "-c", "10", "-e", "1e-9"]) == 1
    assert main(["verify", "theirs.model", "cancer"]) in (0, 1)
    assert "LIBSVM's file does not say what C was" in " ".join(capsys.readouterr().err.split())
    with open("half", "w") as half, open("cancer") as whole:
        half.writelines(whole.readlines()[:100])
    assert main(["verify", "theirs.model", "half"]) == 2
    assert "not among the given samples" in capsys.readouterr().err


def columns(path):
    """Heading and numbers of a file of answers."""
    first, *lines = Path(path).read_text().splitlines()
    return first, np.array([line.split() for line in lines], float)


@pytest.mark.parametrize("labels", [(2, 1), (-1, 1), (3, 1, 2)], ids=str)
def test_probabilities_in_the_order_of_the_models_labels(folder, labels):
    X, y = load_iris(return_X_y=True)
    rows = np.flatnonzero(y < len(labels))
    X, y = X[rows] + np.random.default_rng(0).normal(size=(len(rows), 4)), np.array(labels)[y[rows]]
    dump_svmlight_file(X, y, "iris", zero_based=False)
    y, x = svmutil.svm_read_problem("iris")
    theirs = svmutil.svm_train(y, x, "-q -b 1")
    svmutil.svm_save_model("theirs", theirs)
    answers, _, probabilities = svmutil.svm_predict(y, x, theirs, "-q -b 1")
    assert main(["predict", "iris", "theirs", "out", "-b", "1", "-q"]) == 0
    heading, found = columns("out")
    assert heading == "labels " + " ".join(map(str, theirs.get_labels()))
    coupling = 1e-5 if len(labels) == 2 else 5e-3  # LIBSVM ends its iteration over pairs of classes early
    clear = np.abs(np.sort(found[:, 1:])[:, -1] - np.sort(found[:, 1:])[:, -2]) > 1e-6
    np.testing.assert_array_equal(found[clear, 0], np.array(answers)[clear])
    np.testing.assert_allclose(found[clear, 1:], np.array(probabilities)[clear], atol=coupling)
    assert main(["convert", "theirs", "again", "--to", "libsvm", "-q"]) == 0
    assert svmutil.svm_load_model("again").get_labels() == theirs.get_labels()


def test_probabilities_of_one_class_and_of_regression(cancer, capsys):
    y, x = svmutil.svm_read_problem("cancer")
    theirs = svmutil.svm_train(y, x, "-q -s 2 -n 0.2 -g 0.02 -b 1")
    svmutil.svm_save_model("theirs", theirs)
    _, _, probabilities = svmutil.svm_predict(y, x, theirs, "-q -b 1")
    assert main(["predict", "cancer", "theirs", "out", "-b", "1", "-q"]) == 0
    heading, found = columns("out")
    assert heading == "label normal outlier"
    np.testing.assert_allclose(found[:, 1:], probabilities, atol=1e-6)
    assert main(["train", "cancer", "-s", "2", "-b", "1", "-o", "ours", "-q"]) == 0
    assert main(["predict", "cancer", "ours", "out", "-b", "1", "-q"]) == 0
    svmutil.svm_save_model("theirs", svmutil.svm_train(y, x, "-q -s 3 -b 1"))
    assert main(["train", "cancer", "-s", "3", "-b", "1", "-o", "ours", "-q"]) == 0
    capsys.readouterr()
    scales = []
    for name in ("theirs", "ours"):
        assert main(["predict", "cancer", name, "out", "-b", "1"]) == 0
        said = capsys.readouterr().err
        assert "z: Laplace distribution e^(-|z|/sigma)/(2sigma), sigma = " in said
        scales.append(float(said.split("sigma = ")[1].split()[0]))
    assert scales[0] == pytest.approx(scales[1], rel=0.15)  # other folds
    assert len(Path("out").read_text().split()) == 200


def test_a_precomputed_model_whose_last_sample_is_no_support_vector(folder):
    X = np.array([[-3.0], [-1.0], [1.0], [3.0], [4.0]])
    y = [-1.0, -1.0, 1.0, 1.0, 1.0]
    lines = [{0: row + 1, **{1 + other: float(value) for other, value in enumerate(values)}}
             for row, values in enumerate(X @ X.T)]  # fmt: skip
    model = svmutil.svm_train(y, lines, "-q -t 4 -c 100")
    assert max(model.get_sv_indices()) < 5
    svmutil.svm_save_model("theirs", model)
    rows = [" ".join(f"{k}:{v!r}" for k, v in line.items()) for line in lines]
    Path("kernel").write_text("".join(f"{label:g} {row}\n" for label, row in zip(y, rows)))
    assert main(["predict", "kernel", "theirs", "out", "-q"]) == 0
    assert [float(word) for word in Path("out").read_text().split()] == svmutil.svm_predict(y, lines, model, "-q")[0]
    assert main(["verify", "theirs", "kernel", "-c", "100", "-q"]) == 0
    assert main(["convert", "theirs", "ours.model", "-q"]) == 0
    assert main(["predict", "kernel", "ours.model", "out", "-q"]) == 0


def rate_of(output):
    """As LIBSVM's grid.py reads the output of svm-train -v: the last word of a line with "Cross", without its end."""
    for line in output.splitlines():
        if line.find("Cross") != -1:
            return float(line.split()[-1][:-1])
    return None


def test_grid_py_finds_the_rate(cancer, capsys):
    assert main(["train", "cancer", "-v", "3"]) == 0
    assert 90 < rate_of(capsys.readouterr().out) <= 100
    assert main(["train", "cancer", "-s", "3", "-v", "3"]) == 0
    error, correlation = capsys.readouterr().out.splitlines()
    assert error.startswith("Cross Validation Mean squared error = 0.")
    assert correlation.startswith("Cross Validation Squared correlation coefficient = 0.")
