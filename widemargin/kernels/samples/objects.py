"""Samples of any kind, not converted: strings, graphs, rows of an array or of a sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from widemargin._sklearn import safe_indexing
from widemargin.kernels.kernel import Samples
from widemargin.kernels.samples.raw import read_precision
from widemargin.linalg.sparse_structure import sound_sparse


@dataclass(frozen=True, eq=False)
class Objects(Samples):
    """A collection passed to a user's function in parts.

    Attributes
    ----------
    items : array, CSR matrix, table or list
    dtype : precision of the kernel values
    """

    items: Any
    dtype: np.dtype

    def __len__(self) -> int:
        return self.items.shape[0] if hasattr(self.items, "shape") else len(self.items)

    def take(self, index: NDArray[np.int64]) -> Objects:
        return Objects(safe_indexing(self.items, np.asarray(index)), self.dtype)

    def tile(self, start: int, stop: int) -> Objects:
        return Objects(self.items[start:stop], self.dtype)


def read_objects(X: Any, dtype: DTypeLike, keep_tables: bool = False) -> Objects:
    """Keep arrays as arrays, sparse matrices as CSR, and every other sequence as a list.

    A table (pandas, polars) becomes an array; with `keep_tables` one of mixed types stays a table, columns and all.
    """
    dtype = read_precision(dtype)
    if sparse.issparse(X):
        return Objects(sound_sparse(X).tocsr(), dtype)
    if keep_tables and hasattr(X, "columns") and np.asarray(X[:0]).dtype.kind not in "biuf":
        return Objects(X, dtype)
    if hasattr(X, "shape") and hasattr(X, "__array__"):
        return Objects(np.asarray(X), dtype)
    try:
        return Objects(list(X), dtype)
    except TypeError as error:
        raise TypeError(f"Samples must be an array or a sequence of objects; got {type(X).__name__}.") from error
