"""Where results go: never over an input, links followed, permissions kept, pipes written to."""

import io
import os
import signal
import stat
import threading
from pathlib import Path

import pytest

from widemargin import SVR
from widemargin.cli.main import main
from widemargin.io import load, save

DATA = "+1 1:1 2:0.5\n-1 1:-1 2:0.25\n+1 1:2\n-1 1:-2 2:1\n"


@pytest.fixture
def files(folder):
    """Data d, its model m."""
    Path("d").write_text(DATA)
    assert main(["train", "d", "-q", "-o", "m"]) == 0
    return folder


@pytest.mark.parametrize(
    "command",
    [
        "train d -o d",
        "train d d",
        "train d -o ./d",
        "train d -o link",
        "train d -o hard",
        "train d --report d",
        "train d -o x --report x",
        "train d --report d.model",
        "predict d m d",
        "predict d m m",
        "predict d m -o m",
        "report m d -o m",
        "report m d -o d",
        "plot m d -o m",
        "plot m d -o d",
        "scale d -o d",
        "scale d -s d",
        "scale d -s x -o x",
        "scale d -r ranges -o ranges",
        "convert m m --to libsvm",
        "convert m link_to_m --to libsvm",
    ],
)
def test_no_result_is_written_over_an_input_or_another_result(files, capsys, command):
    os.symlink("d", "link")
    os.symlink("m", "link_to_m")
    os.link("d", "hard")
    Path("ranges").write_text("x\n-1 1\n1 -2 2\n2 0 1\n")
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    assert main(command.split()) == 2
    assert "choose another name" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before


@pytest.mark.parametrize("command", ["train d -o", "predict d m", "scale d -o", "convert m --to libsvm"])
def test_links_are_followed_and_permissions_stay(files, command):
    Path("old").write_text("old")
    Path("old").chmod(0o600)
    os.symlink("old", "out")
    assert main([*command.split(), "out", "-q"]) == 0
    assert Path("out").is_symlink()
    assert Path("old").read_bytes() != b"old"
    assert stat.S_IMODE(Path("old").stat().st_mode) == 0o600


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes there")
@pytest.mark.parametrize("command", ["train d -o", "predict d m", "scale d -o", "report m d -o", "plot m d -o",
                                     "convert m --to sklearn"])  # fmt: skip
def test_pipes_are_written_to(files, command):
    os.mkfifo("pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe").read_bytes()), daemon=True)
    reader.start()
    assert main([*command.split(), "pipe", "-q"]) == 0
    reader.join(30.0)
    assert len(read[0]) >= 10
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


@pytest.mark.parametrize("pressed_in", ["the fit", "the scale of errors"])
def test_ctrl_c_keeps_a_regression_without_the_scale_of_its_errors(files, monkeypatch, capsys, pressed_in):
    fits, fit = [], SVR._fit

    def interrupted(self, *arguments):
        fits.append(self)
        if len(fits) == (1 if pressed_in == "the fit" else 3):
            signal.raise_signal(signal.SIGINT)
        fit(self, *arguments)

    monkeypatch.setattr(SVR, "_fit", interrupted)
    assert main(["train", "d", "-s", "svr", "-b", "1", "-o", "new"]) == (1 if pressed_in == "the fit" else 130)
    assert len(fits) == (1 if pressed_in == "the fit" else 3)
    assert "saved as new" in (said := capsys.readouterr().err)
    assert "The scale of the errors (-b 1)" in said
    assert not hasattr(load("new"), "probA_")


@pytest.mark.parametrize("machine", ["svr", "nusvr"])
def test_the_scale_of_errors_of_few_samples(files, capsys, machine):
    assert main(["train", "d", "-s", machine, "-b", "1", "-o", "new"]) == 0  # four samples
    assert load("new").probA_ > 0
    Path("one").write_text("1 1:1\n")
    assert main(["train", "one", "-s", machine, "-b", "1", "-o", "new"]) in (0, 1)
    assert "The scale of the errors (-b 1)" in capsys.readouterr().err


def test_a_read_only_model_is_not_replaced(files, capsys):
    Path("m").chmod(0o444)
    before = Path("m").read_bytes()
    assert main(["train", "d", "-o", "m", "-c", "10"]) == 2
    assert "m cannot be written: it is read-only" in capsys.readouterr().err
    assert Path("m").read_bytes() == before
    save(load("m"), "copy")


def test_standard_input_is_not_written_over(files, monkeypatch, capsys):
    before, kept = Path("d").read_bytes(), os.dup(0)
    try:
        with open("d", "rb") as stream:
            os.dup2(stream.fileno(), 0)
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
            assert main(["scale", "-", "-o", "d"]) == 2
    finally:
        os.dup2(kept, 0)
        os.close(kept)
    assert "d would be written over standard input" in capsys.readouterr().err
    assert Path("d").read_bytes() == before


@pytest.mark.parametrize(
    "command", ["train d -", "train d -o -", "train d --report -", "convert m - --to libsvm", "report m d -o -",
                "plot m d -o -", "scale d -s -"]
)  # fmt: skip
def test_no_file_is_called_like_standard_output(files, capsys, command):
    assert main(command.split()) == 2
    assert "this result needs a file" in capsys.readouterr().err
    assert not Path("-").exists()


@pytest.mark.parametrize("command", ["train d a -o b", "predict d m a -o b"])
def test_two_names_for_one_result_are_refused(files, capsys, command):
    assert main(command.split()) == 2
    assert "two names for one result, a and -o b" in capsys.readouterr().err
    assert not Path("a").exists() and not Path("b").exists()


def test_standard_output_is_no_file(files, capsys):
    assert main(["predict", "d", "m", "-", "-q"]) == 0
    assert capsys.readouterr().out.split() == ["1", "-1", "1", "-1"]


def test_the_report_of_train_states_the_certificate_of_its_fit(files):
    assert main(["train", "d", "-o", "new", "--report", "r.html", "-q"]) == 0
    assert "computed at the end of training" in Path("r.html").read_text()
    assert main(["report", "new", "d", "-o", "again.html", "-q"]) == 0
    assert "computed for this report" in Path("again.html").read_text()


def test_a_picture_is_closed_when_it_is_written(files):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    before = pyplot.get_fignums()
    assert main(["plot", "m", "d", "-o", "p.png", "-q"]) == 0
    assert pyplot.get_fignums() == before
