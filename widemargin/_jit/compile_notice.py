"""One line for people who wait: the `widemargin` logger says that functions are being compiled, and where they go.

Compiling happens without being asked for, in the first fit of an installation, and takes seconds. After one of them a
record is logged, once per process and not in worker processes, whose parent's user would read it n times. Its level is
WARNING, which Python writes to the error stream if logging was not configured; it is no Warning, so it never raises.
Another line answers a Ctrl-C that has to wait for a compilation.
"""

from __future__ import annotations

import logging
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager

from widemargin._jit.disk_cache import DiskCache

PATIENCE = 1.0  # seconds of compiling until something is said
logger = logging.getLogger("widemargin")


class CompileNotice:
    """Adds up the seconds of compiling, and logs one line once they exceed PATIENCE."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.is_given = False
        self._cache: DiskCache | None = None  # of the outermost function at work
        self._began = 0.0
        self._is_compiling = False

    @contextmanager
    def around(self, cache: DiskCache) -> Iterator[None]:
        """Context in which a function is compiled or loaded, and the functions it calls."""
        if self._cache is not None:
            yield
            return
        self._cache, self._began, self._is_compiling = cache, time.perf_counter(), False
        try:
            yield
        finally:
            if self._is_compiling:
                self.seconds += time.perf_counter() - self._began
            self._cache = None

    def say_stop(self) -> None:
        """Log what a request to stop waits for, if a function is being compiled: that cannot be cut."""
        cache = self._cache
        if cache is not None and self._is_compiling:
            name = cache.dispatcher.py_func.__name__
            logger.warning(f"widemargin: finishing the compilation of {name} and what it calls; then the fit stops")

    def end(self) -> None:
        """Forget the function at work, which is another process's."""
        self._cache = None

    def work(self) -> None:
        """Note that this process compiles, or waits for another one that does."""
        self._is_compiling = True
        if self._cache is None or self.is_given or multiprocessing.parent_process() is not None:
            return
        if self.seconds + time.perf_counter() - self._began > PATIENCE:
            self.is_given = True
            logger.warning(sentence(self._cache))


def sentence(cache: DiskCache) -> str:
    """Return what is said about a function that is being compiled."""
    folder = cache.folder()
    said = "widemargin: compiling functions for data of this kind, for some seconds"
    if folder is None:
        return f"{said}; cannot be kept because {cache.refusal}; `widemargin warmup` does it ahead where it can"
    if cache.other_cpu:
        said += f" (those on disk are for another CPU: {cache.other_cpu})"
    return f"{said}; kept for next time in {folder}"
