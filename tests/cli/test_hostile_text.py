"""What labels, columns and file names may do: nothing. And standard output that cannot be written."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import widemargin
from widemargin.cli.main import main
from widemargin.cli.screen import Screen

ENV = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(widemargin.__file__))}
LABELS = ["$\\frac$", "b\nc", "\x1b[31mred\x1b]0;title\x07"]
SHOWN = ["$\\frac$", "b\\nc", "\\x1b[31mred\\x1b]0;title\\x07"]


@pytest.fixture
def table(folder):
    """A table whose labels and columns are hostile, and its model."""
    numbers = np.random.default_rng(0).normal(size=(21, 2))
    cells = [f'{a:.3f},{b:.3f},"{LABELS[row % 3]}"' for row, (a, b) in enumerate(numbers)]
    Path("t.csv").write_text("\n".join(["$\\frac$,\x1b[2Jx,label", *cells]) + "\n")
    assert main(["train", "t.csv", "--target", "label", "-o", "m", "-c", "100", "-g", "10"]) == 0


def test_no_escape_reaches_the_terminal_and_each_sample_has_a_line(table, capsys):
    assert main(["train", "t.csv", "--target", "label", "-o", "m"]) == 0
    assert main(["predict", "t.csv", "m", "-o", "out"]) == 0
    assert main(["predict", "t.csv", "m"]) == 0
    assert main(["train", "t.csv", "--target", "\x1b[2J", "-o", "m"]) == 2
    assert main(["train", "t.csv", "-w\x1b[2J", "3", "--target", "label"]) == 2
    assert main(["predict", "\x1b[2J", "m"]) == 2
    assert main(["\x1b[2J"]) == 2
    seen = capsys.readouterr()
    assert not set("\x1b\x07") & set(seen.out + seen.err)
    assert len(Path("out").read_text().splitlines()) == 21
    assert set(Path("out").read_text().splitlines()) <= set(SHOWN)


@pytest.mark.parametrize("kind", ["boundary", "kkt", "kernel"])
def test_dollars_are_no_formulas_in_pictures(table, kind):
    assert main(["plot", "m", "t.csv", "--kind", kind, "-o", "p.png", "-q"]) == 0


def test_brackets_in_a_file_name_are_no_markup(capsys):
    screen = Screen(quiet=False, as_json=False)
    with screen.progress("reading a[/b].gz", 1.0) as steps:
        (column,) = [one for one in steps._bar.columns if "description" in getattr(one, "text_format", "")]
        assert column.render(steps._bar.tasks[0]).plain == "reading a[/b].gz"


def test_columns_of_lists_can_be_dropped(folder, capsys):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    lists = arrow.array([[1, 2], [3]] * 10)
    parquet.write_table(arrow.table({"a": np.arange(20.0), "l": lists, "y": np.arange(20) % 2}), "t.parquet")
    assert main(["train", "t.parquet", "--target", "y", "-o", "m"]) == 2
    assert "leave it out with --drop 'l'" in capsys.readouterr().err
    assert main(["train", "t.parquet", "--target", "y", "-o", "m", "--drop", "l", "-q"]) == 0
    assert main(["predict", "t.parquet", "m", "out", "-q"]) == 0


def test_errors_of_files_are_not_taken_for_those_of_standard_output(folder, monkeypatch, capsys):
    def failing(*arguments):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("widemargin.cli.models.kind_of_model", failing)
    Path("d").write_text("1 1:1\n")
    assert main(["predict", "d", "m"]) == 2
    said = capsys.readouterr().err
    assert "Input/output error" in said and "standard output" not in said


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="no such file there")
def test_a_model_that_cannot_be_read_is_named(folder, capsys):
    Path("d").write_text("1 1:1\n")
    assert main(["predict", "d", "/proc/self/mem"]) == 2
    assert capsys.readouterr().err.startswith("widemargin: /proc/self/mem ")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device there")
@pytest.mark.parametrize("command", ["--help", "info", "info --json", "completion bash"])
def test_standard_output_that_is_full_or_closed(command):
    def run(stdout, **settings):
        words = [sys.executable, "-m", "widemargin", *command.split()]
        return subprocess.run(words, env=ENV, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=120, **settings)

    with open("/dev/full", "w") as full:
        done = run(full)
    assert done.returncode == 2
    assert done.stderr == "widemargin: standard output cannot be written: No space left on device.\n"
    read, write = os.pipe()
    os.close(read)
    done = run(write)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")
