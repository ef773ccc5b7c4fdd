"""A model evaluated on a plane: values on a grid, where its support vectors lie, the way to a line of constant f."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from widemargin.costs import COSTS
from widemargin.estimators.fitted import is_training_data
from widemargin.inspection.pipelines import prepared, unwrap
from widemargin.linalg.arrays import Matrix, Vector
from widemargin.plots.multipliers import Flags, bounded_support
from widemargin.plots.plane import Plane
from widemargin.plots.reading import as_fitted, dense, with_room

FINEST_GRID, COARSEST_GRID = 300, 100  # points along each axis: smooth lines on a screen, and still readable ones
GRID_TIME = 1.5e8  # nanoseconds on one core: models with many support vectors get a coarser grid
CHUNK_ENTRIES = 10_000_000  # entries of the lifted grid held at once, 80 MB
EDGE = 0.08  # room left around the data, as a share of their range


def resolution_for(machine: Any) -> int:
    """A grid as fine as the number of support vectors allows."""
    n_support = max(1, len(getattr(machine, "support_", ())))
    per_value, per_feature = COSTS.product_value
    points = GRID_TIME / (n_support * (per_value + per_feature * getattr(machine, "n_features_in_", 1)))
    return int(np.clip(np.sqrt(points), COARSEST_GRID, FINEST_GRID))


def grid_over(points: Vector, resolution: int) -> tuple[Vector, Vector, Vector]:
    """Points at which the model is evaluated, row by row, with the two axes."""
    xs, ys = (np.linspace(*with_room(column, EDGE), resolution) for column in points.T)
    return np.column_stack([axis.ravel() for axis in np.meshgrid(xs, ys)]), xs, ys


def evaluate_on(model: Any, plane: Plane, points: Matrix, X: Any, two_sides: bool, *, lifted: bool = False) -> NDArray:
    """f, or the class number, at points of the plane, or at samples (`lifted`).

    In chunks, because a lifted grid can be many times larger than the data.
    """
    evaluate = model.decision_function if two_sides else model.predict
    chunks = gen_batches(len(points), max(1, CHUNK_ENTRIES // len(plane.origin)))
    parts = (points[chunk] if lifted else plane.lift(points[chunk]) for chunk in chunks)
    values = np.concatenate([np.ravel(evaluate(as_fitted(model, part, X))) for part in parts])
    return values if two_sides else np.searchsorted(unwrap(model)[0].classes_, values)


def support_on(plane: Plane, machine: Any, before: Any, samples: Matrix, given: Any) -> tuple[Matrix, Flags]:
    """Return the support vectors on the plane, and which are at their bound; none if the model has no coordinates."""
    nowhere = np.empty((0, 2)), np.empty(0, bool)
    if not hasattr(machine, "support_vectors_") or len(getattr(machine, "support_", ())) == 0:
        return nowhere
    if before is None:
        vectors = dense(machine.support_vectors_)
        if vectors.shape != (len(vectors), len(plane.origin)):  # objects have no coordinates
            return nowhere
    elif is_training_data(machine, prepared(before, given)) is not False:
        vectors = samples[machine.support_]
    else:
        return nowhere
    return plane.project(vectors), bounded_support(machine)


def nearest_on(point: Vector, lines: Sequence[Matrix], spread: Vector) -> Vector:
    """The point on broken lines that is nearest when distances are counted in units of `spread`."""
    starts, ends = np.concatenate([line[:-1] for line in lines]), np.concatenate([line[1:] for line in lines])
    ahead = (ends - starts) / spread
    back = (point - starts) / spread
    share = np.clip((back * ahead).sum(axis=1) / np.maximum((ahead**2).sum(axis=1), 1e-300), 0.0, 1.0)
    closest = int(np.argmin(((back - share[:, None] * ahead) ** 2).sum(axis=1)))
    return starts[closest] + share[closest] * (ends[closest] - starts[closest])
