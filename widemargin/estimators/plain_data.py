"""Arrays that need no conversion skip scikit-learn's general validation, which costs more than a small fit.

What general validation would have checked is checked here as well: two dimensions, at least one sample and one feature,
real floating point, no NaN or infinity, targets of the right length. Whatever is not plainly right goes to
`validate_data`, which converts it or says what is wrong.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

INTEGERS = frozenset("iub")  # kinds of dtype whose values are class labels without a further look


def is_plain_matrix(X: Any) -> bool:
    """Whether X is an ordinary float array of samples with finite entries."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and (X.dtype == np.float64 or X.dtype == np.float32)
        and X.size > 0
        and _is_finite(X)
    )


def is_plain_sparse(X: Any) -> bool:
    """The same for sparse data in rows."""
    return (
        type(X) in (sparse.csr_matrix, sparse.csr_array)
        and (X.dtype == np.float64 or X.dtype == np.float32)
        and X.indices.dtype == np.int32
        and X.ndim == 2
        and X.shape[0] > 0
        and _is_finite(X.data)
    )


def are_plain_labels(y: Any, n_samples: int) -> bool:
    """Whether y is an array of whole numbers (also as floats) or strings, one per sample."""
    if type(y) is not np.ndarray or y.shape != (n_samples,):
        return False
    if y.dtype == np.float64:
        return _is_finite(y) and bool((np.rint(y) == y).all())
    return y.dtype.kind in INTEGERS or y.dtype.kind == "U"


def are_plain_targets(y: Any, n_samples: int) -> bool:
    """Whether y is an array of finite floats, one per sample."""
    return type(y) is np.ndarray and y.shape == (n_samples,) and y.dtype == np.float64 and _is_finite(y)


def _is_finite(values: np.ndarray) -> bool:
    """Whether the sum is finite: if it is, so is every entry; if it overflowed, general validation looks closer."""
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(values.sum())
