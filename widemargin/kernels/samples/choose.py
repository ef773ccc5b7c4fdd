"""The choice of a representation: the fastest one that preserves the values.

0/1 values        BinaryRows, for dense data always, for sparse data while the packed words are few; for kernels that
                  depend on distances only, any two values
sparse values     SparseRows, while the share of nonzero values is small
everything else   DenseRows or DenseColumns, as the kernel asks
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from widemargin.kernels.kernel import RepresentationMismatch, Samples
from widemargin.kernels.samples.binary import WORD, BinaryRows, binary_rows, holds_only, two_values
from widemargin.kernels.samples.dense import DenseColumns, DenseRows, dense_columns, dense_rows, mean_row
from widemargin.kernels.samples.raw import (
    MOSTLY_ZERO,
    Matrix,
    as_dense,
    check_features,
    read_matrix,
    read_precision,
    some_of,
)
from widemargin.kernels.samples.sparse import SparseRows, sparse_rows

SPARSE_WORDS = 8  # packed words up to which sparse 0/1 data are packed: beyond, an inverted index is faster
OFFSET = 16.0  # float64 data are moved to their centre when it is this much farther from 0 than they spread, squared


def represent(
    X: Any,
    dtype: DTypeLike,
    like: Samples | None = None,
    *,
    centred: bool = False,
    by_column: float = 0,
    split: bool = True,
    any_two: bool = False,
) -> Samples:
    """Prepare vectors for a kernel.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    dtype : float32 or float64; with `like`, the precision of `like` is used
    like : samples prepared before by the same kernel
    centred : bool
        Whether the kernel depends on differences only, so that dense data may be moved to their centre.
    by_column : number
        Dense data with at most this many features are stored by feature.
    split : bool
        Whether frequent features of sparse data may go to a dense part (for kernels of the inner product).
    any_two : bool
        Whether vectors of any two values may be packed, which suits kernels of the squared distance.
    """
    matrix = read_matrix(X)
    if like is not None:
        return follow(matrix, like)
    dtype = read_precision(dtype)
    n, d = matrix.shape
    is_sparse = sparse.issparse(matrix)
    if not is_sparse or d <= SPARSE_WORDS * WORD:
        values = two_values(matrix) if any_two else (0.0, 1.0) if holds_only(matrix) else None
        if values is not None:
            return binary_rows(matrix, dtype, values)
    if is_sparse and matrix.nnz <= MOSTLY_ZERO * n * d:
        return sparse_rows(matrix, dtype, split=split)
    dense = as_dense(matrix)
    if d <= by_column:
        return dense_columns(dense, dtype, mean_row(dense) if centred and dtype == np.float32 else None)
    return dense_rows(dense, dtype, _origin(dense, dtype) if centred else None)


def follow(matrix: Matrix, like: Samples) -> Samples:
    """Convert a matrix to the representation of `like`."""
    if not isinstance(like, BinaryRows | SparseRows | DenseRows | DenseColumns):
        raise RepresentationMismatch(f"Vectors cannot be brought into the representation {type(like).__name__}.")
    check_features(matrix, like.n_features)
    return like.adopt(matrix)


def _origin(matrix: NDArray, dtype: np.dtype) -> NDArray[np.float64] | None:
    """Return the centre of the data if a shift is worth a copy: always in float32, for remote data in float64."""
    centre = mean_row(matrix)
    if dtype == np.float32:
        return centre
    with np.errstate(over="ignore"):
        sampled = some_of(matrix) - centre
        spread = float(np.einsum("ij,ij->", sampled, sampled)) / max(1, len(sampled))
        return centre if float(centre @ centre) > OFFSET * spread else None
