"""Reading X as passed by users, with clear errors and without needless copies, and ranges of samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from widemargin.kernels.kernel import Samples
from widemargin.linalg.sparse_structure import sound_sparse

Matrix: TypeAlias = Any  # a two-dimensional array or sparse.csr_array; scipy has no types to say so

MOSTLY_ZERO = 0.3  # share of values that are not zero up to which only those are multiplied
ROWS_LOOKED_AT = 1000  # rows from which properties of the data are estimated
ROWS_AT_A_TIME = 4096  # rows per part: intermediate results fit the cache


@dataclass(frozen=True, eq=False)
class SampleRange(Samples):
    """Samples start:stop of data that all tiles of one preparation share."""

    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def tile(self, start: int, stop: int) -> Self:
        return replace(self, start=self.start + start, stop=self.start + stop)


def read_precision(dtype: DTypeLike) -> np.dtype:
    """Return float32 or float64 as a dtype; raise an error for any other precision."""
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"Kernels compute in float32 or float64, not in {dtype}: ask for one of the two.")
    return dtype


def read_matrix(X: Any) -> Matrix:
    """X as a two-dimensional numeric array, or as CSR in canonical form when it is sparse.

    The result may share memory with X and is never written to.
    """
    if sparse.issparse(X):
        rows = sparse.csr_array(sound_sparse(X))
        if not (rows.has_canonical_format and rows.has_sorted_indices):
            rows = rows.copy()
            rows.sum_duplicates()
        return rows
    matrix = np.asarray(X)
    if matrix.dtype.kind not in "biuf":
        try:
            matrix = matrix.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"This kernel needs numbers, and the data hold {matrix.dtype} items: encode them as numbers, or use "
                "BlockKernel or PairKernel with a function of your own."
            ) from error
    if matrix.ndim != 2:
        raise ValueError(
            f"Samples must form a table of shape (n_samples, n_features); got shape {matrix.shape}. "
            "Reshape one feature with X.reshape(-1, 1), one sample with X.reshape(1, -1)."
        )
    return matrix


def parts_of(rows: Any) -> Iterator[slice]:
    """Iterate over parts of some thousand rows."""
    return (slice(start, start + ROWS_AT_A_TIME) for start in range(0, rows.shape[0], ROWS_AT_A_TIME))


def some_of(rows: NDArray) -> NDArray:
    """About ROWS_LOOKED_AT of the rows, evenly spread."""
    return rows[:: max(1, len(rows) // ROWS_LOOKED_AT)]


def check_features(matrix: Matrix, expected: int) -> None:
    """Raise ValueError unless new data have as many features as the data prepared before."""
    if matrix.shape[1] != expected:
        raise ValueError(
            f"The new data have {matrix.shape[1]} features and the data prepared before have {expected}: "
            "pass the same features in the same order."
        )


def as_dense(matrix: Matrix) -> NDArray:
    """The matrix as an array; sparse data are written out in full."""
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def as_sparse(matrix: Matrix) -> sparse.csr_array:
    """The matrix as CSR; of dense data only the nonzero values are kept."""
    return matrix if sparse.issparse(matrix) else sparse.csr_array(matrix)
