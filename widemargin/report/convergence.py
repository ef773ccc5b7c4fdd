"""How training went: gap, violation and support vectors after every round, if the model kept its history."""

from __future__ import annotations

from typing import Any

import numpy as np

from widemargin.report.charts import Chart, Series, axis


def way_to_the_optimum(model: Any) -> dict[str, Any]:
    """Charts of the longest of the problems in `history_`, a dict of columns; empty if there is none."""
    history = getattr(model, "history_", None)
    if not history or len(history.get("violation", ())) < 2:
        return {}
    columns = {name: np.asarray(values, float) for name, values in history.items()}
    problem = columns.get("problem", np.zeros(len(columns["violation"])))
    numbers, counts = np.unique(problem, return_counts=True)
    longest = numbers[counts.argmax()]
    own = {name: values[problem == longest] for name, values in columns.items()}
    steps = own.get("iterations", np.arange(len(own["violation"])))
    lines = [Series(steps, own["violation"], "largest violation", colour=0)]
    if "gap" in own and np.isfinite(own["gap"]).any():
        lines.append(Series(steps, own["gap"], "relative gap", colour=1, dash="7 3"))
    if hasattr(model, "certificate_"):
        lines.append(Series(steps[[0, -1]], np.full(2, model.certificate_.tol), "tolerance", colour=3, dash="2 3"))
    text = f"Largest violation of the optimality conditions, and gap, by steps; it ends at {own['violation'][-1]:.2g}."
    along = axis("steps of the solver", steps, zero=True)
    distances = axis("violation and gap", *(line.y for line in lines), log=True)
    charts = [Chart("Towards the optimum", text, along, distances, lines)]
    if "n_support" in own:
        text = f"Number of support vectors against steps; {int(own['n_support'][-1]):,} at the end."
        counted = axis("support vectors", own["n_support"], zero=True)
        line = Series(steps, own["n_support"], "support vectors", colour=2)
        charts.append(Chart("Support vectors on the way", text, along, counted, [line]))
    return {"charts": charts, "n_problems": len(numbers), "longest": int(longest)}
