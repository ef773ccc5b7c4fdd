"""Kernels exp(-gamma distance) for two distances other than Euclid's.

    Laplacian    distance = sum |x_k - z_k|
    ChiSquared   distance = sum (x_k - z_k)^2 / (x_k + z_k), for histograms and other values >= 0

0/1 features     either distance is the Hamming distance: a table
dense            direct differences
sparse           distance = |x|_1 + |z|_1 - terms of common features, by an inverted index (see `scatter`)

Sources: Zhang, Marszalek, Lazebnik & Schmid (2007) for chi-squared; parameters as in sklearn.metrics.pairwise.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from widemargin.kernels.distances import Absolute, Chi
from widemargin.kernels.errors import ErrorTerms, exponential_by_table, exponential_of_l1
from widemargin.kernels.exponential import exp_of_products
from widemargin.kernels.fused_rows import FusedLayout, FusedRows, FusedSamples, fill_block
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.kernels.popcount import Different
from widemargin.kernels.products import n_roundings_of_norms, scatter_common
from widemargin.kernels.row_view import flat_rows
from widemargin.kernels.samples.binary import BinaryRows
from widemargin.kernels.samples.choose import represent
from widemargin.kernels.samples.dense import DenseColumns
from widemargin.kernels.samples.layouts import strips_of
from widemargin.kernels.samples.raw import read_matrix
from widemargin.kernels.samples.sparse import SparseRows
from widemargin.kernels.scatter import HARMONIC, LESSER


class ExponentialDistance(Kernel):
    """Base of kernels exp(-gamma distance), which differ in the distance and in additional ways to evaluate it."""

    gamma: float
    distance: ClassVar[type]  # terms of the direct differences
    is_psd = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", float(self.gamma))
        if not 0 <= self.gamma < np.inf:
            raise ValueError(f"gamma must be a finite number, 0 or more; got {self.gamma!r}. Try 1 / n_features.")

    def _rule(self, samples: Samples) -> Any:
        """Return the rule by which compiled code evaluates blocks and sums of rows of these samples, or None."""
        if isinstance(samples, BinaryRows):
            return Different(
                np.exp(-self.gamma * self._step(samples) * np.arange(samples.n_features + 1)).astype(samples.dtype)
            )
        return self.distance(samples.dtype.type(self.gamma)) if isinstance(samples, DenseColumns) else None

    def _step(self, samples: BinaryRows) -> float:
        """Return how much a feature in which two samples differ adds to the distance."""
        return 1.0

    def block(self, left: Samples, right: Samples, out: NDArray) -> NDArray:
        rule = self._rule(left) if type(left) is type(right) else None
        if rule is not None:
            return fill_block(rule, left, right, out)  # type: ignore[arg-type]
        if out.size:
            factor, own, other = self._from_common(left, right, out)
            exp_of_products(*flat_rows(out), out.dtype.type(factor), own.astype(out.dtype), other.astype(out.dtype))
        return out

    @abstractmethod
    def _from_common(self, left: Samples, right: Samples, out: NDArray) -> tuple[float, NDArray, NDArray]:
        """Fill `out` with common terms; return their factor in the exponent and the terms to subtract."""

    def fused_layout(self, samples: Samples) -> tuple[Callable[[Any], Any], ErrorTerms]:
        if isinstance(samples, BinaryRows):
            rule = self._rule(samples)
            return lambda some: FusedLayout(rule, FusedSamples(some.by_row(), *some.by_column())), self.errors(samples)
        if isinstance(samples, DenseColumns):
            return lambda some: self._in_strips(some.by_row()), self.errors(samples)
        return super().fused_layout(samples)

    def _in_strips(self, rows: NDArray) -> FusedLayout:
        """Return the samples laid out for a few rows at a time, by direct differences."""
        rule = self.distance(rows.dtype.type(self.gamma))
        return FusedLayout(rule, FusedSamples(rows, strips_of(rows), 0, len(rows)))

    def fused_rows(self, first: Any, second: Any) -> FusedRows | None:
        if isinstance(first, FusedLayout):
            return FusedRows(first.rule, first.samples, second.samples)
        rule = self._rule(first) if type(first) is type(second) else None
        return None if rule is None else FusedRows.of(rule, first, second)

    def diag(self, samples: Samples) -> NDArray[np.float64]:
        return np.ones(len(samples))


class AbsoluteDistance(ExponentialDistance):
    """Base of kernels of L1-type distances."""

    common: ClassVar[int]  # term of features in common
    steepness: ClassVar[float]  # how much the distance can change per change of a feature, for error bounds

    def _from_common(  # type: ignore[override]
        self, left: SparseRows, right: SparseRows, out: NDArray
    ) -> tuple[float, NDArray, NDArray]:
        out[...] = 0.0
        scatter_common(left, right, self.common, out)
        with np.errstate(over="ignore"):
            return self.gamma, self.gamma * left.sums, self.gamma * right.sums

    def errors(self, samples: Samples) -> ErrorTerms:
        if isinstance(samples, BinaryRows):
            return exponential_by_table(len(samples), self.gamma, 1.0, samples.dtype)
        vectors = cast(DenseColumns | SparseRows, samples)
        direct = isinstance(vectors, DenseColumns)
        roundings = vectors.n_terms, n_roundings_of_norms(vectors)
        return exponential_of_l1(self.gamma, *roundings, vectors.sums, self.steepness, direct, vectors.dtype)


@dataclass(frozen=True)
class Laplacian(AbsoluteDistance):
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
class ChiSquared(AbsoluteDistance):
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
