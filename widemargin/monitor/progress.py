"""Watching a long fit: the callback protocol of the solvers, and a bar that closes as the violation falls to `tol`.

A solver calls `watch(info)` about once per round. `info` is a dict with

    violation, tol      the largest violation of the optimality conditions, and where it may stop
    objective           value of the minimised dual
    iterations, rounds  two-variable steps and outer rounds so far
    n_support, n_free   multipliers away from zero, and those strictly inside their box
    seconds             time since the solver began

    point               a function that returns (beta, F = K b) as they are
    iterate             or, where the method has no such pair, one that returns its answer so far as a new object

and, inside a fit, `task` and `n_tasks` (many classes are several problems) and `dual`, the problem. Any callable with
one argument will do; what it returns is ignored, and a KeyboardInterrupt it raises ends the solver with what it has. It
may be called from several threads.

The violation falls over orders of magnitude, so the bar shows the share of the way on a logarithmic scale,

    log(v0 / v) / log(v0 / tol),    v0 = the largest violation seen,

kept from running backwards: the violation of a dual method need not fall monotonically.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

SECONDS_PER_LINE = 5.0  # pace of the plain lines written where no live bar can be drawn: readable in a log, not a flood
BAR_WIDTH = 12  # characters: the whole line then fits 110 columns


Listener = Callable[[dict[str, Any]], Any]


class Approach:
    """Share of the way from the first violation to the tolerance, on a logarithmic scale; never runs backwards.

    Examples
    --------
    >>> way = Approach()
    >>> [round(way.update(violation, tol=1e-3), 2) for violation in (1.0, 0.1, 0.5, 1e-3)]
    [0.0, 0.33, 0.33, 1.0]
    """

    def __init__(self) -> None:
        self.largest = 0.0
        self.fraction = 0.0

    def update(self, violation: float, tol: float) -> float:
        """Take a new violation and return the fraction in [0, 1]."""
        if violation <= tol:
            self.fraction = 1.0
        elif math.isfinite(violation):
            self.largest = max(self.largest, violation)
            way = math.log(self.largest / violation) / math.log(self.largest / tol)
            self.fraction = max(self.fraction, way)
        return self.fraction


class ProgressBar:
    """A live bar for the `watch` argument of a solver and for `verbose=True` of the estimators.

    Parameters
    ----------
    label : str, default "training"
        Word in front of the bar.
    always : bool, default False
        Write also where no live bar can be drawn (a pipe, a log file), as a plain line every few seconds. By default
        nothing is written there.
    console : rich.console.Console or None
        Where to draw; the standard error stream by default, so that results on standard output stay clean.

    Examples
    --------
    >>> from widemargin.monitor.progress import ProgressBar
    >>> with ProgressBar("fit") as watch:
    ...     watch({"violation": 0.1, "tol": 1e-3, "n_support": 12, "seconds": 0.5})
    """

    def __init__(self, label: str = "training", *, always: bool = False, console: Console | None = None) -> None:
        from rich.console import Console  # here, because drawing is rare and the import is not free

        self.label = label
        self.console = console if console is not None else Console(file=sys.stderr)
        self.live = self.console.is_terminal or self.console.is_jupyter
        self.enabled = self.live or always
        self._lock = threading.Lock()
        self._tasks: dict[int, Approach] = {}
        self._support: dict[int, int] = {}
        self._progress: Progress | None = None
        self._bar: Any = None
        self._next_line = 0.0  # seconds of fit at which the next plain line is due

    def __call__(self, info: Mapping[str, Any]) -> None:
        if not self.enabled:
            return
        with self._lock:
            task, n_tasks = int(info.get("task", 0)), int(info.get("n_tasks", 1))
            violation, tol = float(info["violation"]), float(info["tol"])
            self._tasks.setdefault(task, Approach()).update(violation, tol)
            self._support[task] = int(info.get("n_support", 0))
            fraction = sum(way.fraction for way in self._tasks.values()) / max(n_tasks, len(self._tasks))
            finished = sum(way.fraction >= 1.0 for way in self._tasks.values())
            fields: dict[str, Any] = {
                "violation": f"violation {violation:.1e} -> {tol:.0e}",
                "values": _values(info),
                "support": f"problem {finished}/{n_tasks}" if n_tasks > 1 else f"{self._support[task]:,} SV",
            }
            if self.live:
                self._draw(fraction, fields)
            else:
                self._write_line(fraction, fields, float(info.get("seconds", 0.0)))

    def _draw(self, fraction: float, fields: dict[str, Any]) -> None:
        """Create the bar at the first call, so that fits too short for one round draw nothing."""
        if self._progress is None:
            self._progress = _new_progress(self.console)
            self._bar = self._progress.add_task(self.label, total=1.0, **fields)
            self._progress.start()
        self._progress.update(self._bar, completed=fraction, **fields)

    def _write_line(self, fraction: float, fields: dict[str, Any], seconds: float) -> None:
        """A log has no cursor to move: one plain line now and then, and one at the end."""
        if seconds < self._next_line and fraction < 1.0:
            return
        self._next_line = seconds + SECONDS_PER_LINE
        words = [fields["violation"], fields["values"], fields["support"], f"{seconds:.1f} s"]
        if 0.0 < fraction < 1.0:
            words.append(f"about {seconds * (1.0 - fraction) / fraction:.0f} s to go")
        self.console.print(f"{self.label} {fraction:4.0%}  {'  '.join(filter(None, words))}", highlight=False)

    def close(self) -> None:
        """Stop drawing and release the terminal."""
        with self._lock:
            if self._progress is not None:
                self._progress.stop()
                self._progress = None

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def tell_all(listeners: list[Listener]) -> Listener | None:
    """One listener that tells all of them; None for none, so that nothing is called."""
    if len(listeners) <= 1:
        return listeners[0] if listeners else None

    def tell(info: dict[str, Any]) -> None:
        for listener in listeners:
            listener(info)

    return tell


def of_problem(listener: Listener | None, number: int, n_problems: int) -> Listener | None:
    """A listener that adds the number of the problem to every report."""
    if listener is None:
        return None
    return lambda info: listener(info | {"task": number, "n_tasks": n_problems})


def watching(label: str, verbose: Any, *listeners: Listener | None) -> AbstractContextManager[Listener | None]:
    """Context manager that combines the progress bar (if `verbose`) and other listeners into one."""
    present = [listener for listener in listeners if listener is not None]
    return _with_bar(label, present) if verbose else nullcontext(tell_all(present))


@contextmanager
def _with_bar(label: str, listeners: list[Listener]) -> Iterator[Listener | None]:
    """A bar before the others: it shows also the step at which one of them asks to stop."""
    with ProgressBar(label) as bar:
        yield tell_all([bar, *listeners])


def _values(info: Mapping[str, Any]) -> str:
    """Objective, gap and kernel rows of a round, as far as they are known."""
    words = []
    if "objective" in info:
        words.append(f"objective {info['objective']:.4g}")
    if "measure" in info:
        words.append(f"gap {info['measure']()['gap']:.1e}")
    if "rows_computed" in info:
        words.append(f"{info['rows_computed']:,} rows")
    return "  ".join(words)


def _new_progress(console: Console) -> Progress:
    """The columns of the bar; apart from the class because rich is imported only when something is drawn."""
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=BAR_WIDTH, complete_style="cyan", finished_style="green"),
        TaskProgressColumn(),
        TextColumn("{task.fields[violation]}", style="cyan"),
        TextColumn("{task.fields[values]}"),
        TextColumn("{task.fields[support]}", style="dim"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(compact=True),
        console=console,
    )
