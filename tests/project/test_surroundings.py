"""README's first example where less is given than usual: what `make surroundings` tries singly, in two processes."""

import os
from dataclasses import replace

import pytest

from tests.project.surroundings import ANOTHER_SYSTEM, ASCII, ONE_WARNING_LESS, ROOT, Surrounding, surroundings

SOURCES = {"PYTHONPATH": str(ROOT)}
pytestmark = pytest.mark.needs_compiler


def by_name(name):
    return next(s for s in surroundings() if s.name == name)


def test_warnings_are_errors_and_the_operating_system_is_another_one():
    environment = {**SOURCES, **ONE_WARNING_LESS, **ASCII}
    options = ["-W", "error", "-X", "utf8=0"]
    assert Surrounding("", options=options, preface=ANOTHER_SYSTEM, environment=environment).run() == "ok"


@pytest.mark.skipif(os.name == "nt", reason="a shell closes them")
def test_all_streams_are_closed_and_there_is_no_home():
    without = by_name("HOME and USER unset").without
    assert replace(by_name("closed: all three streams"), without=without, environment=SOURCES).run() == "ok"


def test_what_went_wrong_is_said():
    assert Surrounding("", preface="import sys; sys.exit('no')\n").run() == "exit code 1: no"
    assert Surrounding("", preface="import sys; sys.exit()\n").run() == "printed ''"
    assert Surrounding("", needs=("no-such-command",)).run() == "left out: there is no no-such-command"
