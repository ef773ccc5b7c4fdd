"""A progress bar in a notebook as plain HTML: it needs no widgets, and its last state stays in saved pages.

The bar is one output that IPython replaces by its display number; where HTML cannot be shown, it is a line of text.
"""

from __future__ import annotations

import html
import time
from typing import Any

SECONDS_PER_UPDATE = 0.2  # between two pictures of the bar: smooth enough, and few enough for a slow connection
FILLED, EMPTY = "#2a9fd6", "#8884"  # visible on light and dark pages


class NotebookBar:
    """One bar; `draw` shows it, replacing what it showed before."""

    def __init__(self, label: str) -> None:
        self.label = label
        self._handle: Any = None
        self._next = 0.0  # time of the clock before which nothing is drawn

    def draw(self, fraction: float, words: str, *, last: bool = False) -> None:
        """Show a fraction in [0, 1] and the words beside it; nothing soon after another call, unless `last`."""
        if time.monotonic() < self._next and not last:
            return
        self._next = time.monotonic() + SECONDS_PER_UPDATE
        shown = {"text/plain": f"{self.label} {fraction:4.0%}  {words}", "text/html": self._html(fraction, words)}
        if self._handle is None:
            from IPython.display import display

            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)

    def _html(self, fraction: float, words: str) -> str:
        bar = f"linear-gradient(to right, {FILLED} {fraction:.1%}, {EMPTY} {fraction:.1%})"
        return (
            '<div class="widemargin-progress" style="font-family:monospace;font-size:.9em">'
            f"{html.escape(self.label)} "
            f'<span role="progressbar" aria-valuenow="{100 * fraction:.0f}" aria-valuemin="0" aria-valuemax="100" '
            f'style="display:inline-block;width:16em;height:.8em;border-radius:.2em;background:{bar}"></span> '
            f"{fraction:.0%} {html.escape(words)}</div>"
        )
