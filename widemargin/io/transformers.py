"""Transformers of scikit-learn in a model file: the steps of a pipeline before our estimator.

A transformer is its class, one of TRANSFORMERS, and its state as scikit-learn's own `__getstate__` gives it, which must
be plain data (packing.py): a function, as in FunctionTransformer(np.log), is refused. `__setstate__` warns where the
file comes from another version of scikit-learn.

A file may come from anyone. Only these classes are made, no state replaces a method, the numbers that OneHotEncoder
hands to compiled code unchecked are computed anew, and no pipeline keeps the folder in which it would cache pickles.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np

from widemargin.storage.errors import FileError

TRANSFORMERS = {
    "ColumnTransformer": "sklearn.compose",
    "FunctionTransformer": "sklearn.preprocessing",  # of columns that a ColumnTransformer passes through
    "MaxAbsScaler": "sklearn.preprocessing",
    "MinMaxScaler": "sklearn.preprocessing",
    "Normalizer": "sklearn.preprocessing",
    "OneHotEncoder": "sklearn.preprocessing",
    "OrdinalEncoder": "sklearn.preprocessing",
    "PCA": "sklearn.decomposition",
    "Pipeline": "sklearn.pipeline",
    "QuantileTransformer": "sklearn.preprocessing",
    "RobustScaler": "sklearn.preprocessing",
    "SimpleImputer": "sklearn.impute",
    "StandardScaler": "sklearn.preprocessing",
    "VarianceThreshold": "sklearn.feature_selection",
}
MOST_FEATURES = 1 << 20  # that a transformer may have beyond the length of its arrays


def is_transformer(value: Any) -> bool:
    """Whether a value is an instance of one of TRANSFORMERS itself, not of a class derived from it."""
    kind = type(value)
    home = TRANSFORMERS.get(kind.__name__)
    return home is not None and getattr(import_module(home), kind.__name__) is kind


def state_of(transformer: Any) -> dict[str, Any]:
    """Return the state of a transformer."""
    if getattr(transformer, "_infrequent_enabled", False):
        raise FileError(
            "OneHotEncoder with min_frequency or max_categories cannot be saved: choose the categories before, or use "
            "pickle for files that only you load."
        )
    state = dict(transformer.__getstate__())
    if state.pop("_drop_idx_after_grouping", None) is not None:
        state["drop_idx_"] = state["drop_idx_"].tolist()  # an array of numbers and None
    return state


def restored(name: str, state: dict[str, Any]) -> Any:
    """Return the transformer of a file; KeyError, TypeError or ValueError where it was not written by `state_of`."""
    kind = getattr(import_module(TRANSFORMERS[name]), name)
    replaced = [key for key in state if isinstance(getattr(kind, key, None), Callable)]  # type: ignore[arg-type]
    if replaced:
        raise ValueError(f"it replaces the method {replaced[0]} of {name}")
    if not all(isinstance(words, np.ndarray) and words.ndim == 1 for words in state.get("categories_", ())):
        raise ValueError(f"the categories of its {name} are no vectors")
    if name == "OneHotEncoder" and "categories_" in state:
        _recount(state)
    if name == "Pipeline":
        state["memory"] = None
    made = kind.__new__(kind)
    made.__setstate__(state)
    missing = [key for key in made._get_param_names() if not hasattr(made, key)]
    if missing:
        raise ValueError(f"its {name} has no {missing[0]}")
    return made


def try_transform(transformer: Any) -> None:
    """Transform one sample, so that attributes that do not fit together fail while loading.

    A ValueError, such as for a category that is not known, is about the sample; so is a TypeError where texts are
    expected in place of its numbers.
    """
    if not hasattr(transformer, "n_features_in_"):
        return
    if not isinstance(transformer.n_features_in_, int):
        raise ValueError("n_features_in_ must be a whole number")
    if transformer.n_features_in_ > MOST_FEATURES:
        longest = _longest(transformer)
        if longest == 0:
            return  # a Normalizer, for example, holds nothing that could fail
        if transformer.n_features_in_ > longest:
            raise ValueError(f"it states {transformer.n_features_in_:,} features, its arrays have {longest:,} at most")
    about_sample = (ValueError, TypeError) if takes_texts(transformer) else (ValueError,)
    with suppress(*about_sample), warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        transformer.transform(np.zeros((1, transformer.n_features_in_)))


def takes_texts(transformer: Any) -> bool:
    """Whether a transformer, or one inside it, expects texts."""
    steps = [step for _, step in getattr(transformer, "steps", ())]
    inside = [*steps, *(entry[1] for entry in getattr(transformer, "transformers_", ()))]
    known = [*getattr(transformer, "categories_", ()), getattr(transformer, "statistics_", None)]
    return any(np.asarray(words).dtype.kind in "OUS" for words in known if words is not None) or any(
        map(takes_texts, inside)
    )


def _longest(value: Any) -> int:
    """The length of the longest array in a transformer and those inside it."""
    if isinstance(value, np.ndarray):
        return max(value.shape, default=0)
    if isinstance(value, list | tuple):
        return max(map(_longest, value), default=0)
    return _longest([*vars(value).values()]) if is_transformer(value) else 0


def _recount(state: dict[str, Any]) -> None:
    """Set the number of features of each column of a OneHotEncoder, which becomes indices of a sparse matrix."""
    sizes = [len(categories) for categories in state["categories_"]]
    given = state["drop_idx_"]
    dropped = [None] * len(sizes) if given is None else given
    if state["_infrequent_enabled"] or len(dropped) != len(sizes):
        raise ValueError("its OneHotEncoder does not fit together")
    if not all(place is None or 0 <= place < size for place, size in zip(dropped, sizes)):
        raise ValueError("its OneHotEncoder drops a category that it does not have")
    state["drop_idx_"] = state["_drop_idx_after_grouping"] = None if given is None else np.array(given, object)
    state["_n_features_outs"] = [size - (place is not None) for place, size in zip(dropped, sizes)]
