"""Predictions for Dask collections: lazy, block by block, in the container that was given, with its index.

One copy of the model is part of the graph and shared by all blocks. What the answer is like is told by the model, so
that no block is tried.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import dask
import dask.array as da
import numpy as np
from numpy.typing import NDArray


def lazily(model: Any, method: str, X: Any, kind: np.dtype, columns: Sequence[Any] | None = None) -> Any:
    """Return `model.method(X)` as a Dask array for an array, as a series with its index for a dataframe.

    columns : names of the columns of the answers, for a dataframe; None for answers of one dimension
    """
    shared = dask.delayed(model, name=f"widemargin-model-{uuid.uuid4().hex}", traverse=False)
    name = f"widemargin-{method.replace('_', '-')}"
    if hasattr(X, "map_partitions"):
        meta = _framed(_nothing(kind, columns), X._meta.index[:0], columns)
        return X.map_partitions(of_frame, shared, method, kind, columns, meta=meta, token=name)
    if not hasattr(X, "map_blocks"):
        raise TypeError(f"X is a {type(X).__name__}; give a Dask array or dataframe, or data of this process.")
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, (rows, features); got {X.ndim}.")
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    shape: dict[str, Any] = {"drop_axis": 1} if columns is None else {"chunks": (X.chunks[0], (len(columns),))}
    return X.map_blocks(
        of_block,
        shared,
        method,
        kind,
        columns,
        dtype=kind,
        meta=_nothing(kind, columns),
        name=f"{name}-{uuid.uuid4().hex}",
        **shape,
    )


def of_block(block: Any, model: Any, method: str, kind: np.dtype, columns: Sequence[Any] | None) -> Any:
    """Return the predictions for a block; there are blocks without rows."""
    if not block.shape[0]:
        return _nothing(kind, columns)
    if hasattr(model, "feature_names_in_"):  # an array has none: scikit-learn would warn in every block
        names, model = model.feature_names_in_, _without_names(model)
        if block.shape[1] != len(names):
            raise ValueError(f"X has {block.shape[1]} features, but the model expects {len(names)}.")
    return getattr(model, method)(block)


def _nothing(kind: np.dtype, columns: Sequence[Any] | None) -> NDArray:
    """Return the answer for no rows."""
    return np.empty(0 if columns is None else (0, len(columns)), kind)


def _without_names(model: Any) -> Any:
    """Return the model without feature names."""
    twin = model.__copy__()
    del twin.feature_names_in_
    return twin


def of_frame(frame: Any, model: Any, method: str, kind: np.dtype, columns: Sequence[Any] | None) -> Any:
    """Return the predictions for a partition, with its index."""
    values = getattr(model, method)(frame) if len(frame) else _nothing(kind, columns)
    return _framed(values, frame.index, columns)


def _framed(values: NDArray, index: Any, columns: Sequence[Any] | None) -> Any:
    """Return answers as a series, or as a dataframe if they have columns."""
    import pandas as pd

    return pd.Series(values, index=index) if columns is None else pd.DataFrame(values, index=index, columns=columns)


def score(machine: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Return accuracy or R^2 as a number of Dask."""
    answers = _as_array(machine.predict(X))
    y = _like(y, answers)
    weight = 1.0 if sample_weight is None else _like(sample_weight, answers)
    total = (weight * da.ones_like(answers, dtype=np.float64)).sum()
    if hasattr(machine, "classes_"):
        return (weight * (answers == y)).sum() / total
    mean = (weight * y).sum() / total
    return 1.0 - (weight * (y - answers) ** 2).sum() / (weight * (y - mean) ** 2).sum()


def _as_array(values: Any) -> da.Array:
    """Return a series or array of Dask as an array."""
    return values if isinstance(values, da.Array) else values.to_dask_array()


def _like(values: Any, answers: da.Array) -> da.Array:
    """Return targets or weights in the blocks of the predictions."""
    if hasattr(values, "__dask_graph__"):
        values = _as_array(values)
        known = not any(np.isnan(n) for n in (*values.chunks[0], *answers.chunks[0]))
        return values.rechunk(answers.chunks) if known else values
    if any(np.isnan(n) for n in answers.chunks[0]):
        answers = answers.compute_chunk_sizes()
    return da.from_array(np.asarray(values), chunks=answers.chunks)
