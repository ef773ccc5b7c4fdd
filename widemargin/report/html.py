"""HTML from Python: every text is escaped unless it says that it is HTML already.

Labels, feature names and titles come from users' data; escaping at the one place where tags are made is what keeps a
column called "<script>" from being one.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

VOID = {"meta", "br", "line", "circle", "rect", "path", "polyline"}  # elements without content


class Html(str):
    """A text that is HTML and is not escaped again."""


def tag(name: str, /, *content: Any, **attributes: Any) -> Html:
    """An element; `class_` and `for_` stand for the words that Python keeps, and "_" within a name for "-".

    Examples
    --------
    >>> tag("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Html(f"<{name}{pairs}/>")
    return Html(f"<{name}{pairs}>{join(content)}</{name}>")


def join(content: Iterable[Any]) -> Html:
    """Several pieces after one another, each escaped where it must be; None is left out."""
    return Html(
        "".join(piece if isinstance(piece, Html) else html.escape(str(piece)) for piece in content if piece is not None)
    )


def table(
    head: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    caption: str,
    numeric: Sequence[int] = (),
    class_: str | None = None,
) -> Html:
    """A table with a caption and headers; the first cell of a row is its header, `numeric` columns are set right."""

    def cell(column: int, value: Any) -> Html:
        style = "number" if column in numeric else None
        if column == 0:
            return tag("th", value, scope="row", class_=style)
        return tag("td", value, class_=style)

    top = [
        tag("th", text, scope="col", class_="number" if place in numeric else None) for place, text in enumerate(head)
    ]
    body = [tag("tr", *(cell(place, value) for place, value in enumerate(row))) for row in rows]
    inner = tag("table", tag("caption", caption), tag("thead", tag("tr", *top)), tag("tbody", *body), class_=class_)
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=caption)


def facts(pairs: Iterable[tuple[str, Any]], caption: str) -> Html:
    """A table of names and values, without a row of headers."""
    rows = [tag("tr", tag("th", name, scope="row"), tag("td", value)) for name, value in pairs]
    inner = tag("table", tag("caption", caption), tag("tbody", *rows), class_="facts")
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=caption)


class Section(Html):
    """A part of the page, which knows its heading and where to find it."""

    anchor: str
    heading: str


def section(anchor: str, heading: str, *content: Any) -> Section:
    """A part of the page with a heading to which one can link."""
    top = tag("h2", heading, id=f"{anchor}-title")
    part = Section(tag("section", top, *content, id=anchor, aria_labelledby=f"{anchor}-title"))
    part.anchor, part.heading = anchor, heading
    return part


def number(value: float, digits: int = 4) -> str:
    """A number for readers: few digits, thousands separated, exponents where it is very large or small.

    Examples
    --------
    >>> number(1234567.3), number(0.123456), number(1.5e-7), number(float("nan"))
    ('1,234,567', '0.1235', '1.5e-07', 'not known')
    """
    if value != value:
        return "not known"
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e9):
        return f"{int(value):,}"
    return f"{value:,.0f}" if 10**digits <= abs(value) < 1e9 else f"{value:.{digits}g}"


def percent(share: float) -> str:
    """A share as a percentage with the digits that matter.

    Examples
    --------
    >>> percent(0.9234), percent(1.0), percent(0.00012)
    ('92.3 %', '100.0 %', '0.012 %')
    """
    if share != share:
        return "not known"
    value = 100 * share
    if 0 < value < 1:
        return f"{value:.2g} %"
    return f"{value:.2f} %" if 99 < value < 100 else f"{value:.1f} %"
