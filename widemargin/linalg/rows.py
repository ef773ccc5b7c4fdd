"""Training data as the linear solvers read it: rows x_i, with a constant column appended for the bias.

A weight vector has d + 1 entries, the last for the constant column of value `column` (0: no bias). Two kinds of data
have the same products, each about one pass over the rows concerned:

    times(w)                     u = X w                         all rows
    add_transposed(I, t, v)      v += X_I' t                     for multipliers that moved
    add_gram(I, r, G)            G += X_I' diag(r) X_I           lower triangle, for changes of the free set
    inner(I, J)                  X_I X_J', without the constant  where the free set is smaller than the dimension
    take(I)                      the rows I as data of their own
    absolute()                   the rows |x_i|                  for bounds on rounding errors
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin._jit import CONTRACT, jit

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

ONE, TWO = np.uint64(1), np.uint64(2)  # unsigned places need no test for negative ones: a third faster
SCATTERED = 15  # products of a dense matrix product in the time of one that is scattered
MOST_DENSE = 10_000_000  # entries of a matrix that sparse rows may be spread to
GRAM_CHUNK = 2048  # rows of a dense Gram update scaled at a time: the copy stays in cache


def rows_of(X: Any, column: float) -> DenseRows | SparseRows:
    """X, dense or CSR of either precision, with a constant column; indices are brought to one type."""
    if not sp.issparse(X):
        return DenseRows(np.ascontiguousarray(X, np.float64), column)
    if X.shape[1] >= np.iinfo(np.int32).max:
        raise ValueError(f"Sparse data may have at most 2^31 - 2 features; got {X.shape[1]}.")
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    indices = X.indices.astype(np.int32, copy=False).view(np.uint32)
    return SparseRows(X.indptr.astype(np.int64), indices, X.data.astype(np.float64, copy=False), X.shape[1], column)


class DenseRows:
    """Rows of a dense matrix; the products are BLAS calls."""

    def __init__(self, X: Vector, column: float) -> None:
        self.X, self.column = X, column
        self.n, self.d = X.shape
        self.entries = X.size
        self._squares: Vector | None = None

    def times(self, w: Vector) -> Vector:
        return self.X @ w[:-1] + self.column * w[-1]

    def add_transposed(self, rows: Index, weights: Vector, total: Vector) -> None:
        full = 2 * len(rows) > self.n  # gathering most rows costs more than multiplying by zeros
        if full:
            spread = np.zeros(self.n)
            spread[rows] = weights
            total[:-1] += spread @ self.X
        else:
            total[:-1] += weights @ self.X[rows]
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
        return self.X[rows] @ self.X[others].T

    def squared_norms(self) -> Vector:
        """Computed once and kept."""
        if self._squares is None:
            self._squares = np.einsum("ij,ij->i", self.X, self.X)
        return self._squares

    def mean_square(self) -> float:
        """Mean of |x|^2."""
        return float(np.vdot(self.X, self.X)) / self.n

    def squared_columns(self, weights: Vector) -> Vector:
        """diag(X' diag(weights) X) without the constant column."""
        return weights @ (self.X * self.X)

    def take(self, rows: Any) -> DenseRows:
        return DenseRows(np.ascontiguousarray(self.X[rows]), self.column)

    def terms(self) -> Vector:
        """Number of entries of each row."""
        return np.full(self.n, float(self.d))

    def absolute(self) -> DenseRows:
        return DenseRows(np.abs(self.X), abs(self.column))

    def as_sparse(self) -> SparseRows:
        """The same rows for coordinate descent, which reads one at a time."""
        return rows_of(sp.csr_array(self.X), self.column)  # type: ignore[return-value]


class SparseRows:
    """Rows of a CSR matrix with sorted indices."""

    def __init__(self, indptr: NDArray, indices: NDArray, values: Vector, d: int, column: float) -> None:
        self.indptr, self.indices, self.values, self.column = indptr, indices, values, column
        self.n, self.d = len(indptr) - 1, d
        self.entries = len(values)
        self._squares: Vector | None = None

    def times(self, w: Vector) -> Vector:
        out = np.empty(self.n)
        products(self.indptr, self.indices, self.values, w, self.column * w[-1], out)
        return out

    def add_transposed(self, rows: Index, weights: Vector, total: Vector) -> None:
        scatter(self.indptr, self.indices, self.values, rows, weights, total)
        total[-1] += self.column * weights.sum()

    def add_gram(self, rows: Index, weights: Vector, gram: NDArray) -> None:
        gram_scatter(self.indptr, self.indices, self.values, rows, weights, self.column, gram)

    def inner(self, rows: Index, others: Index) -> Vector:
        count = int((self.indptr[others + 1] - self.indptr[others]).sum())
        lists = np.zeros(self.d + 2, np.int64), np.empty(count, np.uint32), np.empty(count)
        list_by_feature(self.indptr, self.indices, self.values, others, *lists)
        room = len(others) * self.d
        if room <= MOST_DENSE and SCATTERED * shared(self.indptr, self.indices, rows, lists[0]) > len(rows) * room:
            return self._dense(rows) @ self._dense(others).T
        out = np.zeros((len(rows), len(others)))
        inner_products(self.indptr, self.indices, self.values, rows, *lists, out)
        return out

    def _dense(self, rows: Index) -> Vector:
        """Some of the rows as an array."""
        out = np.zeros((len(rows), self.d))
        spread_rows(self.indptr, self.indices, self.values, rows, out)
        return out

    def squared_norms(self) -> Vector:
        """Computed once and kept."""
        if self._squares is None:
            out = np.empty(self.n)
            square_rows(self.indptr, self.values, out)
            self._squares = out  # when it is filled: the problems of a fit may run in threads
        return self._squares

    def mean_square(self) -> float:
        """Mean of |x|^2."""
        return float(self.values @ self.values) / self.n

    def squared_columns(self, weights: Vector) -> Vector:
        """diag(X' diag(weights) X) without the constant column."""
        each = np.repeat(weights, np.diff(self.indptr)) * self.values**2
        return np.bincount(self.indices.view(np.int32), weights=each, minlength=self.d).astype(np.float64)

    def take(self, rows: Any) -> SparseRows:
        rows = np.arange(self.n)[rows] if isinstance(rows, slice) else rows
        indptr = np.zeros(len(rows) + 1, np.int64)
        np.cumsum((self.indptr[1:] - self.indptr[:-1])[rows], out=indptr[1:])
        indices, values = np.empty(indptr[-1], np.uint32), np.empty(indptr[-1])
        copy_rows(self.indptr, self.indices, self.values, rows, indptr, indices, values)
        return SparseRows(indptr, indices, values, self.d, self.column)

    def terms(self) -> Vector:
        """Number of entries of each row."""
        return np.diff(self.indptr).astype(np.float64)

    def absolute(self) -> SparseRows:
        return SparseRows(self.indptr, self.indices, np.abs(self.values), self.d, abs(self.column))

    def as_sparse(self) -> SparseRows:
        return self


# Loops over the entries of a row are written out wherever they are needed: a compiled helper that takes the arrays
# counts references to them at each call, about 15 ns, as long as a short row takes.


@jit(fastmath=CONTRACT)
def products(indptr, indices, values, w, constant, out):
    """out = X w + constant; two sums in turn hide the latency of the gathers (four: slower on short rows)."""
    for i in range(out.shape[0]):
        k, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        pairs = end - ((end - k) & ONE)
        even, odd = constant, 0.0
        while k < pairs:
            even += values[k] * w[indices[k]]
            odd += values[k + ONE] * w[indices[k + ONE]]
            k += TWO
        if k < end:
            even += values[k] * w[indices[k]]
        out[i] = even + odd


@jit(fastmath=CONTRACT)
def scatter(indptr, indices, values, rows, weights, total):
    """total += sum of weights[r] times row rows[r]."""
    for r in range(rows.shape[0]):
        k, end, weight = np.uint64(indptr[rows[r]]), np.uint64(indptr[rows[r] + 1]), weights[r]
        while k < end:
            total[indices[k]] += weight * values[k]
            k += ONE


@jit(fastmath=CONTRACT)
def gram_scatter(indptr, indices, values, rows, weights, column, gram):
    """Lower triangle of X_I' diag(r) X_I with the constant column, row by row; sorted indices make it the lower one."""
    d = gram.shape[0] - 1
    for r in range(rows.shape[0]):
        start, end = np.uint64(indptr[rows[r]]), np.uint64(indptr[rows[r] + 1])
        k = start
        while k < end:
            value, line = weights[r] * values[k], indices[k]
            j = start
            while j <= k:
                gram[line, indices[j]] += value * values[j]
                j += ONE
            gram[d, line] += value * column
            k += ONE
        gram[d, d] += weights[r] * column * column


@jit
def list_by_feature(indptr, indices, values, rows, starts, samples, entries):
    """Which of the rows have feature j, and with what value: samples and entries[starts[j]:starts[j + 1]]."""
    for r in range(rows.shape[0]):
        for k in range(indptr[rows[r]], indptr[rows[r] + 1]):
            starts[indices[k] + TWO] += 1
    for j in range(2, starts.shape[0]):
        starts[j] += starts[j - 1]
    for r in range(rows.shape[0]):
        for k in range(indptr[rows[r]], indptr[rows[r] + 1]):
            j = indices[k] + ONE  # where the list of the feature goes on; in the end, where the next one begins
            samples[starts[j]] = r
            entries[starts[j]] = values[k]
            starts[j] += 1


@jit
def shared(indptr, indices, rows, starts):
    """Products that the inner products of the rows with the samples listed by feature are made of."""
    total = 0
    for r in range(rows.shape[0]):
        for k in range(indptr[rows[r]], indptr[rows[r] + 1]):
            total += starts[indices[k] + ONE] - starts[indices[k]]
    return total


@jit
def spread_rows(indptr, indices, values, rows, out):
    """The chosen rows with their zeros."""
    for r in range(rows.shape[0]):
        for k in range(indptr[rows[r]], indptr[rows[r] + 1]):
            out[r, indices[k]] = values[k]


@jit(fastmath=CONTRACT)
def inner_products(indptr, indices, values, rows, starts, samples, entries, out):
    """out[a, b] += x_rows[a] . x_b for samples listed by feature: only features that both have are touched."""
    for a in range(rows.shape[0]):
        k, end = np.uint64(indptr[rows[a]]), np.uint64(indptr[rows[a] + 1])
        while k < end:
            j, stop = np.uint64(starts[indices[k]]), np.uint64(starts[indices[k] + ONE])
            value = values[k]
            while j < stop:
                out[a, samples[j]] += value * entries[j]
                j += ONE
            k += ONE


@jit(fastmath=CONTRACT)
def square_rows(indptr, values, out):
    """Squared length of every row."""
    for i in range(out.shape[0]):
        k, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        pairs = end - ((end - k) & ONE)
        even = odd = 0.0
        while k < pairs:
            even += values[k] * values[k]
            odd += values[k + ONE] * values[k + ONE]
            k += TWO
        out[i] = even + odd + (values[k] * values[k] if k < end else 0.0)


@jit
def copy_rows(indptr, indices, values, rows, new_indptr, new_indices, new_values):
    """The chosen rows one after another."""
    for r in range(rows.shape[0]):
        offset = new_indptr[r] - indptr[rows[r]]
        for k in range(indptr[rows[r]], indptr[rows[r] + 1]):
            new_indices[k + offset] = indices[k]
            new_values[k + offset] = values[k]
