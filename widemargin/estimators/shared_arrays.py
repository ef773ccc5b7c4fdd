"""Arrays that a fitted estimator holds twice, such as support vectors, are pickled once.

`support_vectors_` is also the array of the decision function, `L_` that of the posterior of a Gaussian process. pickle
writes an array once and refers to it afterwards; joblib.dump writes it each time it meets it. The state of an estimator
therefore holds in its private attributes the name of the public one instead of the same array.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

OUR_MODULES = "widemargin."


class Public(NamedTuple):
    """Stands for the array of a public attribute."""

    name: str


def cut(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state with arrays of public attributes replaced by `Public` in private ones, at any depth."""
    names = {id(value): name for name, value in state.items() if isinstance(value, np.ndarray) and name[0] != "_"}
    return _in_private(state, lambda value: Public(names[id(value)]) if id(value) in names else value)


def join(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state from which `cut` made this one."""
    return _in_private(state, lambda value: state[value.name] if isinstance(value, Public) else value)


def _in_private(state: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: _changed(value, change) if name[0] == "_" else value for name, value in state.items()}


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return the changed value; an object of this package is copied if one of its attributes changes."""
    new = change(value)
    if new is not value or not (type(value).__module__.startswith(OUR_MODULES) and hasattr(value, "__dict__")):
        return new
    inner = {name: _changed(item, change) for name, item in vars(value).items()}
    if all(inner[name] is item for name, item in vars(value).items()):
        return value
    new = copy.copy(value)  # without what it does not pickle
    vars(new).update({name: item for name, item in inner.items() if name in vars(new)})
    return new
