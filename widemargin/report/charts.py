"""Small charts: lines, points and bars on one pair of axes, as data that templates/figures.html draws as SVG.

Colours come from the page's style sheet (classes c0 ... c5, a colour-blind-safe series), so that charts follow its
light and dark schemes. Each chart has a title and a description that says in words what it shows, for people who
cannot see it. Series differ by dash or shape as well as by colour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from widemargin.linalg.arrays import Matrix, Vector
from widemargin.report.numbers import number

MOST_MARKS = {"line": 300, "points": 800}  # points of one series: more are not visible
TICKS = 5  # about this number per axis


@dataclass(frozen=True, eq=False)
class Series:
    """One set of points.

    kind : "line", "points", "bars" (x are their edges, one more than heights) or "cells" (x and y are pairs of ends)
    """

    x: NDArray
    y: NDArray
    label: str = ""
    kind: str = "line"
    colour: int = 0
    dash: str | None = None


@dataclass(frozen=True)
class Axis:
    """A scale from data to places on the page; `log` needs positive limits."""

    label: str
    low: float
    high: float
    log: bool = False

    def place(self, values: Any, start: float, stop: float) -> Vector:
        """Places of values between start and stop."""
        low, high = (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        given = np.log10(np.maximum(values, self.low)) if self.log else np.asarray(values, float)
        return start + (given - low) / (high - low) * (stop - start)

    def ticks(self) -> list[float]:
        """Round numbers within the limits: powers of ten on a logarithmic axis, else 1, 2 or 5 times one."""
        if self.log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            step = max(1, math.ceil((last - first) / TICKS))
            return [10.0**power for power in range(first, last + 1, step)]
        raw = (self.high - self.low) / TICKS
        power = 10.0 ** math.floor(math.log10(raw))
        size = min((factor * power for factor in (1, 2, 5, 10)), key=lambda size: abs(size - raw))
        first = math.ceil(self.low / size - 1e-9)
        return [n * size for n in range(first, math.floor(self.high / size + 1e-9) + 1)]


def axis(label: str, *values: Any, log: bool = False, zero: bool = False) -> Axis:
    """An axis that holds all the values, with a little room; `zero` makes it begin or end at zero."""
    everything = np.concatenate([np.ravel(np.asarray(part, float)) for part in values])
    everything = everything[np.isfinite(everything) & ((everything > 0) | (not log))]
    if not len(everything):
        return Axis(label, 1.0, 10.0, log) if log else Axis(label, 0.0, 1.0)
    low, high = float(everything.min()), float(everything.max())
    if log:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        return Axis(label, 10.0**first, 10.0 ** max(last, first + 1), True)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = 0.04 * (high - low) or max(abs(low) * 0.1, 0.5)
    return Axis(label, low if zero and low == 0 else low - room, high if zero and high == 0 else high + room)


@dataclass(frozen=True, eq=False)
class Chart:
    """Axes with series on them; `diagonal` draws the line of equal values, `note` is small print below the title.

    The axes lie between left and right, top and bottom, in the units of the view box; the margins hold the labels.
    """

    width, height = 460, 320
    left, right, top, bottom = 62, 446, 12, 274

    title: str
    description: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    diagonal: bool = False
    note: str = ""

    @property
    def anchor(self) -> str:
        """A name for this chart in the page."""
        return f"chart-{crc32((self.title + self.description).encode()):08x}"

    def across(self, values: Any) -> Vector:
        """Horizontal places of values."""
        return self.x.place(values, self.left, self.right)

    def up(self, values: Any) -> Vector:
        """Vertical places of values."""
        return self.y.place(values, self.bottom, self.top)

    def marks(self, one: Series) -> Matrix:
        """One row for each mark of a series: x and y, and of bars also width and height."""
        if one.kind == "bars":
            edges, tops = self.across(one.x), self.up(one.y)
            heights = np.maximum(self.up(max(self.y.low, 0.0)) - tops, 0.0)
            return np.column_stack([edges[:-1] + 0.5, tops, np.maximum(np.diff(edges) - 1.0, 0.5), heights])
        if one.kind == "cells":
            (left, right), (low, high) = self.across(one.x).T, self.up(one.y).T
            return np.column_stack([left, high, right - left, low - high])
        places = np.column_stack([self.across(one.x), self.up(one.y)])
        places = places[np.isfinite(places).all(axis=1)]
        chosen = np.linspace(0, len(places) - 1, min(len(places), MOST_MARKS[one.kind]))
        return places[chosen.astype(np.int64)]

    def guide(self) -> tuple[Vector, Vector]:
        """Ends of the diagonal, as horizontal and as vertical places."""
        ends = max(self.x.low, self.y.low), min(self.x.high, self.y.high)
        return self.across(ends), self.up(ends)


def histogram(
    title: str,
    description: str,
    labels: tuple[str, str],
    values: Vector,
    *,
    bins: int | None = None,
    zero: bool = False,
) -> Chart:
    """Return a histogram of values, by default in as many bins as the root of their number, from 5 to 30."""
    counts, edges = np.histogram(values, bins or min(30, max(5, math.isqrt(len(values)))))
    x, y = axis(labels[0], edges, zero=zero), axis(labels[1], counts, zero=True)
    return Chart(title, description, x, y, [Series(edges, counts, kind="bars")])


def tick(value: float) -> str:
    """A short number at an axis."""
    if value != 0 and (abs(value) >= 1e5 or abs(value) < 1e-3):
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return number(round(value, 10))
