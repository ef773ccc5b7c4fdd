"""Some seconds of the attack with damaged files: no process ends, no error is anything but a sentence."""

from pathlib import Path

import pytest

from tests.fuzz.file_attack import write_originals
from tests.fuzz.file_campaign import FileTally, run_batch


@pytest.mark.needs_compiler
def test_damaged_files_are_refused_with_a_sentence(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    pytest.importorskip("pyarrow")
    write_originals(tmp_path)
    tally = FileTally()
    run_batch(tmp_path, 0, 300, tally)
    assert not tally.crashes
    assert not tally.findings, tally.table()
    assert sum(row["outcome"] == "read" for row in tally.rows) > 30  # else nothing was tested
    assert max(row["MB"] for row in tally.rows) < 1000
