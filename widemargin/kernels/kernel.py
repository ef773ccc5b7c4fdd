"""What a kernel is to the rest of the package: prepared samples in, dense blocks of values out.

A kernel turns raw data (dense, sparse, strings, ...) into `Samples`, the representation in which it can evaluate fastest,
once per fit. From then on the solvers see only dense blocks, so kernels and machines do not multiply compilations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class RepresentationMismatch(Exception):
    """New data cannot be brought into the representation of samples prepared before (e.g. not all 0/1)."""


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
    """A similarity k(x, z) of two samples."""

    @abstractmethod
    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> Samples:
        """Bring raw data into the fastest representation for this kernel.

        dtype : float32 or float64, the precision in which `block` computes.
        like : samples prepared before (the support vectors): the result is compatible with them, or
            RepresentationMismatch is raised and the caller prepares both anew.
        """

    @abstractmethod
    def block(self, left: Samples, right: Samples, out: NDArray) -> NDArray:
        """Fill out[i, j] = k(left_i, right_j) and return it. Serial and GIL-free: callers cut tiles and use threads.

        `out` has rows contiguous (stride of the last axis is one item) and the dtype the samples were prepared for.
        """

    @abstractmethod
    def diag(self, samples: Samples) -> NDArray[np.float64]:
        """k(x, x) of each sample."""

    def rounding(self, samples: Samples) -> float:
        """Bound on the absolute error of an entry of `block` on these samples, from rounding in their precision."""
        return float("inf")
