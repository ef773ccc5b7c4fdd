"""Kernels exp(-gamma distance) for two distances other than Euclid's.

    Laplacian    distance = sum |x_k - z_k|
    ChiSquared   distance = sum (x_k - z_k)^2 / (x_k + z_k), for histograms and other values >= 0

0/1 features     either distance is the Hamming distance: a table
dense            direct differences
sparse           distance = |x|_1 + |z|_1 - what the two have in common, by an inverted index (see `scatter`)

Sources: Zhang, Marszalek, Lazebnik & Schmid (2007) for chi-squared; parameters as in sklearn.metrics.pairwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from widemargin.kernels.cheap_values import CheapValues
from widemargin.kernels.distances import Absolute, Chi, exponential_block
from widemargin.kernels.errors import ErrorTerms, exponential_by_table, exponential_of_l1
from widemargin.kernels.exponential import exp_of_products
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.kernels.popcount import Different, table_block
from widemargin.kernels.products import n_roundings_of_norms, scatter_common
from widemargin.kernels.row_view import flat_rows
from widemargin.kernels.samples.binary import BinaryRows
from widemargin.kernels.samples.choose import represent
from widemargin.kernels.samples.dense import DenseColumns
from widemargin.kernels.samples.raw import read_matrix
from widemargin.kernels.samples.sparse import SparseRows
from widemargin.kernels.scatter import HARMONIC, LESSER


class ExponentialDistance(Kernel):
    """What the two kernels share; they differ in the term of the distance."""

    gamma: float
    distance: ClassVar[type]  # terms of the direct differences
    common: ClassVar[int]  # term of features in common
    steepness: ClassVar[float]  # how much the distance can change per change of a feature, for error bounds

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", float(self.gamma))
        if not 0 <= self.gamma < np.inf:
            raise ValueError(f"gamma must be a finite number, 0 or more; got {self.gamma!r}. Try 1 / n_features.")

    def block(self, left: Samples, right: Samples, out: NDArray) -> NDArray:
        if not out.size:
            return out
        flat, step = flat_rows(out)
        gamma = out.dtype.type(self.gamma)
        if isinstance(left, BinaryRows) and isinstance(right, BinaryRows):
            table = self._table(left).astype(out.dtype)
            table_block(*left.location(), *right.location(), Different(len(left.words)), table, flat, step)
        elif isinstance(left, DenseColumns) and isinstance(right, DenseColumns):
            exponential_block(*left.location(), *right.location(), self.distance(gamma), flat, step)
        else:
            left, right = cast(SparseRows, left), cast(SparseRows, right)
            out[...] = 0.0
            scatter_common(left, right, self.common, out)
            with np.errstate(over="ignore"):
                own, other = ((self.gamma * side.sums).astype(out.dtype) for side in (left, right))
            exp_of_products(flat, step, gamma, own, other)
        return out

    def cheap_values(self, rows: Samples, columns: Samples) -> CheapValues | None:
        if isinstance(rows, BinaryRows) and isinstance(columns, BinaryRows):
            return CheapValues.by_table(rows, columns, self._table(rows))
        if isinstance(rows, DenseColumns) and isinstance(columns, DenseColumns):
            return CheapValues(rows, columns, self.distance(rows.dtype.type(self.gamma)))
        return None

    def _table(self, samples: BinaryRows) -> NDArray[np.float64]:
        """Values by the number of features in which two samples differ."""
        return np.exp(-self.gamma * np.arange(samples.n_features + 1))

    def diag(self, samples: Samples) -> NDArray[np.float64]:
        return np.ones(len(samples))

    @property
    def is_psd(self) -> bool:
        return True

    def errors(self, samples: Samples) -> ErrorTerms:
        if isinstance(samples, BinaryRows):
            return exponential_by_table(len(samples), self.gamma, 1.0, samples.dtype)
        vectors = cast(DenseColumns | SparseRows, samples)
        direct = isinstance(vectors, DenseColumns)
        roundings = vectors.n_terms, n_roundings_of_norms(vectors)
        return exponential_of_l1(self.gamma, *roundings, vectors.sums, self.steepness, direct, vectors.dtype)


@dataclass(frozen=True)
class Laplacian(ExponentialDistance):
    """k(x, z) = exp(-gamma sum |x_k - z_k|).

    Examples
    --------
    >>> from widemargin.kernels import Laplacian
    >>> Laplacian(gamma=0.5)([[0.0, 0.0]], [[1.0, -1.0]]).round(6).tolist()
    [[0.367879]]
    """

    gamma: float = 1.0
    distance: ClassVar[type] = Absolute
    common: ClassVar[int] = LESSER
    steepness: ClassVar[float] = 1.0

    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> Samples:
        return represent(X, dtype, like, centred=True, by_column=np.inf, split=False)

    def representation(self) -> str:
        return "vectors for absolute differences"


@dataclass(frozen=True)
class ChiSquared(ExponentialDistance):
    """k(x, z) = exp(-gamma sum (x_k - z_k)^2 / (x_k + z_k)), for values of 0 or more; 0 / 0 counts 0.

    Examples
    --------
    >>> from widemargin.kernels import ChiSquared
    >>> ChiSquared(gamma=0.5)([[0.0, 1.0]], [[1.0, 0.0]]).round(6).tolist()
    [[0.367879]]
    """

    gamma: float = 1.0
    distance: ClassVar[type] = Chi
    common: ClassVar[int] = HARMONIC
    steepness: ClassVar[float] = 3.0

    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> Samples:
        matrix = read_matrix(X)
        values = matrix.data if sparse.issparse(matrix) else matrix
        if values.size and values.min() < 0:
            raise ValueError(
                f"The chi-squared kernel needs values of 0 or more and the data hold {values.min():g}: "
                "shift or scale the features (MinMaxScaler), or use the Gaussian or Laplacian kernel."
            )
        return represent(matrix, dtype, like, by_column=np.inf, split=False)

    def representation(self) -> str:
        return "vectors for chi-squared differences"
