"""The interface of kernels: prepared samples in, dense blocks of values out.

A kernel turns raw data (dense, sparse, strings, ...) into `Samples`, the representation in which it can evaluate
fastest, once per fit. From then on solvers use only dense blocks, so that they are not compiled for each kernel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from widemargin.costs import COSTS
from widemargin.kernels.errors import ErrorTerms, unknown

if TYPE_CHECKING:
    from widemargin.kernels.fused_rows import FusedRows


ROW_TILE = 256  # rows of a tile: with COLUMN_TILE columns of float32 it is 1 MB, the size of a second-level cache
COLUMN_TILE = 1024


class RepresentationMismatch(Exception):
    """Raised if new data cannot be converted to the representation of earlier samples (e.g. not all 0/1)."""


class Samples(ABC):
    """Data prepared for one kernel: indexable in bulk, cheap to cut into tiles."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, index: NDArray[np.int64]) -> Samples:
        """The samples at `index`, copied so that they are contiguous."""

    @abstractmethod
    def tile(self, start: int, stop: int) -> Samples:
        """The samples start:stop, without copying data."""


class Kernel(ABC):
    """A similarity k(x, z) of two samples.

    Kernels add, multiply and scale: `k1 + k2`, `k1 * k2`, `3.0 * k1`, and `k1 + 0.5` for k1 with a constant added.
    Calling a kernel returns the whole matrix, for small data and for inspection.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels import Gaussian, Linear
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> (Linear() + 2.0 * Gaussian(gamma=1.0))(X).round(6).tolist()
    [[2.0, 0.0], [0.0, 27.0]]
    """

    releases_gil: bool = True  # whether blocks on several threads are faster
    is_psd: bool = False  # whether the formula proves that it is positive semi-definite for all data
    accepts_objects: bool = False  # whether samples may be anything (strings, graphs, ...), not only rows of numbers

    @abstractmethod
    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> Samples:
        """Convert raw data to the fastest representation for this kernel.

        Parameters
        ----------
        X : samples, as the user gives them
        dtype : float32 or float64
            The precision in which `block` computes. With `like`, its precision is used instead.
        like : Samples or None, default None
            Samples prepared before (the support vectors): the result is compatible with them, or
            RepresentationMismatch is raised and the caller prepares both again.
        """

    def prepare_both(
        self, X: Any, Z: Any, dtype: DTypeLike = np.float64, right: Samples | None = None
    ) -> tuple[Samples, Samples]:
        """Return samples of X and Z that can be evaluated against each other; `right` is Z if already prepared.

        X follows Z where it can; else Z follows X (Z all 0/1, X not); else both are prepared as one (each of two
        values, but not the same two).
        """
        right = self.prepare(Z, dtype) if right is None else right
        try:
            return self.prepare(X, dtype, like=right), right
        except RepresentationMismatch:
            left = self.prepare(X, dtype)
        try:
            return left, self.prepare(Z, dtype, like=left)
        except RepresentationMismatch:
            both = self.prepare(_stacked(X, Z), dtype)
            return both.tile(0, len(left)), both.tile(len(left), len(both))

    @abstractmethod
    def block(self, left: Samples, right: Samples, out: NDArray) -> NDArray:
        """Fill out[i, j] = k(left_i, right_j) and return it. Serial and GIL-free: callers cut tiles and use threads.

        `out` has rows contiguous (stride of the last axis is one item) and the dtype the samples were prepared for.
        """

    @abstractmethod
    def diag(self, samples: Samples) -> NDArray[np.float64]:
        """k(x, x) of each sample."""

    def errors(self, samples: Samples) -> ErrorTerms:
        """Bounds on the errors of values of `block` on these samples (kernels/errors.py)."""
        return unknown(len(samples), getattr(samples, "dtype", np.float64))

    @property
    def defined_by_values(self) -> bool:
        """Whether its float64 values are exact by definition, since it states no errors: a user's function."""
        return type(self).errors is Kernel.errors

    def rounding(self, samples: Samples) -> float:
        """Bound on the absolute error of an entry of `block` on these samples, from rounding in their precision."""
        return self.errors(samples).largest()

    def entry_cost(self, samples: Samples) -> float:
        """Estimated nanoseconds per entry of `block` on one core, which decide which rows are worth keeping."""
        return COSTS.kernel_value

    def fused_layout(self, samples: Samples) -> tuple[Callable[[Any], Any], ErrorTerms]:
        """Return a function that lays out samples for a few fused rows at a time, and the errors of such rows."""
        return lambda some: some, self.errors(samples)

    def fused_rows(self, first: Any, second: Any) -> FusedRows | None:
        """Return rows for compiled code (kernels/fused_rows.py), of samples as prepared or laid out, or None."""
        return None

    def representation(self) -> Hashable:
        """Return a name of the representation: kernels with equal names share prepared samples in sums and products."""
        return self

    def __call__(self, X: Any, Z: Any = None, dtype: DTypeLike = np.float64) -> NDArray:
        """The matrix k(X_i, Z_j), with Z = X when it is not given."""
        if Z is None:
            left = right = self.prepare(X, dtype)
        else:
            right, left = self.prepare_both(Z, X, dtype)
        return self.block(left, right, np.empty((len(left), len(right)), dtype))

    def __add__(self, other: Kernel | float) -> Kernel:
        from widemargin.kernels.algebra import add

        return add(self, other)

    def __mul__(self, other: Kernel | float) -> Kernel:
        from widemargin.kernels.algebra import multiply

        return multiply(self, other)

    __radd__ = __add__
    __rmul__ = __mul__


def _stacked(X: Any, Z: Any) -> Any:
    """Two matrices, dense or sparse, one above the other."""
    if sparse.issparse(X) or sparse.issparse(Z):
        return sparse.vstack([sparse.csr_array(X), sparse.csr_array(Z)], format="csr")
    return np.vstack([np.asarray(X), np.asarray(Z)])
