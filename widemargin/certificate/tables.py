"""Certificates as HTML tables for notebooks, and two certificates side by side.

The rows are the lines of the printed certificate, name and value separated by two spaces or more.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Colours of the mark before the text, visible on light and dark backgrounds; the text has the notebook's own colour.
CERTIFIED, NOT_CERTIFIED = "#2da44e", "#e5534b"
STYLE = "margin:.4em 0;padding:.5em .8em;border:1px solid currentColor;border-radius:.4em;width:fit-content"
LEFT = "text-align:left;font-weight:normal;padding-right:1em"


class Shown:
    """What certificates have in common: a table in notebooks, and a comparison with another one."""

    holds: Any

    def _repr_html_(self) -> str:
        """Return the certificate as a table, for notebooks."""
        return certificate_block(self, is_open=True)

    def compare(self, other: Any, names: tuple[str, str] = ("this", "other")) -> Comparison:
        """Return this certificate and another one side by side.

        Parameters
        ----------
        other : certificate, such as the answer of `verify`
        names : pair of str, default ("this", "other")
            Headings of the two columns.

        Returns
        -------
        comparison : Comparison
            `print` it, or display it in a notebook.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from widemargin import SVC
        >>> X, y = load_iris(return_X_y=True)
        >>> rough, fine = (SVC(tol=tol).fit(X, y).certificate_ for tol in (1e-1, 1e-6))
        >>> print(str(rough.compare(fine, names=("rough", "fine"))).splitlines()[0].split())
        ['rough', 'fine']
        """
        return Comparison(self, other, names)


@dataclass(frozen=True)
class Comparison:
    """Two certificates side by side; made by `compare` of a certificate."""

    first: Any
    second: Any
    names: tuple[str, str]

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """Name and the two values of every line; empty where one of them has no such line."""
        one, two = dict(lines_of(self.first)), dict(lines_of(self.second))
        return [(name, one.get(name, ""), two.get(name, "")) for name in {**one, **two}]

    def __str__(self) -> str:
        rows = [("", *self.names), *self.rows]
        first, second = (max(len(row[k]) for row in rows) for k in (0, 1))
        return "\n".join(f"{name:<{first}}  {one:<{second}}  {two}".rstrip() for name, one, two in rows)

    def _repr_html_(self) -> str:
        """Return the comparison as a table, for notebooks."""
        head = "".join(f'<th scope="col" style="text-align:left">{html.escape(name)}</th>' for name in self.names)
        return f'<table aria-label="Comparison"><tr><td></td>{head}</tr>{_rows(self.rows)}</table>'


def lines_of(certificate: Any) -> list[tuple[str, str]]:
    """Return names and values of the lines of a printed certificate."""
    parts = (line.partition("  ") for line in str(certificate).splitlines())
    return [(name, value.strip()) for name, _, value in parts]


def verdict(certificate: Any) -> str:
    """Return "certified" or "not certified"."""
    return "certified" if certificate.holds else "not certified"


def certificate_block(certificate: Any, *, is_open: bool = False) -> str:
    """Return a certificate as a collapsible HTML table; an empty string for None."""
    if certificate is None:
        return ""
    lines = lines_of(certificate)[1:]
    colour = CERTIFIED if certificate.holds else NOT_CERTIFIED
    return (
        f'<details class="widemargin-certificate" style="{STYLE}"{" open" * is_open}><summary>'
        f'<span aria-hidden="true" style="color:{colour}">&#9679;</span> '
        f"<strong>{verdict(certificate)}</strong>: {html.escape(' '.join(lines[0]))}</summary>"
        f'<table aria-label="Certificate">{_rows(lines)}</table></details>'
    )


def _rows(rows: Sequence[tuple[str, ...]]) -> str:
    """Return rows of a table, the first cell of each as its heading."""
    return "".join(
        f'<tr><th scope="row" style="{LEFT}">{html.escape(name)}</th>'
        + "".join(f'<td style="text-align:left">{html.escape(value)}</td>' for value in values)
        + "</tr>"
        for name, *values in rows
    )
