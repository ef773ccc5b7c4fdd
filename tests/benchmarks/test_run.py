"""The benchmark end to end on generated data, and workers that hang, crash or are refused."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import pytest

from benchmarks.peers.__main__ import main
from benchmarks.peers.comparison import Effort, Run, best_of, formats_for, write_data
from benchmarks.peers.datasets import MissingData, load, scaled
from benchmarks.peers.driver import Failed, WorkerProcess
from benchmarks.peers.problems import Problem
from benchmarks.peers.worker import a_few_of_each

needs_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@needs_linux
def test_a_worker_rests_while_others_are_measured(tmp_path):
    worker = WorkerProcess("scikit-learn", 1, tmp_path)

    def state():
        with open(f"/proc/{worker.process.pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]

    try:
        for _ in range(2):
            with pytest.raises(Failed, match="no_such_command"):
                worker.ask({"do": "no_such_command"}, timeout=60.0)
            for _ in range(100):  # the signal takes its time
                if state() == "T":
                    break
                time.sleep(0.01)
            assert state() == "T"
    finally:
        worker.end()
    assert worker.process is None


@pytest.mark.slow
@needs_linux
def test_a_generated_problem_is_compared_checked_and_written(tmp_path):
    command = ["--only", "moons-10000 C=1", "--rows", "300", "--repeat", "2", "--out", str(tmp_path)]
    assert main([*command, "--libraries", "scikit-learn"]) == 0
    results = json.loads((tmp_path / "results.json").read_text())
    (record,) = results["problems"]
    runs = {run["library"]: run for run in record["runs"]}
    assert set(runs) == {"widemargin", "scikit-learn"}
    for run in runs.values():
        assert run["status"] in ("exact", "near") and run["violation"] <= 1.05e-3
        assert len(run["times"]) == 2 and run["seconds"] > 0 and run["facts"]["peak_mb"] > 0
    assert runs["widemargin"]["objective"] == pytest.approx(runs["scikit-learn"]["objective"], rel=1e-4)
    assert record["n"] == 300 and record["limit_seconds"] > 0
    assert "moons-10000 C=1" in (tmp_path / "results.md").read_text()
    assert (tmp_path / "ratios.png").exists()


@pytest.mark.slow
@needs_linux
def test_a_worker_that_hangs_or_fails_is_reported_and_replaced(tmp_path):
    X, y = load("moons-3000", None)
    folder = str(write_data(tmp_path, "moons", X, y))
    hard = Problem("hard", "moons", C=1e6, gamma=50.0, tol=1e-9).as_dict()
    worker = WorkerProcess("scikit-learn", 1, tmp_path)
    try:
        with pytest.raises(Failed) as hung:
            worker.ask({"do": "fit", "problem": hard, "data": folder, "form": "dense"}, 0.01)
        assert hung.value.kind == "time-out" and worker.process is None
        wrong = Problem("wrong", "moons", kernel="no such kernel").as_dict()
        with pytest.raises(Failed, match="kernel") as refused:
            worker.ask({"do": "fit", "problem": wrong, "data": folder, "form": "dense"}, 60)
        assert refused.value.kind == "error"
        easy = Problem("easy", "moons").as_dict()
        assert worker.ask({"do": "fit", "problem": easy, "data": folder, "form": "csr"}, 60)["seconds"] > 0
    finally:
        worker.end()


def test_best_format_is_the_quickest_exact_one():
    dense, csr = Run("x", "dense", times=[2.0]), Run("x", "csr", times=[1.0], status="wrong")
    assert best_of([dense, csr]) is dense
    assert best_of([dense, Run("x", "csr", times=[1.0], status="near")]).format == "csr"
    assert best_of([]) is None


def test_formats_follow_density_and_what_a_library_takes():
    few, many = np.eye(50), np.ones((50, 50))
    assert formats_for("widemargin", few) == ["dense", "csr"]
    assert formats_for("widemargin", many) == ["dense"]
    assert formats_for("libsvm", many) == ["csr"]
    assert formats_for("thundersvm", few) == ["dense"]


def test_patience_is_kept_within_limits():
    effort = Effort(patience=100.0, least_timeout=30.0, timeout=600.0)
    assert [effort.allowance(ours) for ours in (0.1, 2.0, 60.0, None)] == [30.0, 200.0, 600.0, 600.0]


def test_generated_sets_are_as_platt_describes_and_repeatable():
    X, y = load("noise-400", None)
    assert X.shape == (400, 300) and set(np.unique(X.data)) == {1.0} and 0.09 < X.mean() < 0.11
    again, _ = load("noise-400", None)
    assert (again != X).nnz == 0
    X, y = load("separable-400", None)
    from sklearn.svm import LinearSVC

    assert LinearSVC(C=1e4, max_iter=100_000).fit(X, y).score(X, y) == 1.0
    with pytest.raises(MissingData, match="--data"):
        load("a9a", None)


def test_scaling_and_warm_up_rows():
    X = np.array([[0.0, 7.0], [5.0, 7.0], [10.0, 7.0]])
    assert scaled(X, "symmetric").tolist() == [[-1.0, -1.0], [0.0, -1.0], [1.0, -1.0]]
    assert scaled(X, "unit")[:, 0].tolist() == [0.0, 0.5, 1.0]
    assert scaled(X, "standard").std(axis=0) == pytest.approx([1.0, 0.0])
    y = np.array([1.0] * 90 + [2.0] * 10)
    assert np.unique(y[a_few_of_each(y, 10)]).tolist() == [1.0, 2.0]
