"""Tiles on threads: each is run once, errors and Ctrl-C come back, nested calls, forks and ends of processes."""

import multiprocessing
import subprocess
import sys
import threading
import time

import pytest

from widemargin.parallel import tiles
from widemargin.parallel.tiles import _executor, run_tiles


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_every_tile_is_run_once(n_threads):
    for _ in range(20):
        done = []
        run_tiles(done.append, 50, n_threads)
        assert sorted(done) == list(range(50))


def meet(parties):
    """Run one tile on each of so many threads, which have to wait for each other."""
    barrier = threading.Barrier(parties)
    run_tiles(lambda _: barrier.wait(10.0), parties, parties)


def test_tiles_run_at_the_same_time():
    meet(3)


def test_tiles_on_threads_raise_what_a_tile_raises():
    def tile(number):
        if number == 3:
            raise ArithmeticError("no")

    for _ in range(20):
        with pytest.raises(ArithmeticError):
            run_tiles(tile, 8, 3)
    meet(3)


@pytest.mark.parametrize("where", ["caller", "worker"])
def test_after_an_interrupt_no_tile_begins_and_every_thread_has_ended(where):
    both, begun, running = threading.Barrier(2), [], []

    def tile(number):
        begun.append(number)
        running.append(number)
        both.wait(10.0)
        if (threading.current_thread() is threading.main_thread()) == (where == "caller"):
            running.remove(number)
            raise KeyboardInterrupt
        time.sleep(0.05)
        running.remove(number)

    with pytest.raises(KeyboardInterrupt):
        run_tiles(tile, 100, 2)
    assert begun == [0, 1] or begun == [1, 0]
    assert not running


def test_tiles_within_tiles_run_on_the_thread_that_asks():
    inner = []

    def tile(number):
        here = threading.get_ident()
        run_tiles(lambda k: inner.append((number, k, threading.get_ident() == here)), 4, 3)

    run_tiles(tile, 6, 3)
    assert sorted(inner) == [(number, k, True) for number in range(6) for k in range(4)]


def test_many_callers_at_the_same_time():
    done = []
    callers = [
        threading.Thread(target=lambda: [run_tiles(done.append, 20, 3) for _ in range(20)], daemon=True)
        for _ in range(5)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(30.0)
    assert len(done) == 5 * 20 * 20


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_starts_threads_of_its_own():
    meet(3)
    child = multiprocessing.get_context("fork").Process(target=meet, args=(3,))
    child.start()
    child.join(30.0)
    assert child.exitcode == 0


def test_without_more_threads_the_caller_does_it_all(monkeypatch):
    def refuse(work):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_executor(2), "submit", refuse)
    done = []
    run_tiles(done.append, 10, 3)
    assert done == list(range(10))


def test_a_process_ends_at_once_after_work_on_threads():
    script = "from widemargin.parallel.tiles import run_tiles\nrun_tiles(lambda k: None, 8, 4)"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_thread_that_outlives_the_main_thread_finishes_its_work():
    script = """
import threading, time
from widemargin.parallel.tiles import run_tiles
def work():
    time.sleep(0.3)  # the interpreter has begun to end, and starts no threads any more
    done = []
    run_tiles(done.append, 8, 4)
    print(sorted(done) == list(range(8)))
threading.Thread(target=work).start()
"""
    ended = subprocess.run([sys.executable, "-c", script], check=True, timeout=60, capture_output=True, text=True)
    assert ended.stdout == "True\n"


def test_blas_keeps_its_threads_where_the_libraries_of_the_process_cannot_be_listed(monkeypatch):
    """Linux without /proc, as in a bare chroot: a fit may be slower, but it does not fail."""

    def no_proc():
        raise FileNotFoundError(2, "No such file or directory", "/proc/self/maps")

    monkeypatch.setattr(tiles, "_controller", None)
    monkeypatch.setattr(tiles, "ThreadpoolController", no_proc)
    for _ in range(2):
        with tiles.single_threaded_blas():
            pass
    assert tiles._blas_users == 0 and tiles._blas_limit is None
