"""`widemargin tune`: what it finds, writes, and leaves when it is cut."""

import json
import signal
import time

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, make_friedman1
from sklearn.model_selection import StratifiedKFold, cross_val_score

from widemargin import SVC, SVCCV, SVRCV
from widemargin.cli.main import main
from widemargin.io import load
from widemargin.model_selection.one_cell import OpenCell

GRID = ["--log2c", "-3,5,4", "--log2g", "-9,-1,4", "-v", "3"]


def test_the_model_that_is_saved_is_the_best_of_the_grid(cancer, capsys):
    X, y = cancer
    assert main(["tune", "cancer", *GRID, "--json", "-b", "1"]) == 0
    given = json.loads(capsys.readouterr().out)
    model = load("cancer.model")
    assert type(model) is SVCCV and model.best_params_ == given["best"] and given["pairs"] == 9 and given["complete"]
    parts = StratifiedKFold(3, shuffle=True, random_state=0)
    expected = cross_val_score(SVC(**given["best"]), X, y, cv=parts).mean()
    assert given["score"] == pytest.approx(expected) and np.max(given["scores"]) == given["score"]
    assert model.predict_proba(X).shape == (200, 2)
    assert main(["predict", "cancer", "cancer.model", "answers", "-q"]) == 0
    assert main(["verify", "cancer.model", "cancer", "-q"]) == 0
    assert main(["convert", "cancer.model", "cancer.libsvm", "-q"]) == 0


def test_ranges_by_itself_with_a_picture_and_a_report(cancer, folder, capsys):
    assert main(["tune", "cancer", "-v", "3", "-o", "m", "--picture", "p.png"]) == 0
    out, err = capsys.readouterr()
    assert "best: -c " in out and "accuracy 9" in out and "saved as m" in err
    assert (folder / "p.png").read_bytes()[:4] == b"\x89PNG"
    assert all(len(line) <= 80 for line in out.splitlines())
    assert main(["report", "m", "cancer", "-o", "r.html", "-q"]) == 0
    page = (folder / "r.html").read_text()
    assert "How C and gamma were chosen" in page
    assert main(["plot", "m", "cancer", "--kind", "reliability", "-o", "r.png", "-q"]) == 0


def test_grid_py_s_grid_fits_80_columns(cancer, capsys):
    assert main(["cv", "cancer", "--grid", "-v", "2"]) == 0
    out, err = capsys.readouterr()
    assert max(map(len, out.splitlines())) <= 80
    assert "columns do not fit" in err or out.splitlines()[0].count("0.") + out.splitlines()[0].count("e-") >= 9


def test_one_standard_error_and_a_regression(cancer, folder, capsys):
    assert main(["tune", "cancer", *GRID, "--selection", "one_se", "-o", "simple", "-q"]) == 0
    assert main(["tune", "cancer", *GRID, "-q"]) == 0
    assert load("simple").C_ <= load("cancer.model").C_
    X, y = make_friedman1(60, random_state=0)
    dump_svmlight_file(X, y, "friedman", zero_based=False)
    assert main(["tune", "friedman", "-s", "svr", "-v", "3"]) == 0
    assert type(load("friedman.model")) is SVRCV
    assert "-p " in capsys.readouterr().out


def test_ctrl_c_saves_the_best_so_far_and_resume_finishes(cancer, monkeypatch, capsys):
    solved, press_at, note = [], 17, OpenCell.note  # all three C of the first gamma are done on three folds

    def interrupted(self, *arguments):
        solved.append(self)
        if len(solved) == press_at:
            signal.raise_signal(signal.SIGINT)
        if len(solved) >= press_at:
            time.sleep(0.05)  # handlers run in the main thread, when it gets its turn
        return note(self, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(OpenCell, "note", interrupted)
        assert main(["tune", "cancer", *GRID]) == 130
    out, err = capsys.readouterr()
    n_pairs = len(load("cancer.model").cv_results_["params"])
    assert 3 <= n_pairs < 9 and f"The search ended after {n_pairs} pairs" in err and "best: -c " in out
    assert main(["tune", "cancer", *GRID, "--resume", "--json"]) == 0
    given = json.loads(capsys.readouterr().out)
    assert given["complete"] and given["pairs"] == 9
    assert main(["tune", "cancer", *GRID, "-q", "-o", "whole"]) == 0
    assert load("whole").best_params_ == given["best"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-s", "nusvc"], "tune is for svc and svr, whose C it finds; nusvc has other parameters"),
        (["-v", "500"], "cancer has 200 samples: fewer than the 500 parts"),
        (["-o", "cancer"], "would be written over cancer"),
        (["--resume", "-o", "plain"], "plain holds a SVC, and --resume continues a SVCCV"),
    ],
)
def test_errors(cancer, arguments, message, capsys):
    assert main(["train", "cancer", "-o", "plain", "-q"]) == 0
    assert main(["tune", "cancer", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_resume_without_a_file_begins_anew(cancer, capsys):
    assert main(["tune", "cancer", *GRID, "--resume", "-t", "linear"]) == 0
    assert "cancer.model does not exist: a new search begins" in capsys.readouterr().err
    assert list(load("cancer.model").best_params_) == ["C"]


def test_features_that_should_be_scaled_are_named(folder, capsys):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    X[:, 1] *= 1e5
    dump_svmlight_file(X, y, "raw", zero_based=False)
    arguments = ["--log2c", "0,1,1", "--log2g", "-20,-19,1", "-v", "2"]
    assert main(["tune", "raw", *arguments]) == 0
    assert "advice: feature 2 spans" in capsys.readouterr().err
    X[:, 1] /= 1e5
    dump_svmlight_file(X, y, "scaled", zero_based=False)
    assert main(["tune", "scaled", *arguments]) == 0
    assert "advice" not in capsys.readouterr().err
