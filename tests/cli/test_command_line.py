"""The command line: what the three commands do, what LIBSVM's letters mean, and how it ends when things go wrong."""

import lzma
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as ScikitLearnSVC

import widemargin
from widemargin.cli.machines import make_machine
from widemargin.cli.main import _parser, attach_weight_labels, main
from widemargin.io import load, save


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cancer(folder):
    """A file of two classes, labels -1 and 1."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[:200], np.where(y[:200] == 1, 1, -1)
    dump_svmlight_file(X, y, "cancer", zero_based=False)
    return X, y


def parsed(*arguments):
    return make_machine(_parser().parse_args(attach_weight_labels(["train", "x", *arguments])), verbose=False)


# ---- options ----


@pytest.mark.parametrize("number, name", list(enumerate(["SVC", "NuSVC", "OneClassSVM", "SVR", "NuSVR"])))
def test_machines_have_the_numbers_of_libsvm(number, name):
    assert type(parsed("-s", str(number))) is getattr(widemargin, name)


@pytest.mark.parametrize("number, name", list(enumerate(["linear", "poly", "rbf", "sigmoid", "precomputed"])))
def test_kernels_have_the_numbers_of_libsvm(number, name):
    assert parsed("-t", str(number)).kernel == parsed("--kernel", name).kernel == name


def test_letters_and_words_mean_the_same():
    letters = parsed("-s", "0", "-t", "1", "-c", "2", "-g", "0.5", "-d", "4", "-r", "1", "-e", "0.01", "-m", "50")
    words = parsed(
        *("--machine", "svc", "--kernel", "poly", "--C", "2", "--gamma", "0.5", "--degree", "4"),
        *("--coef0", "1", "--tol", "0.01", "--cache", "50"),
    )
    assert letters.get_params() == words.get_params()
    assert (letters.C, letters.gamma, letters.degree, letters.coef0, letters.tol) == (2.0, 0.5, 4, 1.0, 0.01)
    assert letters.cache_size == 50.0


def test_defaults_are_those_of_svm_train():
    machine = parsed()
    assert (machine.C, machine.kernel, machine.gamma, machine.degree, machine.tol) == (1.0, "rbf", "auto", 3, 1e-3)
    assert parsed("-s", "svr").epsilon == 0.1
    assert parsed("-s", "nusvc").nu == 0.5


def test_more_than_libsvm_has():
    machine = parsed("--loss", "quadratic", "--stopping", "gap", "--time-limit", "5", "-j", "2", "-c", "inf")
    assert (machine.loss, machine.stopping, machine.time_limit) == ("squared_hinge", "gap", 5.0)
    assert (machine.n_jobs, machine.C) == (2, np.inf)


@pytest.mark.parametrize("arguments", [["-w1", "5", "-w-1", "2"], ["-w", "1", "5", "-w", "-1", "2"]])
def test_class_weights_glued_or_apart(arguments):
    assert parsed(*arguments).class_weight == {1.0: 5.0, -1.0: 2.0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-t", "9"], "'9' is unknown, expected 0 linear, 1 poly"),
        (["-s", "svm"], "'svm' is unknown, expected 0 svc"),
        (["-c", "-1"], "-1 is not positive"),
        (["-g", "big"], "'big' is not a number"),
    ],
)
def test_wrong_options_are_usage_errors(arguments, message, capsys):
    with pytest.raises(SystemExit) as end:
        main(["train", "x", *arguments])
    assert end.value.code == 2
    assert message in capsys.readouterr().err


# ---- train, predict, verify ----


def test_train_predict_verify(cancer, capsys):
    X, y = cancer
    assert main(["train", "cancer", "-c", "10", "-g", "0.01"]) == 0
    said = capsys.readouterr().err
    assert "200 samples, 30 features, 2 classes (-1: " in said
    assert "holds" in said
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
        (["train", "torn"], "torn, line 2: 'oops' has no colon"),
        (["train", "cancer", "-o", "nowhere/a.model"], "the folder nowhere does not exist"),
        (["train", "cancer", "-s", "nusvc", "-n", "0.999"], "nu"),
        (["train", "cancer", "-s", "svr", "-w1", "2"], "--weight is for svc and nusvc"),
        (["train", "cancer", "-s", "oneclass", "--loss", "quadratic"], "--loss is for svc and svr"),
        (["train", "cancer", "-w", "one", "2"], "--weight needs two numbers"),
        (["predict", "cancer", "missing.model"], "missing.model does not exist"),
        (["predict", "cancer", "cancer"], "cancer is not a widemargin model file"),
        (["verify", "torn", "cancer"], "torn is not a widemargin model file"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_two(cancer, arguments, message, capsys):
    with open("torn", "w") as torn:
        torn.write("1 1:2\n1 oops\n")
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith("widemargin: ")


def test_verify_wants_the_training_data(cancer, capsys):
    X, y = cancer
    main(["train", "cancer", "-q"])
    dump_svmlight_file(X[:50], y[:50], "fifty", zero_based=False)
    assert main(["verify", "cancer.model", "fifty"]) == 2
    assert "was trained on 200 samples, but fifty has 50" in capsys.readouterr().err


def test_bugs_do_not_show_a_traceback_unless_asked(cancer, monkeypatch, capsys):
    monkeypatch.setattr(widemargin.SVC, "fit", lambda *_: 1 / 0)
    assert main(["train", "cancer", "-q"]) == 2
    assert "ZeroDivisionError: division by zero. This should not happen; --debug shows where" in capsys.readouterr().err
    with pytest.raises(ZeroDivisionError):
        main(["train", "cancer", "-q", "--debug"])


@pytest.mark.parametrize("command", [[], ["train"], ["predict"], ["verify"]])
def test_help_teaches_by_example(command, capsys):
    with pytest.raises(SystemExit) as end:
        main([*command, "--help"])
    assert end.value.code == 0
    assert f"  widemargin {command[0] if command else 'train'} " in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are sent to processes in another way there")
def test_ctrl_c_saves_the_best_model_so_far(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 8))
    dump_svmlight_file(X, rng.choice([-1, 1], 6000), "noise", zero_based=False)  # pure noise at large C: long to fit
    command = [sys.executable, "-m", "widemargin", "train", "noise", "-c", "1e6", "-g", "0.05", "-e", "1e-6"]
    env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(widemargin.__file__)), "PYTHONUNBUFFERED": "1"}
    for _ in range(2):  # compiling counts against the limit: the second run comes to what the first did not reach
        warm_up = subprocess.run([*command, "--time-limit", "3", "-q"], env=env, timeout=120)
        assert warm_up.returncode == 1
        assert load("noise.model").status_ is widemargin.Status.TIME_LIMIT
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    assert process.stderr.readline().startswith("noise: 6,000 samples")
    time.sleep(3.0)  # loading compiled functions, and some rounds
    assert process.poll() is None, "the problem is too easy to be interrupted"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1, said
    assert "The fit was interrupted" in " ".join(said.split())
    model = load("noise.model")
    assert model.status_ is widemargin.Status.INTERRUPTED
    assert model.decision_function(csr_matrix(X[:5])).shape == (5,)
