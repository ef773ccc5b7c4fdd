"""What is said where: bars on a terminal, lines in a log, nothing when quiet."""

import io
import time

import pytest
from rich.console import Console

from widemargin.cli import screen as screen_module
from widemargin.cli.screen import Screen


@pytest.fixture
def impatient(monkeypatch):
    """Progress from the first moment on."""
    monkeypatch.setattr(screen_module, "PATIENCE", 0.0)


def screen_of(kind, monkeypatch):
    screen = Screen(quiet=kind == "quiet", as_json=False)
    written = io.StringIO()
    screen.console = Console(file=written, force_terminal=kind == "terminal", quiet=kind == "quiet", width=100)
    return screen, written


@pytest.mark.parametrize(
    ("kind", "expected"), [("terminal", "50%"), ("log", "counting  50%  0 s, about 0 s left"), ("quiet", None)]
)
def test_steps(kind, expected, impatient, monkeypatch):
    screen, written = screen_of(kind, monkeypatch)
    with screen.progress("counting", 4) as steps:
        steps.advance(2)
    if expected is None:
        assert written.getvalue() == ""
    else:
        assert expected in written.getvalue()


def test_done_work_has_no_time_left(impatient, monkeypatch):
    screen, written = screen_of("log", monkeypatch)
    with screen.progress("counting", 4) as steps:
        steps.advance(4)
    assert written.getvalue() == "counting 100%  0 s\n"


def test_quick_work_says_nothing(monkeypatch):
    for kind in ("terminal", "log"):
        screen, written = screen_of(kind, monkeypatch)
        with screen.progress("counting", 2) as steps:
            steps.advance()
        with screen.waiting("thinking"):
            pass
        assert "counting" not in written.getvalue()
        assert "thinking" not in written.getvalue()


@pytest.mark.alone
@pytest.mark.parametrize(("kind", "expected"), [("terminal", "thinking"), ("log", "thinking ...\n"), ("quiet", "")])
def test_waiting(kind, expected, impatient, monkeypatch):
    screen, written = screen_of(kind, monkeypatch)
    with screen.waiting("thinking"):
        time.sleep(0.15)
    assert expected in written.getvalue()
    if kind == "quiet":
        assert written.getvalue() == ""


def test_lines_in_a_log_keep_their_pace(monkeypatch, impatient):
    screen, written = screen_of("log", monkeypatch)
    with screen.progress("counting", 1000) as steps:
        for _ in range(1000):
            steps.advance()
    assert written.getvalue().count("counting") == 1
