"""The closing figures of the campaigns, and processes that end."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz import durations
from tests.fuzz.batches import run_batches
from tests.fuzz.file_campaign import LISTED, FileTally
from tests.fuzz.interruptions import Attack, Tally
from tests.fuzz.summary import SUMMARY, closing

DIES_ON_12 = """
import json, sys
from tests.fuzz.batches import begin
for seed in range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2])):
    begin(seed, 0.2)
    if seed == 12:
        sys.exit("gone")
    while seed == 14:
        pass
    print(json.dumps({"seed": seed}), flush=True)
"""


def test_counts_are_added_and_extremes_are_not() -> None:
    text = closing(
        [{"machines tried": 3, "crashes": 0}, {"machines tried": 4, "crashes": 1}, {"kills while saving": 2}]
    )
    assert [line.split("  ")[0] for line in text.splitlines()[1:]] == [
        "machines tried",
        "crashes",
        "kills while saving",
    ]
    assert [line.split()[-1 if "tried" in line else -2] for line in text.splitlines()[1:]] == ["7", "1", "2"]
    peak = "peak memory for a hostile file, MB"
    assert " 9 " in closing([{peak: 9}, {peak: 5}])


def test_each_figure_of_a_campaign_is_in_the_summary() -> None:
    files, interrupted, slow = FileTally(), Tally(), durations.Tally()
    files.add({"seed": 1, "name": "CSV", "outcome": "reading: KeyError", "seconds": 0.1, "MB": 7})
    files.crash(2, "code -11")
    files.crash(3, f"code -6 what(): {next(iter(LISTED))} INT64")
    attack = Attack(3, "SVC", "fit", {}, (), (), True, 0.5, None, ["parameters changed", "a Ctrl-C was lost"], "raised")
    interrupted.add(attack)
    slow.add({"seed": 4, "fit": "SVC", "seconds": 10.54, "status": "STALLED"})
    slow.add({"seed": 5})  # not a fit
    assert files.figures == {
        "files mutated": 3,
        "crashes": 1,
        "crashes in other libraries, listed": 1,
        "tracebacks": 1,
        "peak memory for a hostile file, MB": 7,
    }
    assert interrupted.figures == {"interruptions": 1, "half-changed or unusable after them": 1}
    longest = "longest fit of 3,000 samples or fewer, CPU s"
    assert slow.figures == {"machines tried": 1, longest: 10.5, "crashes": 0}
    assert files.failed and interrupted.failed and slow.failed
    assert SUMMARY.keys() >= files.figures.keys() | interrupted.figures.keys() | slow.figures.keys()


@pytest.mark.skipif(os.name == "nt", reason="needs a timer of CPU time")
@pytest.mark.parametrize("n_processes", [1, 2])
def test_what_follows_the_end_of_a_process_is_attacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_processes: int
) -> None:
    class Seeds:
        def __init__(self) -> None:
            self.found: list[int] = []
            self.crashes: list[tuple[int, str]] = []

        def add(self, row: dict[str, Any]) -> None:
            self.found.append(row["seed"])

        def crash(self, seed: int, how: str) -> None:
            self.crashes.append((seed, how))

    (tmp_path / "dies.py").write_text(DIES_ON_12)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    tally = Seeds()
    run_batches("dies", [], (10, 6), 4, 1.0, n_processes, tally)
    assert sorted(tally.found) == [10, 11, 13, 15]
    assert sorted(tally.crashes) == [(12, "code 1 gone"), (14, "too much CPU time")]


@pytest.mark.needs_compiler
def test_a_duration_is_measured_in_a_process_of_its_own() -> None:
    tally = durations.run(0, 2, 1.0, 1)
    assert tally.crashes == []
    assert [row["seed"] for row in tally.rows] == [0, 1]
    assert all(0.0 <= row["seconds"] < durations.LIMIT for row in tally.rows)
