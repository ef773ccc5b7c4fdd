"""Reading data and fitted models for pictures: dense features, names, class numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from widemargin.inspection.pipelines import names_after, unwrap
from widemargin.io.preparation import names_of_fit, of_table
from widemargin.linalg.arrays import Matrix, Vector
from widemargin.monitor.printable import printable

DENSE_ENTRIES = 100_000_000  # entries of X that are held densely: 800 MB, more than a picture can show


def dense(values: Any) -> Matrix:
    """A sparse or dense matrix as a float64 array."""
    return np.asarray(values.toarray() if sp.issparse(values) else values, dtype=np.float64)


def dense_features(X: Any) -> Matrix:
    """Return X as a float64 matrix; raise an error that explains why it cannot be drawn."""
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) == 2 and shape[0] * shape[1] > DENSE_ENTRIES:
        raise ValueError(f"X of shape {shape} is too large for a picture: pass some thousand of its rows.")
    try:
        samples = dense(X)
    except (TypeError, ValueError) as wrong:
        raise ValueError(f"A picture needs features that are numbers; X cannot be read as such: {wrong}.") from wrong
    if samples.ndim != 2 or samples.shape[0] == 0:
        raise ValueError(f"X must have the shape (n_samples, n_features) with samples in it; got {samples.shape}.")
    return samples


def feature_names(X: Any, model: Any = None) -> list[str]:
    """Names of the columns of a data frame, those a model was trained on, or numbered names."""
    columns = getattr(X, "columns", None)
    if columns is None:
        columns = names_of_fit(model)
    n_features = np.shape(X)[1]
    if columns is None or len(columns) != n_features:
        return [f"feature {k + 1}" for k in range(n_features)]
    return [str(name) for name in columns]


def axis_label(name: str, model: Any = None) -> str:
    """Label of an axis along a feature; it says so if the model's preparation of a file scales that column."""
    preparation = of_table(model)
    return literal(name) + (" (scaled)" if preparation is not None and name in preparation.scaled else "")


def target_label(model: Any) -> str:
    """Label of the axis of targets: their column in the file a model was trained on, or "target y"."""
    preparation = of_table(model)
    return "target y" if preparation is None or preparation.target is None else literal(preparation.target)


def column_of(feature: int | str, names: list[str]) -> int:
    """Number of a feature given by its number or its name."""
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"X has no feature {feature!r}; its features are {', '.join(names[:20])}.")
        return names.index(feature)
    if not -len(names) <= feature < len(names):
        raise ValueError(f"X has no feature number {feature}: it has {len(names)}, counted from 0.")
    return int(feature) % len(names)


def section_note(n_others: int, where: str = "the medians") -> str:
    """Return a note on the treatment of the features that are not drawn."""
    return f"section: {n_others} other feature{'s' * (n_others > 1)} at {where}" if n_others else ""


def with_room(values: Any, share: float = 0.05) -> tuple[float, float]:
    """Smallest and largest value with some room around them, as a share of their range."""
    low, high = float(np.min(values)), float(np.max(values))
    room = share * (high - low) or 1.0
    return low - room, high + room


def as_fitted(model: Any, values: Vector, X: Any) -> Any:
    """Values with named columns if the model was fitted on such, in the kind of data frame that X is."""
    names = getattr(model, "feature_names_in_", None)
    return values if names is None else _named(values, names, X)


def drawable(model: Any, X: Any) -> tuple[Any, Any]:
    """Return a model and samples of numbers for it: where columns of X are texts, the estimator inside the pipeline and
    the features that its steps make of them."""
    try:
        dense_features(X)
    except ValueError:
        machine, before = unwrap(model)
        if before is None:
            raise
        made, names = dense_features(before.transform(X)), names_after(before)
        return machine, made if names is None else _named(made, names, X)
    return model, X


def _named(values: Vector, names: Any, X: Any) -> Any:
    """Return a data frame with named columns, of the kind that X is."""
    if type(X).__module__.startswith("polars"):
        return type(X)(values, schema=list(names))
    if getattr(X, "columns", None) is not None:
        return type(X)(values, columns=list(names))
    import pandas  # X came without names: use pandas, as scikit-learn does

    return pandas.DataFrame(values, columns=names)


def kind_of(model: Any) -> str:
    """Return the kind of a model: "classifier", "regressor", "one class" or "other"."""
    if is_classifier(model):
        return "classifier"
    if is_regressor(model):
        return "regressor"
    return "one class" if hasattr(model, "offset_") else "other"


def class_name(value: Any) -> str:
    """A class as people write it: 1 rather than 1.0."""
    return f"{value:g}" if isinstance(value, (float, np.floating)) else literal(str(value))


def literal(text: str) -> str:
    """A text that matplotlib draws as it is: dollars would begin a formula, and control characters have no glyph."""
    return printable(text).replace("$", r"\$")


def class_numbers(classes: NDArray, y: Any, n_samples: int) -> NDArray[np.int64]:
    """Place of each label among the classes of the model."""
    labels = check_length(y, n_samples)
    place = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    if not np.array_equal(np.asarray(classes)[place], labels):
        known = ", ".join(repr(c) for c in np.asarray(classes).tolist()[:20])
        raise ValueError(f"y holds classes the model does not know; it was fitted on {known}.")
    return place


def check_length(y: Any, n_samples: int) -> NDArray:
    """y as a flat array with one entry for each sample."""
    if y is None:
        raise ValueError("This picture needs y, the target of each sample: pass it after X.")
    targets = np.asarray(y).ravel()
    if len(targets) != n_samples:
        raise ValueError(f"X has {n_samples} samples but y has {len(targets)}: give one target for each sample.")
    return targets
