"""The boundary of a classifier or one-class SVM on two features, or on the plane that shows most of many, as a chart.

The model is evaluated as in plots/boundary.py; neighbouring cells with the same answer are drawn as one bar.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.kernels.names import is_precomputed
from widemargin.plots.boundary import BoundaryDisplay
from widemargin.report.charts import Axis, Chart, Series
from widemargin.report.subject import Subject

CELLS = 90  # along each axis: steps of four units of the chart, fine enough to see the shape
MOST_CLASSES = 6  # colours of the page
MOST_ENTRIES = 20_000_000  # of X, held densely: principal components of more take longer than all the rest of the page


def regions(subject: Subject) -> list[Chart]:
    """Return the chart of the regions; none where there is no plane to draw on."""
    model, X = subject.model, subject.X
    if not subject.is_numeric or is_precomputed(getattr(model, "kernel", None)):
        return []
    finite = np.isfinite(X.data if sp.issparse(X) else X).all()
    few = len(getattr(model, "classes_", ())) <= MOST_CLASSES and X.shape[0] * X.shape[1] <= MOST_ENTRIES
    if not few or not finite or min(X.shape) < 2:
        return []
    plane = "pca" if X.shape[1] > 2 else None
    found = BoundaryDisplay.from_estimator(model, subject.given, subject.y, features=plane, resolution=CELLS)
    one_class = found.kind == "one class"
    answers = found.values.astype(np.int64) if found.kind == "regions" else (found.values > 0).astype(np.int64)
    names = ["outside", "inside"] if one_class else found.class_names
    series = [
        Series(*_bars(answers == k, found.xs, found.ys), f"answer: {name}", "cells", k) for k, name in enumerate(names)
    ]
    for k, name in enumerate(found.class_names):
        x, y = found.points[found.labels == k].T
        series.append(Series(x, y, name, "points", 1 if one_class else k))
    across, up = subject.names[:2] if plane is None else found.plane.names
    note = "; ".join(note for note in (found.plane.note, found.caution) if note)
    text = f"The model's answer at each place, and the samples{f' ({note})' if note else ''}."
    axes = Axis(across, *found.xs[[0, -1]].tolist()), Axis(up, *found.ys[[0, -1]].tolist())
    return [Chart("Where which answer is given", text, *axes, series, note=note)]


def _bars(cells: NDArray[np.bool_], xs: NDArray, ys: NDArray) -> tuple[NDArray, NDArray]:
    """Ends of the runs of true cells of each row, along x and along y, both of shape (n_bars, 2)."""
    edges = np.diff(np.pad(cells, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, starts = np.nonzero(edges == 1)
    _, stops = np.nonzero(edges == -1)
    x, y = (np.concatenate([[axis[0]], (axis[1:] + axis[:-1]) / 2, [axis[-1]]]) for axis in (xs, ys))
    return np.column_stack([x[starts], x[stops]]), np.column_stack([y[rows], y[rows + 1]])
