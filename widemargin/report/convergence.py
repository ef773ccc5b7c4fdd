"""How training went: gap, violation and support vectors after every round, if the model kept its history."""

from __future__ import annotations

from typing import Any

import numpy as np

from widemargin.report.charts import Series, axis, chart
from widemargin.report.html import Section, section, tag


def convergence_section(model: Any) -> Section:
    """The part of the page on convergence; of several problems in `history_`, a dict of columns, the longest."""
    history = getattr(model, "history_", None)
    if not history or len(history.get("violation", ())) < 2:
        return section(
            "convergence",
            "How training went",
            tag(
                "p",
                "The model kept no history of its training. Fit with trace=True to see the way to the optimum here.",
            ),
        )
    columns = {name: np.asarray(values, float) for name, values in history.items()}
    problem = columns.get("problem", np.zeros(len(columns["violation"])))
    numbers, counts = np.unique(problem, return_counts=True)
    longest = numbers[counts.argmax()]
    own = {name: values[problem == longest] for name, values in columns.items()}
    steps = own.get("iterations", np.arange(len(own["violation"])))
    certificate = getattr(model, "certificate_", None)
    lines = [Series(steps, own["violation"], "largest violation", colour=0)]
    if "gap" in own and np.isfinite(own["gap"]).any():
        lines.append(Series(steps, own["gap"], "relative gap", colour=1, dash="7 3"))
    if certificate is not None:
        lines.append(Series(steps[[0, -1]], np.full(2, certificate.tol), "tolerance", colour=3, dash="2 3"))
    text = f"Largest violation of the optimality conditions, and gap, by steps; it ends at {own['violation'][-1]:.2g}."
    charts = [
        chart(
            "Towards the optimum",
            text,
            axis("steps of the solver", steps, zero=True),
            axis("violation and gap", *(line.y for line in lines), log=True),
            lines,
        )
    ]
    if "n_support" in own:
        support = Series(steps, own["n_support"], "support vectors", colour=2)
        charts.append(
            chart(
                "Support vectors on the way",
                f"Number of support vectors against steps; {int(own['n_support'][-1]):,} at the end.",
                axis("steps of the solver", steps, zero=True),
                axis("support vectors", own["n_support"], zero=True),
                [support],
            )
        )
    note = None
    if len(numbers) > 1:
        note = tag(
            "p",
            f"The model consists of {len(numbers)} two-class machines; shown is number {int(longest)}, the longest.",
        )
    return section("convergence", "How training went", note, tag("div", *charts, class_="figures"))
