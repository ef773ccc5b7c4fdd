"""Facts for a report: data and parameters, progress of training, support vectors, fingerprints of the data."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.report.charts import Chart, Series, axis, histogram
from widemargin.report.numbers import number, percent, shown
from widemargin.report.reproduction import columns_of, described, program
from widemargin.report.subject import Subject

MAIN = ("C", "nu", "epsilon", "kernel", "gamma", "tol")  # parameters of most interest


def trained_facts(subject: Subject) -> dict[str, Any]:
    """Shape of the data, classes among them, how they were prepared, and parameters of the model.

    `parameters` are the main ones first, then those that differ from the defaults.
    """
    model, X, y = subject.model, subject.X, subject.y
    given, defaults = model.get_params(deep=False), type(model)().get_params(deep=False)
    names = sorted(given, key=lambda name: (name not in MAIN, name))
    listed = [name for name in names if name in MAIN or shown(given[name]) != shown(defaults.get(name))]
    counts = zip(*np.unique(y, return_counts=True)) if y is not None and hasattr(model, "classes_") else ()
    changed = [f"{name}={given[name]!r}" for name in sorted(given) if repr(given[name]) != repr(defaults.get(name))]
    before = subject.before.steps if subject.before is not None else []
    steps = ", ".join(type(step).__name__ for _, step in before)
    return {
        "layout": "sparse" if sp.issparse(X) else "dense" if isinstance(X, np.ndarray) else type(X).__name__,
        "shares": [f"{label}: {count:,} ({percent(count / subject.n_samples)})" for label, count in counts],
        "preparation": steps or described(model),
        "columns": columns_of(model),
        "program": program(subject, changed),
        "parameters": [(name, shown(given[name])) for name in listed],
    }


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


def support_facts(subject: Subject) -> dict[str, Any]:
    """Memory and sizes of the support vectors and their coefficients; empty for models without any."""
    model = subject.model
    expansion = getattr(model, "_expansion", None)
    if expansion is None or subject.n_support is None:
        return {}
    vectors, sizes = expansion.vectors, np.abs(expansion.coefficients)
    stored = [vectors.data, vectors.indices] if sp.issparse(vectors) else [vectors]
    found: dict[str, Any] = {
        "count": sizes.shape[1],
        "megabytes": sum(part.nbytes for part in stored) / 1e6 if hasattr(stored[0], "nbytes") else None,
        "per_class": [f"{label}: {own:,}" for label, own in zip(getattr(model, "classes_", ()), model.n_support_)],
        "charts": [],
    }
    sizes = sizes[sizes > 0]
    if len(sizes) > 4 and sizes.max() > sizes.min():
        at_most = int(np.sum(sizes == sizes.max()))
        text = f"Number of coefficients by size; {at_most:,} of {len(sizes):,} have the largest, {number(sizes.max())}"
        labels = ("size of the coefficient", "coefficients")
        found["charts"] = [histogram("Sizes of the coefficients", text, labels, sizes, bins=25, zero=True)]
    return found


def fingerprints(subject: Subject) -> dict[str, str]:
    """The first 16 digits of a SHA-256 of the values of X, and of y where it was given."""
    data = {"X": subject.X} if subject.y is None else {"X": subject.X, "y": subject.y}
    return {name: hashlib.sha256(_bytes(values)).hexdigest()[:16] for name, values in data.items()}


def _bytes(data: Any) -> bytes:
    """The values of an array, a sparse matrix or a sequence of objects."""
    if sp.issparse(data):
        matrix = data.tocsr()
        return matrix.data.tobytes() + b"".join(
            part.astype(np.int64).tobytes() for part in (matrix.indices, matrix.indptr)
        )
    if isinstance(data, np.ndarray) and not data.dtype.hasobject:
        return data.tobytes()
    return "\n".join(map(str, data)).encode()
