"""Small charts as SVG within the page: lines, points and bars on one pair of axes.

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

from widemargin.report.html import Html, join, number, tag

WIDTH, HEIGHT = 460, 320  # of the whole chart, in the units of its view box
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 12, 46  # margins for the labels
MOST_VERTICES = 300  # of a line: more are not to be seen
MOST_POINTS = 800  # of a cloud
N_COLOURS = 6
TICKS = 5  # about so many per axis


@dataclass(frozen=True, eq=False)
class Series:
    """One set of points. kind : "line", "points" or "bars"; bars stand on their x with the given width."""

    x: NDArray
    y: NDArray
    label: str = ""
    kind: str = "line"
    colour: int = 0
    dash: str | None = None
    width: float = 1.0


@dataclass(frozen=True)
class Axis:
    """A scale from data to places on the page; `log` needs positive limits."""

    label: str
    low: float
    high: float
    log: bool = False

    def place(self, values: Any, start: float, stop: float) -> NDArray[np.float64]:
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


def chart(title: str, description: str, x: Axis, y: Axis, series: Sequence[Series], diagonal: bool = False) -> Html:
    """A figure with axes, the given series, and a legend if they have labels."""
    left, right, top, bottom = LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM
    parts = [*_axes(x, y, left, right, top, bottom)]
    if diagonal:
        ends = max(x.low, y.low), min(x.high, y.high)
        (x1, x2), (y1, y2) = x.place(ends, left, right), y.place(ends, bottom, top)
        parts.append(tag("line", x1=_at(x1), y1=_at(y1), x2=_at(x2), y2=_at(y2), class_="guide"))
    for one in series:
        parts.append(_drawn(one, x, y, left, right, top, bottom))
    anchor = f"chart-{crc32((title + description).encode()):08x}"
    picture = tag(
        "svg",
        tag("title", title, id=f"{anchor}-t"),
        tag("desc", description, id=f"{anchor}-d"),
        *parts,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_labelledby=f"{anchor}-t {anchor}-d",
    )
    named = [one for one in series if one.label]
    legend = tag("ul", *(tag("li", _swatch(one), one.label) for one in named), class_="legend") if named else None
    return tag("figure", tag("figcaption", title), picture, legend)


def _axes(x: Axis, y: Axis, left: float, right: float, top: float, bottom: float) -> list[Html]:
    """Grid lines, numbers and names of both axes."""
    parts = []
    for value in x.ticks():
        place = _at(x.place(value, left, right))
        parts.append(tag("line", x1=place, y1=top, x2=place, y2=bottom, class_="grid"))
        parts.append(tag("text", _tick(value), x=place, y=bottom + 16, class_="tick", text_anchor="middle"))
    for value in y.ticks():
        place = _at(y.place(value, bottom, top))
        parts.append(tag("line", x1=left, y1=place, x2=right, y2=place, class_="grid"))
        parts.append(tag("text", _tick(value), x=left - 7, y=_at(float(place) + 4), class_="tick", text_anchor="end"))
    middle = (left + right) / 2
    parts.append(tag("text", x.label, x=middle, y=HEIGHT - 8, class_="name", text_anchor="middle"))
    turn = f"rotate(-90 14 {(top + bottom) / 2})"
    parts.append(tag("text", y.label, x=14, y=(top + bottom) / 2, class_="name", text_anchor="middle", transform=turn))
    return parts


def _drawn(one: Series, x: Axis, y: Axis, left: float, right: float, top: float, bottom: float) -> Html:
    """The marks of one series."""
    colour = f"c{one.colour % N_COLOURS}"
    given_x, given_y = np.asarray(one.x, float), np.asarray(one.y, float)
    seen = np.isfinite(given_x) & np.isfinite(given_y)
    if one.kind == "bars":
        half = one.width / 2
        starts, stops = x.place(given_x - half, left, right), x.place(given_x + half, left, right)
        heights, base = y.place(given_y, bottom, top), float(y.place(max(y.low, 0.0), bottom, top))
        return join(
            tag(
                "rect",
                x=_at(a + 0.5),
                y=_at(h),
                width=_at(max(b - a - 1, 0.5)),
                height=_at(max(base - h, 0)),
                class_=colour,
            )
            for a, b, h, ok in zip(starts, stops, heights, seen, strict=True)
            if ok
        )
    places = np.column_stack([x.place(given_x[seen], left, right), y.place(given_y[seen], bottom, top)])
    if one.kind == "points":
        return join(
            tag("circle", cx=_at(a), cy=_at(b), r=2.6, class_=f"{colour} dot")
            for a, b in places[_thinned(len(places), MOST_POINTS)]
        )
    points = " ".join(f"{_at(a)},{_at(b)}" for a, b in places[_thinned(len(places), MOST_VERTICES)])
    return tag("polyline", points=points, class_=f"{colour} line", stroke_dasharray=one.dash)


def _thinned(count: int, most: int) -> NDArray[np.int64]:
    """Evenly spaced numbers out of 0 ... count - 1, first and last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64)) if count else np.empty(0, np.int64)


def _swatch(one: Series) -> Html:
    """The mark of a series in the legend."""
    colour = f"c{one.colour % N_COLOURS}"
    if one.kind == "line":
        mark = tag("line", x1=0, y1=6, x2=24, y2=6, class_=f"{colour} line", stroke_dasharray=one.dash)
    elif one.kind == "points":
        mark = tag("circle", cx=12, cy=6, r=4, class_=f"{colour} dot")
    else:
        mark = tag("rect", x=4, y=1, width=16, height=10, class_=colour)
    return tag("svg", mark, viewBox="0 0 24 12", class_="swatch", aria_hidden="true")


def _tick(value: float) -> str:
    """A short number at an axis."""
    if value != 0 and (abs(value) >= 1e5 or abs(value) < 1e-3):
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return number(round(value, 10))


def _at(place: Any) -> str:
    """A place on the page with a tenth of a unit."""
    return f"{float(place):.1f}"
