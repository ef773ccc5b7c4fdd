"""A small pool of threads above the compiled, GIL-free functions.

Compiled functions are serial. Work is divided into a few large tiles (starting a thread and waiting for it costs
150-280 us) that run on a ThreadPoolExecutor. BLAS is limited to one thread meanwhile: its threads compete with ours,
and a small Cholesky factor on two BLAS threads of a busy machine was measured 160 times slower than on one.

Fits of a process share the pool, which has one thread less than the cores a fit may use, because the calling thread
works as well: k fits in k threads use at most k + cores - 1 threads. The limit that joblib and Dask set for their
worker processes in OMP_NUM_THREADS is respected.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache

import joblib
from threadpoolctl import ThreadpoolController

from widemargin.parallel.after_fork import in_child_after_fork
from widemargin.parallel.signal_handlers import InterruptsDeferred

_lock = threading.Lock()
_controller: ThreadpoolController | None = None
_blas_users = 0
_blas_limit = None
_inside = threading.local()


def available_cores() -> int:
    """Return the number of cores this process may use: its affinity mask, container quota and OMP_NUM_THREADS."""
    cores = _cores_of_machine()
    meant = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]  # a list gives one number per nested level
    return min(cores, int(meant)) if meant.isdecimal() and int(meant) > 0 else cores


def _cores_of_machine() -> int:
    """Return the number of cores by affinity mask and container quota."""
    cores = _cores_by_quota()
    if hasattr(os, "sched_getaffinity"):
        cores = min(cores, len(os.sched_getaffinity(0)) or 1)
    return cores


@cache
def _cores_by_quota() -> int:
    """Return the number of cores within a container's quota; cached, because it is read from files."""
    return joblib.cpu_count()


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Number of threads for `n_jobs`: None means all cores, negative counts back from all cores as in joblib.

    A number beyond the cores is reduced to them: threads that compute gain nothing by taking turns on a core. One
    beyond OMP_NUM_THREADS is not, because a parameter is more explicit.
    """
    if n_jobs is None:
        return available_cores()
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: give a positive number of threads, or -1 for all cores.")
    return min(n_jobs, _cores_of_machine()) if n_jobs > 0 else max(1, available_cores() + 1 + n_jobs)


def run_tiles(task: Callable[[int], None], count: int, n_threads: int) -> None:
    """Call `task(0) ... task(count - 1)` on up to `n_threads` threads; exceptions are re-raised in the caller."""
    if count <= 1 or n_threads <= 1 or getattr(_inside, "task", False):
        for number in range(count):
            task(number)
        return
    waiting = deque(range(count))
    stopped = False  # no Event: its lock could be interrupted

    def stop() -> None:
        nonlocal stopped
        stopped = True

    def work() -> None:
        # Each thread processes the next tile until none is left. `popleft` is atomic with and without a GIL.
        _inside.task = True
        try:
            while not stopped:
                try:
                    number = waiting.popleft()
                except IndexError:
                    return
                task(number)
        except BaseException:
            stop()
            raise
        finally:
            _inside.task = False

    futures: list[Future[None]] = []
    error: BaseException | None = None
    try:
        # At interpreter exit, or without new threads, this thread runs all tiles.
        with InterruptsDeferred(), suppress(RuntimeError):
            for _ in range(min(n_threads, count) - 1):
                futures.append(_executor(n_threads - 1).submit(work))
        work()
    except BaseException as raised:
        stop()
        error = raised
    has_ended = False
    while not has_ended:  # wait for all threads, also after Ctrl-C
        try:
            with InterruptsDeferred(stop):
                for future in futures:
                    if not future.cancel():  # a job still queued behind another fit has no tiles left
                        failed = future.exception()
                        error = error or failed
                has_ended = True
        except KeyboardInterrupt as raised:
            stop()
            error = raised
    if error is not None:
        raise error


@cache
def _executor(count: int) -> ThreadPoolExecutor:
    """Return the process-wide pool with this number of threads, which are started on demand."""
    return ThreadPoolExecutor(count, thread_name_prefix=f"widemargin-{count}")


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread; reference-counted, so that concurrent fits do not undo each other's limit.

    Where the libraries of the process cannot be listed (Linux without /proc), BLAS keeps its threads.
    """
    global _controller, _blas_users, _blas_limit
    counted, nested = 0, getattr(_inside, "blas", 0)
    try:
        with _lock:
            _blas_users += 1
            counted = 1  # at once: a KeyboardInterrupt comes after a call
            _inside.blas = nested + 1
            if _blas_limit is None:
                with suppress(OSError):
                    if _controller is None:
                        import scipy.linalg  # noqa: F401  (its BLAS must be loaded to be found)

                        _controller = ThreadpoolController()
                    _blas_limit = _controller.limit(limits=1, user_api="blas")
        yield
    finally:
        _inside.blas = nested
        with _lock:
            _blas_users -= counted
            if _blas_users == 0 and _blas_limit is not None:
                _blas_limit.restore_original_limits()
                _blas_limit = None


@in_child_after_fork
def _renew_after_fork() -> None:
    """Drop the pools, whose threads do not exist in a child, and the fits that other threads had begun.

    A limit of BLAS that such a fit had set is kept, and lifted at the end of the child's first fit: to change it inside
    fork would be a call of BLAS.
    """
    global _lock, _blas_users
    _lock, _blas_users = threading.Lock(), getattr(_inside, "blas", 0)
    _executor.cache_clear()
