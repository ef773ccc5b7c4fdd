"""Signal handlers replaced for a while, and KeyboardInterrupt put off where it would do damage.

Python runs the handler of a signal in the main thread, between any two of its calls. The locks of concurrent.futures
are written in Python: an exception that comes when such a lock is acquired, but its `with` block is not yet entered,
leaves it locked, and every later fit of the process, and its end, would wait for the pool for ever.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)  # those that may raise KeyboardInterrupt

Handler = Callable[[int, FrameType | None], Any]


def handlers_in_python() -> dict[int, Handler]:
    """Return the handlers of SIGNALS that are functions, not the system's own; none outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {number: handler for number in SIGNALS if callable(handler := signal.getsignal(number))}


def replace_handlers(handlers: Mapping[int, Handler], by: Handler) -> None:
    """Install `by` in the place of some handlers, or change nothing."""
    try:
        for number in handlers:
            signal.signal(number, by)
    except BaseException:  # a signal whose handler was still the old one
        restore_handlers(handlers)
        raise


def restore_handlers(handlers: Mapping[int, Handler]) -> None:
    """Install handlers again, all of them even if one of them is called meanwhile."""
    try:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    except BaseException:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        raise


class InterruptsDeferred:
    """Context in which signal handlers are called as usual, but what they raise is raised at the end.

    at_once : called when a handler has raised
    """

    def __init__(self, at_once: Callable[[], None] | None = None) -> None:
        self.at_once = at_once
        self.raised: BaseException | None = None
        self.handlers: dict[int, Handler] = {}

    def __enter__(self) -> InterruptsDeferred:
        self.handlers = handlers_in_python()
        replace_handlers(self.handlers, self._call)
        return self

    def _call(self, number: int, frame: FrameType | None) -> None:
        try:
            self.handlers[number](number, frame)
        except BaseException as raised:
            self.raised = raised
            if self.at_once is not None:
                self.at_once()

    def __exit__(self, *exception: object) -> None:
        restore_handlers(self.handlers)
        if self.raised is not None:
            raise self.raised
