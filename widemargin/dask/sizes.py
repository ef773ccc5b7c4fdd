"""Sizes of what travels and of what workers hold: Dask counts 56 bytes for an object that it does not know.

The scheduler moves small things to large ones. It must know that prepared samples are large, or it would move them to
the few rows of a round.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from dask.sizeof import sizeof
from scipy import sparse

from widemargin.kernels.kernel import Samples

OBJECT = 56  # bytes of a Python object


def bytes_of(value: Any) -> int:
    """Return the bytes of the arrays in a value."""
    if isinstance(value, np.ndarray | np.generic):
        return int(value.nbytes)
    if sparse.issparse(value):
        return sum(bytes_of(getattr(value, part)) for part in ("data", "indices", "indptr"))
    if isinstance(value, list | tuple):
        return sum(bytes_of(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return sum(bytes_of(getattr(value, field.name)) for field in fields(value))
    return 0


@sizeof.register(Samples)
def size_of_samples(samples: Samples) -> int:
    """Return the bytes of prepared samples, for the scheduler."""
    return OBJECT + bytes_of(samples)
