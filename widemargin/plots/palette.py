"""Colours, markers and lines of all pictures, on light and dark backgrounds.

The first six colours on light paper are those of Okabe and Ito (2008, "Color Universal Design"), which people with
colour-blindness can tell apart; on dark paper the same hues are lighter. Every class has its own marker as well, so
that no picture depends on colour alone. The paper is read off the Axes, so pictures follow matplotlib's dark styles and
dark notebooks.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:
    Axes = Any  # matplotlib is imported only when something is drawn

Colour = tuple[float, float, float]

ON_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00",
            "#56B4E9", "#8C6D31", "#6A51A3", "#4D4D4D", "#A50F15")  # fmt: skip
ON_DARK = ("#56B4E9", "#F58A45", "#1FC79A", "#F0A6CE", "#F0C541",
           "#4C86E0", "#BFA06A", "#A793F0", "#D9D9D9", "#FF6B6B")  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p", "<")  # nine to ten colours: 90 pairs before one comes twice
DARK = 0.47  # relative luminance below which a colour is dark: what lies on it is drawn in light colours


@dataclass(frozen=True)
class Legibility:
    """Sizes of letters and marks, and the numbers of items up to which a picture is legible."""

    marker_area: float = 34.0  # points^2, of the largest
    legend_column: float = 1.45  # inches
    letters_per_inch: int = 14  # of small print
    full_rims: int = 600  # samples with a full rim around their markers; smaller ones would be nothing but rim
    rings: int = 250  # support vectors: more rings would hide the data
    slacks: int = 40  # lines from samples to the margin
    records: int = 40  # of a fit, each marked by a point
    samples: int = 4_000  # drawn; of more a random part, since a denser cloud shows nothing but itself
    raster_from: int = 5_000  # points, drawn as pixels in vector files beyond
    written_cells: int = 120  # of a heat map, with their values written into them
    ticks: int = 12  # of an axis whose values are named
    sizes: int = 8  # the same of long numbers


LEGIBLE = Legibility()


@dataclass(frozen=True)
class Theme:
    """Colours for one paper.

    Attributes
    ----------
    ink : lines and rings that carry the message
    faint : thin lines that support it
    paper : the background itself, red, green and blue in [0, 1]
    colours : one for each class, repeated when there are more classes
    """

    ink: str
    faint: str
    paper: Colour
    colours: tuple[str, ...]

    def colour(self, k: int) -> str:
        """Colour of class number k."""
        return self.colours[k % len(self.colours)]

    def marker(self, k: int) -> str:
        """Marker of class number k."""
        return MARKERS[k % len(MARKERS)]

    def tint(self, colour: str, share: float) -> Colour:
        """A colour mixed into the paper: opaque, so that lines and points above it keep their own colours."""
        from matplotlib.colors import to_rgb

        red, green, blue = (share * own + (1.0 - share) * paper for own, paper in zip(to_rgb(colour), self.paper))
        return red, green, blue


def theme_of(ax: Axes) -> Theme:
    """The theme that fits the paper of an Axes; a transparent Axes shows the paper of its figure."""
    from matplotlib.colors import to_rgba

    face = to_rgba(ax.get_facecolor())
    if face[3] < 0.5:
        behind = to_rgba(ax.get_figure(root=True).get_facecolor())  # type: ignore[union-attr]
        face = behind if behind[3] >= 0.5 else (1.0, 1.0, 1.0, 1.0)
    paper = (float(face[0]), float(face[1]), float(face[2]))
    if is_dark(paper):
        return Theme("#F2F2F2", "#A8A8A8", paper, ON_DARK)
    return Theme("#222222", "#666666", paper, ON_LIGHT)


def is_dark(colour: Sequence[float] | NDArray) -> bool:
    """Whether a colour, given by red, green and blue in [0, 1], is dark."""
    return float(np.dot((0.2126, 0.7152, 0.0722), colour[:3])) < DARK


def pyplot() -> Any:
    """Import pyplot; if matplotlib, an extra, is missing, raise an error that explains how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise ImportError(
            "Plots need matplotlib, which is not installed: pip install 'widemargin[plots]'."
        ) from missing
    return plt


def tidy(ax: Axes) -> None:
    """Use short ticks, and no frame on sides without ticks."""
    ax.tick_params(length=3, color=theme_of(ax).faint)
    ax.spines[["top", "right"]].set_visible(False)


def legend_entries(ax: Axes) -> tuple[list[Any], list[str]]:
    """Handles and labels in reading order: the data, then the lines."""
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    handles, labels = ax.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda k: (isinstance(handles[k], Line2D | LineCollection), k))
    return [handles[k] for k in order], [labels[k] for k in order]


def legend_below(ax: Axes, ncols: int = 3, *, arrange: bool = True) -> None:
    """Put the legend below the picture, so that it covers nothing and the drawing keeps its full width.

    Beside other Axes it would lie on one of them: matplotlib then arranges the figure (`arrange`), unless its user has.
    """
    handles, labels = legend_entries(ax)
    if not handles:
        return
    figure: Any = ax.get_figure(root=True)
    if arrange and len(figure.axes) > 1 and figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    width, height = _inches(ax)
    ax.legend(
        handles,
        labels,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.55 / max(height, 1.0)),  # 0.55 inches: tick labels and the axis label
        ncols=min(ncols, max(1, int(width / LEGIBLE.legend_column))),
        markerscale=_enlarging(handles),
        fontsize="small" if len(figure.axes) > 1 else None,
        frameon=False,
        columnspacing=1.6,
        handletextpad=0.6,
    )


def put_note(ax: Axes, *sentences: str) -> None:
    """Write small print above the picture, wrapped to its width."""
    text = "; ".join(sentence for sentence in sentences if sentence)
    if text:
        width = max(24, int(LEGIBLE.letters_per_inch * _inches(ax)[0]))
        ax.set_title("\n".join(textwrap.wrap(text, width)), loc="left", fontsize="small")


def _inches(ax: Axes) -> tuple[float, float]:
    """Width and height of an Axes on paper."""
    extent, dpi = ax.get_window_extent(), ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    return extent.width / dpi, extent.height / dpi


def _enlarging(handles: list[Any]) -> float:
    """Return the factor by which markers are enlarged in the legend so that small ones are legible."""
    areas = [area for handle in handles if hasattr(handle, "get_sizes") for area in handle.get_sizes()]
    return float(np.sqrt(LEGIBLE.marker_area / min(areas))) if areas else 1.0


def marker_size(n_points: int) -> float:
    """Area of a marker in points^2: smaller where there are many."""
    return float(np.clip(9000.0 / max(1, n_points), 9.0, LEGIBLE.marker_area))
