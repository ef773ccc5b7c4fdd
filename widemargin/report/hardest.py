"""The samples that the model finds hardest, with what is unusual about them: often the quickest way to wrong labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.report.advice import spreads
from widemargin.report.html import Section, number, section, table, tag
from widemargin.report.quality import Quality

MOST_FEATURES = 3  # shown per sample
UNUSUAL = 1.5  # standard deviations from the mean that are worth a mention

READING = {
    "margin": "The margin is how clearly a sample lies on its own side: below 0 the answer is wrong, below 1 the "
    "sample lies within the margin of the machine. Hard samples are sometimes samples with a wrong label.",
    "least margin": "The least margin is how clearly a sample lies on the side of its own class against the class that "
    "comes closest: below 0 it loses to that class. Hard samples are sometimes samples with a wrong label.",
    "error": "Samples with the largest error; sometimes their targets are wrong.",
    "decision value": "The decision value is negative outside the region; these samples lie farthest out.",
}


def hardest_section(quality: Quality, X: Any, y: Any, names: list[str], count: int) -> Section:
    """The part of the page on the hardest samples."""
    order = np.argsort(-quality.difficulty, kind="stable")[:count]
    sign = 1.0 if quality.difficulty_name == "error" else -1.0
    head = ["Sample"]
    if y is not None:
        head.append("True")
    head += ["Answer", quality.difficulty_name.capitalize(), "Unusual about it"]
    described = _unusual(X, order, names)
    rows = []
    for place, text in zip(order, described, strict=True):
        answer = quality.predicted[place]
        row = [f"{place:,}"]
        if y is not None:
            row.append(_shown(y[place]))
        rows.append([*row, _shown(answer), number(sign * float(quality.difficulty[place]), 3), text])
    at = head.index(quality.difficulty_name.capitalize())
    caption = f"The {len(order)} hardest of {len(quality.difficulty):,} samples, counted from 0"
    return section(
        "hardest",
        "Hardest examples",
        tag("p", READING[quality.difficulty_name]),
        table(head, rows, caption, numeric=(0, at)),
    )


def _shown(value: Any) -> str:
    """A label or a number."""
    return number(float(value)) if isinstance(value, float | np.floating) else str(value)


def _unusual(X: Any, order: Any, names: list[str]) -> list[str]:
    """The features of each sample that lie farthest from their mean, in standard deviations."""
    if not (sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f")):
        return [str(X[place])[:60] for place in order]
    _, _, deviation = spreads(X)
    mean = np.asarray(X.mean(axis=0), np.float64).ravel()
    told = []
    for place in order:
        row = X[[place]].toarray().ravel() if sp.issparse(X) else np.asarray(X[place], np.float64)
        away = np.divide(row - mean, deviation, out=np.zeros_like(mean), where=deviation > 0)
        chosen = [j for j in np.argsort(-np.abs(away), kind="stable")[:MOST_FEATURES] if abs(away[j]) >= UNUSUAL]
        parts = [f"{names[j]} = {number(float(row[j]))} ({away[j]:+.1f} sd)" for j in chosen]
        told.append(", ".join(parts) or "nothing: all features are ordinary")
    return told
