"""Points and parameters of the toy: from Python's arrays to what the page shows, and from the page to an estimator.

A point is [x, y, class]. Classes are numbered from 0 in the order of their sorted names; regression has the target as y
and no class. What comes from the page is checked here as what comes from anywhere else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_POINTS, MOST_CLASSES = 300, 8  # as in front/state.js
FARTHEST = 1e6  # coordinate
DIGITS = 6  # of a coordinate on the page

MACHINES = {"svc": "SVC", "nusvc": "NuSVC", "svr": "SVR", "oneclass": "OneClassSVM"}
KERNELS = {"linear": (), "poly": ("gamma", "degree", "coef0"), "rbf": ("gamma",), "sigmoid": ("gamma", "coef0"),
           "laplacian": ("gamma",)}  # fmt: skip
OWN = {"svc": ("C",), "nusvc": ("nu",), "svr": ("C", "epsilon"), "oneclass": ("nu",)}
DEFAULTS: dict[str, Any] = {
    "machine": "svc", "kernel": "rbf", "C": 1.0, "gamma": 1.0, "degree": 3, "coef0": 1.0, "epsilon": 0.1, "nu": 0.5,
}  # fmt: skip


def points_from(X: Any, y: Any = None, machine: str = "svc") -> tuple[list[list[float]], list[Any]]:
    """Return the points of data, and the names of their classes.

    X : two columns; one column for a regression, with `y` the targets
    """
    X = np.asarray(X, np.float64)
    columns = 1 if machine == "svr" else 2
    if X.ndim == 1 and columns == 1:
        X = X[:, None]
    if X.ndim != 2 or X.shape[1] != columns:
        wanted = "one column" if columns == 1 else "two columns"
        raise ValueError(f"X must have {wanted} to be shown in a plane; got an array of shape {X.shape}.")
    if not 0 < len(X) <= MOST_POINTS:
        raise ValueError(
            f"The toy shows 1 to {MOST_POINTS} points; X has {len(X)}. Pass a part, such as "
            f"X[::{len(X) // MOST_POINTS + 1}]."
        )
    if not (np.isfinite(X).all() and np.abs(X).max() <= FARTHEST):
        raise ValueError(f"X must be finite and at most {FARTHEST:g}: scale its columns first.")
    if columns == 1:
        targets = _targets(y, len(X))
        return [[_short(a), _short(b), 0] for a, b in zip(X[:, 0], targets)], []
    names: list[Any] = []
    labels = np.zeros(len(X), np.int64)
    if y is not None:
        found, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(labels) != len(X):
            raise ValueError(f"X has {len(X)} rows and y has {len(labels)}.")
        if len(found) > MOST_CLASSES:
            raise ValueError(f"The toy has {MOST_CLASSES} colours; y has {len(found)} classes.")
        names = found.tolist()
    return [[_short(a), _short(b), int(k)] for (a, b), k in zip(X, labels)], names


def _targets(y: Any, n: int) -> NDArray[np.float64]:
    if y is None:
        raise ValueError("A regression needs targets: pass y.")
    targets = np.asarray(y, np.float64).ravel()
    if len(targets) != n or not (np.isfinite(targets).all() and np.abs(targets).max() <= FARTHEST):
        raise ValueError(f"y must be {n} finite numbers of at most {FARTHEST:g}.")
    return targets


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def class_names(given: Sequence[Any], count: int) -> NDArray:
    """Return the names of `count` classes: those given, and for classes added on the page new ones of their kind."""
    names = np.asarray(given)
    added = range(len(names), count)
    if not added:
        return names
    if np.issubdtype(names.dtype, np.number):
        return np.concatenate([names, names.max() + 1 + np.arange(len(added))])
    return np.concatenate([names.astype(str), [f"class {k + 1}" for k in added]])


def arrays_from(points: Sequence[Sequence[float]], machine: str) -> tuple[NDArray[np.float64], NDArray | None]:
    """Return X and y of points; y is None for the one-class machine."""
    if not isinstance(points, list | tuple) or not 0 < len(points) <= MOST_POINTS:
        raise ValueError(f"points must be a list of 1 to {MOST_POINTS} points.")
    table = np.array([[*point, 0][:3] for point in points], np.float64)
    if table.shape != (len(points), 3) or not np.isfinite(table).all() or np.abs(table).max() > FARTHEST:
        raise ValueError("A point is [x, y, class] with finite numbers.")
    if machine == "svr":
        return table[:, :1], table[:, 1]
    if not np.isin(table[:, 2], range(MOST_CLASSES)).all():
        raise ValueError(f"The class of a point is a number from 0 to {MOST_CLASSES - 1}.")
    return table[:, :2], None if machine == "oneclass" else table[:, 2].astype(np.int64)


def checked_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with defaults filled in; raise ValueError for one that cannot be used."""
    if not isinstance(given, Mapping):
        raise ValueError(f"parameters must be a dict; got {type(given).__name__}.")
    found = DEFAULTS | {name: given[name] for name in DEFAULTS if name in given}
    for name, allowed in (("machine", MACHINES), ("kernel", KERNELS)):
        if not isinstance(found[name], str) or found[name] not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {found[name]!r:.40}.")
    for name in ("C", "gamma", "degree", "coef0", "epsilon", "nu"):
        value = found[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"{name} must be a number; got {value!r:.40}.")
    return found


def estimator_of(given: Mapping[str, Any], **more: Any) -> Any:
    """Return the estimator that parameters of the toy stand for, not fitted."""
    import widemargin

    found = checked_parameters(given)
    used = {name: found[name] for name in (*KERNELS[found["kernel"]], *OWN[found["machine"]])}
    return getattr(widemargin, MACHINES[found["machine"]])(kernel=found["kernel"], **used, **more)
