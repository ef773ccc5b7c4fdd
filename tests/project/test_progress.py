"""The progress bar: its fraction, its silence, its plain lines, several problems, several threads."""

import io
import re
import sys
import threading
import types

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


def test_rows_are_told_once_there_are_some():
    console = plain_console()
    with ProgressBar("fit", always=True, console=console) as watch:
        watch(round_info(1.0, rows_computed=0))
        watch(round_info(9e-4, rows_computed=12))
    first, last = console.file.getvalue().splitlines()
    assert "rows" not in first and "12 rows" in last


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


@pytest.mark.parametrize(("converged", "shown"), [(True, "100%"), (False, "33%")])
def test_the_bar_of_a_fit_that_converged_ends_full(converged, shown):
    """Solvers report once per round, so that the last report can be far from the end."""
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    bar = ProgressBar("fit", console=console)
    bar(round_info(1.0))
    bar(round_info(0.1))
    bar.close(converged)
    assert re.findall(r"\d+%", console.file.getvalue())[-1] == shown


def test_no_time_left_before_half_of_the_way():
    console = plain_console()
    watch = ProgressBar("fit", always=True, console=console)
    watch(round_info(1.0, seconds=0.0))
    watch(round_info(0.1, seconds=10.0))
    watch(round_info(0.01, seconds=20.0))
    lines = console.file.getvalue().splitlines()
    assert ["to go" in line for line in lines] == [False, False, True]
    assert lines[2].endswith("20.0 s  about 10 s to go")


class Notebook:
    """What IPython's `display` receives."""

    def __init__(self):
        self.shown = []

    def display(self, bundle, *, raw, display_id):
        assert raw and display_id
        self.shown.append(bundle)
        return self

    def update(self, bundle, *, raw):
        self.shown[-1] = bundle


def test_a_notebook_shows_one_html_bar_without_widgets(monkeypatch, recwarn):
    notebook = Notebook()
    module = types.ModuleType("IPython.display")
    module.display = notebook.display
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    bar = ProgressBar("fit <1>", console=Console(file=io.StringIO(), force_jupyter=True))
    bar(round_info(1.0))
    bar(round_info(0.1))
    assert len(notebook.shown) == 1 and notebook.shown[0]["text/plain"].startswith("fit <1>   0%")  # too soon for 33 %
    bar.close(converged=True)
    (last,) = notebook.shown
    assert last["text/plain"].startswith("fit <1> 100%  violation <= 1e-03")
    assert 'aria-valuenow="100"' in last["text/html"] and "fit &lt;1&gt;" in last["text/html"]
    assert not recwarn.list


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
