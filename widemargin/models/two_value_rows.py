"""Rows of X for support vectors that are packed as bits: which rows can be packed, and how to evaluate all others.

Support vectors of two values (0/1, -1/+1, ...) are represented by bits (kernels/samples/binary.py), and a row of X can
be packed if it consists of the same two values. Other rows are evaluated against the same support vectors in another
representation. That representation depends only on the support vectors, not on the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.kernels.samples.raw import read_matrix


def rows_of_two_values(X: Any, values: tuple[float, float]) -> NDArray[np.bool_]:
    """Return a mask of the rows of X that consist of the two values."""
    matrix = read_matrix(X)
    low, high = values
    if not sp.issparse(matrix):
        return ((matrix == low) | (matrix == high)).all(axis=1)
    if 0.0 not in values:
        return np.zeros(matrix.shape[0], bool)
    others = (matrix.data != low) & (matrix.data != high)
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.bincount(row[others], minlength=matrix.shape[0]) == 0


def with_third_value(vectors: Any, values: tuple[float, float]) -> Any:
    """Append a row with a third value to vectors of two values, so that they are not represented by bits."""
    low, high = values
    between = 0.5 * low + 0.5 * high
    if sp.issparse(vectors):
        row = sp.csr_array(([between], ([0], [0])), shape=(1, vectors.shape[1]))
        return sp.vstack([sp.csr_array(vectors), row], format="csr")
    row = np.full((1, vectors.shape[1]), low)
    row[0, 0] = between
    return np.vstack([np.asarray(vectors, np.float64), row])
