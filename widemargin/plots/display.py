"""Base class of all pictures: their Axes, and the marks of samples, support vectors and slack."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from widemargin.plots.palette import LEGIBLE, Axes, Theme, legend_below, marker_size, put_note, pyplot, theme_of, tidy


class Display:
    """A picture that holds what is drawn; `plot` draws it.

    Attributes
    ----------
    ax_, figure_ : set by `plot`
    """

    ax_: Axes
    figure_: Any

    def _begin(self, ax: Axes | None, figsize: tuple[float, float]) -> tuple[Axes, Theme]:
        """Return the Axes to draw on, of a new figure if none are given, and the colours for their background."""
        self.ax_ = pyplot().subplots(figsize=figsize, layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_, theme_of(self.ax_)

    def _finish(self, *notes: str, legend: bool, ncols: int = 3) -> Self:
        """Small print above the picture, the legend below it."""
        put_note(self.ax_, *notes)
        tidy(self.ax_)
        if legend:
            legend_below(self.ax_, ncols)
        return self

    def _scatter(self, points: NDArray, label: str, **look: Any) -> None:
        """Markers, drawn as pixels in vector files where they are very many."""
        self.ax_.scatter(*points.T, label=label, rasterized=len(points) > LEGIBLE.raster_from, **look)

    def _samples(self, points: NDArray, label: str, colour: int, marker: str, **look: Any) -> None:
        """Filled markers with a rim in the colour of the paper, which tells them apart."""
        theme, n_points = theme_of(self.ax_), look.pop("n_points", len(points))
        if n_points > LEGIBLE.samples:
            points = points[np.random.default_rng(0).random(len(points)) * n_points < LEGIBLE.samples]
        look = {"s": marker_size(n_points), "linewidths": 0.5 if n_points <= LEGIBLE.full_rims else 0.15} | look
        paint = {"color": theme.colour(colour), "edgecolors": [theme.paper], "zorder": 3}
        self._scatter(points, label, marker=marker, **paint, **look)

    @staticmethod
    def _thinned(n_points: int) -> str:
        """Return a remark if only a part of the samples is drawn."""
        return f"about {LEGIBLE.samples:,} of {n_points:,} samples drawn" if n_points > LEGIBLE.samples else ""

    def _rings(
        self, points: NDArray, bounded: NDArray[np.bool_], line: str, n_points: int, wanted: bool | None = None
    ) -> str:
        """Draw rings around support vectors, thicker for free ones; return a remark if they are left out."""
        if not (len(points) <= LEGIBLE.rings if wanted is None else wanted):
            return f"{len(points):,} support vectors, not ringed" if len(points) else ""
        theme, look = theme_of(self.ax_), {"s": 2.6 * marker_size(n_points), "facecolors": "none", "zorder": 4}
        for chosen, name, width, colour in (
            (~bounded, f"on the {line} (free)", 1.5, theme.ink),
            (bounded, "at its bound", 0.7, theme.faint),
        ):
            if chosen.any():
                self._scatter(points[chosen], f"support vector {name}", linewidths=width, edgecolors=colour, **look)
        return ""

    def _slack(self, segments: Any) -> None:
        """Lines from samples to the margin or the tube, each a pair of points."""
        from matplotlib.collections import LineCollection

        if len(segments):
            colour = theme_of(self.ax_).faint
            lines = LineCollection(segments, colors=colour, linewidths=0.9, label="slack", zorder=2.5)
            self.ax_.add_collection(lines)
