"""The plugin of `make cover` cuts every test off, but never inside coverage itself, whose lock would stay shut."""

import time
from pathlib import Path

import pytest

coverage = pytest.importorskip("coverage")

from tests.project import interpreted  # noqa: E402  (needs coverage)

BUSY = """
def busy(seconds, clock, done):
    end = clock() + seconds
    while clock() < end:
        pass
    done.append("whole")
"""


def busy_in(path):
    """A function that keeps the processor busy and counts as code of the given file."""
    names = {}
    exec(compile(BUSY, str(path), "exec"), names)  # the way to give code another file
    return names["busy"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [(Path(coverage.__file__).parent / "collector.py", ["whole"]), (__file__, [])],
    ids=["inside coverage", "elsewhere"],
)
def test_code_of_coverage_is_run_to_its_end(path, expected, monkeypatch):
    monkeypatch.setattr(interpreted, "SECONDS", 0.05)
    done = []
    with pytest.raises(pytest.skip.Exception, match="as plain Python"), interpreted.limited(f"{path}"):
        busy_in(path)(0.2, time.perf_counter, done)
        busy_in(__file__)(5.0, time.perf_counter, [])
        pytest.fail("was not cut off")
    assert done == expected


def test_a_cut_that_was_swallowed_comes_again(monkeypatch):
    monkeypatch.setattr(interpreted, "SECONDS", 0.05)
    with pytest.raises(pytest.skip.Exception), interpreted.limited("swallowed"):
        try:
            busy_in(__file__)(5.0, time.perf_counter, [])
        except BaseException:  # as the interpreter does with what is raised in __del__ or in a callback
            busy_in(__file__)(5.0, time.perf_counter, [])
        pytest.fail("was not cut off")
    assert interpreted._cuts["swallowed"] == 1
