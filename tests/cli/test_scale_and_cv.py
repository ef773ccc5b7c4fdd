"""Scaling as svm-scale does it, cross-validation and grids as scikit-learn finds them."""

import json
import signal
import time

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file, load_diabetes
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC as ScikitLearnSVC

import widemargin
from widemargin.cli.main import main
from widemargin.io import read_libsvm
from widemargin.model_selection.one_cell import OpenCell

# ---- scale ----


def test_scaling_to_a_range_and_the_same_for_another_file(folder, capsys):
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(30, 4)), rng.normal(size=(10, 4))
    dump_svmlight_file(X, np.ones(30), "x", zero_based=False)
    dump_svmlight_file(Z, np.ones(10), "z", zero_based=False)
    scaler = MinMaxScaler((-1, 1)).fit(X)
    assert main(["scale", "x", "-s", "ranges", "-o", "x.scaled"]) == 0
    np.testing.assert_allclose(read_libsvm("x.scaled")[0].toarray(), scaler.transform(X), atol=1e-14)
    assert main(["scale", "z", "-r", "ranges"]) == 0
    (folder / "z.scaled").write_text(capsys.readouterr().out)
    np.testing.assert_allclose(read_libsvm("z.scaled")[0].toarray(), scaler.transform(Z), atol=1e-14)


def test_zeros_left_out_count_and_single_valued_features_go(folder, capsys):
    (folder / "x").write_text("1 1:2 3:5\n2 1:4 3:5\n3 3:5\n")
    assert main(["scale", "x", "-s", "ranges", "-l", "0"]) == 0
    assert capsys.readouterr().out == "1 1:0.5\n2 1:1\n3\n"
    assert (folder / "ranges").read_text() == "x\n0 1\n1 0 4\n"
    assert main(["scale", "x"]) == 0  # in [-1, 1] the zero of the third line becomes -1
    assert capsys.readouterr().out == "1\n2 1:1\n3 1:-1\n"


def test_labels_and_ranges_of_svm_scale(folder, capsys):
    (folder / "x").write_text("10 1:1 2:7\n20 1:3\n")
    assert main(["scale", "x", "-y", "0", "1", "-s", "ranges"]) == 0
    assert capsys.readouterr().out == "0 1:-1 2:1\n1 1:1 2:-1\n"
    assert (folder / "ranges").read_text() == "y\n0 1\n10 20\nx\n-1 1\n1 1 3\n2 0 7\n"
    (folder / "theirs").write_text(
        "x\n-1.0000000000000000 1.0000000000000000\n1 1.0000000000000000 3.0000000000000000\n"
    )
    assert main(["scale", "x", "-r", "theirs"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "10 1:-1\n20 1:1\n"
    assert "Features that theirs does not know are left out, such as 2" in printed.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-l", "1", "-u", "0"], "-l must be below -u"),
        (["-s", "a", "-r", "b"], "give one of them"),
        (["-r", "broken"], "broken, line 3: expected 3 numbers"),
        (["-r", "x"], "x, line 1: expected 'x': this is no file of ranges"),
        (["--json"], "needs a file: say -o OUT"),
    ],
)
def test_scale_errors(folder, arguments, message, capsys):
    (folder / "x").write_text("1 1:1\n2 1:2\n")
    (folder / "broken").write_text("x\n-1 1\n1 2\n")
    assert main(["scale", "x", *arguments]) == 2
    assert message in capsys.readouterr().err


# ---- cv ----


def test_cross_validation_equals_scikit_learn_s(cancer, capsys):
    X, y = cancer
    parts = StratifiedKFold(4, shuffle=True, random_state=0)
    expected = cross_val_predict(ScikitLearnSVC(C=5, gamma=0.05, tol=1e-6), X, y, cv=parts)
    for arguments in (["cv", "cancer", "-v", "4"], ["train", "cancer", "-v", "4"]):
        assert main([*arguments, "-c", "5", "-g", "0.05", "-e", "1e-6", "--json"]) == 0
        given = json.loads(capsys.readouterr().out)
        assert given["right"] == np.sum(expected == y)
    assert main(["cv", "cancer", "-v", "4", "-c", "5", "-g", "0.05"]) == 0
    assert f"accuracy {np.mean(expected == y):.4%}" in capsys.readouterr().out


def test_cross_validation_of_a_regression_and_of_one_class(folder, cancer, capsys):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:100], y[:100]
    dump_svmlight_file(X, y, "diabetes", zero_based=False)
    assert main(["cv", "diabetes", "-s", "svr", "-t", "linear", "-c", "100", "-v", "3", "--json"]) == 0
    machine = widemargin.SVR(kernel="linear", C=100)
    expected = cross_val_predict(machine, csr_matrix(X), y, cv=KFold(3, shuffle=True, random_state=0))
    given = json.loads(capsys.readouterr().out)
    assert given["mean_squared_error"] == pytest.approx(np.mean((expected - y) ** 2))
    assert main(["cv", "cancer", "-s", "oneclass", "-n", "0.1", "--json"]) == 0
    assert 0 < json.loads(capsys.readouterr().out)["accuracy"] < 1


def test_a_grid_finds_the_best_pair(cancer, capsys):
    X, y = cancer
    assert main(["cv", "cancer", "--grid", "--log2c", "-3,5,4", "--log2g", "-9,-1,4", "-v", "3", "--json"]) == 0
    given = json.loads(capsys.readouterr().out)
    parts = StratifiedKFold(3, shuffle=True, random_state=0)

    def score(C, gamma):
        return np.mean(cross_val_predict(ScikitLearnSVC(C=C, gamma=gamma), X, y, cv=parts) == y)

    scores = [[score(C, gamma) for gamma in given["gamma"]] for C in given["C"]]
    np.testing.assert_allclose(given["scores"], scores, atol=1.5 / 200)  # a sample on the boundary may fall either way
    assert given["score"] == np.max(given["scores"])
    row, column = given["C"].index(given["best"]["C"]), given["gamma"].index(given["best"]["gamma"])
    assert given["scores"][row][column] == given["score"]
    assert main(["cv", "cancer", "--grid", "-t", "linear", "--log2c", "-3,1,2", "-v", "3"]) == 0
    assert "best: -c " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-v", "500"], "cancer has 200 samples: fewer than the 500 parts"),
        (["--grid", "-s", "nusvc"], "--grid is for machines with C"),
    ],
)
def test_cv_errors(cancer, arguments, message, capsys):
    assert main(["cv", "cancer", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_ctrl_c_ends_all_fits_of_a_cross_validation(cancer, monkeypatch, capsys):
    fits, press_at = [], 1
    fit = widemargin.SVC._fit

    def interrupted(self, *arguments):
        fits.append(fit(self, *arguments))
        if len(fits) == press_at:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(widemargin.SVC, "_fit", interrupted)
    assert main(["cv", "cancer"]) == 130
    assert len(fits) == 1
    assert "interrupted" in capsys.readouterr().err


def test_ctrl_c_in_a_grid_shows_the_pairs_that_are_done(cancer, monkeypatch, capsys):
    solved, press_at, note = [], 1, OpenCell.note

    def interrupted(self, *arguments):
        solved.append(self)
        if len(solved) == press_at:
            signal.raise_signal(signal.SIGINT)
        if len(solved) >= press_at:
            time.sleep(0.05)  # handlers run in the main thread, when it gets its turn
        return note(self, *arguments)

    monkeypatch.setattr(OpenCell, "note", interrupted)
    grid = ["cv", "cancer", "--grid", "--log2c", "-3,5,4", "--log2g", "-9,-1,4", "-v", "3"]
    assert main(grid) == 130
    assert "interrupted" in capsys.readouterr().err
    solved.clear()
    press_at = 17  # all three C of the first gamma are done on three folds
    assert main(grid) == 130
    out, err = capsys.readouterr()
    assert "Interrupted after " in err and " of 9 pairs" in err
    assert "best: -c " in out and 4 <= out.count("%") < 10  # the pairs that are done, and the best again
    solved.clear()
    assert main([*grid, "--json"]) == 130
    given = json.loads(capsys.readouterr().out)
    assert 3 <= np.count_nonzero(np.array(given["scores"], float) >= 0) < 9 and "Interrupted" in given["notes"][0]


@pytest.mark.parametrize("lower", [-1.0, 0.0])
def test_wide_sparse_files_are_scaled_as_dense_ones(folder, lower):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 300)) * (rng.random((25, 300)) < 0.05)
    dump_svmlight_file(X, np.ones(25), "x", zero_based=False)
    assert main(["scale", "x", "-o", "scaled", "-q", "-l", str(lower)]) == 0
    expected = MinMaxScaler((lower, 1)).fit_transform(X)
    expected[:, np.ptp(X, axis=0) == 0] = 0.0
    np.testing.assert_allclose(read_libsvm("scaled", n_features=300)[0].toarray(), expected, atol=1e-14)
