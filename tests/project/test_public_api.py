"""The public interface is the one on record, so that none of it changes unnoticed."""

import difflib

import pytest

from tests.project.public_api import FILE, describe


@pytest.mark.needs_compiler
def test_the_interface_is_the_one_on_record():
    changes = difflib.unified_diff(
        FILE.read_text("utf-8").splitlines(), describe().splitlines(), "on record", "now", n=0
    )
    text = "\n".join(changes)
    assert not text, (
        f"The public interface changed:\n{text}\nIf that is meant, say so in CHANGELOG.md and renew the record by "
        "`python -m tests.project.public_api`."
    )
