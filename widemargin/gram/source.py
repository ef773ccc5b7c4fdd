"""The choice of the Gram of a problem and of its precision, and its function F = K b in float64.

up to FULL samples in all     the whole matrix in float64, shared by every problem of the fit (class pairs: up to TINY)
class pairs                   of small classes, or without fused rows: one matrix of all samples, each value computed
                              once in float64, kept in float32 beyond FULL samples; else rows on demand, those within a
                              class shared by all its pairs (gram/class_pair.py), float64 up to FULL samples in all,
                              beyond that float32 where its errors are small enough for proofs
anything larger               rows on demand with a cache; float32 where safe

Float32 rows are used where the kernel bounds the error of its values by SAFE_ROUNDING of their size: with larger errors
a solver would not converge. Proofs do not depend on it: F is stored with its error, and certificates compute values in
float64 where that error leaves the outcome open (certificate/prove.py).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from widemargin.gram.budget import cache_budget, least_free
from widemargin.gram.cached import CachedGram
from widemargin.gram.class_pair import ClassRows, PairGram
from widemargin.gram.full import FULL, FullGram
from widemargin.gram.gram import Gram, kernel_scores
from widemargin.gram.memory import ThreadMemory
from widemargin.gram.scores import Scores
from widemargin.kernels.errors import ErrorTerms, unit_of
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.linalg.arrays import Index, Vector

TINY = 512  # samples in all up to which pairs of classes are gathered from one matrix
SAFE_ROUNDING = 1e-3  # largest error of a kernel value, relative to the mean k(x, x), with which float32 rows are used
PAIR_ROUNDING = 2e-6  # largest error of float32 values with which rows of pairs of classes are float32: beyond, most of
# their few samples would need float64 values to be certified; direct differences are below, matrix products above

SMALL_CLASS = 128  # samples of the largest class up to which class pairs get one matrix of all samples
WHOLE_SHARE = 0.5  # share of the budget that such a matrix may take


class ClassPair(NamedTuple):
    """The samples of two classes of a fit, by their numbers."""

    first: int
    second: int


class GramSource:
    """Prepared samples of one fit and the matrices its problems share.

    A problem names its samples by None (all), by an index array, or as a pair of the classes given to `share`.

    in_memory : samples up to which the whole matrix is held in float64; None means FULL
    """

    def __init__(
        self, kernel: Kernel, X: Any, cache_size: float | None, n_threads: int, in_memory: int | None = None
    ) -> None:
        self.kernel, self.X, self.cache_size = kernel, X, cache_size
        self.in_memory = FULL if in_memory is None else in_memory
        self.n_threads = n_threads if kernel.releases_gil else 1
        self.classes: Sequence[Index] = ()
        self.rows: list[ClassRows] = []  # within each class, where class pairs share them
        self.between = ThreadMemory()
        self._exact: Samples | None = None
        self._preparing = threading.RLock()  # problems on several threads must share one preparation
        self._fast: Samples | None = None
        self._whole: FullGram | None = None

    def __len__(self) -> int:
        return self.X.shape[0] if hasattr(self.X, "shape") else len(self.exact)

    def content(self) -> Any:
        """Return what names a checkpoint of these samples (training/fingerprint.py)."""
        return self.X

    @property
    def exact(self) -> Samples:
        """Samples for float64 values, prepared when first needed: a linear model may never need them."""
        with self._preparing:
            if self._exact is None:
                self._exact = self.kernel.prepare(self.X, np.float64)
            return self._exact

    @property
    def diag(self) -> Vector:
        """k(x, x) of each sample."""
        return self.kernel.diag(self.exact)

    @cached_property
    def budget(self) -> int:
        """Bytes for stored rows and blocks."""
        return cache_budget(self.cache_size)

    @property
    def fast(self) -> Samples:
        """Samples for float32 rows, or the float64 samples if float32 is not safe."""
        with self._preparing:
            if self._fast is None:
                single = self.kernel.prepare(self.X, np.float32)
                rounding = self.kernel.rounding(single)
                size = float(np.abs(self.kernel.diag(single)).mean()) if len(single) else 1.0
                self._fast = single if rounding <= SAFE_ROUNDING * size else self.exact
            return self._fast

    def share(self, classes: Sequence[Index]) -> None:
        """Compute what the problems share before they are solved in parallel.

        classes : the samples of each class, if the problems are class pairs
        """
        n, largest = len(self), max((len(members) for members in classes), default=0)
        if n <= self.in_memory and (not len(classes) or n <= TINY):
            self.whole()
        if not len(classes) or self._whole is not None or self.rows:
            return
        if self._holds_all_pairs(largest):
            keeps_float64 = n <= self.in_memory or not self._has_known_sizes
            self._whole = self.whole() if keeps_float64 else FullGram.rounded(self.kernel, self.exact, self.n_threads)
            return
        samples = self.exact
        arrange, errors = self.kernel.fused_layout(samples)
        entries = sum(len(members) ** 2 for members in classes) + self.n_threads * (2 * largest) ** 2
        proves_enough = unit_of(np.float32) / unit_of(np.float64) * errors.largest() <= PAIR_ROUNDING
        if n > self.in_memory and (proves_enough or 8 * entries > self.budget):
            samples = self.fast
            arrange, errors = self.kernel.fused_layout(samples)
        dtype = self._dtype(samples)
        if self._has_fused_rows(samples) and entries * dtype.itemsize <= self.budget:
            self.rows = [
                ClassRows(self.kernel, samples.take(members), dtype, arrange, errors.take(members))
                for members in classes
            ]

    def _has_fused_rows(self, samples: Samples) -> bool:
        """Whether compiled code evaluates rows of these samples."""
        arrange, _ = self.kernel.fused_layout(samples)
        one = arrange(samples.take(np.zeros(1, np.int64)))
        return self.kernel.fused_rows(one, one) is not None

    def _holds_all_pairs(self, largest: int) -> bool:
        """Whether class pairs get one matrix of all samples, each value of which is computed once.

        Small classes need nearly every row in every pair; without fused rows, rows come from blocks in any case.
        """
        itemsize = 8 if len(self) <= self.in_memory or not self._has_known_sizes else 4
        if WHOLE_SHARE * self.budget < itemsize * len(self) ** 2:
            return False
        return largest <= SMALL_CLASS or not self._has_fused_rows(self.exact)

    @property
    def _has_known_sizes(self) -> bool:
        """Whether the kernel bounds the size of its values, so that the error of rounding them is known."""
        return bool(np.isfinite(self._exact_errors.size).all())

    @property
    def shared_matrix(self) -> FullGram | None:
        """The matrix of all samples, if problems share one, else None."""
        return self._whole

    def close(self) -> None:
        """Free the rows shared by class pairs."""
        self.rows, self.between = [], ThreadMemory()
        if self._whole is not None and self._whole.dtype != np.float64:
            self._whole = None

    def forget(self) -> None:
        """Free the matrix of all samples."""
        self._whole = None

    def members(self, index: Index | ClassPair | None) -> Index | None:
        """Return the samples of a problem as one index array; None for all."""
        return np.concatenate([self.classes[k] for k in index]) if isinstance(index, ClassPair) else index

    def whole(self) -> FullGram:
        """Return the matrix of all samples, in float64 unless class pairs share one in float32."""
        with self._preparing:
            if self._whole is None:
                self._whole = FullGram.of(self.kernel, self.exact, np.float64, self.n_threads)
            return self._whole

    def gram(self, index: Index | ClassPair | None, double: bool = False, is_kept: bool = False) -> Gram:
        """Return a Gram for the samples of a problem; `double` forces float64.

        is_kept : whether it is used after the thread has requested another one
        """
        if isinstance(index, ClassPair) and self.rows and not double:
            memory = ThreadMemory() if is_kept else self.between
            return PairGram(self.rows[index.first], self.rows[index.second], memory)
        own = self.members(index)
        if len(self) <= self.in_memory or (self._whole is not None and not double):
            return self.whole() if own is None else self.whole().subset(own)
        samples = self.exact if double else self.fast
        dtype = self._dtype(samples)
        if own is not None:
            samples = samples.take(own)
        if len(samples) <= self.in_memory:
            return FullGram.of(self.kernel, samples, dtype, self.n_threads)
        return CachedGram(self.kernel, samples, dtype, self.budget, self.n_threads, least_free(self.cache_size))

    def recomputed(self, coefficients: Vector, index: Index | ClassPair | None, at: Index | None) -> Scores:
        """Return F = K b in float64 from the support vectors, at some samples of a problem, or at all for None."""
        support = np.flatnonzero(coefficients)
        own = self.members(index)
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
