"""What workers do, as pure functions: a task can be repeated anywhere, so that any worker may die at any moment.

    chunks of the user's collection -> a slab of raw rows -> outline, prepared samples -> sums of kernel rows

A slab is a range of rows on one worker process; its threads work inside a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from widemargin.dask import sizes  # noqa: F401 - registers the size of samples in the worker
from widemargin.gram.gram import kernel_product, summation_error
from widemargin.gram.scores import Scores
from widemargin.kernels.errors import ErrorTerms
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.linalg.arrays import Index, Vector
from widemargin.linalg.sparse_structure import sound_sparse
from widemargin.monitor.stopping import Stopping
from widemargin.parallel.tiles import single_threaded_blas
from widemargin.training.fit import Training
from widemargin.training.task import Task

ROWS_AT_A_TIME = 4096  # rows that are prepared in float64 for one sum and then dropped
FEW_VALUES = 3  # different values that show that data are not made of two


class Outline(NamedTuple):
    """What the choice of a representation needs to know of a slab.

    rows : some of its rows: evenly spaced ones, the longest, and enough to show whether there are more than two values
    columns : of sparse data, the columns that occur, if there are more columns than entries; else None
    """

    rows: Any
    columns: Index | None


def count_rows(chunk: Any) -> int:
    """Return the number of rows of a chunk whose length is not known before."""
    return int(chunk.shape[0])


def stack(dtype: DTypeLike, width: int, first_row: int, picks: Sequence[Any], order: Index | None, *chunks: Any) -> Any:
    """Return the picked rows of some chunks as one array or CSR matrix of finite numbers.

    first_row : number of the first row in the collection, for messages
    order : places of the rows among those picked, if they are not in this order
    """
    parts = [_matrix_of(chunk, dtype, width)[pick] for chunk, pick in zip(chunks, picks, strict=True)]
    if any(sparse.issparse(part) for part in parts):
        rows = sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
        values = rows.data
    else:
        rows = values = np.ascontiguousarray(parts[0] if len(parts) == 1 else np.concatenate(parts))
    if order is not None:
        rows = rows[order]
    with np.errstate(over="ignore", invalid="ignore"):
        is_finite = bool(np.isfinite(values.sum())) or bool(np.isfinite(values).all())
    if not is_finite:
        bad = first_row + int(np.flatnonzero(~np.isfinite(np.asarray(rows.sum(axis=1)).ravel()))[0])
        raise ValueError(
            f"X contains NaN or infinity, first near row {bad} of the training data: leave such rows out, or replace "
            "the values (for example with dask_ml.impute.SimpleImputer or fillna)."
        )
    return rows


def _matrix_of(chunk: Any, dtype: DTypeLike, width: int) -> Any:
    """Return a chunk as an array or CSR matrix of numbers."""
    if sparse.issparse(chunk):
        matrix = sparse.csr_array(sound_sparse(chunk)).astype(dtype, copy=False)
    else:
        values = chunk.to_numpy() if hasattr(chunk, "to_numpy") else np.asarray(chunk)
        try:
            matrix = values.astype(dtype, copy=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"X must hold numbers; a chunk of it has the dtype {values.dtype}: {error}.") from error
    if matrix.ndim != 2 or matrix.shape[1] != width:
        raise ValueError(f"Every chunk of X must have the shape (rows, {width}); one has the shape {matrix.shape}.")
    return matrix


def outline(rows: Any, n_sampled: int) -> Outline:
    """Return the outline of a slab."""
    n = rows.shape[0]
    chosen = [np.linspace(0, n - 1, min(n, n_sampled)).astype(np.int64)]
    columns = None
    if sparse.issparse(rows):
        row_of = np.repeat(np.arange(n), np.diff(rows.indptr))
        chosen.append(row_of[_shows_values(rows.data)])
        squares = np.bincount(row_of, weights=np.square(rows.data.astype(np.float64)), minlength=n)
        if rows.shape[1] > rows.nnz:
            columns = np.unique(rows.indices).astype(np.int64)
    else:
        chosen.append(_shows_values(rows.ravel()) // rows.shape[1])
        with np.errstate(over="ignore"):
            squares = np.einsum("ij,ij->i", rows, rows)
    if n:
        chosen.append(np.array([int(squares.argmax())]))
    return Outline(rows[np.unique(np.concatenate(chosen)).astype(np.int64)], columns)


def _shows_values(entries: NDArray) -> Index:
    """Return the places of at most FEW_VALUES different values, among them the smallest and the largest."""
    if not entries.size:
        return np.empty(0, np.int64)
    low, high = int(entries.argmin()), int(entries.argmax())
    is_between = (entries != entries[low]) & (entries != entries[high])
    between = [int(is_between.argmax())] if is_between.any() else []
    return np.array([low, high, *between], np.int64)


def moments(rows: Any, weight: Vector | None, origin: float) -> tuple[float, float]:
    """Return the sums of x - origin and (x - origin)^2 over all entries, each row counted with its weight."""
    first = second = 0.0
    n, d = rows.shape
    for start in range(0, n, ROWS_AT_A_TIME):
        part = rows[start : start + ROWS_AT_A_TIME]
        share = np.ones(part.shape[0]) if weight is None else weight[start : start + part.shape[0]]
        if sparse.issparse(part):  # zeros do not occur among the entries
            counts, values = np.repeat(share, np.diff(part.indptr)), part.data - origin
            zeros = d * share.sum() - counts.sum()
            first += float(counts @ values) - origin * zeros
            second += float(counts @ (values * values)) + origin * origin * zeros
        else:
            values = part.astype(np.float64) - origin
            first += float(share @ values.sum(axis=1))
            second += float(share @ np.einsum("ij,ij->i", values, values))
    return first, second


def column_sums(rows: Any, first_row: int) -> NDArray[np.float64]:
    """Return the sums of |x| in each column, of all rows and weighted by the number of the row."""
    size = abs(rows)
    number = np.arange(first_row + 1.0, first_row + rows.shape[0] + 1.0)
    return np.stack([np.asarray(size.sum(axis=0, dtype=np.float64)).ravel(), np.asarray(size.T @ number).ravel()])


def prepare(rows: Any, kernel: Kernel, dtype: DTypeLike, template: Samples) -> Samples:
    """Return the samples of a slab in the representation that all slabs share."""
    return kernel.prepare(rows, dtype, like=template)


def facts(samples: Samples, kernel: Kernel) -> tuple[Vector, Vector, Vector, Vector]:
    """Return k(x, x) of each sample and the error terms."""
    return (kernel.diag(samples), *kernel.errors(samples))


def together(*parts: Any) -> Any:
    """Return the rows of some parts as one array or CSR matrix."""
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def train(kernel: Kernel, tasks: Sequence[Task], stopping: Stopping, options: dict[str, Any], *parts: Any) -> Any:
    """Return the answers to problems on the same samples, with their certificates: a fit as on one machine."""
    return Training(kernel, together(*parts), **options).train(tasks, stopping)


def largest_diagonal(rows: Any, kernel: Kernel, template: Samples) -> float:
    """Return the largest k(x, x) of a slab."""
    parts = (rows[start : start + ROWS_AT_A_TIME] for start in range(0, rows.shape[0], ROWS_AT_A_TIME))
    return max(float(kernel.diag(kernel.prepare(part, np.float64, like=template)).max()) for part in parts)


def rows_at(rows: Any, places: Index) -> Any:
    """Return some rows of a slab."""
    return rows[places]


def hold(*values: Any) -> tuple[Any, ...]:
    """Return the values: rows and coefficients, so that all slabs get them from workers and not from the scheduler."""
    return values


def share(samples: Samples, kernel: Kernel, n_threads: int, *published: tuple[Samples, Vector]) -> Vector:
    """Return sum_k coefficients[k] k(row_k, .) at the samples of a slab."""
    total = np.zeros(len(samples))
    with single_threaded_blas():
        for rows, coefficients in published:
            total += kernel_product(kernel, samples, rows, coefficients, samples.dtype, n_threads)  # type: ignore[attr-defined]
    return total


def exact_share(
    rows: Any, kernel: Kernel, template: Samples, n_threads: int, n_terms: int, *published: tuple[Samples, Vector]
) -> Scores:
    """Return the same in float64 with a bound on its error, from raw rows that are prepared some at a time.

    n_terms : of the whole sum
    """
    values, error = np.zeros(rows.shape[0]), np.zeros(rows.shape[0])
    of = [kernel.errors(vectors) for vectors, _ in published]
    with single_threaded_blas():
        for start in range(0, rows.shape[0], ROWS_AT_A_TIME):
            part = slice(start, min(rows.shape[0], start + ROWS_AT_A_TIME))
            samples = kernel.prepare(rows[part], np.float64, like=template)
            own = kernel.errors(samples)
            for (vectors, coefficients), theirs in zip(published, of):
                found = exact_sums(kernel, samples, vectors, coefficients, n_threads, own, n_terms, theirs)
                values[part] += found.values
                error[part] += found.error
    return Scores(values, error)


def exact_sums(
    kernel: Kernel,
    samples: Samples,
    vectors: Samples,
    coefficients: Vector,
    n_threads: int,
    own: ErrorTerms,
    n_terms: int,
    of: ErrorTerms,
) -> Scores:
    """Return a part of F with a part of its error, which add up over parts of a sum of `n_terms` terms."""
    weights = np.abs(coefficients)
    if np.isfinite(own.size).all() and np.isfinite(of.size).all():
        values = kernel_product(kernel, samples, vectors, coefficients, np.dtype(np.float64), n_threads)
        return Scores(values, own.of_sums(weights, n_terms, of))
    values, magnitude = np.zeros(len(samples)), np.zeros(len(samples))
    for start in range(0, len(vectors), ROWS_AT_A_TIME):
        stop = min(len(vectors), start + ROWS_AT_A_TIME)
        block = kernel.block(samples, vectors.tile(start, stop), np.empty((len(samples), stop - start)))
        values += block @ coefficients[start:stop]
        magnitude += np.abs(block) @ weights[start:stop]
    return Scores(values, summation_error(magnitude, n_terms) + own.of_values(weights, of))


def partial_sum(
    rows: Any, places: Index, kernel: Kernel, template: Samples, coefficients: Vector, at: Samples, at_errors: Any,
    n_threads: int, n_terms: int,
) -> Scores:  # fmt: skip
    """Return what some rows of a slab add to F at other samples, in float64."""
    vectors = kernel.prepare(rows[places], np.float64, like=template)
    with single_threaded_blas():
        return exact_sums(
            kernel, at, vectors, coefficients, n_threads, ErrorTerms(*at_errors), n_terms, kernel.errors(vectors)
        )
