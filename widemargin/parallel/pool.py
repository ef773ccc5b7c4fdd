"""Threads that help with work, and stay awake for a moment before they sleep.

A solve hands out work every millisecond or so, and waking a sleeping thread takes as long as a good part of that work:
with concurrent.futures, 150 to 280 us until both ends of a section were awake again. So a helper that has nothing to do
first watches a number in memory, without the GIL, and whoever waits for a helper does the same: 35 to 100 us. After
some 0.7 ms both sleep as usual, so that an idle pool takes no time from anybody.
"""

from __future__ import annotations

import atexit
import queue
import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import INTERPRETED, jit
from widemargin.parallel.atomics import read_word

LOOKS = 1_000_000  # at the number before going to sleep, about 0.7 ns each
LAST_SECONDS = 1.0  # that the end of the process waits for a helper


class Errand:
    """A function for one helper to call, unless it is taken back before a helper has begun."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._claim, self._ended = threading.Lock(), threading.Lock()
        self._ended.acquire()
        self._is_over = np.zeros(1, np.int64)
        self.error: BaseException | None = None

    def run(self) -> None:
        """Call the function; what it raises is kept for whoever waits."""
        if not self._claim.acquire(blocking=False):
            return
        try:
            self._work()
        except BaseException as error:
            self.error = error
        finally:
            self._is_over[0] = 1
            self._ended.release()

    def take_back(self) -> bool:
        """Whether no helper has begun, so that none will."""
        return self._claim.acquire(blocking=False)

    def wait(self) -> None:
        """Until the function has returned; once, unless Ctrl-C ends the wait."""
        watch(self._is_over, 0, LOOKS)
        self._ended.acquire()


class Helpers:
    """A growing number of threads that run errands in the order they are sent."""

    def __init__(self) -> None:
        self._errands: queue.SimpleQueue[Errand | None] = queue.SimpleQueue()
        self._sent = np.zeros(1, np.int64)  # any change of it says that there is something to do
        self._threads: list[threading.Thread] = []
        self._growing = threading.Lock()
        atexit.register(self._dismiss)

    def __len__(self) -> int:
        return len(self._threads)

    def grow(self, count: int) -> None:
        """Have at least so many threads."""
        with self._growing:
            while len(self) < count:
                number = len(self)
                self._threads.append(
                    threading.Thread(
                        target=_help, args=(self._errands, self._sent), name=f"widemargin_{number}", daemon=True
                    )
                )
                self._threads[-1].start()

    def send(self, work: Callable[[], None]) -> Errand:
        """Have a helper call `work` as soon as one is free."""
        errand = Errand(work)
        self._errands.put(errand)
        self._sent[0] += 1
        return errand

    def _dismiss(self) -> None:
        """At the end of the process: machine code must not vanish under a thread that is running it."""
        for _ in self._threads:
            self._errands.put(None)
        self._sent[0] += 1
        for thread in self._threads:
            thread.join(LAST_SECONDS)


def _help(errands: queue.SimpleQueue[Errand | None], sent: NDArray[np.int64]) -> None:
    """What a thread does all its life."""
    while True:
        seen = int(sent[0])
        try:
            errand = errands.get_nowait()
        except queue.Empty:
            watch(sent, seen, LOOKS)
            errand = errands.get()
        if errand is None:
            return
        errand.run()
        del errand  # nothing of a fit is kept alive by waiting for the next


@jit
def watch(number, value, looks):
    """Look at number[0] until it is no longer `value`, so many times at most."""
    for _ in range(looks):
        if read_word(number, 0) != value:
            break


def _pass_by(number, value, looks):
    """`watch` where functions are not compiled: with the GIL nothing would change while one looks."""


if INTERPRETED:
    watch = _pass_by
