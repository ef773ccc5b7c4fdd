"""The clock of the single scripts."""

from __future__ import annotations

import time
from collections.abc import Callable
from timeit import repeat
from typing import Any, NamedTuple


class Timed(NamedTuple):
    """Wall seconds and CPU seconds (of all threads) of one call, and what it returned."""

    wall: float
    cpu: float
    result: Any


def timed(action: Callable[..., Any], *arguments: Any, **options: Any) -> Timed:
    """Call once and measure; on a busy machine CPU time says more than the clock."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = action(*arguments, **options)
    return Timed(time.perf_counter() - wall, time.process_time() - cpu, result)


def fastest(action: Callable[[], Any], runs: int, clock: Callable[[], float] = time.thread_time) -> float:
    """Seconds of the fastest of several runs, by default of this thread's CPU, after one that compiles."""
    action()
    return min(repeat(action, timer=clock, number=1, repeat=runs))
