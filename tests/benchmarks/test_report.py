"""Ratios, floors and tables from a hand-written results file."""

from __future__ import annotations

import math

import pytest

from benchmarks.peers import picture, report
from benchmarks.peers.floors import floors
from benchmarks.peers.growth import exponent
from benchmarks.peers.problems import PROBLEMS, Problem, chosen
from benchmarks.peers.ratios import geometric_mean, ratio, ratios

MACHINE = {
    "date": "2026-01-01",
    "commit": "abc1234",
    "processor": "a processor",
    "cores": 2,
    "memory_gb": 8,
    "threads": 2,
    "load_at_start": 0.1,
    "libraries": {"widemargin": "0.1"},
    "versions": {"numpy": "2"},
    "missing": ["snapml"],
    "python": "3.12",
}


def run(library, seconds, status="exact", form="dense", best=True, **facts):
    return {
        "library": library,
        "format": form,
        "status": status,
        "message": "as written",
        "times": [seconds] if seconds else [],
        "seconds": seconds,
        "violation": 5e-4,
        "objective": -1.5,
        "n_support": 10,
        "n_free": 4,
        "facts": facts,
        "best": best,
    }


def record(name, runs, n=10_000, limit=0.5, **problem):
    settings = Problem(name, name.split()[0], **problem).as_dict()
    return {"problem": settings, "n": n, "d": 5, "classes": 2, "limit_seconds": limit, "runs": runs}


RECORDS = [
    record("a C=1", [run("widemargin", 1.0), run("scikit-learn", 8.0), run("scikit-learn-intelex", 4.0)]),
    record("b C=1", [run("widemargin", 2.0), run("scikit-learn", 64.0), run("scikit-learn-intelex", 1.0, "wrong")]),
    record("c C=100", [run("widemargin", 1.0), run("scikit-learn", 30.0, "time-out")], C=100.0),
    record("tiny C=1", [run("widemargin", 1.0), run("scikit-learn", 0.5)], n=100),
]


def test_wrong_answers_do_not_count_and_time_outs_count_as_bounds():
    assert ratios(RECORDS[:3], "scikit-learn") == [8.0, 32.0, 30.0]
    assert ratios(RECORDS[:3], "scikit-learn-intelex") == [4.0]
    assert ratios(RECORDS[:3], "scikit-learn-intelex", with_wrong=True) == [4.0, 0.5]
    assert ratio(RECORDS[2], "scikit-learn").bound
    assert ratio(RECORDS[0], "libsvm") is None
    assert geometric_mean([8.0, 32.0]) == pytest.approx(16.0)
    assert geometric_mean([]) is None


def test_our_own_wrong_answer_makes_no_ratio():
    bad = record("bad C=1", [run("widemargin", 1.0, "wrong"), run("scikit-learn", 8.0)])
    assert ratios([bad], "scikit-learn") == []
    assert not floors({"problems": [bad]})[0].met


def test_floors_say_met_missed_or_not_measured():
    found = {floor.name: floor for floor in floors({"problems": RECORDS})}
    first = found["1. Two classes, Gaussian, against scikit-learn (geometric mean)"]
    assert first.met  # (8 * 32 * 30) ** (1/3) = 19.7
    assert first.measured.startswith(f"{(8 * 32 * 30) ** (1 / 3):.2f}x")
    second = found["1. ... against scikit-learn-intelex (geometric mean)"]
    assert second.verdict == "**missed**"
    assert second.measured == f"4.00x (of 1); {math.sqrt(4 * 0.5):.2f}x with wrong answers (of 2)"
    slower = found["1. ... slower than a peer with an exact answer"]
    assert slower.met  # 0.5x on the tiny one is below the size that counts, 1.0 s on b was a wrong answer
    limit = found["4. Fit over verification limit at C=1 (geometric mean)"]
    assert limit.measured == f"{math.sqrt(2 * 4):.3g}" and limit.met
    assert found["9. First fit, empty disk cache"].verdict == "not measured"


def test_slower_on_one_problem_is_named():
    slow = record("slow C=1", [run("widemargin", 2.0), run("thundersvm", 1.0)])
    found = [floor for floor in floors({"problems": [slow]}) if "slower than a peer" in floor.name][0]
    assert found.met is False
    assert found.measured == "slow C=1 (thundersvm 0.50)"


def test_tables_show_ratio_bound_and_wrong():
    text = report.problem_table(RECORDS)
    lines = text.splitlines()
    assert "| 8 (8x) | 4 (4x) |" in lines[2]
    assert "| 64 (32x) | [1] **wrong** |" in lines[3]
    assert "| > 30 (> 30x) |" in lines[4]
    assert {line.count("|") for line in lines} == {lines[0].count("|")}


def test_whole_report_names_troubles_and_missing_libraries():
    results = {"machine": MACHINE, "problems": RECORDS, "skipped": ["d C=1: no file"]}
    text = report.markdown(results)
    assert "- b C=1, scikit-learn-intelex (dense): wrong, as written" in text
    assert "- not run: d C=1: no file" in text
    assert "Not installed: snapml." in text


def test_results_go_between_the_marks_of_a_file(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.put_into(path, "new")
    report.put_into(path, "newer")
    assert path.read_text() == f"before\n{report.BEGIN}\n\nnewer\n\n{report.END}\nafter\n"
    path.write_text("no marks")
    with pytest.raises(ValueError, match="results begin"):
        report.put_into(path, "new")


def test_exponent_is_that_of_a_power_law():
    points = [{"n": n, "widemargin": 1e-7 * n**1.7} for n in (500, 2000, 4000, 8000)]
    points[0]["widemargin"] = 9.0  # small sizes are left out
    assert exponent(points, "widemargin") == pytest.approx(1.7)
    assert exponent(points[:2], "widemargin") is None


def test_names_choose_problems():
    assert [p.name for p in chosen(["a9a C=1"], False, True)] == ["a9a C=1"]
    assert {p.data for p in chosen(["moons"], False, False)} == {"moons-10000"}
    assert all(not p.long for p in chosen(None, False, True))
    short = chosen(None, True, True)
    assert all(p.quick for p in short)
    groups = {p.group for p in short}
    assert {p.group for p in short[: len(groups)]} == groups
    with pytest.raises(ValueError, match="fits no problem"):
        chosen(["nothing"], False, True)
    assert len({p.name for p in PROBLEMS}) == len(PROBLEMS)


def test_picture_is_drawn(tmp_path):
    picture.draw_ratios(RECORDS, tmp_path / "ratios.png")
    assert (tmp_path / "ratios.png").read_bytes()[:4] == b"\x89PNG"


def test_a_failure_at_some_size_is_shown_where_its_time_would_be():
    points = [
        {
            "n": 1000,
            "widemargin": 0.5,
            "widemargin status": "exact",
            "scikit-learn": 2.0,
            "scikit-learn status": "near",
        },
        {"n": 2000, "widemargin": None, "widemargin status": "time-out: no answer within 5 s"},
    ]
    group = {"problem": "some", "points": points, "exponents": {"widemargin": None, "scikit-learn": None}}
    text = report.markdown({"machine": MACHINE, "scaling": [group]})
    assert "| 1000 | 0.5 | 2 |" in text
    assert "| 2000 | time-out: no answer within 5 s | not run |" in text


def test_memory_of_a_long_fit_is_drawn(tmp_path):
    record = {"problem": {"name": "covtype-all C=1"}, "n": 581012, "curve": [[0.0, 500.0], [2.0, 900.0], [4.0, 800.0]]}
    picture.draw_memory(record, tmp_path / "memory.png")
    assert (tmp_path / "memory.png").read_bytes()[:4] == b"\x89PNG"
