"""The benchmark of searches end to end on generated files, and the parts its figures rest on."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, make_blobs, make_moons
from sklearn.svm import SVC

from benchmarks.peers.driver import Failed
from benchmarks.tuning import report
from benchmarks.tuning.__main__ import chosen, main
from benchmarks.tuning.choosing import in_standard_errors
from benchmarks.tuning.mixture import bandwidth, centres, draw, folds, mixture
from benchmarks.tuning.objective import primal
from benchmarks.tuning.rounds import Action, Effort, Rounds, agreement
from benchmarks.tuning.targets import Target, targets
from benchmarks.tuning.torchkm_workload import values_of_C

needs_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@pytest.fixture
def folder(tmp_path):
    """Files of the names and formats that some jobs read."""
    rng = np.random.default_rng(0)

    def write(name, X, y):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        dump_svmlight_file(X, y, str(path), zero_based=False)

    write("svmguide1/svmguide1", *make_blobs(400, 4, centers=2, cluster_std=4.0, random_state=0))
    for name in ("a7a/a7a", "a7a/a7a.t"):
        bits = (rng.random((320, 123)) < 0.1).astype(float)
        bits[0, -1] = 1.0
        write(name, bits, np.where(bits[:, :10].sum(axis=1) > 0.5, 1, -1))
    X = rng.normal(size=(300, 8))
    write("abalone/abalone_scale", X, np.rint(5 + 2 * X[:, 0] + X[:, 1] ** 2))
    flowers, kinds = make_blobs(150, 4, centers=3, cluster_std=3.0, random_state=1)
    (tmp_path / "data" / "iris").mkdir()
    rows = [",".join([*map(repr, map(float, x)), f"kind-{k}"]) for x, k in zip(flowers, kinds, strict=True)]
    (tmp_path / "data" / "iris" / "iris.data").write_text("\n".join(rows) + "\n")
    return tmp_path / "data"


@pytest.mark.slow
@needs_linux
def test_the_short_run_measures_what_it_has_and_names_what_it_has_not(folder, tmp_path, capsys):
    jobs = [
        "grid/svmguide1",
        "grid/splice",
        "svr/abalone",
        "files/a7a",
        "mixture/10000x10-C",
        "svccv/iris",
        "memory/400",
    ]
    out, page = tmp_path / "out.json", tmp_path / "page.md"
    jobs += ["torchkm/2000x10-lambda"]
    assert main(["--quick", "--data", str(folder), "--out", str(out), "--only", *jobs]) == 0
    printed = capsys.readouterr().out
    results = json.loads(out.read_text())
    records = results["records"]
    assert "splice" in results["left_out"]["grid/splice"] and "--torchkm" in results["left_out"]["TorchKM itself"]
    assert "grid/splice" not in records and "grid/splice" in printed

    grid = records["grid/svmguide1"]
    assert grid["n"] == 300 and {"widemargin", "scikit-learn", "loop"} <= set(grid["runs"])
    for name, run in grid["runs"].items():
        assert len(run["scores"]) == 9 and run["score"] == max(run["scores"]), name
        assert (name == "widemargin") == (run["certified"] == {"fits": 45, "hold": 45})
        assert len(run["walls"]) == 1 and run["wall"] > 0.0 and run["cpu"] > 0.0
    assert grid["unit"] == 5 / 300 and abs(grid["agreement"]["scikit-learn"]["cells"]) <= 2.0
    assert abs(records["svr/abalone"]["agreement"]["scikit-learn"]["cells"]) < 0.01

    for job in ("files/a7a", "mixture/10000x10-C", "torchkm/2000x10-lambda"):
        run = records[job]["runs"]["widemargin"]
        dual = run["optimum"]["dual"]
        most = 1e-3 * run["best"]["C"] * records[job]["n"]  # a violation of tol in every sample
        assert run["optimum"]["holds"] and -1e-9 < run["excess"] <= most / dual, job
        assert records[job]["C"][0] < run["best"]["C"] * (1 + 1e-12) and 0.0 <= run["error"] <= 0.5
    test = records["files/a7a"]["runs"]["widemargin"]
    assert 298 <= test["tested"] <= 300 and test["correct"] > 0.6 * test["tested"]
    assert records["svccv/iris"]["runs"]["grid"]["correct"] > 37
    assert 0.0 <= records["memory/400"]["extra_mb"] < records["memory/400"]["allowed_mb"]

    page.write_text("before\n<!-- results begin -->\nyesterday\n<!-- results end -->\nafter\n")
    assert main(["--out", str(out), "--page", str(page)]) == 0
    text = page.read_text()
    assert "svmguide1, 300 x 4" in text and "yesterday" not in text and text.endswith("after\n")


def test_unknown_names_are_refused(capsys):
    assert main(["--only", "no-such-job"]) == 2
    assert "no-such-job" in capsys.readouterr().err
    assert list(chosen(["covtype"])) == ["covtype/covtype-1000", "covtype/covtype-5000"]


def test_the_mixture_is_the_one_described():
    means = centres(6, np.random.default_rng(3))
    again = np.random.default_rng(3).standard_normal((10, 6))
    assert np.array_equal((means - again)[:5], np.tile([2.0, 2, 2, 0, 0, 0], (5, 1)))
    assert np.array_equal((means - again)[5:], np.tile([0.0, 0, 0, 2, 2, 2], (5, 1)))
    X, y = draw(200_000, means, np.random.default_rng(4))
    for label, own in ((-1.0, means[:5]), (1.0, means[5:])):
        part = X[y == label]
        assert part.mean(axis=0) == pytest.approx(own.mean(axis=0), abs=0.06)
        covariance = 9.0 * np.eye(6) + np.cov(own.T, bias=True)
        assert np.cov(part.T) == pytest.approx(covariance, abs=0.25)
    X, y = mixture(500, 6)
    assert X.std(axis=0, ddof=1) == pytest.approx(1.0) and abs(y.mean()) < 0.15
    assert np.bincount(folds(95)).tolist() == [10] * 5 + [9] * 5


def test_the_bandwidth_leaves_out_equal_rows_and_takes_sparse_data():
    from scipy.sparse import csr_matrix

    X = np.repeat([[0.0], [2.0]], 500, axis=0)
    assert bandwidth(X) == 0.25 == bandwidth(csr_matrix(X))


def test_C_is_one_over_two_n_lambda():
    values = values_of_C("lambda", 10_000)
    assert len(values) == 50 and values[0] == pytest.approx(5e-8) and values[-1] == pytest.approx(0.05)
    assert values_of_C("C", 10_000)[::49] == pytest.approx([1e-3, 1e3])


def test_the_objective_is_smallest_at_the_optimum():
    X, y = make_moons(120, noise=0.3, random_state=0)
    y = 2.0 * y - 1.0
    model = SVC(C=2.0, gamma=1.5, tol=1e-8).fit(X, y)
    beta, bias = model.dual_coef_.ravel(), float(model.intercept_[0])
    best = primal(X, y, model.support_, beta, bias, 2.0, 1.5)
    dual = np.abs(beta).sum() - 0.5 * beta @ (model.decision_function(X)[model.support_] - bias)
    assert best == pytest.approx(dual, rel=1e-6)
    assert primal(X, y, model.support_, 1.01 * beta, bias, 2.0, 1.5) > best
    assert primal(X, y, np.array([0]), np.array([0.0]), 0.0, 2.0, 1.5) == 240.0


def test_runs_alternate_and_a_slow_one_runs_once(tmp_path):
    order = []

    def action(name, *walls):
        times = iter(walls)

        def call():
            order.append(name)
            return {"wall": next(times), "cpu": 1.0, "score": 0.5}

        return call

    def fails():
        order.append("hangs")
        raise Failed("time-out", "no answer", 7.0)

    rounds = Rounds(1, tmp_path, Effort(repeat=3, once=100.0))
    ours = Action(action("ours", 19.0, 3.0, 1.0, 2.0), compiles=True)
    runs = rounds.interleave({"ours": ours, "slow": Action(action("slow", 150.0)), "hangs": Action(fails)})
    assert order == ["ours", "slow", "hangs", "ours", "ours", "ours"]
    assert runs["ours"]["walls"] == [3.0, 1.0, 2.0] and runs["ours"]["wall"] == 2.0
    assert runs["slow"]["walls"] == [150.0] and runs["hangs"]["wall"] is None and runs["hangs"]["limit"] == 7.0


def test_scores_are_compared_in_units_of_one_test_row():
    runs = {"widemargin": {"scores": [0.8, 0.9], "score": 0.9}, "scikit-learn": {"scores": [0.92, 0.9], "score": 0.92}}
    found = agreement(runs, 0.01)["scikit-learn"]
    assert found == pytest.approx({"best": 2.0, "cells": 12.0, "regret": 2.0})
    assert in_standard_errors(90, 90, 100) == 0.0
    assert in_standard_errors(80, 90, 100) == pytest.approx(-0.1 / np.sqrt(91 / 102 * 11 / 102 / 100))


def test_what_stands_in_for_ours_is_not_counted():
    assert all(target.value is None for target in targets({}))
    assert "not measured" in report.markdown({})
    ours, theirs = {"wall": 1.0, "status": "done", "note": ""}, {"wall": 30.0, "status": "done"}
    first = {
        target.name: target for target in targets({"grid/x": {"runs": {"widemargin": ours, "scikit-learn": theirs}}})
    }
    (found,) = [target for name, target in first.items() if "sklearn SVC" in name]
    assert found.value == pytest.approx(30.0) and found.verdict == "floor met"
    missing = {**ours, "note": "scikit-learn's in its place"}
    records = {"grid/x": {"runs": {"widemargin": missing, "scikit-learn": theirs}}}
    assert all(target.value is None for target in targets(records))
    assert Target("t", 1.0, 0.5, 2.0, most=True).verdict == "**missed**"
