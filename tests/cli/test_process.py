"""The command as its own process: quick to start, clean in pipes, exit codes that others see, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file

import widemargin
from widemargin.cli.command import EXIT_CODES
from widemargin.cli.main import main
from widemargin.io import load

ROOT = os.path.dirname(os.path.dirname(widemargin.__file__))
ENV = {**os.environ, "PYTHONPATH": ROOT, "PYTHONUNBUFFERED": "1"}
COMMAND = [sys.executable, "-m", "widemargin"]


def run(*arguments, **settings):
    return subprocess.run([*COMMAND, *arguments], env=ENV, capture_output=True, text=True, timeout=300, **settings)


def test_help_loads_neither_the_compiler_nor_scikit_learn():
    script = (
        "import sys; from widemargin.cli.main import main; main(['--help']); main(['train', '--help'])\n"
        "print(sorted({'numpy', 'numba', 'sklearn', 'scipy', 'rich', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], env=ENV, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "Usage: widemargin train" in done.stdout


@pytest.mark.needs_compiler
def test_as_a_user_would_in_a_folder(cancer):
    X, _ = cancer
    trained = run("train", "cancer", "-c", "10", "-g", "0.01")
    assert trained.returncode == 0, trained.stderr
    assert trained.stdout == ""
    assert "saved as cancer.model" in trained.stderr
    with open("cancer") as text:
        predicted = run("predict", "-", "cancer.model", "--quiet", stdin=text)
    assert (predicted.returncode, predicted.stderr) == (0, "")
    expected = load("cancer.model").predict(csr_matrix(X))
    np.testing.assert_array_equal(np.array(predicted.stdout.split(), int), expected)
    with open("cancer", "a") as text:
        text.write("1 1:\x00 \n")
    damaged = run("train", "cancer", "--json")
    assert damaged.returncode == 2
    assert damaged.stderr.startswith("widemargin: cancer, line 201, column 3: a zero byte")
    assert "Traceback" not in damaged.stderr
    assert json.loads(damaged.stdout)["exit_code"] == 2


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are sent to processes in another way there")
@pytest.mark.parametrize(("sent", "ignored"), [(signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGTERM, True)])
def test_ctrl_c_and_sigterm_save_the_best_model_so_far(folder, sent, ignored):
    def ignore_ctrl_c():  # as shells do in the background jobs of a script
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 8))
    dump_svmlight_file(X, rng.choice([-1, 1], 6000), "noise", zero_based=False)  # pure noise at large C: long to fit
    command = [*COMMAND, "train", "noise", "-c", "1e6", "-g", "0.05", "-e", "1e-6"]
    before = ignore_ctrl_c if ignored else None
    process = subprocess.Popen(command, env=ENV, stderr=subprocess.PIPE, text=True, preexec_fn=before)
    for line in process.stderr:  # the solver has begun when it reports its first progress
        if line.startswith("SVC "):
            break
    time.sleep(0.5)
    assert process.poll() is None, "the problem is too easy to be interrupted"
    process.send_signal(sent)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1, said
    assert "The fit was interrupted" in " ".join(said.split())
    model = load("noise.model")
    assert model.status_ is widemargin.Status.INTERRUPTED
    assert model.decision_function(csr_matrix(X[:5])).shape == (5,)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent to processes in another way there")
@pytest.mark.parametrize("ctrl_c", [signal.SIG_IGN, signal.default_int_handler])
@pytest.mark.parametrize(
    ("arguments", "expected"), [("train cancer", 1), ("cv cancer", 143), ("cv cancer --json", 143)]
)
def test_sigterm_ends_a_fit_whether_or_not_ctrl_c_is_ignored(cancer, monkeypatch, capsys, ctrl_c, arguments, expected):
    fit = widemargin.SVC._fit

    def terminated(self, *arguments):
        signal.raise_signal(signal.SIGTERM)
        fit(self, *arguments)

    monkeypatch.setattr(widemargin.SVC, "_fit", terminated)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, ctrl_c)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        assert main(arguments.split()) == expected
        assert signal.getsignal(signal.SIGINT) is ctrl_c
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    out, err = capsys.readouterr()
    if expected == 1:
        assert load("cancer.model").status_ is widemargin.Status.INTERRUPTED
    else:
        assert "interrupted before the result was complete" in err
    if "--json" in arguments:
        assert json.loads(out)["exit_code"] == expected


def test_exit_codes_are_documented_in_the_words_of_the_help():
    rows = set(Path(ROOT, "docs", "command-line.md").read_text().splitlines())
    assert {f"| {code} | {meaning} |" for code, meaning in EXIT_CODES} <= rows


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes there")
def test_a_pipe_in_place_of_a_file(cancer):
    import threading

    from widemargin.io import read_libsvm

    with open("cancer", "rb") as text:
        content = text.read()
    os.mkfifo("pipe")

    def write():
        with open("pipe", "wb") as pipe:
            pipe.write(content)

    writer = threading.Thread(target=write)
    writer.start()
    X, _ = read_libsvm("pipe")
    writer.join()
    assert (read_libsvm("cancer")[0] != X).nnz == 0
