"""What is said while functions are compiled, and that processes which start together compile each function once."""

import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from widemargin._jit import compile_notice
from widemargin._jit.compile_notice import CompileNotice

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(compile_notice.__file__)))
SCRIPT = """
import multiprocessing, os, sys, time
from widemargin._jit import compile_notice, jit
compile_notice.PATIENCE = 0.0

@jit
def one(x):
    return x + 1.0

@jit
def two(x):
    return one(x) + 2.0

def use():
    two(1.0), one(1)

if __name__ == "__main__":
    if sys.argv[1] == "worker":
        worker = multiprocessing.get_context("spawn").Process(target=use)
        worker.start(), worker.join()
    else:
        print("ready", flush=True)
        sys.stdin.readline()
        use()
        print(*(sum(count.values()) for f in (one, two) for count in (f.stats.cache_hits, f.stats.cache_misses)))
"""
NO_FOLDER = "from widemargin._jit import cache_folder\ncache_folder.folders = lambda source: []\n"


@pytest.fixture
def start(tmp_path):
    """Start the script in a new process, with its cache in a folder of this test."""

    def start(mode="", script=SCRIPT, **environment):
        path = tmp_path / "script.py"
        path.write_text(script)
        env = {**os.environ, "PYTHONPATH": ROOT, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), **environment}
        command = [sys.executable, "-W", "error", str(path), mode]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(command, env=env, text=True, **pipes)

    return start


def said_by(process):
    _, said = process.communicate("\n", timeout=120)
    assert process.returncode == 0, said
    return said


@pytest.mark.needs_compiler
@pytest.mark.slow
def test_one_line_says_where_functions_are_kept_and_none_that_they_are_loaded(start, tmp_path):
    generic = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    said = said_by(start(**generic))
    assert said.startswith("widemargin: compiling ")
    assert said.endswith(f"; kept for next time in {tmp_path / 'cache'}\n")
    assert said.count("\n") == 1
    assert "another CPU" not in said
    assert "(those on disk are for another CPU: generic)" in said_by(start())
    assert said_by(start()) == said_by(start(**generic)) == ""  # both are kept


@pytest.mark.needs_compiler
@pytest.mark.slow
def test_a_reason_is_given_where_nothing_can_be_kept(start):
    said = said_by(start(script=NO_FOLDER + SCRIPT))
    assert "; cannot be kept because neither the installation nor a cache folder of the user can be written;" in said
    assert "`widemargin warmup` does it ahead" in said


@pytest.mark.needs_compiler
@pytest.mark.slow
def test_worker_processes_say_nothing(start):
    assert said_by(start("worker")) == ""


@pytest.mark.needs_compiler
@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no locks of this kind: each process compiles for itself")
def test_processes_that_start_together_compile_each_function_once(start):
    processes = [start() for _ in range(3)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    counts = [[int(count) for count in process.communicate(timeout=120)[0].split()] for process in processes]
    one_hits, one_misses, two_hits, two_misses = map(sum, zip(*counts))
    assert (one_misses, two_misses) == (2, 1)  # `one` for a float and for an integer
    assert two_hits == 2


def test_a_full_disk_does_not_end_a_fit():
    from widemargin._jit.disk_cache import DiskCache

    def full(signature, compiled):
        raise OSError(28, "No space left on device")

    cache = DiskCache(SimpleNamespace(_cache=SimpleNamespace(cache_path=None)))
    cache.opened = SimpleNamespace(save_overload=full, cache_path="/cache/solvers_1")
    cache.save_overload((), None)
    assert cache.folder() is None
    assert cache.refusal == "/cache/solvers_1 cannot be written (No space left on device)"


def test_only_compiling_counts_and_one_line_is_logged(monkeypatch, caplog):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(compile_notice, "sentence", lambda cache: "compiling")
    caplog.set_level("WARNING", "widemargin")
    notice = CompileNotice()
    with notice.around("loaded"):
        now[0] += 5.0
    for _ in range(4):
        with notice.around("outer"), notice.around("inner"):
            notice.work()
            now[0] += 0.6
            notice.work()
    assert notice.seconds == pytest.approx(2.4)
    assert [record.getMessage() for record in caplog.records if record.name == "widemargin"] == ["compiling"]


PRESSED = """
import signal
from numba.core import event
from widemargin._jit import compile_notice, jit
from widemargin.monitor.interrupt import CtrlC
compile_notice.PATIENCE = 1e9  # seconds until the other line

@jit
def slow(x):
    return x + 1.0

class Press(event.Listener):
    def on_start(self, happening):
        signal.raise_signal(signal.SIGINT)

    def on_end(self, happening):
        pass

with CtrlC() as ctrl_c, event.install_listener("numba:compile", Press()):
    slow(1.0)
print(ctrl_c.presses)
with CtrlC() as ctrl_c:
    signal.raise_signal(signal.SIGINT)  # nothing is compiled: nothing to wait for
print(ctrl_c.presses)
"""


def test_ctrl_c_while_compiling_says_what_it_waits_for(start):
    said, errors = start(script=PRESSED).communicate(timeout=120)
    assert said.split() == ["1", "1"]
    assert errors.splitlines() == [
        "widemargin: finishing the compilation of slow and what it calls; then the fit stops"
    ]
