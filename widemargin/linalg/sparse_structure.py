"""The index arrays of a sparse matrix, checked before compiled code follows them.

SciPy checks them only in part when a matrix is made, and not at all once its arrays are changed. Neither SciPy's own
conversions nor our loops test indices, so that one wild index would read or write memory outside the matrix.

    CSR, CSC, BSR   starts ascend from 0 to at most the number of entries; indices are within the other dimension
    COO             as many rows as columns as entries, each within its dimension
    DIA             as many offsets as diagonals
    LIL, DOK        made of Python objects; converted to CSR first

Unsorted and repeated indices are legal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

COMPRESSED = ("csr", "csc", "bsr")


def sound_sparse(X: Any) -> Any:
    """Return a sparse matrix that can be converted safely: X, or its CSR form if it is made of Python objects.

    Raises ValueError if X is damaged. Anything that is not sparse is returned as it is.
    """
    if not sparse.issparse(X):
        return X
    if X.format in ("lil", "dok"):
        X = X.tocsr()
    damage = structure_damage(X)
    if damage:
        raise ValueError(
            f"The sparse matrix ({X.format.upper()}, shape {X.shape}) is damaged: {damage}. Build it anew."
        )
    return X


def structure_damage(X: Any) -> str:
    """Return what is wrong with the index arrays of a CSR, CSC, BSR, COO or DIA matrix; "" if nothing is."""
    if X.format == "coo":
        if any(not _is_index(places) or places.shape != X.data.shape for places in X.coords):
            return "its indices and entries are not as many whole numbers as values"
        outside = (_outside(places, size, "index") for places, size in zip(X.coords, X.shape))
        return next(filter(None, outside), "")
    if X.format == "dia":
        is_sound = X.data.ndim == 2 and _is_index(X.offsets) and len(X.offsets) == len(X.data)
        return "" if is_sound else "its offsets are not one whole number for each diagonal"
    if X.format not in COMPRESSED or X.ndim != 2:
        return ""
    return _compressed_damage(X)


def _compressed_damage(X: Any) -> str:
    rows, columns = X.shape
    if X.format == "bsr":
        if X.data.ndim != 3:
            return "its entries are not blocks"
        rows, columns = rows // X.data.shape[1], columns // X.data.shape[2]
    elif X.data.ndim != 1:
        return "its entries are not a vector"
    n_lines, size = (columns, rows) if X.format == "csc" else (rows, columns)
    starts, indices = X.indptr, X.indices
    if not (_is_index(starts) and _is_index(indices)):
        return "indptr and indices must be vectors of whole numbers"
    if len(starts) != n_lines + 1:
        return f"indptr has {len(starts)} entries, expected {n_lines + 1}"
    if starts[0] != 0 or (starts[1:] < starts[:-1]).any():
        return "indptr does not ascend from 0"
    n_entries = min(len(indices), len(X.data))
    if starts[-1] > n_entries:
        return f"indptr ends at {starts[-1]}, but there are {n_entries} entries"
    return _outside(indices[: starts[-1]], size, "index")


def _is_index(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu"


def _outside(indices: NDArray, size: int, name: str) -> str:
    """Return a text about the first index outside 0 ... size - 1, or ""; read as unsigned, negative ones are large."""
    native = indices.astype(indices.dtype.newbyteorder("="), copy=False)
    unsigned = native.view(f"u{indices.itemsize}")
    if not len(unsigned) or int(unsigned.max()) < size:
        return ""
    first = int(np.argmax(unsigned >= size))
    return f"its {name} {indices[first]} is outside 0 ... {size - 1}"
