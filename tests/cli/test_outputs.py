"""Where results go: never over an input, links followed, permissions kept, pipes written to."""

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


def test_standard_output_is_no_file(files, capsys):
    assert main(["predict", "d", "m", "-", "-q"]) == 0
    assert capsys.readouterr().out.split() == ["1", "-1", "1", "-1"]


def test_a_picture_is_closed_when_it_is_written(files):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    before = pyplot.get_fignums()
    assert main(["plot", "m", "d", "-o", "p.png", "-q"]) == 0
    assert pyplot.get_fignums() == before
