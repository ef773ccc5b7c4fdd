"""Scores over C and gamma as a table of text in colours, as wide as a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rich.table import Table

SHADES = ("red", "yellow", "green", "bold green")  # colours of cells, from worst to best
WIDTH = 80  # characters of a terminal that nobody has enlarged


def score_table(
    Cs: Sequence[float],
    gammas: Sequence[float] | None,
    scores: NDArray[np.float64],
    *,
    best: tuple[int, int],
    as_errors: bool = False,
    width: int = WIDTH,
) -> tuple[Table, str]:
    """A row for each C, a column for each gamma; cells that were not tried stay empty.

    Columns that do not fit are left out on both sides of the best cell.

    Parameters
    ----------
    Cs, gammas : values, ascending; gammas is None for kernels without gamma
    scores : (len(Cs), len(gammas)) or (len(Cs), 1); nan where nothing was tried
    best : row and column of the best cell
    as_errors : scores are negative errors, shown as errors

    Returns
    -------
    table : rich Table
    note : a sentence about the columns left out, or ""
    """
    from rich.table import Table
    from rich.text import Text

    texts = [["" if np.isnan(value) else _cell(value, scores, as_errors) for value in row] for row in scores]
    headers = [""] if gammas is None else [f"{gamma:.2g}" for gamma in gammas]
    heading = "C" if gammas is None else "C \\ gamma"
    first = max(len(heading), *(len(f"{C:.3g}") for C in Cs))
    widths = [1 + max(len(header), *(len(row[k]) for row in texts)) for k, header in enumerate(headers)]
    shown = columns_that_fit(widths, best[1], width - first)
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(heading, style="dim", no_wrap=True)
    for k in shown:
        table.add_column(headers[k], justify="right", no_wrap=True)
    low, high = np.nanmin(scores), np.nanmax(scores)
    for C, row, words in zip(Cs, scores, texts):
        share = (row - low) / (high - low) if high > low else np.zeros_like(row)
        shades = np.nan_to_num((len(SHADES) - 1) * share).astype(int)
        table.add_row(f"{C:.3g}", *(Text(words[k], style=SHADES[shades[k]]) for k in shown))
    left_out = len(headers) - len(shown)
    return table, f"{left_out} of {len(headers)} columns do not fit and are left out." if left_out else ""


def columns_that_fit(widths: Sequence[int], best: int, room: int) -> list[int]:
    """Numbers of neighbouring columns around the best one, as many as there is room for on both sides in turn.

    Examples
    --------
    >>> columns_that_fit([7] * 9, best=4, room=40)
    [2, 3, 4, 5, 6]
    >>> columns_that_fit([7] * 9, best=8, room=22)
    [6, 7, 8]
    """
    first = last = best
    used = widths[best]
    while True:
        sides = [(best - first, first - 1), (last - best, last + 1)]
        free = [(distance, k) for distance, k in sides if 0 <= k < len(widths) and used + widths[k] <= room]
        if not free:
            return list(range(first, last + 1))
        _, k = min(free)
        used += widths[k]
        first, last = min(first, k), max(last, k)


def _cell(value: float, scores: NDArray[np.float64], as_errors: bool) -> str:
    """A score in five characters or so: a share in per cent where all are shares."""
    if as_errors:
        return f"{-value:.3g}"
    return f"{value:.2%}" if np.nanmin(scores) >= 0 and np.nanmax(scores) <= 1 else f"{value:.3g}"
