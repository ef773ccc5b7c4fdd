"""Ctrl-C as a request to finish: the fit ends at its next round, with the best model so far and its certificate.

Python turns Ctrl-C into a KeyboardInterrupt wherever the interpreter happens to be. In the middle of compiling that is
inside a callback of LLVM, which swallows the exception or turns it into an unrelated one. So while a fit runs, the
first Ctrl-C only sets a flag that the solvers check once per round, and a line says so if a compilation has to end
first. A second one raises KeyboardInterrupt immediately, and the fit passes it on.

Every request to stop, from Ctrl-C, a callback or a listener, is one exception: a solver catches KeyboardInterrupt, ends
at its current point, and reports `status_of` it. A `StopSignal` passes the request to the other problems of the fit.

A loop around the fit must end too: each press would otherwise end one fit of a search or of a script, and the loop
would continue with a half-trained model. So an interrupted fit leaves the estimator fitted, then raises
KeyboardInterrupt, except at a prompt, where a person can look at the model (`ends_loops`).

The signal handler is installed only in the main thread, and only if there is no user-defined handler; otherwise nothing
is changed, and an ordinary KeyboardInterrupt still ends the solver at its current point. SIGTERM is left alone unless
somebody, as the command line does, made it raise KeyboardInterrupt too.
"""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import Any

from widemargin.monitor.status import Status
from widemargin.parallel.signal_handlers import handlers_in_python, replace_handlers, restore_handlers


class StopRequested(KeyboardInterrupt):
    """Raised inside `watch` to end a solver with this status; a callback's request is STOPPED."""

    def __init__(self, status: Status = Status.STOPPED) -> None:
        super().__init__()
        self.status = status


class FitInterrupted(KeyboardInterrupt):
    """Raised at the end of a fit that Ctrl-C ended: the estimator is fitted, and the loop around it must end."""


def status_of(interrupt: KeyboardInterrupt) -> Status:
    """The status of a solver that was ended by this exception."""
    return interrupt.status if isinstance(interrupt, StopRequested) else Status.INTERRUPTED


class FitEnded(RuntimeError):
    """Raised at the end of a fit that could not go on: the estimator is fitted with the best model so far."""


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


def ends_loops(on_interrupt: str, is_clone: bool) -> bool:
    """Whether an interrupted fit raises KeyboardInterrupt.

    Clones are made by searches, cross-validation and meta-estimators, and raise in any case. All others follow
    `on_interrupt`, "keep" or "raise"; "auto" keeps the model at a prompt only: Python and IPython set `sys.ps1` there.

    Examples
    --------
    >>> from widemargin.monitor.interrupt import ends_loops
    >>> ends_loops("keep", is_clone=False), ends_loops("keep", is_clone=True)
    (False, True)
    """
    is_kept = on_interrupt == "keep" or (on_interrupt == "auto" and hasattr(sys, "ps1"))
    return is_clone or not is_kept


def is_inside_numba(frame: FrameType | None) -> bool:
    """Whether a signal interrupted Numba's own Python code, which unpacks results of compiled functions.

    Its callers in C do not expect an exception there, and the process may crash.
    """
    return frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "numba"


class Termination:
    """Handler that makes SIGTERM act as Ctrl-C does, whether or not Ctrl-C is ignored, and records that it came."""

    came = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt


class CtrlC:
    """Context in which the first Ctrl-C sets `requested` instead of raising; so does SIGTERM where it acts as Ctrl-C.

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
        self._replaced: dict[int, Any] = {}  # signal -> its handler outside

    def __enter__(self) -> CtrlC:
        from widemargin._jit import NOTICE  # here, because the command line handles Ctrl-C before it loads Numba

        self._say_stop = NOTICE.say_stop
        self._replaced = {
            number: handler
            for number, handler in handlers_in_python().items()
            if handler is signal.default_int_handler or isinstance(handler, Termination)
        }
        replace_handlers(self._replaced, self._pressed)
        return self

    def _pressed(self, number: int, frame: FrameType | None) -> None:
        handler = self._replaced[number]
        if isinstance(handler, Termination):
            handler.came = True
        self.presses += 1
        self.requested.request(Status.INTERRUPTED)
        if self.presses == 1:
            self._say_stop()
        if self.presses > 1 and not is_inside_numba(frame):  # else raised at the end, which the first one asked for
            raise KeyboardInterrupt

    def listener(self, iteration: Any) -> None:
        """Listener of a solver that ends it at the first Ctrl-C."""
        self.requested.raise_if_set()

    def __exit__(self, *exception: object) -> None:
        restore_handlers(self._replaced)
        if self.presses > 1 and exception[0] is None:  # a solver may have caught the second one
            raise KeyboardInterrupt
