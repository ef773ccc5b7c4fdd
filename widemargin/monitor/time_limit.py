"""Ending a solver in time: a time limit covers the certificate too.

A solver reports its progress once per round, and can be ended there only. With t the clock (clock.py) and c the price
of the certificate of the point reached, it is ended when

    t + c >= deadline    or    t + r' + c' > deadline + allowed overshoot

with r' and c' expected of the next round: as in the last one, or more in the same proportion if they were more than in
the one before, since working sets double at first. What is done before the first step is not repeated and counts as no
round. So a fit ends within its limit, or passes it by little.
"""

from __future__ import annotations

from collections.abc import Callable

from widemargin.monitor import clock
from widemargin.monitor.interrupt import StopRequested
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping

OVERSHOOT = 0.05, 0.3  # share of the limit and seconds, the larger of which a fit may add to its limit, ...
PLANNED = 0.5  # ... and the share of it that the next round may use if it is as long as expected
GROWTH = 2.0  # largest ratio of two rounds that is expected again: working sets double


def overshoot(time_limit: float) -> float:
    """Return the seconds by which a fit may pass its limit.

    Examples
    --------
    >>> overshoot(1.0), overshoot(60.0)
    (0.3, 3.0)
    """
    share, least = OVERSHOOT
    return max(share * time_limit, least)


def extrapolated(before: float, last: float) -> float:
    """Return the next of two positive numbers, which may grow but is not expected to fall.

    Examples
    --------
    >>> extrapolated(1.0, 2.0), extrapolated(2.0, 1.0), extrapolated(0.0, 1.0)
    (4.0, 1.0, 1.0)
    """
    return last * min(GROWTH, max(1.0, last / before)) if before > 0.0 else last


class EndInTime:
    """Listener that passes records on, and ends the solver with TIME_LIMIT in time for the certificate.

    stopping : the rule of the solver, with a time limit that starts now
    price : returns the seconds that certifying the point of a record will take
    watch : receives the records
    """

    def __init__(self, stopping: Stopping, price: Callable[[Iteration], float], watch: Watch | None) -> None:
        self.price, self.watch = price, watch
        self.deadline, self.last = stopping.deadline(), clock.now()
        self.planned = PLANNED * overshoot(stopping.time_limit or 0.0)
        self.round = self.longest = 0.0  # seconds of the last and of the longest round
        self.due = 0.0  # seconds of the certificate after the last round
        self.has_ended = False

    def __call__(self, iteration: Iteration) -> None:
        if self.watch is not None:
            self.watch(iteration)
        if not self.has_ended and iteration.violation > iteration.tol:
            now, before, due_before = clock.now(), self.round, self.due
            self.longest = max(self.longest, now - self.last)
            self.round = now - self.last if iteration.iterations else 0.0
            self.due = self.price(iteration)
            ready = now + extrapolated(before, self.round) + extrapolated(due_before, self.due)
            self.has_ended = now + self.due >= self.deadline or ready > self.deadline + self.planned
            self.last = clock.now()
        if self.has_ended:
            raise StopRequested(Status.TIME_LIMIT)
