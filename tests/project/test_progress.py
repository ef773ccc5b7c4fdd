"""The progress bar: its fraction, its silence, its plain lines, several problems, several threads."""

import io
import re
import threading

import pytest
from rich.console import Console

from widemargin.monitor.iteration import Iteration
from widemargin.monitor.progress import Approach, ProgressBar


def round_info(violation, *, seconds=0.0, n_support=7, **more):
    return Iteration(violation, 1e-3, n_support=n_support, seconds=seconds, **more)


def plain_console():
    return Console(file=io.StringIO(), force_terminal=False, width=120)


def test_fraction_is_the_logarithmic_share_of_the_way():
    way = Approach()
    assert way.update(10.0, 1e-3) == 0.0
    assert way.update(1.0, 1e-3) == pytest.approx(0.25)
    assert way.update(0.01, 1e-3) == pytest.approx(0.75)
    assert way.update(0.001, 1e-3) == 1.0


def test_fraction_never_runs_backwards():
    way = Approach()
    way.update(1.0, 1e-3)
    reached = way.update(0.1, 1e-3)
    assert way.update(5.0, 1e-3) == reached
    assert way.update(float("nan"), 1e-3) == reached
    assert way.update(float("inf"), 1e-3) == reached


def test_nothing_is_written_to_a_pipe_unless_asked():
    console = plain_console()
    with ProgressBar(console=console) as watch:
        watch(round_info(1.0))
        watch(round_info(1e-4))
    assert console.file.getvalue() == ""


def test_plain_lines_are_paced_and_the_last_one_says_so():
    console = plain_console()
    with ProgressBar("fit", always=True, console=console) as watch:
        for second in range(12):
            watch(round_info(10.0 ** (-second / 6), seconds=float(second)))
        watch(round_info(9e-4, seconds=12.0, n_support=42))
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 4  # at 0, 5 and 10 seconds, and the end
    assert lines[0] == "fit   0%  violation 1.0e+00 -> 1e-03  7 SV  0.0 s"
    assert lines[-1] == "fit 100%  violation 9.0e-04 -> 1e-03  42 SV  12.0 s"


def test_a_terminal_gets_a_bar_with_the_violation_and_the_support_vectors():
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with ProgressBar("digits", console=console) as watch:
        watch(round_info(1.0))
        watch(round_info(1e-4, n_support=99))
    drawn = console.file.getvalue()
    assert "digits" in drawn
    assert "100%" in drawn
    assert "99 SV" in drawn


def test_several_problems_share_one_bar():
    console = plain_console()
    watch = ProgressBar("pairs", always=True, console=console)
    watch(round_info(1.0, task=0, n_tasks=4))
    watch(round_info(1e-4, task=0, n_tasks=4, seconds=6.0))
    assert console.file.getvalue().splitlines()[-1].startswith("pairs  25%")
    assert "problem 1/4" in console.file.getvalue().splitlines()[-1]


def test_threads_may_report_at_once():
    console = plain_console()
    watch = ProgressBar(always=True, console=console)

    def report(task):
        for step in range(200):
            watch(round_info(10.0 ** (-step / 50), task=task, n_tasks=4))

    threads = [threading.Thread(target=report, args=(task,)) for task in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert console.file.getvalue().splitlines()[-1].startswith("training 100%")


@pytest.mark.parametrize(
    ("width", "words"), [(130, ("rows", "SV", "violation")), (90, ("SV", "violation")), (80, ("violation",)), (50, ())]
)
def test_a_narrow_terminal_gets_fewer_columns_and_one_line(width, words):
    console = Console(file=io.StringIO(), force_terminal=True, width=width, legacy_windows=False)
    with ProgressBar("training", console=console) as watch:
        watch(round_info(1.0, n_support=123456, objective=-1.2345e-5, rows_computed=1234567))
        watch(round_info(0.03, n_support=123456, objective=-1.2345e-5, rows_computed=1234567))
        drawn = console.file.getvalue()
    last = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", drawn).replace("\r", "\n").split("\n")[-1]
    shown = [word for word in ("rows", "SV", "violation") if word in last]
    assert shown == list(words)
    assert "%" in last and "━" in last and "0:00:00" in last and "…" not in last
    assert len(last) <= width


def test_lines_in_a_log_are_not_broken():
    console = Console(file=io.StringIO(), force_terminal=False, width=40)
    watch = ProgressBar("training", always=True, console=console)
    watch(round_info(1.0, objective=-1.2345e-5, rows_computed=1234567))
    assert len(console.file.getvalue().splitlines()) == 1
