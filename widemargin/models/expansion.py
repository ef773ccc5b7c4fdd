"""A trained model as a function  f_k(x) = sum_i coefficient_ki k(x, x_i) + intercept_k, evaluated in blocks.

Three ways to evaluate it, the cheapest that applies:

weights       for kernels with explicit features (linear, strings): w_k = sum_i coefficient_ki phi(x_i) once, then
              phi(X) w
precomputed   the support columns of the given kernel matrix times the coefficients
any other     tiles of rows x support vectors, each kernel block multiplied by its coefficients immediately, so that the
              matrix K(X, SV) is never stored as a whole

All are in float64. How a row is evaluated depends on the row and the support vectors only: in another batch its value
differs only by the order of sums inside BLAS. Labels alone can be computed faster: models/single_precision.py.

Many classes, one against one: support vectors are ordered by class and each has n_classes - 1 coefficients
(LIBSVM's layout; Chang & Lin 2011, section 7). Multiplying class by class costs n_SV (n_classes - 1) per row instead of
n_SV n_classes (n_classes - 1) / 2 with one coefficient row per pair.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin._sklearn import num_samples, safe_indexing
from widemargin.gram.accumulate import add_row_products
from widemargin.gram.gram import COLUMN_TILE, ROW_TILE
from widemargin.kernels import FeatureKernel, Linear, Precomputed
from widemargin.kernels.kernel import Kernel, RepresentationMismatch, Samples
from widemargin.kernels.samples.binary import two_values
from widemargin.kernels.samples.raw import read_matrix
from widemargin.linalg.arrays import Matrix
from widemargin.models.two_value_rows import rows_of_two_values, with_third_value
from widemargin.monitor.user_warning import warn_user
from widemargin.parallel.tiles import resolve_n_jobs, run_tiles, single_threaded_blas

TASKS = 4  # tiles of rows prepared together, and tasks per thread, so that all threads finish together
FEW_ROWS = 16  # up to here threads and the BLAS limit cost more (about 100 us) than they save
COLLAPSE_LIMIT = 32_000_000  # largest number of entries of w for which a linear model is collapsed (256 MB)


class Piece(NamedTuple):
    """Rows of a tile (None: all) and the support vectors, prepared for evaluation against each other."""

    rows: NDArray[np.intp] | None
    left: Samples
    right: Samples
    general: bool | None  # which preparation `right` is (see `support`); None: prepared for these rows only


class Expansion:
    """Support vectors, coefficients and intercept of a fitted model.

    Parameters
    ----------
    kernel : Kernel
    vectors : array, CSR matrix or sequence of n_SV samples
        The support vectors; for a precomputed kernel, their columns in the matrix (int array of shape (n_SV,), or a
        slice).
    coefficients : float64 array of shape (n_outputs, n_SV)
        With `class_starts` of shape (n_classes - 1, n_SV), in LIBSVM's one-against-one layout.
    intercept : float64 array of shape (n_outputs,), or (n_pairs,) with `class_starts`
    class_starts : int array of shape (n_classes + 1,) or None
        Where the support vectors of each class begin, for one-against-one models; None for all others.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.models.expansion import Expansion
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
        """Return the state without prepared samples, which can be recomputed."""
        return {**self.__dict__, "_prepared": {}}

    def decision(self, X: Any, n_jobs: int | None = None) -> Matrix:
        """Decision values of the samples in X, shape (n_samples, n_outputs) or (n_samples, n_pairs)."""
        n_rows = num_samples(X)
        if self.coefficients.shape[1] == 0:
            return np.repeat(self.intercept[None, :], n_rows, axis=0)
        if isinstance(self.kernel, Precomputed):
            return self._in_batches(X, n_rows, self._from_columns)
        if self.may_collapse():
            return self._in_batches(X, n_rows, self._from_weights)
        return self._from_blocks(X, n_rows, n_jobs)

    def weights(self) -> Matrix:
        """w of a model linear in explicit features, shape (n_outputs, n_features) or (n_pairs, n_features)."""
        return self.once("weights", lambda: sum_by_problem(self.coefficients, self._features(), self.class_starts))

    def _features(self, X: Any = None) -> Any:
        """Return explicit features of X, or of the support vectors, which are computed once."""
        if isinstance(self.kernel, Linear):
            return self.vectors if X is None else X
        kernel = cast(FeatureKernel, self.kernel)
        known = self.once("features", lambda: kernel.explicit(self.vectors))
        return known.matrix if X is None else kernel.explicit(X, known.columns).matrix

    def once(self, name: Any, make: Callable[[], Any]) -> Any:
        """Return the result of `make`, computed on first use and kept until the model is pickled."""
        if name not in self._prepared:
            self._prepared[name] = make()
        return self._prepared[name]

    def may_collapse(self) -> bool:
        """Whether the kernel is linear in explicit features, and w is small enough to store."""
        if not isinstance(self.kernel, Linear | FeatureKernel):
            return False
        return len(self.intercept) * self._features().shape[1] <= COLLAPSE_LIMIT

    def _in_batches(self, X: Any, n_rows: int, values_of: Callable[[Any], Matrix]) -> Matrix:
        """Return decision values in batches of some hundred samples, to limit the memory for features or columns."""
        values, step = np.empty((n_rows, len(self.intercept))), TASKS * ROW_TILE
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, n_rows, step):
                rows = slice(start, start + step)
                values[rows] = values_of(X if n_rows <= step else safe_indexing(X, rows))
        return values

    def _from_weights(self, X: Any) -> Matrix:
        """Decision values of a model that is linear in explicit features."""
        return self._features(X) @ self.weights().T + self.intercept

    def _from_columns(self, K: Any) -> Matrix:
        """Decision values from rows of a kernel matrix against all training samples."""
        return self._finish(self._add(K[:, self.vectors], 0, self._zero_sums(len(K))))

    def _from_blocks(self, X: Any, n_rows: int, n_jobs: int | None) -> Matrix:
        """Decision values tile by tile, on threads."""
        if n_rows <= FEW_ROWS:
            return self.rows(self.pieces(X, np.float64), n_rows, np.float64)
        values = np.empty((n_rows, len(self.intercept)))

        def task(rows: slice) -> None:
            values[rows] = self.rows(self.pieces(X[rows], np.float64), rows.stop - rows.start, np.float64)

        self.support(np.float64)  # the support vectors are prepared here once, not by every thread
        self.run(task, n_rows, n_jobs)
        return values

    def run(self, task: Callable[[slice], None], n_rows: int, n_jobs: int | None) -> None:
        """Call `task` for groups of tiles of rows, on threads."""
        n_threads = resolve_n_jobs(n_jobs) if self.kernel.releases_gil else 1
        step = ROW_TILE * min(max(n_rows // (TASKS * n_threads * ROW_TILE), 1), TASKS)

        def numbered(number: int) -> None:
            task(slice(number * step, min((number + 1) * step, n_rows)))

        with single_threaded_blas():
            run_tiles(numbered, -(-n_rows // step), n_threads)

    def rows(self, pieces: list[Piece], n_rows: int, dtype: Any) -> Matrix:
        """Decision values of prepared rows, tile by tile, from blocks of the given precision."""
        values = np.empty((n_rows, len(self.intercept)), order="F")
        with np.errstate(over="ignore", invalid="ignore"):  # callers check for values that are not finite
            for piece in pieces:
                for start in range(0, len(piece.left), ROW_TILE):
                    part = slice(start, min(start + ROW_TILE, len(piece.left)))
                    left = piece.left if len(piece.left) <= ROW_TILE else piece.left.tile(part.start, part.stop)
                    values[part if piece.rows is None else piece.rows[part]] = self._sums(left, piece.right, dtype)
        return values

    def _sums(self, left: Samples, right: Samples, dtype: Any) -> Matrix:
        """Decision values of prepared rows, block by block of the support vectors."""
        n_support = self.coefficients.shape[1]
        buffer = np.empty((len(left), min(n_support, COLUMN_TILE)), dtype)
        sums = self._zero_sums(len(left))
        single = len(self.coefficients) == 1 and self.class_starts is None
        for start in range(0, n_support, COLUMN_TILE):
            stop = min(start + COLUMN_TILE, n_support)
            tile = right if n_support <= COLUMN_TILE else right.tile(start, stop)
            block = self.kernel.block(left, tile, buffer[:, : stop - start])
            if single:  # without a copy of the block in float64
                add_row_products(buffer, self.coefficients[0, start:stop], sums[:, 0])
            else:
                self._add(block, start, sums)
        return self._finish(sums)

    def pieces(self, X: Any, dtype: Any) -> list[Piece]:
        """Rows of X and the support vectors in one representation, chosen row by row.

        Where the support vectors are bits, rows of the same two values follow them, and all others are evaluated
        against a second preparation of the support vectors that is not made of bits.
        """
        right = self.support(dtype)
        try:
            return [Piece(None, self.kernel.prepare(X, dtype, like=right), right, False)]
        except RepresentationMismatch:
            values = two_values(read_matrix(self.vectors)) if isinstance(X, np.ndarray) or sp.issparse(X) else None
        if values is None:  # the support vectors are not bits
            return [Piece(None, *self.kernel.prepare_both(X, self.vectors, dtype, right), None)]
        fits = rows_of_two_values(X, values)
        pieces = []
        for general, rows in enumerate((np.flatnonzero(fits), np.flatnonzero(~fits))):
            if len(rows):
                right = self.support(dtype, bool(general))
                pieces.append(Piece(rows, self.kernel.prepare(X[rows], dtype, like=right), right, bool(general)))
        return pieces

    def support(self, dtype: Any, general: bool = False) -> Samples:
        """Return the support vectors prepared for the kernel, once per precision; `general`: suitable for any row."""
        if not general:
            return self.once(dtype, lambda: self.kernel.prepare(self.vectors, dtype))

        def make() -> Samples:
            values = two_values(read_matrix(self.vectors)) or (0.0, 1.0)
            samples = self.kernel.prepare(with_third_value(self.vectors, values), dtype)
            return samples.tile(0, self.coefficients.shape[1])

        return self.once((dtype, "general"), make)

    def _zero_sums(self, n_rows: int) -> NDArray:
        """Return zero sums of a tile: (n_rows, n_outputs), or one such matrix for each class of support vectors."""
        shape = (n_rows, len(self.coefficients))
        return np.zeros(shape if self.class_starts is None else (len(self.class_starts) - 1, *shape))

    def _add(self, block: NDArray, start: int, sums: NDArray) -> NDArray:
        """Add the contribution of the support vectors start: ... to the sums of a tile."""
        stop = start + block.shape[1]
        coefficients = self.coefficients
        block = block.astype(np.float64, copy=False)  # sums of float32 products lose more than the blocks' own rounding
        if self.class_starts is None:
            sums += block @ coefficients[:, start:stop].T
            return sums
        for number in range(len(self.class_starts) - 1):
            first, last = max(self.class_starts[number], start), min(self.class_starts[number + 1], stop)
            if first < last:
                sums[number] += block[:, first - start : last - start] @ coefficients[:, first:last].T
        return sums

    def _finish(self, sums: NDArray) -> Matrix:
        """Convert sums to decision values: add the intercept, and add the two halves of each pair of classes."""
        if self.class_starts is None:
            return sums + self.intercept
        first, second = np.triu_indices(len(self.class_starts) - 1, 1)
        return (sums[first, :, second - 1] + sums[second, :, first]).T + self.intercept


def rows_not_finite(values: Matrix) -> NDArray[np.intp]:
    """Return the rows in which a decision value is infinite or NaN."""
    return np.flatnonzero(~np.isfinite(values).all(axis=1))


def warn_not_finite(rows: NDArray[np.intp]) -> None:
    """Warn if there are rows whose decision values are infinite or NaN in double precision."""
    if not len(rows):
        return
    named = ", ".join(str(row) for row in rows[:5]) + (", ..." if len(rows) > 5 else "")
    warn_user(
        f"Decision values are infinite or NaN for {len(rows)} of the samples (rows {named}); predictions there mean "
        "nothing. Values of X or of the kernel are so large that products overflow in double precision: scale the "
        "features (StandardScaler), or use a smaller gamma, coef0 or degree; a kernel function of your own must return "
        "finite numbers."
    )


def sum_by_problem(coefficients: Matrix, vectors: Any, class_starts: Any = None) -> Matrix:
    """The vectors w = coefficients @ vectors, dense; pair by pair when `class_starts` is given."""
    if class_starts is None:
        return np.asarray(_product(coefficients, vectors))
    parts = [_product(coefficients[:, start:stop], vectors[start:stop]) for start, stop in pairwise(class_starts)]
    first, second = np.triu_indices(len(parts), 1)
    return np.asarray([parts[i][j - 1] + parts[j][i] for i, j in zip(first, second)])


def _product(coefficients: Matrix, vectors: Any) -> Matrix:
    """coefficients @ vectors for dense and sparse vectors, always dense and in float64."""
    if sp.issparse(vectors):
        return np.asarray((vectors.T @ coefficients.T).T, np.float64)
    return coefficients @ np.asarray(vectors, np.float64)
