"""Training data as the linear solvers read it: the design matrix of rows x_i with a constant column for the bias.

A weight vector has d + 1 entries, the last for the constant column of value `column` (0: no bias). Dense and sparse
data have the same products, each about one pass over the rows concerned:

    times(w)                     u = X w                         all rows
    add_transposed(I, t, v)      v += X_I' t                     for multipliers that moved
    add_gram(I, r, G)            G += X_I' diag(r) X_I           lower triangle, for changes of the free set
    inner(I, J)                  X_I X_J', without the constant  where the free set is smaller than the dimension
    times_at(I, w)               X_I w
    take(I)                      the rows I as data of their own
    absolute_chunks()            the rows |x_i|, some at a time  for bounds on rounding errors

Data may fill most of the memory. Apart from one conversion to float64 and to rows in C order, nothing here copies all
of them: products with selected or changed rows work on chunks of CHUNK entries. Sparse rows for coordinate descent on
dense data are a view of them and one index of 4 bytes per entry.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin._jit import CONTRACT, jit
from widemargin.linalg.arrays import Index, Vector

ONE, TWO = np.uint64(1), np.uint64(2)
SCATTERED = 15  # multiplications of a dense matrix product in the time of a scattered one
MOST_DENSE = 10_000_000  # entries of a matrix that sparse rows may be expanded to
GRAM_CHUNK = 2048  # rows of a dense Gram update scaled at a time: the copy stays in cache
CHUNK = 1 << 20  # entries copied at a time, 8 MB
MOSTLY_NONZERO = 2 / 3  # share of nonzero entries beyond which listing all entries takes less memory


class Csr(NamedTuple):
    """Sparse rows for compiled code: int64, uint32 (unsigned indices need no check for negative ones) and float64."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: Vector
    column: float


def design_of(X: Any, column: float) -> Design:
    """X, dense or CSR of either precision, with a constant column."""
    if not sp.issparse(X):
        return DenseDesign(np.ascontiguousarray(X, np.float64), column)
    if X.shape[1] >= np.iinfo(np.int32).max:
        raise ValueError(f"Sparse data may have at most 2^31 - 2 features; got {X.shape[1]}.")
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return SparseDesign(sp.csr_array(X, dtype=np.float64), column)


class DesignRows:
    """Base of dense and sparse rows: the matrix X, the value of the constant column, and the sizes."""

    columns: Index | None = None  # which features have a column; None: all of them
    squared_norms: Vector  # |x_i|^2 without the constant column
    times: Callable[[Vector], Vector]

    def __init__(self, X: Any, column: float) -> None:
        self.X, self.column = X, column
        self.n, self.d = X.shape
        self.entries = X.size

    def mean_square(self) -> float:
        """Mean of |x|^2."""
        return float(self.squared_norms.mean())

    def chunks(self, n: int | None = None) -> Iterator[slice]:
        """Slices of n rows (default: of all rows) with about CHUNK entries each."""
        n = self.n if n is None else n
        step = max(1, int(CHUNK * self.n / max(1, self.entries)))
        return (slice(start, min(start + step, n)) for start in range(0, n, step))

    def squared_columns(self, weights: Vector) -> Vector:
        """diag(X' diag(weights) X) without the constant column."""
        return sum(((self.X[part] ** 2).T @ weights[part] for part in self.chunks()), np.zeros(self.d))

    def times_at(self, rows: Index, w: Vector) -> Vector:
        if 2 * len(rows) > self.n:
            return self.times(w)[rows]
        return np.concatenate([self.take(rows[part]).times(w) for part in self.chunks(len(rows))] or [np.empty(0)])

    def take(self, rows: Any) -> Design:
        return design_of(self.X[rows], self.column)

    def absolute_chunks(self) -> Iterator[tuple[slice, Design]]:
        """Slices of the rows, and the rows |x_i| in them with the constant column."""
        return ((part, design_of(abs(self.X[part]), abs(self.column))) for part in self.chunks())


class DenseDesign(DesignRows):
    """Rows of a dense matrix; the products are BLAS calls."""

    def __init__(self, X: Any, column: float) -> None:
        super().__init__(X, column)
        self._lock = threading.Lock()
        self._in_use: weakref.ref[SparseDesign] | None = None  # the sparse form, shared by the problems of a fit

    def times(self, w: Vector) -> Vector:
        return self.X @ w[:-1] + self.column * w[-1]

    def add_transposed(self, rows: Index, weights: Vector, total: Vector) -> None:
        if 2 * len(rows) > self.n:  # gathering most rows costs more than multiplying by zeros
            spread = np.zeros(self.n)
            spread[rows] = weights
            total[:-1] += spread @ self.X
        else:
            for part in self.chunks(len(rows)):
                total[:-1] += weights[part] @ self.X[rows[part]]
        total[-1] += self.column * weights.sum()

    def add_gram(self, rows: Index, weights: Vector, gram: NDArray) -> None:
        d = self.d
        for start in range(0, len(rows), GRAM_CHUNK):
            part, weight = self.X[rows[start : start + GRAM_CHUNK]], weights[start : start + GRAM_CHUNK]
            scaled = part * weight[:, None]
            gram[:d, :d] += part.T @ scaled
            gram[d, :d] += self.column * scaled.sum(axis=0)
            gram[d, d] += self.column**2 * weight.sum()

    def inner(self, rows: Index, others: Index) -> Vector:
        out = np.empty((len(rows), len(others)))
        for part in self.chunks(len(rows)):
            left = self.X[rows[part]]
            for other in self.chunks(len(others)):
                out[part, other] = left @ self.X[others[other]].T
        return out

    @cached_property
    def squared_norms(self) -> Vector:  # type: ignore[override]
        return np.einsum("ij,ij->i", self.X, self.X)

    def terms(self) -> Vector:
        """Number of entries of each row."""
        return np.full(self.n, float(self.d))

    def as_sparse(self) -> SparseDesign:
        """Return the same rows in sparse form for coordinate descent, which reads one row at a time."""
        with self._lock:
            found = None if self._in_use is None else self._in_use()
            if found is None:
                found = SparseDesign(listed_entries(self.X, list(self.chunks())), self.column)
                self._in_use = weakref.ref(found)
            return found


class SparseDesign(DesignRows):
    """Rows of a CSR matrix with sorted indices."""

    def __init__(self, X: sp.csr_array, column: float) -> None:
        super().__init__(X, column)
        self.csr = Csr(
            X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False).view(np.uint32), X.data, column
        )

    def times(self, w: Vector) -> Vector:
        return products(self.csr, w)

    def add_transposed(self, rows: Index, weights: Vector, total: Vector) -> None:
        scatter(self.csr, rows, weights, total)
        total[-1] += self.column * weights.sum()

    def add_gram(self, rows: Index, weights: Vector, gram: NDArray) -> None:
        scatter_gram(self.csr, rows, weights, gram)

    def inner(self, rows: Index, others: Index) -> Vector:
        some, by_feature = self.X[rows], self.X[others].tocsc()
        shared = np.diff(by_feature.indptr)[some.indices].sum()  # products that are not zero
        room = len(others) * self.d
        if room <= MOST_DENSE and SCATTERED * shared > len(rows) * room:
            return some.toarray() @ by_feature.toarray().T
        out = np.zeros((len(rows), len(others)))
        samples = by_feature.indices.astype(np.uint32)  # of 32 or 64 bits, as in X
        features = Csr(by_feature.indptr.astype(np.int64), samples, by_feature.data, 0.0)
        add_inner_products(self.csr, rows, features, out)
        return out

    @cached_property
    def squared_norms(self) -> Vector:  # type: ignore[override]
        return np.concatenate([(self.X[part] ** 2).sum(axis=1) for part in self.chunks()] or [np.empty(0)])

    def terms(self) -> Vector:
        """Number of entries of each row."""
        return np.diff(self.csr.indptr).astype(np.float64)

    def as_sparse(self) -> SparseDesign:
        return self


Design = DenseDesign | SparseDesign


def listed_entries(X: NDArray, chunks: list[slice]) -> sp.csr_array:
    """Return a dense matrix as CSR: its nonzero entries, or a view of all entries if most are not zero."""
    (n, d), counts = X.shape, np.concatenate([np.count_nonzero(X[part], axis=1) for part in chunks])
    integer = np.int32 if X.size <= np.iinfo(np.int32).max else np.int64  # others would be converted by SciPy
    if counts.sum() > MOSTLY_NONZERO * X.size:
        indices = np.empty((n, d), integer)
        indices[:] = np.arange(d, dtype=integer)
        return sp.csr_array((X.ravel(), indices.ravel(), np.arange(n + 1, dtype=integer) * d), X.shape)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(integer)
    values, indices = np.empty(indptr[-1]), np.empty(indptr[-1], integer)
    for part in chunks:
        rows, here = X[part], slice(indptr[part.start], indptr[part.stop])
        is_entry = rows != 0.0
        values[here], indices[here] = rows[is_entry], np.nonzero(is_entry)[1]
    return sp.csr_array((values, indices, indptr), X.shape)


# Loops over the entries of a row are written out wherever they are needed: a compiled helper that takes the arrays
# counts references to them at each call, which takes as long as a short row.


@jit(fastmath=CONTRACT)
def products(csr, w):
    """Return X w; two alternating sums hide the latency of the gathers."""
    indptr, indices, values, column = csr
    constant = column * w[-1]
    out = np.empty(indptr.shape[0] - 1)
    for i in range(out.shape[0]):
        start, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        even, odd = constant, 0.0
        for k in range(start + ONE, end, TWO):
            even += values[k - ONE] * w[indices[k - ONE]]
            odd += values[k] * w[indices[k]]
        if (end - start) & ONE:
            even += values[end - ONE] * w[indices[end - ONE]]
        out[i] = even + odd
    return out


@jit(fastmath=CONTRACT)
def scatter(csr, rows, weights, total):
    """total += sum of weights[r] times row rows[r]."""
    indptr, indices, values, _ = csr
    for r in range(rows.shape[0]):
        weight = weights[r]
        for k in range(np.uint64(indptr[rows[r]]), np.uint64(indptr[rows[r] + 1])):
            total[indices[k]] += weight * values[k]


@jit(fastmath=CONTRACT)
def scatter_gram(csr, rows, weights, gram):
    """Lower triangle of X_I' diag(r) X_I with the constant column, row by row; sorted indices make it the lower one."""
    indptr, indices, values, column = csr
    d = gram.shape[0] - 1
    for r in range(rows.shape[0]):
        start, end = np.uint64(indptr[rows[r]]), np.uint64(indptr[rows[r] + 1])
        for k in range(start, end):
            value, line = weights[r] * values[k], indices[k]
            for j in range(start, k + ONE):
                gram[line, indices[j]] += value * values[j]
            gram[d, line] += value * column
        gram[d, d] += weights[r] * column * column


@jit(fastmath=CONTRACT)
def add_inner_products(csr, rows, features, out):
    """out[a, b] += x_rows[a] . x_b for samples listed by feature: only features that both have are touched."""
    indptr, indices, values, _ = csr
    starts, samples, entries, _ = features
    for a in range(rows.shape[0]):
        for k in range(np.uint64(indptr[rows[a]]), np.uint64(indptr[rows[a] + 1])):
            value = values[k]
            for j in range(np.uint64(starts[indices[k]]), np.uint64(starts[indices[k] + ONE])):
                out[a, samples[j]] += value * entries[j]
