"""Notebook display of a fitted estimator: scikit-learn's diagram, with the certificate below."""

from __future__ import annotations

import html
from typing import Any

# Colours of the mark before the text, visible on light and dark backgrounds; the text has the notebook's own colour.
CERTIFIED, NOT_CERTIFIED = "#2da44e", "#e5534b"
STYLE = "margin:.4em 0;padding:.5em .8em;border:1px solid currentColor;border-radius:.4em;width:fit-content"


def certificate_block(certificate: Any) -> str:
    """Return a certificate as a collapsible HTML table; an empty string for None."""
    if certificate is None:
        return ""
    word, colour = ("certified", CERTIFIED) if certificate.holds else ("not certified", NOT_CERTIFIED)
    lines = [line.partition("  ") for line in str(certificate).splitlines()[1:]]
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left;font-weight:normal;padding-right:1em">{html.escape(name)}</th>'
        f'<td style="text-align:left">{html.escape(value.strip())}</td></tr>'
        for name, _, value in lines
    )
    name, _, value = lines[0]
    summary = f"{name} {value.strip()}"
    return (
        f'<details class="widemargin-certificate" style="{STYLE}"><summary>'
        f'<span aria-hidden="true" style="color:{colour}">&#9679;</span> '
        f"<strong>{word}</strong>: {html.escape(summary)}</summary>"
        f'<table aria-label="Certificate">{rows}</table></details>'
    )
