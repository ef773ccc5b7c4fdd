"""A few interrupted fits and killed writers; `make fuzz` makes hundreds."""

import os
import warnings
from pathlib import Path

import pytest

from tests.fuzz import interruptions, kills

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals"),
    pytest.mark.needs_compiler,
]


@pytest.mark.parametrize("name", interruptions.ESTIMATORS)
def test_an_interrupted_estimator_is_as_before_or_usable(name: str) -> None:
    drawn = [interruptions.draw(seed) for seed in range(600)]
    # Those of the clock differ from run to run, and a test should not.
    seeds = [attack.seed for attack in drawn if attack.name == name and attack.by_call][:3]
    attacks = [interruptions.interrupt(seed) for seed in seeds]
    assert [f"{attack}: {text}" for attack in attacks for text in attack.findings] == []
    assert any(attack.ended != "not pressed" for attack in attacks)  # else nothing was tested


def test_an_interrupted_command_leaves_a_whole_file(tmp_path: Path) -> None:
    with warnings.catch_warnings(action="ignore"):
        attack = interruptions.interrupt_command(14, tmp_path)
    assert attack.findings == []


@pytest.mark.slow
def test_killed_writers_leave_whole_files() -> None:
    tally = kills.run(0, 3, 5.0)
    assert tally.failures == []
    assert tally.whole == tally.kills == 3
