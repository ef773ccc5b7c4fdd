"""Ctrl-C as a request to finish: the fit ends at its next round, with the best model so far and its certificate.

Python turns Ctrl-C into a KeyboardInterrupt wherever the interpreter happens to be. In the middle of compiling that is
inside a callback of LLVM, which swallows the exception or turns it into an unrelated one. So while a fit runs, the
first Ctrl-C only sets a flag that the solvers check once per round. A second one raises KeyboardInterrupt immediately,
and the fit passes it on.

Every request to stop, from Ctrl-C, a callback or a listener, is one exception: a solver catches KeyboardInterrupt, ends
at its current point, and reports `status_of` it. A `StopSignal` passes the request to the other problems of the fit.

The signal handler is installed only in the main thread, and only if there is no user-defined handler; otherwise nothing
is changed, and an ordinary KeyboardInterrupt still ends the solver at its current point.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType

from widemargin.monitor.status import Status


class StopRequested(KeyboardInterrupt):
    """Raised inside `watch` to end a solver with this status; a callback's request is STOPPED."""

    def __init__(self, status: Status = Status.STOPPED) -> None:
        super().__init__()
        self.status = status


def status_of(interrupt: KeyboardInterrupt) -> Status:
    """The status of a solver that was ended by this exception."""
    return interrupt.status if isinstance(interrupt, StopRequested) else Status.INTERRUPTED


class StopSignal(threading.Event):
    """Request to end a fit, shared by its threads; its solvers end with `status`."""

    status = Status.INTERRUPTED

    def request(self, status: Status) -> None:
        """Set the signal; the first request determines the status."""
        if not self.is_set():
            self.status = status
        self.set()

    def raise_if_set(self) -> None:
        """Raise StopRequested if the signal is set, which ends the solver that calls this from its `watch`."""
        if self.is_set():
            raise StopRequested(self.status)


class CtrlC:
    """Context in which the first Ctrl-C sets `requested` instead of raising.

    Examples
    --------
    >>> import signal
    >>> from widemargin.monitor.interrupt import CtrlC
    >>> with CtrlC() as ctrl_c:
    ...     signal.raise_signal(signal.SIGINT)
    ...     ctrl_c.requested.is_set()
    True
    """

    def __init__(self) -> None:
        self.requested = StopSignal()
        self.presses = 0
        self._installed = False

    def __enter__(self) -> CtrlC:
        in_main_thread = threading.current_thread() is threading.main_thread()
        if in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._pressed)
            self._installed = True
        return self

    def _pressed(self, number: int, frame: FrameType | None) -> None:
        self.presses += 1
        self.requested.request(Status.INTERRUPTED)
        if self.presses > 1:
            raise KeyboardInterrupt

    def __exit__(self, *exception: object) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.presses > 1 and exception[0] is None:  # a solver may have caught the second one
            raise KeyboardInterrupt
