"""The columns of a sparse matrix that occur, numbered: work and memory then depend on the entries, not on the width.

Hashed words or a stray index can make a matrix of some thousand entries 10^8 columns wide or wider.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.linalg.arrays import Index

FEW_COLUMNS = 1 << 20  # up to here arrays with an entry per column take 8 MB or less and are not worth a sort


def occurring_columns(X: Any) -> tuple[Any, Index | None]:
    """Return X without empty columns, and which columns remain, ascending; X and None if it is not mostly empty.

    X is a dense array or a CSR matrix whose indices are valid.
    """
    if not sp.issparse(X) or X.shape[1] <= max(FEW_COLUMNS, X.indptr[-1]):
        return X, None
    columns, indices = np.unique(X.indices[: X.indptr[-1]], return_inverse=True)
    return _with_indices(X, indices, max(1, len(columns))), columns.astype(np.int64)


def only_columns(X: Any, columns: Index) -> Any:
    """Return the given columns of a CSR matrix, all others left out."""
    n_entries = X.indptr[-1]
    indices = X.indices[:n_entries]
    place = np.searchsorted(columns, indices)
    known = columns[np.minimum(place, len(columns) - 1)] == indices if len(columns) else np.zeros(n_entries, bool)
    starts = np.concatenate(([0], np.cumsum(known)))[X.indptr]
    shape = (X.shape[0], max(1, len(columns)))
    return sp.csr_array((X.data[:n_entries][known], place[known].astype(np.int32), starts), shape=shape)


def _with_indices(X: Any, indices: NDArray, width: int) -> sp.csr_array:
    return sp.csr_array((X.data[: len(indices)], indices.astype(np.int32), X.indptr), shape=(X.shape[0], width))
