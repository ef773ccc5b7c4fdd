"""A few hundred damaged files: every error is a sentence. `make fuzz` reads many more, in processes of their own."""

import warnings
from pathlib import Path

import pytest

from tests.fuzz.file_attack import attack, memory_of, write_originals
from tests.fuzz.file_campaign import FINE


@pytest.mark.needs_compiler
def test_damaged_files_are_refused_with_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with warnings.catch_warnings(action="ignore"):
        write_originals(tmp_path)
        target = tmp_path / "process"
        target.mkdir()
        before = memory_of("VmHWM")
        outcomes = [attack(seed, tmp_path, target / "x")[1] for seed in range(300)]
    assert [outcome for outcome in outcomes if outcome not in FINE] == []
    assert outcomes.count("read") > 30  # else nothing was tested
    assert memory_of("VmHWM") - before < 1 << 30
