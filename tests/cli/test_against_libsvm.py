"""The same options give the same machine as LIBSVM's programs: decision values and answers, for all five machines."""

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
    assert main(["train", "cancer", "-q", *options.split(), *FINE.split()]) == 0
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
