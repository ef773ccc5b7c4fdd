"""Kernels given by a user's function.

BlockKernel   function(A, B) -> matrix of len(A) x len(B) values, on parts of whatever was passed as X
PairKernel    function(x, z) -> number, on two samples; on vectors it is compiled together with the loops around it

Solvers need a symmetric positive semi-definite kernel, which cannot be verified for a user's function.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numba.extending import is_jitted
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from widemargin._jit import jit
from widemargin.kernels.kernel import Kernel, RepresentationMismatch, Samples
from widemargin.kernels.row_view import flat_rows, writable
from widemargin.kernels.samples.choose import follow
from widemargin.kernels.samples.dense import DenseRows, dense_rows
from widemargin.kernels.samples.objects import Objects, read_objects
from widemargin.kernels.samples.raw import as_dense, read_matrix, read_precision

DIAGONAL_PART = 32  # samples per call for the diagonal: a call costs microseconds, off-diagonal values are discarded


@dataclass(frozen=True)
class BlockKernel(Kernel):
    """k by a function of two collections of samples, as scikit-learn's callable kernels.

    Parameters
    ----------
    function : callable(A, B) -> array of shape (len(A), len(B))
        A and B are parts of the data as given: arrays stay arrays, sparse matrices CSR, tables with columns of mixed
        types tables, other sequences lists.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels import BlockKernel
    >>> common_letters = BlockKernel(lambda A, B: np.array([[len(set(a) & set(b)) for b in B] for a in A]))
    >>> common_letters(["margin", "kernel"]).tolist()
    [[6.0, 2.0], [2.0, 5.0]]
    """

    function: Callable[[Any, Any], Any]
    releases_gil = False
    accepts_objects = True

    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> Samples:
        return read_objects(X, dtype if like is None else cast(Objects, like).dtype, keep_tables=True)

    def block(self, left: Samples, right: Samples, out: NDArray) -> NDArray:
        if out.size:
            out[...] = self._values(cast(Objects, left).items, cast(Objects, right).items, out.shape)
        return out

    def diag(self, samples: Samples) -> NDArray[np.float64]:
        values = np.empty(len(samples))
        for start in range(0, len(samples), DIAGONAL_PART):
            stop = min(start + DIAGONAL_PART, len(samples))
            part = cast(Objects, samples.tile(start, stop)).items
            values[start:stop] = np.diagonal(self._values(part, part, (stop - start, stop - start)))
        return values

    def rounding(self, samples: Samples) -> float:
        """Rounding of the conversion to the requested precision; errors of the function itself are not included."""
        dtype = cast(Objects, samples).dtype
        if dtype == np.float64:
            return 0.0
        return float(np.finfo(dtype).eps) / 2 * float(np.abs(self.diag(samples)).max(initial=0.0))

    def _values(self, left: Any, right: Any, shape: tuple[int, ...]) -> NDArray:
        """Call the function and check the shape of its result."""
        values = self.function(left, right)
        values = values.toarray() if sparse.issparse(values) else np.asarray(values)
        if values.shape != shape:
            raise ValueError(
                f"The kernel function returned an array of shape {values.shape} for {shape[0]} x {shape[1]} samples: "
                "it must return one value for every pair, as a two-dimensional array."
            )
        return values


@dataclass(frozen=True)
class PairKernel(Kernel):
    """k by a function of two samples.

    Parameters
    ----------
    function : callable(x, z) -> float
        On numeric data x and z are one-dimensional arrays, and the function, compiled by Numba already or plain, is
        compiled with the loops around it; a function that Numba cannot compile is called from Python. On other
        sequences it is called from Python with the objects themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels import PairKernel
    >>> def overlap(x, z):
    ...     return np.minimum(x, z).sum()
    >>> PairKernel(overlap)(np.array([[1.0, 2.0], [3.0, 0.0]])).tolist()
    [[3.0, 1.0], [1.0, 3.0]]
    """

    function: Callable[[Any, Any], float]
    accepts_objects = True

    @property
    def releases_gil(self) -> bool:  # type: ignore[override]
        """Whether blocks of vectors can be computed on several threads at once."""
        return _loops_around(self.function).works

    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> Samples:
        if isinstance(like, DenseRows):
            return follow(read_matrix(X), like)
        items = read_objects(X, dtype)
        is_table = hasattr(items.items, "ndim") and items.items.ndim == 2 and items.items.dtype.kind in "biuf"
        if like is None and is_table:
            rows = dense_rows(as_dense(items.items), read_precision(dtype))
            _loops_around(self.function).try_in_python(rows.values[:1])
            return rows
        if like is not None and not isinstance(like, Objects):
            raise RepresentationMismatch(f"Objects cannot follow {type(like).__name__}.")
        return items if like is None else Objects(items.items, like.dtype)

    def block(self, left: Samples, right: Samples, out: NDArray) -> NDArray:
        if not out.size:
            return out
        if isinstance(left, DenseRows) and isinstance(right, DenseRows):
            return _loops_around(self.function).fill(left.values, right.values, out)
        return _python_loops(self.function, cast(Objects, left).items, cast(Objects, right).items, out)

    def diag(self, samples: Samples) -> NDArray[np.float64]:
        items = samples.values if isinstance(samples, DenseRows) else cast(Objects, samples).items
        return np.array([self.function(item, item) for item in items], np.float64)


def not_finite(kernel: BlockKernel | PairKernel) -> ValueError:
    """Return the error to raise if the function returned NaN or infinity for training samples."""
    name = getattr(kernel.function, "__name__", repr(kernel.function))
    return ValueError(
        f"The kernel function {name} returned NaN or infinity for some of the samples, which are finite: it must "
        "return a finite number for every pair. Evaluate it on the training data to find the pairs, for example "
        "np.argwhere(~np.isfinite(kernel(X, X))); usual causes are 0 / 0, the logarithm or root of a negative number, "
        "and overflow."
    )


class _Loops:
    """The double loop around one pair function: compiled if that works, else in Python."""

    def __init__(self, function: Callable) -> None:
        self.function = function
        self.works = True
        self.tried: set[np.dtype] = set()
        self.widths: set[int] = set()
        pair = function if is_jitted(function) else jit(function, cache=False)

        @jit(cache=False)  # in memory only: a user's function may change at any time
        def fill(left, right, flat, step):
            for i in range(len(left)):
                for j in range(len(right)):
                    flat[i * step + j] = pair(left[i], right[j])

        self.compiled = fill

    def fill(self, left: NDArray, right: NDArray, out: NDArray) -> NDArray:
        """Fill out[i, j] = function(left_i, right_j)."""
        left, right = writable(left), writable(right)
        flat, step = flat_rows(out)
        if left.dtype not in self.tried:
            try:  # without samples nothing is computed: any error is due to compilation
                self.compiled(left[:0], right[:0], flat[:0], step)
            except Exception:
                self.works = False
            self.tried.add(left.dtype)
        if not self.works:
            return _python_loops(self.function, left, right, out)
        self.compiled(left, right, flat, step)
        return out

    def try_in_python(self, row: NDArray) -> None:
        """Raise ValueError for an index outside the samples, once per width: compiled code does not check indices."""
        if len(row) == 0 or row.shape[1] in self.widths:
            return
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                getattr(self.function, "py_func", self.function)(row[0], row[0])
        except IndexError as error:
            raise ValueError(
                f"The kernel function uses an index outside its samples of {row.shape[1]} features ({error}): correct "
                "it."
            ) from error
        except Exception:  # dividing a number by zero, for example, is an error in Python only
            pass
        self.widths.add(row.shape[1])


@lru_cache
def _loops_around(function: Callable) -> _Loops:
    """Return the loops of a function, compiled once however many kernels use it."""
    return _Loops(function)


def _python_loops(function: Callable, left: Any, right: Any, out: NDArray) -> NDArray:
    """The double loop in Python, for objects and for functions that cannot be compiled."""
    for i, x in enumerate(left):
        for j, z in enumerate(right):
            out[i, j] = function(x, z)
    return out
