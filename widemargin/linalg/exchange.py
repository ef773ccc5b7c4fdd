"""Arrays of other libraries (PyTorch, JAX, array_api_strict, ...) as NumPy arrays, by the DLPack protocol, not copied.

See     https://data-apis.org/array-api, `__array_namespace__` and `from_dlpack`
"""

from __future__ import annotations

from typing import Any

import numpy as np


def as_numpy(values: Any) -> Any:
    """Return an array of another library, in main memory, as a NumPy array; anything else as it is."""
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
