"""The benchmark of 1998: its data, its figures and one small run of each contestant."""

import json
import sys

import numpy as np
import pytest

from benchmarks.platt1998 import __main__ as command
from benchmarks.platt1998 import report, sets, trials
from benchmarks.platt1998.figures import EXPERIMENTS

BY_NAME = {e.name: e for e in EXPERIMENTS}


@pytest.mark.parametrize("name", BY_NAME)
def test_figures_are_complete_and_give_the_exponents_that_platt_states(name):
    """A misprint in a table would show in the slope of its log-log line."""
    e = BY_NAME[name]
    columns = [e.smo, e.chunking, e.non_bound, e.bound, *(c for c in (e.smo_dense, e.chunking_dense) if c)]
    assert all(len(column) == len(e.sizes) for column in columns)
    assert report.exponent(list(e.sizes), list(e.smo)) == pytest.approx(e.smo_exponent, abs=0.12)
    assert report.exponent(list(e.sizes), list(e.chunking)) == pytest.approx(e.chunking_exponent, abs=0.15)
    assert all(a <= b for a, b in zip(e.bound, e.bound[1:]))
    if e.dense_table:
        assert all(d >= s for s, d in zip(e.smo, e.smo_dense))


def test_the_separable_set_is_as_described():
    X, y, _ = sets.artificial("separable", 500)
    assert X.shape == (500, 300) and set(np.unique(X.data)) == {1.0}
    assert 0.09 < X.mean() < 0.11
    weights = np.random.default_rng([sets.SEED, 500]).uniform(-1.0, 1.0, 300)
    assert np.all(y * (X @ weights) > 1.0)
    assert 100 < (y > 0).sum() < 400


def test_noise_has_no_structure():
    X, y, _ = sets.artificial("noise", 2000)
    correlation = np.abs((X.toarray() - 0.1).T @ y) / (2000 * 0.3)
    assert correlation.max() < 5.0 / np.sqrt(2000)


def test_missing_subsets_are_drawn_from_the_next_larger(tmp_path):
    rows = [f"{1 if i < 50 else -1} {i % 123 + 1}:1" for i in range(400)]
    (tmp_path / "a9a").write_text("\n".join(rows) + "\n")
    (tmp_path / "a2a").write_text("\n".join(rows[:90]) + "\n")
    published = sets.Published(tmp_path, "adult")
    X, y, source = published.take(8, 400)
    assert source == "a9a" and X.shape == (400, 123)
    X, y, source = published.take(0, 40)
    assert source == "40 of a2a" and len(y) == 40 and 0 < (y > 0).sum() < 40
    with pytest.raises(SystemExit, match="--generated"):
        sets.Published(tmp_path, "web")


@pytest.mark.parametrize("name", ["separable", "noise-linear", "noise-gaussian"])
def test_contestants_agree(name):
    e = BY_NAME[name]
    X, y, _ = sets.artificial(e.data, 200)
    cells = {c: trials.trial(e, X, y, c, False, None) for c in report.CONTESTANTS}
    dense = trials.trial(e, X, y, "smo", True, None)
    objectives = [cell.objective for cell in (*cells.values(), dense)]
    assert np.ptp(objectives) <= 1e-3 * max(objectives)
    assert all(cell.violation <= 1.01 * trials.TOL for cell in cells.values())
    assert all(cell.seconds > 0 for cell in cells.values())
    totals = [cell.bound + cell.non_bound for cell in cells.values()]
    assert np.ptp(totals) <= 0.1 * max(totals)


def test_the_command_writes_page_json_and_plots(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    small = [
        type(e)(**{**e.__dict__, "sizes": (60, 90, 130), "smo": e.smo[:3], "chunking": e.chunking[:3],
                   "bound": e.bound[:3],
                   "non_bound": e.non_bound[:3], "smo_dense": e.smo_dense[:3], "chunking_dense": e.chunking_dense[:3]})
        for e in EXPERIMENTS if e.name in ("noise-linear", "separable")
    ]  # fmt: skip
    monkeypatch.setattr(command, "EXPERIMENTS", small)
    monkeypatch.setattr(report, "EXPERIMENTS", small)
    monkeypatch.setattr(command, "warm_up", lambda: None)
    for only in ("separable", "noise-linear"):
        monkeypatch.setattr(
            sys, "argv", ["platt1998", "--generated", "--only", only, "--limit", "30", "--out", str(tmp_path)]
        )
        command.main()
    page = (tmp_path / "platt1998.md").read_text()
    assert (
        "## Artificial noise, linear" in page and "## Artificial, linearly separable" in page
    )  # the first run was kept
    assert "| 60 | generated |" in page and "Sparse against non-sparse (table 8)" in page
    content = json.loads((tmp_path / "platt1998.json").read_text())
    assert content["results"]["noise-linear"]["130/smo/dense"]["ended"] == "OPTIMAL"
    assert content["machine"]["cores"] >= 1
    assert (tmp_path / "images" / "platt1998-separable.png").exists()


def test_sizes_that_would_not_end_in_time_are_left_out():
    e = BY_NAME["noise-linear"]
    cells = {
        report.key(500, "smo"): trials.Cell(2.0),
        report.key(500, "chunking"): trials.Cell(None, ended="TIME_LIMIT"),
    }
    assert command.foreseen(cells, e, 0, "smo", False) == 0.0
    assert command.foreseen(cells, e, 1, "smo", False) == pytest.approx(2.0 * 2.0**command.WORST_EXPONENT)
    assert command.foreseen(cells, e, 1, "chunking", False) == np.inf
    assert report.show(cells[report.key(500, "chunking")]) == "N/A (time limit)"


def test_missing_cells_are_those_that_platt_timed_and_no_run_finished(monkeypatch):
    e = BY_NAME["noise-linear"]
    tried = []
    monkeypatch.setattr(command, "load", lambda *which: (None, None, "generated"))
    monkeypatch.setattr(
        command, "trial", lambda e, X, y, c, dense, limit: tried.append((c, dense)) or trials.Cell(1.0, ended="OPTIMAL")
    )
    cells = {report.key(n, c, d): trials.Cell(1.0) for n in e.sizes[:4] for c in ("smo", "chunking") for d in (0, 1)}
    del cells[report.key(5000, "chunking")]
    cells[report.key(5000, "chunking", True)] = trials.Cell(None, ended="TIME_LIMIT")
    saved = []

    def save():
        saved.append(len(tried))

    command.run([e], {}, 300.0, list(report.CONTESTANTS), {e.name: cells}, {}, save, missing=True)
    assert tried == [("chunking", False), ("chunking", True), ("smo", False), ("smo", True)]  # Platt: N/A at 10,000
    assert saved == [1, 2, 3, 4]  # a run that is cut short keeps the cells that ended


def test_a_run_that_recorded_times_only_has_no_counts():
    e = BY_NAME["noise-linear"]
    cells = {report.key(500, "smo"): trials.Cell(1.0, ended="OPTIMAL")}
    assert f"| -, - ({e.non_bound[0]}) |" in report.main_table(e, cells, {500: "generated"})[2]


def test_a_cell_that_does_not_end_in_time_shows_its_limit():
    e = BY_NAME["noise-linear"]
    X, y, _ = sets.artificial(e.data, 400)
    cell = trials.trial(e, X, y, "chunking", False, 1e-9)
    assert cell.seconds is None and cell.ended == "TIME_LIMIT"
    assert report.show(cell) == "> 1e-09"
    assert trials.trial(e, X[:60], y[:60], "chunking", False, 60.0).limit is None
