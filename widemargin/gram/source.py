"""Which Gram a problem gets, and its function in float64: the precision policy in one place.

up to FULL samples in all     the whole matrix in float64, shared by every problem of the fit
pairs of classes              rows on demand, those within a class shared by all pairs of that class (gram/pair.py);
                              float64 up to FULL samples in all, beyond that float32 where it proves enough
anything larger               rows on demand with a cache; float32 where safe

Float32 rows are used where the kernel bounds the error of its values by SAFE_ROUNDING of their size: with larger errors
a solver would go round in circles. What is proven does not depend on it: the error of F travels with F, and
certificates compute in float64 what it leaves open (certificate/prove.py).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.gram.budget import cache_budget
from widemargin.gram.cached import CachedGram
from widemargin.gram.full import FullGram
from widemargin.gram.gram import Gram, kernel_scores
from widemargin.gram.memory import ThreadMemory
from widemargin.gram.pair import ClassRows, PairGram
from widemargin.gram.scores import Scores
from widemargin.kernels.errors import ErrorTerms, unit_of
from widemargin.kernels.kernel import Kernel, Samples

FULL = 2048  # samples up to which the whole matrix is held in float64: 32 MB
TINY = 512  # samples in all up to which pairs of classes are gathered from one matrix
SAFE_ROUNDING = 1e-3  # largest error of a kernel value, relative to the mean k(x, x), with which float32 rows are used
PAIR_ROUNDING = 2e-6  # largest error of float32 values with which rows of pairs of classes are float32: beyond, most of
# their few samples would need float64 values to be certified; direct differences are below, matrix products above

Index = NDArray[np.int64]
Parts = tuple[Index, ...]


class GramSource:
    """Prepared samples of one fit and the matrices its problems share.

    A problem names its samples by None (all), by an index array, or by a tuple of index arrays to be joined; equal
    arrays (the same object) in several tuples share their block.

    in_memory : samples up to which the whole matrix is held in float64; None means FULL
    """

    def __init__(
        self, kernel: Kernel, X: Any, cache_size: float | None, n_threads: int, in_memory: int | None = None
    ) -> None:
        self.kernel, self.X, self.cache_size = kernel, X, cache_size
        self.in_memory = FULL if in_memory is None else in_memory
        self.n_threads = n_threads if kernel.releases_gil else 1
        self.classes: dict[int, ClassRows] = {}  # rows within a class, by the identity of its index array
        self.between = ThreadMemory()
        self._exact: Samples | None = None
        self._preparing = threading.Lock()  # problems on several threads must get one and the same preparation
        self._fast: Samples | None = None
        self._whole: FullGram | None = None

    def __len__(self) -> int:
        return self.X.shape[0] if hasattr(self.X, "shape") else len(self.exact)

    @property
    def exact(self) -> Samples:
        """Samples for float64 values, prepared when first needed: a linear machine may never need them."""
        with self._preparing:
            if self._exact is None:
                shared = None if self._fast is None else self._fast.in_precision(np.float64)
                self._exact = self.kernel.prepare(self.X, np.float64) if shared is None else shared
            return self._exact

    @cached_property
    def budget(self) -> int:
        """Bytes for rows and blocks that are kept."""
        return cache_budget(self.cache_size)

    @property
    def fast(self) -> Samples:
        """Samples for float32 rows, or the float64 ones where float32 is not safe."""
        if self._fast is None:
            single = self.kernel.prepare(self.X, np.float32)
            rounding = self.kernel.rounding(single)
            size = float(np.abs(self.kernel.diag(single)).mean()) if len(single) else 1.0
            self._fast = single if rounding <= SAFE_ROUNDING * size else self.exact
        return self._fast

    def share(self, indices: Iterable[Index | Parts | None]) -> None:
        """Make what the problems share before they are solved side by side."""
        pairs = [index for index in indices if isinstance(index, tuple)]
        if not pairs or len(self) <= min(TINY, self.in_memory):
            if len(self) <= self.in_memory:
                self.whole()
            return
        parts = {id(part): part for pair in pairs for part in pair}
        largest = max(len(part) for part in parts.values())
        entries = sum(len(part) ** 2 for part in parts.values()) + self.n_threads * (2 * largest) ** 2
        samples = self.exact
        arrange, errors = self.kernel.fused_layout(samples)
        proves_enough = unit_of(np.float32) / unit_of(np.float64) * errors.largest() <= PAIR_ROUNDING
        if len(self) > self.in_memory and (proves_enough or 8 * entries > self.budget):
            samples = self.fast
            arrange, errors = self.kernel.fused_layout(samples)
        dtype = self._dtype(samples)
        if entries * dtype.itemsize <= self.budget:
            self.classes = {
                key: ClassRows(self.kernel, samples.take(part), dtype, arrange, errors.take(part))
                for key, part in parts.items()
            }

    def close(self) -> None:
        """Free what pairs of classes shared."""
        self.classes, self.between = {}, ThreadMemory()

    def has_pair(self, index: Index | Parts | None) -> bool:
        """Whether a problem is about two classes whose rows are shared."""
        return isinstance(index, tuple) and all(id(part) in self.classes for part in index)

    def whole(self) -> FullGram:
        """The full float64 matrix of all samples."""
        if self._whole is None:
            self._whole = FullGram.of(self.kernel, self.exact, np.float64, self.n_threads)
        return self._whole

    def gram(self, index: Index | Parts | None, double: bool = False) -> Gram:
        """A Gram for the samples of a problem; `double` insists on float64."""
        if self.has_pair(index) and not double:
            first, second = (self.classes[id(part)] for part in index)  # type: ignore[union-attr]
            return PairGram(self.kernel, first, second, self.between)
        if len(self) <= self.in_memory:
            return self.whole() if index is None else self.whole().subset(joined(index))
        samples = self.exact if double else self.fast
        dtype = self._dtype(samples)
        if index is not None:
            samples = samples.take(joined(index))
        if len(samples) <= self.in_memory:
            return FullGram.of(self.kernel, samples, dtype, self.n_threads)
        return CachedGram(self.kernel, samples, dtype, self.budget, self.n_threads)

    def exactly(self, coefficients: NDArray[np.float64], index: Index | Parts | None, at: Index | None) -> Scores:
        """F = K b in float64 at some samples of a problem, or at all of them for None, from its support vectors."""
        support = np.flatnonzero(coefficients)
        own = None if index is None else joined(index)
        places = at if own is None else own if at is None else own[at]
        vectors = support if own is None else own[support]
        samples, errors = self.exact, self._exact_errors
        if places is not None:
            samples, errors = samples.take(places), errors.take(places)
        of = self._exact_errors.take(vectors)
        return kernel_scores(
            self.kernel, samples, self.exact.take(vectors), coefficients[support], self.n_threads, (errors, of)
        )

    @cached_property
    def _exact_errors(self) -> ErrorTerms:
        return self.kernel.errors(self.exact)

    def _dtype(self, samples: Samples) -> np.dtype:
        return np.dtype(np.float64 if samples is self._exact else np.float32)


def joined(index: Index | Parts) -> Index:
    """The samples of a problem as one index array."""
    return np.concatenate(index) if isinstance(index, tuple) else index
