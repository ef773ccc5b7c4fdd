"""The kernel given as a matrix: k(i, j) = K[i, j].

Training data are the square matrix K, and a sample is the number of its row. New data are the rows K(new, training); of
these only the columns of the support vectors are read. The matrix is used in place, without a copy, whatever its
order or precision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin.kernels.errors import ErrorTerms, additive, stacked, unknown
from widemargin.kernels.kernel import Kernel, RepresentationMismatch, Samples
from widemargin.kernels.samples.raw import read_matrix, read_precision
from widemargin.monitor.user_warning import warn_user

TILE = 512  # rows and columns that are compared with their transpose at a time
NOT_ROUNDING = 1e-8  # asymmetry, relative to the largest value, from which a matrix counts as not symmetric


@dataclass(frozen=True, eq=False)
class PrecomputedRows(Samples):
    """Rows of a kernel matrix.

    Attributes
    ----------
    matrix : (n_rows, n_training) kernel values, or None after pickling: then only the column numbers are known
    index : which rows, as a slice where they follow each other
    training : whether the rows are training samples, so that row i is also column i
    n_training : number of columns
    dtype : precision of the blocks
    asymmetry : largest |K[i, j] - K[j, i]| among training samples
    """

    matrix: NDArray | None
    index: slice | NDArray[np.int64]
    training: bool
    n_training: int
    dtype: np.dtype
    asymmetry: float = 0.0

    def __len__(self) -> int:
        return self.index.stop - self.index.start if isinstance(self.index, slice) else len(self.index)

    def numbers(self) -> NDArray[np.int64]:
        """The rows as an array of numbers."""
        return np.arange(self.index.start, self.index.stop) if isinstance(self.index, slice) else self.index

    def take(self, index: NDArray[np.int64]) -> PrecomputedRows:
        return replace(self, index=self.numbers()[index])

    def tile(self, start: int, stop: int) -> PrecomputedRows:
        if isinstance(self.index, slice):
            return replace(self, index=slice(self.index.start + start, self.index.start + stop))
        return replace(self, index=self.index[start:stop])

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the n^2 training values: a pickled model needs only its column numbers."""
        return {**self.__dict__, "matrix": None}


@dataclass(frozen=True)
class Precomputed(Kernel):
    """k(i, j) = K[i, j] for a matrix K given in place of data.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels import Precomputed
    >>> kernel = Precomputed()
    >>> support = kernel.prepare(np.eye(3)).take(np.array([0, 2]))
    >>> new = kernel.prepare([[0.1, 0.2, 0.3]], like=support)
    >>> kernel.block(new, support, np.empty((1, 2))).tolist()
    [[0.1, 0.3]]
    """

    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> PrecomputedRows:
        matrix = read_matrix(X)
        if not isinstance(matrix, np.ndarray):
            raise TypeError("A precomputed kernel must be a dense matrix: convert it with .toarray().")
        rows, columns = matrix.shape
        everything = slice(0, rows)
        if like is None:
            if rows != columns:
                raise ValueError(
                    f"A precomputed kernel for training must be square, one row and one column per sample; got shape "
                    f"{matrix.shape}. Pass K(X_train, X_train) to fit and K(X_test, X_train) to predict."
                )
            return PrecomputedRows(matrix, everything, True, rows, read_precision(dtype), asymmetry_of(matrix))
        if not isinstance(like, PrecomputedRows):
            raise RepresentationMismatch(f"Rows of a kernel matrix cannot follow {type(like).__name__}.")
        if columns != like.n_training:
            raise ValueError(
                f"The new kernel rows have {columns} columns and the model was trained on {like.n_training} samples: "
                "pass K(X_test, X_train) with a column for every training sample."
            )
        return PrecomputedRows(matrix, everything, False, columns, like.dtype)

    def block(self, left: PrecomputedRows, right: PrecomputedRows, out: NDArray) -> NDArray:  # type: ignore[override]
        if right.training and left.matrix is not None:
            return _copy(left.matrix, left.index, right.index, out)
        if left.training and right.matrix is not None:  # a symmetric kernel: the transposed values
            _copy(right.matrix, right.index, left.index, out.T)
            return out
        raise ValueError(
            "A precomputed kernel has values between given rows and training samples only; these two sets of "
            "samples are both new, or their matrix is gone (it is not pickled)."
        )

    def diag(self, samples: PrecomputedRows) -> NDArray[np.float64]:  # type: ignore[override]
        if not samples.training or samples.matrix is None:
            raise ValueError("The diagonal of a precomputed kernel is known for training samples only.")
        return samples.matrix[samples.numbers(), samples.numbers()].astype(np.float64)

    @property
    def defined_by_values(self) -> bool:
        return True

    def errors(self, samples: PrecomputedRows) -> ErrorTerms:  # type: ignore[override]
        """Errors: float64 values are exact by definition, except that either of K[i, j] and K[j, i] may be used."""
        terms = unknown(len(samples), samples.dtype)
        if not samples.asymmetry:
            return terms
        return stacked([terms, additive(np.full(len(samples), 0.5 * samples.asymmetry), terms.size)], terms.size)

    def rounding(self, samples: PrecomputedRows) -> float:  # type: ignore[override]
        if samples.matrix is None:
            return float("inf")
        if np.can_cast(samples.matrix.dtype, samples.dtype):
            return 0.0
        part = samples.matrix[samples.index]
        largest = max(float(part.max(initial=0.0)), -float(part.min(initial=0.0)))
        return float(np.finfo(samples.dtype).eps) / 2 * largest

    def representation(self) -> str:
        return "kernel matrix"


def asymmetry_of(matrix: NDArray) -> float:
    """Return the largest |K[i, j] - K[j, i]|; warn if it exceeds rounding."""
    largest = 0.0
    for start in range(0, len(matrix), TILE):
        for first in range(start, len(matrix), TILE):
            one = matrix[start : start + TILE, first : first + TILE]
            other = matrix[first : first + TILE, start : start + TILE].T
            if np.array_equal(one, other):
                continue
            with np.errstate(invalid="ignore"):
                apart = np.abs(np.subtract(one, other, dtype=np.float64))
            largest = max(largest, float(np.nan_to_num(apart, nan=0.0, posinf=np.inf).max()))
    if largest > NOT_ROUNDING * float(np.abs(matrix).max()):
        warn_user(
            f"The kernel matrix is not symmetric: K[i, j] and K[j, i] differ by up to {largest:.3g}. A support vector "
            "machine needs a symmetric kernel; the difference counts as an error of this one. Try (K + K.T) / 2."
        )
    return largest


def _copy(matrix: NDArray, rows: slice | NDArray, columns: slice | NDArray, out: NDArray) -> NDArray:
    """out = matrix[rows][:, columns], without the intermediate unless both are scattered."""
    if isinstance(rows, slice) or isinstance(columns, slice):
        out[...] = matrix[rows, columns]
    else:
        out[...] = matrix[rows[:, None], columns]
    return out
