"""What a search shows while it runs: a bar of its cells, and the table of scores as it grows."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from widemargin.model_selection.cell_search import CellSearch
from widemargin.model_selection.held_out import HeldOut
from widemargin.model_selection.score_table import score_table
from widemargin.model_selection.strategy import best
from widemargin.monitor.progress import SECONDS_PER_LINE


class SearchProgress:
    """A live bar with the table of scores on a terminal; in a log, from verbose=2 on, a line every few seconds.

    Parameters
    ----------
    label : word in front of the bar
    verbose : 1 draws on a terminal only
    console : rich Console; the error stream by default
    """

    def __init__(self, label: str, verbose: int = 1, console: Any = None) -> None:
        from rich.console import Console  # imported here, because drawing is rare and the import is slow

        self.label = label
        self.console = console if console is not None else Console(file=sys.stderr)
        self.live = self.console.is_terminal
        self.writes = not self.live and verbose > 1
        self.search: CellSearch | None = None
        self.done = self.total = 0
        self.next_line = time.monotonic() + SECONDS_PER_LINE
        self._display: Any = None

    def __enter__(self) -> SearchProgress:
        if self.live:
            from rich.live import Live

            self._display = Live(get_renderable=self._drawing, console=self.console, transient=True)
            self._display.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._display is not None:
            self._display.stop()
        if self.writes and self.search is not None and exception[0] is None:
            self._write()

    def begin_round(self, search: CellSearch, n_cells: int) -> None:
        """A round with so many cells begins."""
        self.search = search
        self.total += n_cells

    def cell_done(self, candidate: int, split: int, cell: HeldOut) -> None:
        """A cell is trained."""
        self.done += 1
        if self.writes and time.monotonic() >= self.next_line:
            self._write()

    def end_round(self, search: CellSearch) -> None:
        """The cells of a round are scored."""
        if self._display is not None:
            self._display.refresh()

    def words(self) -> str:
        """How far the search is, and the best cell so far."""
        text = f"{self.label} {self.done} of at least {self.total} fits"
        first = best(self.search.axes, self.search.scores) if self.search else None
        if self.search is None or first is None:
            return text
        where = ", ".join(f"{name} = {value:.3g}" for name, value in self.search.named(first).items())
        return f"{text}; best {np.mean(self.search.scores[first]):.4g} at {where}"

    def _write(self) -> None:
        self.next_line = time.monotonic() + SECONDS_PER_LINE
        self.console.print(self.words(), highlight=False, soft_wrap=True)

    def _drawing(self) -> Any:
        """The table so far, the words, and the bar."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar

        parts: list[Any] = [self.words(), ProgressBar(max(self.total, 1), self.done)]
        if self.search is not None and self.search.scores:
            parts.insert(0, table_of(self.search, self.console.width)[0])
        return Group(*parts)


def table_of(search: CellSearch, width: int) -> tuple[Any, str]:
    """The table of a search's mean scores, the best over epsilon, and a note."""
    values, scores = search.grid()
    means = scores.mean(axis=-1)
    names = [axis.name for axis in search.axes]
    return mean_table(dict(zip(names, values)), means, width=width)


def mean_table(values: dict[str, Any], means: Any, *, as_errors: bool = False, width: int) -> tuple[Any, str]:
    """The table over C and gamma of mean scores over all parameters; of further ones the best counts."""
    gammas = values.get("gamma")
    while means.ndim > (1 if gammas is None else 2):
        means = np.fmax.reduce(means, axis=-1)
    means = means.reshape(len(values["C"]), -1)
    place = divmod(int(np.nanargmax(means)), means.shape[1]) if np.isfinite(means).any() else (0, 0)
    return score_table(values["C"], gammas, means, best=place, as_errors=as_errors, width=width)
