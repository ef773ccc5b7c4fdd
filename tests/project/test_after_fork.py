"""A forked child waits for no thread of its parent, and limits BLAS no longer than its own fits last."""

import multiprocessing
import os
import signal
import threading
import warnings
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

import widemargin
from widemargin import _jit, sklearn_patch
from widemargin.parallel import tiles
from widemargin.parallel.tiles import run_tiles, single_threaded_blas

pytestmark = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
PATIENCE = 20  # seconds after which a child that waits for ever is ended


def succeeds_in_child(work):
    """Whether work() returns True in a forked child before its alarm."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
        child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
        code = 1
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@contextmanager
def elsewhere(context):
    """Another thread is inside a context meanwhile."""
    entered, leave = threading.Event(), threading.Event()

    def stay():
        with context:
            entered.set()
            leave.wait(60.0)

    thread = threading.Thread(target=stay, daemon=True)
    thread.start()
    assert entered.wait(10.0)
    yield
    leave.set()
    thread.join(10.0)


@pytest.fixture(autouse=True)
def blas(monkeypatch):
    """A BLAS of two threads in place of the real one: OpenBLAS takes no limit from a second thread after a fork."""
    state = SimpleNamespace(threads=2)

    def set_threads(number):
        state.threads = number

    def limit(limits, user_api):
        set_threads(limits)
        return SimpleNamespace(restore_original_limits=lambda: set_threads(2))

    monkeypatch.setattr(tiles, "_controller", SimpleNamespace(limit=limit))
    return state


def use_blas():
    with single_threaded_blas():
        return tiles._blas_users == 1


def use_patch():
    with widemargin.patch_sklearn():
        return True


def use_compiler_lock():
    with _jit.global_compiler_lock:
        return _jit.seconds_compiling() >= 0.0


LOCKS = {
    "pool": (lambda: tiles._lock, use_blas),
    "patch": (lambda: sklearn_patch._lock, use_patch),
    "compiler": (lambda: _jit.global_compiler_lock, use_compiler_lock),
    "clock": (lambda: _jit._compiler_clock.lock, use_compiler_lock),
}


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_that_another_thread_holds_is_free_in_a_child(name):
    lock, use = LOCKS[name]
    use()
    with elsewhere(lock()):
        assert succeeds_in_child(use)


def test_a_pool_at_work_is_not_waited_for():
    ready, leave = threading.Barrier(3), threading.Event()

    def tile(number):
        ready.wait(10.0)
        leave.wait(60.0)

    busy = threading.Thread(target=run_tiles, args=(tile, 2, 2), daemon=True)
    busy.start()
    ready.wait(10.0)

    def work():
        done = []
        run_tiles(done.append, 10, 2)
        return sorted(done) == list(range(10))

    assert succeeds_in_child(work)
    leave.set()
    busy.join(10.0)


def test_a_limit_of_blas_set_by_a_fit_of_the_parent_ends_with_the_childs_first_fit(blas):
    with elsewhere(single_threaded_blas()):
        assert blas.threads == 1
        assert succeeds_in_child(lambda: use_blas() and blas.threads == 2 and use_blas())
    assert blas.threads == 2


def test_a_child_forked_within_a_fit_keeps_the_limit_until_that_fit_ends(blas):
    def nested():
        with single_threaded_blas():
            pass
        return blas.threads == 1 and tiles._blas_users == 1

    with single_threaded_blas():
        assert succeeds_in_child(nested)
    assert blas.threads == 2 and tiles._blas_users == 0


def test_a_thread_that_compiles_elsewhere_is_not_counted_in_a_child():
    with elsewhere(_jit.global_compiler_lock):
        assert succeeds_in_child(lambda: _jit._compiler_clock.depth == 0 and _jit.NOTICE._cache is None)
