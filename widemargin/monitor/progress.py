"""Progress bar of a fit, which fills as the violation falls to `tol`.

It is a listener of the solvers (monitor/iteration.py). The violation falls over orders of magnitude, so the bar shows
the share of the way on a logarithmic scale,

    log(v0 / v) / log(v0 / tol),    v0 = the largest violation seen,

and never moves backwards: the violation of a dual method need not fall monotonically.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from widemargin.monitor.iteration import Iteration, Watch, tell_all
from widemargin.monitor.notebook_bar import NotebookBar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

#: Characters of a terminal below which a column of the bar is left out, and its place: the least important first.
#: Bar, percentage and times always remain.
WIDTHS = ((125, 4), (85, 4), (70, 3))
SECONDS_PER_LINE = 5.0  # seconds between plain lines where no live bar can be drawn, as in a log
# Fraction from which the time left is told. Medians of told / true on four fits: 0.07 to 11 before, 0.7 to 1.8 after.
FORESEEABLE = 0.5


class Approach:
    """Progress from the first violation to the tolerance, as a fraction on a logarithmic scale that never decreases.

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
    >>> from widemargin.monitor.iteration import Iteration
    >>> from widemargin.monitor.progress import ProgressBar
    >>> with ProgressBar("fit") as watch:
    ...     watch(Iteration(violation=0.1, tol=1e-3, n_support=12, seconds=0.5))
    """

    def __init__(self, label: str = "training", *, always: bool = False, console: Console | None = None) -> None:
        from rich.console import Console  # imported here, because drawing is rare and the import is slow

        self.label = label
        self.console = console if console is not None else Console(file=sys.stderr)
        self.live = self.console.is_terminal or self.console.is_jupyter
        self.enabled = self.live or always
        self._lock = threading.Lock()
        self._tasks: dict[int, Approach] = {}
        self._progress: Progress | None = None
        self._bar: Any = None
        self._notebook_bar = NotebookBar(label) if self.console.is_jupyter else None
        self._next_line = 0.0  # seconds of fit at which the next plain line is due
        self._last: tuple[float, dict[str, Any]] | None = None  # fraction and fields drawn last

    def __call__(self, now: Iteration) -> None:
        if not self.enabled:
            return
        with self._lock:
            self._tasks.setdefault(now.task, Approach()).update(now.violation, now.tol)
            fraction = sum(way.fraction for way in self._tasks.values()) / max(now.n_tasks, len(self._tasks))
            finished = sum(way.fraction >= 1.0 for way in self._tasks.values())
            fields: dict[str, Any] = {
                "violation": f"violation {now.violation:.1e} -> {now.tol:.0e}",
                "tol": f"{now.tol:.0e}",
                "values": _values(now),
                "support": f"problem {finished}/{now.n_tasks}" if now.n_tasks > 1 else f"{now.n_support:,} SV",
                "left": time_left(fraction, now.seconds),
                "seconds": f"{now.seconds:.1f} s",
            }
            self._last = fraction, fields
            if self._notebook_bar is not None:
                self._notebook_bar.draw(fraction, _words(fields))
            elif self.live:
                self._draw(fraction, fields)
            else:
                self._write_line(fraction, fields, now.seconds)

    def _draw(self, fraction: float, fields: dict[str, Any]) -> None:
        """Create the bar at the first call, so that fits too short for one round draw nothing."""
        if self._progress is None:
            self._progress = _new_progress(self.console)
            self._bar = self._progress.add_task(self.label, total=1.0, **fields)
            self._progress.start()
        self._progress.update(self._bar, completed=fraction, **fields)

    def _write_line(self, fraction: float, fields: dict[str, Any], seconds: float) -> None:
        """Write a plain line at intervals and one at the end, where there is no cursor to move."""
        if seconds < self._next_line and fraction < 1.0:
            return
        self._next_line = seconds + SECONDS_PER_LINE
        line = f"{self.label} {fraction:4.0%}  {_words(fields)}"
        self.console.print(line, highlight=False, soft_wrap=True)  # a log has no width

    def close(self, converged: bool = False) -> None:
        """Stop drawing and release the terminal; the bar of a fit that reached its tolerance is full.

        Solvers report once per round, so the last report may be far from the end.
        """
        with self._lock:
            if self._last is not None:
                fraction, fields = self._last
                if converged and fraction < 1.0:
                    fraction, fields = 1.0, fields | {"left": "", "violation": f"violation <= {fields['tol']}"}
                    if not self.live:
                        self._write_line(fraction, fields, self._next_line)
                if self._notebook_bar is not None:
                    self._notebook_bar.draw(fraction, _words(fields), last=True)
                elif self.live:
                    self._draw(fraction, fields)
                self._last = None
            if self._progress is not None:
                self._progress.stop()
                self._progress = None

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


@contextmanager
def watching(
    label: str, verbose: Any, listeners: Sequence[Watch], has_converged: Callable[[], bool]
) -> Iterator[Watch | None]:
    """Context manager that combines the progress bar (if `verbose`; from 2 on also in logs) and other listeners.

    `has_converged` is asked at the end, unless an error ends the context.

    The bar is called before all other listeners, so that it also shows the step at which one of them requests a stop.
    """
    if not verbose:
        yield tell_all(listeners)
        return
    with ProgressBar(label, always=verbose > 1) as bar:
        yield tell_all([bar, *listeners])
        bar.close(has_converged())


def time_left(fraction: float, seconds: float) -> str:
    """Return words on the time left, from the second half of the way on.

    Examples
    --------
    >>> time_left(0.2, 3.0), time_left(0.75, 3.0)
    ('', 'about 1 s to go')
    """
    return f"about {seconds * (1.0 - fraction) / fraction:.0f} s to go" if FORESEEABLE <= fraction < 1.0 else ""


def _words(fields: dict[str, Any]) -> str:
    """Return what is written beside the bar."""
    return "  ".join(filter(None, (fields[name] for name in ("violation", "values", "support", "seconds", "left"))))


def _values(now: Iteration) -> str:
    """Return objective, gap and kernel rows of a round, as far as they are known.

    The objective has the sign of the certificate's: the dual value, which grows, and not the minimised one.
    """
    words = []
    if not math.isnan(now.objective):
        words.append(f"objective {-now.objective:.4g}")
    if now.measure is not None and not now.on_active_set:
        words.append(f"gap {now.measure()['gap']:.1e}")
    if now.rows_computed:  # problems in memory count none before their end
        words.append(f"{now.rows_computed:,} rows")
    return "  ".join(words)


def _new_progress(console: Console) -> Progress:
    """Return the columns of the bar; outside the class because rich is imported only when something is drawn."""
    from rich import progress as bar

    columns = [
        bar.TextColumn("{task.description}"),
        bar.BarColumn(bar_width=None, complete_style="cyan", finished_style="green"),
        bar.TaskProgressColumn(),
        bar.TextColumn("{task.fields[violation]}", style="cyan"),
        bar.TextColumn("{task.fields[values]}"),
        bar.TextColumn("{task.fields[support]}", style="dim"),
        bar.TimeElapsedColumn(),
        bar.TextColumn("{task.fields[left]}"),
    ]
    for least_width, number in WIDTHS:
        if console.width < least_width:
            del columns[number]
    return bar.Progress(*columns, console=console)
