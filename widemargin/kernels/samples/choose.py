"""The choice of a representation: the fastest one in which the values come out the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from widemargin.kernels.kernel import RepresentationMismatch, Samples
from widemargin.kernels.samples.dense import DenseColumns, DenseRows, dense_columns, dense_rows, mean_row
from widemargin.kernels.samples.raw import as_dense, check_features, read_matrix, read_precision


def represent(X: Any, dtype: DTypeLike, like: Samples | None = None, *, centred: bool = False, by_column: int = 0) -> Samples:
    """Prepare vectors for a kernel.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    dtype : float32 or float64; with `like`, the precision of `like` is used
    like : samples prepared before by the same kernel
    centred : bool
        Whether the kernel depends on differences only, so that any origin will do.
    by_column : int
        Dense data with at most this many features are stored by feature.
    """
    matrix = read_matrix(X)
    if like is not None:
        return follow(matrix, like)
    dtype = read_precision(dtype)
    matrix = as_dense(matrix)
    origin = mean_row(matrix) if centred and dtype == np.float32 else None
    if matrix.shape[1] <= by_column:
        return dense_columns(matrix, dtype, origin)
    return dense_rows(matrix, dtype, origin)


def follow(matrix: Any, like: Samples) -> Samples:
    """Bring a matrix into the representation of `like`."""
    if not isinstance(like, DenseRows | DenseColumns):
        raise RepresentationMismatch(f"Vectors cannot be brought into the representation {type(like).__name__}.")
    check_features(matrix, like.n_features)
    return like.adopt(as_dense(matrix))
