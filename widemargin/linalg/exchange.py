"""Arrays of other libraries (PyTorch, JAX, array_api_strict, ...) as NumPy arrays, by the DLPack protocol, not copied.

Collections of Dask are refused: NumPy would bring all of them into this process without a word.

See     https://data-apis.org/array-api, `__array_namespace__` and `from_dlpack`
"""

from __future__ import annotations

from typing import Any

import numpy as np


def as_numpy(values: Any) -> Any:
    """Return an array of another library, in main memory, as a NumPy array; anything else as it is."""
    refuse_cluster(values)
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__"):
        return values
    if hasattr(values, "__array__") and not hasattr(values, "__array_namespace__"):  # tables, and tensors of PyTorch
        return values
    try:
        return np.from_dlpack(values)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(
            f"An array of type {type(values).__module__}.{type(values).__name__} cannot be read as a NumPy array "
            f"({error}): move it to the CPU, or convert it to NumPy first."
        ) from error


def lies_on_a_cluster(values: Any) -> bool:
    """Whether a collection is one of Dask, recognised without importing Dask."""
    return hasattr(type(values), "__dask_graph__")


def refuse_cluster(values: Any) -> None:
    """Raise TypeError for a collection of Dask."""
    if lies_on_a_cluster(values):
        raise TypeError(
            f"The {type(values).__name__} of Dask lies on a cluster: use widemargin.dask.SVC (SVR, OneClassSVM), or "
            "compute() it first if it fits here."
        )
