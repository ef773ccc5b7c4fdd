"""A trained machine as a function:  f_k(x) = sum_i coefficient_ki k(x, x_i) + intercept_k, evaluated in blocks.

Four ways to evaluate it, the cheapest that applies:

features      for kernels with explicit features (strings): w_k = sum_i coefficient_ki phi(x_i) once, then phi(X) w
linear        w_k = sum_i coefficient_ki x_i once, then X w
precomputed   the support columns of the given kernel matrix times the coefficients
any other     tiles of rows x support vectors, each kernel block multiplied by its coefficients at once, so that the
              matrix K(X, SV) is never held as a whole

Many classes, one against one: support vectors stand class by class and each carries n_classes - 1 coefficients
(LIBSVM's layout; Chang & Lin 2011, section 7). Multiplying class by class costs n_SV (n_classes - 1) per row instead of
n_SV n_classes (n_classes - 1) / 2 with one coefficient row per pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from widemargin.gram.accumulate import add_row_products
from widemargin.kernels import FeatureKernel, Linear, Precomputed
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.threads import resolve_n_jobs, run_tiles, single_threaded_blas

ROW_TILE = 256  # rows of X per task: with COLUMN_TILE a block of 2 MB in float64, which stays in the second-level cache
COLUMN_TILE = 1024  # support vectors per block; kernels prepare their tiles for this multiple
FEW_ROWS = 16  # up to here threads and the BLAS limit cost more (about 100 us) than they bring
SINGLE_PRECISION_ERROR = 1e-7  # float32 blocks are used where a bound on their error, relative to one, is below this
SINGLE_INPUT_ERROR = 1e-5  # the same when X itself came as float32, whose own rounding is 6e-8 per feature
LARGE_WORK = 10_000_000  # kernel values to evaluate beyond which time counts, and where float32 blocks are used if ...
MEASURED_ROWS = 64  # ... on so many of the rows they change decision values, relative to the largest of them, ...
MEASURED_ERROR = 1e-5  # ... by no more than this: a model trained to tol=1e-3 is 100 times less certain
FEATURE_ROWS = 16_384  # samples whose features are written out at a time
COLLAPSE_LIMIT = 32_000_000  # largest number of entries of w for which a linear machine is collapsed (256 MB)

Matrix = NDArray[np.float64]


class Expansion:
    """Support vectors, coefficients and intercept of a fitted machine.

    Parameters
    ----------
    kernel : Kernel
    vectors : array, CSR matrix or sequence of n_SV samples
        The support vectors; for a precomputed kernel, their columns in the matrix (int array of shape (n_SV,)).
    coefficients : float64 array of shape (n_outputs, n_SV)
        With `class_starts` of shape (n_classes - 1, n_SV), in LIBSVM's one-against-one layout.
    intercept : float64 array of shape (n_outputs,), or (n_pairs,) with `class_starts`
    class_starts : int array of shape (n_classes + 1,) or None
        Where the support vectors of each class begin, for one-against-one machines; None for all others.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.expansion import Expansion
    >>> from widemargin.kernels import Gaussian
    >>> f = Expansion(Gaussian(gamma=1.0), np.array([[0.0], [1.0]]), np.array([[1.0, -1.0]]), np.array([0.5]))
    >>> f.decision(np.array([[0.5]])).round(3)
    array([[0.5]])
    """

    def __init__(
        self, kernel: Kernel, vectors: Any, coefficients: Matrix, intercept: Matrix, class_starts: NDArray | None = None
    ) -> None:
        self.kernel = kernel
        self.vectors = vectors
        self.coefficients = np.ascontiguousarray(coefficients, np.float64)
        self.intercept = np.ascontiguousarray(intercept, np.float64)
        self.class_starts = None if class_starts is None else [int(start) for start in class_starts]
        self._prepared: dict[Any, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Prepared samples can be made again: they are not pickled."""
        return {**self.__dict__, "_prepared": {}}

    def decision(self, X: Any, n_jobs: int | None = None) -> Matrix:
        """Decision values of the samples in X, shape (n_samples, n_outputs) or (n_samples, n_pairs)."""
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if self.coefficients.shape[1] == 0:
            return np.repeat(self.intercept[None, :], n_rows, axis=0)
        if isinstance(self.kernel, Precomputed):
            return self._from_columns(X)
        if isinstance(self.kernel, Linear) and self._may_collapse():
            return self._from_weights(X)
        if isinstance(self.kernel, FeatureKernel) and self._features_may_collapse():
            return self._from_features(X, n_rows)
        return self._from_blocks(X, n_rows, n_jobs)

    def weights(self) -> Matrix:
        """w of a linear machine, shape (n_outputs, n_features) or (n_pairs, n_features)."""
        if "weights" not in self._prepared:
            self._prepared["weights"] = combine(self.coefficients, self.vectors, self.class_starts)
        return self._prepared["weights"]

    def _may_collapse(self) -> bool:
        return len(self.intercept) * self.vectors.shape[1] <= COLLAPSE_LIMIT

    def _from_weights(self, X: Any) -> Matrix:
        """Decision values of a linear machine."""
        return np.asarray(X @ self.weights().T, np.float64) + self.intercept

    def _features_may_collapse(self) -> bool:
        """Write out the features of the support vectors, once; whether w is then of a size to hold."""
        if "features" not in self._prepared:
            self._prepared["features"] = self.kernel.explicit(self.vectors)  # type: ignore[attr-defined]
        return len(self.intercept) * self._prepared["features"].matrix.shape[1] <= COLLAPSE_LIMIT

    def _from_features(self, X: Any, n_rows: int) -> Matrix:
        """Decision values of a machine that is linear in explicit features, some thousand samples at a time."""
        known = self._prepared["features"]
        if "weights" not in self._prepared:
            self._prepared["weights"] = combine(self.coefficients, known.matrix, self.class_starts)
        values = np.empty((n_rows, len(self.intercept)))
        for start in range(0, n_rows, FEATURE_ROWS):
            rows = slice(start, start + FEATURE_ROWS)
            found = self.kernel.explicit(_safe_indexing(X, rows), known.columns)  # type: ignore[attr-defined]
            values[rows] = found.matrix @ self._prepared["weights"].T + self.intercept
        return values

    def _from_columns(self, K: Any) -> Matrix:
        """Decision values from rows of a kernel matrix against all training samples."""
        values = np.empty((K.shape[0], len(self.intercept)))
        for start in range(0, K.shape[0], 4 * ROW_TILE):
            rows = slice(start, start + 4 * ROW_TILE)
            values[rows] = self._finish(self._multiply(K[rows][:, self.vectors], 0, None))
        return values

    def _from_blocks(self, X: Any, n_rows: int, n_jobs: int | None) -> Matrix:
        """Decision values tile by tile, on threads."""
        allowed = SINGLE_INPUT_ERROR if getattr(X, "dtype", None) == np.float32 else SINGLE_PRECISION_ERROR
        if n_rows <= FEW_ROWS:
            return self._rows(X, allowed)
        if n_rows * self.coefficients.shape[1] > LARGE_WORK and self._single_is_enough(X, n_rows):
            allowed = np.inf
        values = np.empty((n_rows, len(self.intercept)))

        def task(number: int) -> None:
            rows = slice(number * ROW_TILE, min((number + 1) * ROW_TILE, n_rows))
            values[rows] = self._rows(X[rows], allowed)

        self._prepare(X[:1], allowed)  # the support vectors are prepared here once, not by every thread
        n_threads = resolve_n_jobs(n_jobs) if self.kernel.releases_gil else 1
        with single_threaded_blas():
            run_tiles(task, -(-n_rows // ROW_TILE), n_threads)
        return values

    def _rows(self, X: Any, allowed: float) -> Matrix:
        """Decision values of one tile of rows."""
        dtype, left, right = self._prepare(X, allowed)
        n_support = self.coefficients.shape[1]
        buffer = np.empty((len(left), min(n_support, COLUMN_TILE)), dtype)
        total: NDArray | None = None
        one = None
        if len(self.coefficients) == 1 and self.class_starts is None:  # summed in float64 whatever the blocks are
            total = np.zeros((len(left), 1))
            one = total[:, 0]
        for start in range(0, n_support, COLUMN_TILE):
            stop = min(start + COLUMN_TILE, n_support)
            tile = right if stop - start == n_support else right.tile(start, stop)
            block = self.kernel.block(left, tile, buffer[:, : stop - start])
            if one is None:
                total = self._multiply(block, start, total)
            else:
                add_row_products(buffer, self.coefficients[0, start:stop], one)
        return self._finish(total)

    def _prepare(self, X: Any, allowed: float) -> tuple[Any, Samples, Samples]:
        """Both sides in one representation, in float32 where the bound on its error is within what is allowed."""
        if allowed == np.inf:
            return np.float32, *self._both_sides(X, np.float32)
        if self._error(0.0) <= allowed:
            left, right = self._both_sides(X, np.float32)
            if self._error(max(self.kernel.rounding(left), self.kernel.rounding(right))) <= allowed:
                return np.float32, left, right
        return np.float64, *self._both_sides(X, np.float64)

    def _single_is_enough(self, X: Any, n_rows: int) -> bool:
        """Whether float32 blocks leave decision values accurate enough, measured on some of the rows.

        Bounds are of no use here: rounding errors go up as often as down, and bounds came out 30 to 1000 times larger
        than what happened.
        """
        some = X[:: -(-n_rows // MEASURED_ROWS)]
        single, double = self._rows(some, np.inf), self._rows(some, 0.0)
        return bool(np.abs(single - double).max() <= MEASURED_ERROR * max(1.0, np.abs(double).max()))

    def _both_sides(self, X: Any, dtype: Any) -> tuple[Samples, Samples]:
        """X and the support vectors prepared to be evaluated against each other."""
        return self.kernel.prepare_both(X, self.vectors, dtype, self._support(dtype))

    def _support(self, dtype: Any) -> Samples:
        """The support vectors prepared for the kernel, once per precision."""
        if dtype not in self._prepared:
            self._prepared[dtype] = self.kernel.prepare(self.vectors, dtype)
        return self._prepared[dtype]

    def _error(self, rounding: float) -> float:
        """Bound on the error of a decision value when blocks are float32, relative to max(1, |intercept|)."""
        if "mass" not in self._prepared:
            mass = np.abs(self.coefficients).sum(axis=1).max()
            self._prepared["mass"] = mass / max(1.0, np.abs(self.intercept).max(initial=0.0))
        return (rounding + np.finfo(np.float32).eps) * self._prepared["mass"]

    def _multiply(self, block: NDArray, start: int, total: NDArray | None) -> NDArray:
        """Add the contribution of the support vectors start: ... to the sums of a tile."""
        stop = start + block.shape[1]
        coefficients = self.coefficients
        block = block.astype(np.float64, copy=False)  # sums of float32 products lose more than the blocks' own rounding
        if self.class_starts is None:
            if total is None:
                total = np.zeros((block.shape[0], coefficients.shape[0]))
            return np.add(total, block @ coefficients[:, start:stop].T, out=total)
        if total is None:
            total = np.zeros((len(self.class_starts) - 1, block.shape[0], coefficients.shape[0]))
        for number in range(len(self.class_starts) - 1):
            first, last = max(self.class_starts[number], start), min(self.class_starts[number + 1], stop)
            if first < last:
                total[number] += block[:, first - start : last - start] @ coefficients[:, first:last].T
        return total

    def _finish(self, total: NDArray | None) -> Matrix:
        """From sums to decision values: add the intercept, and join the two halves of each pair of classes."""
        assert total is not None  # there is at least one support vector
        if self.class_starts is None:
            return total + self.intercept
        first, second = np.triu_indices(len(self.class_starts) - 1, 1)
        return (total[first, :, second - 1] + total[second, :, first]).T + self.intercept


def combine(coefficients: Matrix, vectors: Any, class_starts: Any = None) -> Matrix:
    """The vectors w = coefficients @ vectors, dense; pair by pair when `class_starts` is given."""
    if class_starts is None:
        return np.asarray(_product(coefficients, vectors))
    n_classes = len(class_starts) - 1
    parts = [
        _product(coefficients[:, class_starts[k] : class_starts[k + 1]], vectors[class_starts[k] : class_starts[k + 1]])
        for k in range(n_classes)
    ]
    pairs = [parts[i][j - 1] + parts[j][i] for i in range(n_classes) for j in range(i + 1, n_classes)]
    return np.asarray(pairs)


def _product(coefficients: Matrix, vectors: Any) -> Matrix:
    """coefficients @ vectors for dense and sparse vectors, always dense and in float64."""
    if sp.issparse(vectors):
        return np.asarray((vectors.T @ coefficients.T).T, np.float64)
    return coefficients @ np.asarray(vectors, np.float64)
