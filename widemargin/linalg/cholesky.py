"""Cholesky factor A = L L' of a large symmetric matrix on the package's own threads, and solves with it.

Given    A dense, in float64 or float32, of which the lower half is read; all operations are in place
See      Golub & Van Loan (2013), section 4.2.5: the left-looking block algorithm. A block column is updated
         by one product with all columns to its left, so the matrix is read often but written once.

LAPACK's own threads are not used because they busy-wait: on a busy machine two of them took 2.4 s for 5,000 samples
where one thread takes 1.2 s. Here nearly all work is in matrix products of NumPy, which release the GIL, and the number
of threads is `n_jobs`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import blas, lapack

from widemargin.linalg.arrays import Matrix
from widemargin.parallel.tiles import run_tiles, single_threaded_blas

PANEL = 256  # columns factored or solved for at a time: the serial part, n^2 PANEL / 2, is small, products are long
HEIGHT = 512  # rows of a panel per task
FACTORS = {np.dtype(np.float64): (lapack.dpotrf, blas.dtrsm), np.dtype(np.float32): (lapack.spotrf, blas.strsm)}


class NotPositiveDefinite(np.linalg.LinAlgError):
    """A matrix has no Cholesky factor: its kernel is indefinite, or singular and without noise."""


def factor_in_place(A: Matrix, n_threads: int) -> Matrix:
    """Overwrite the lower half of A by L; entries above the diagonal are neither changed nor read."""
    n = len(A)
    factor_corner, divide = FACTORS[A.dtype]
    with single_threaded_blas():
        for panel in panels(n):
            first, last = panel.start, panel.stop
            above = A[panel, :first]
            if first:
                A[panel, panel] -= above @ above.T
            corner, failed = factor_corner(A[panel, panel], lower=1)
            if failed:
                raise NotPositiveDefinite(f"leading minor {first + failed} of {n} is not positive")
            if not np.isfinite(np.diagonal(corner)).all():  # LAPACK does not detect NaN
                raise NotPositiveDefinite("the matrix holds NaN or infinity")
            A[panel, panel] = corner

            def finish(number: int, panel=panel, above=above, corner=corner) -> None:  # type: ignore
                rows = slice(panel.stop + number * HEIGHT, min(n, panel.stop + (number + 1) * HEIGHT))
                part = A[rows, panel]
                if panel.start:
                    part -= A[rows, : panel.start] @ above.T
                part[...] = divide(1.0, corner, part, side=1, lower=1, trans_a=1)

            run_tiles(finish, -(-(n - last) // HEIGHT), n_threads)
    return A


def panels(n: int, start: int = 0) -> list[slice]:
    """Return slices of PANEL numbers from `start` to n."""
    return [slice(first, min(n, first + PANEL)) for first in range(start, n, PANEL)]


def solve_lower(L: Matrix, B: Matrix, n_threads: int, start: int = 0) -> Matrix:
    """Overwrite B (n, m) by L^-1 B; rows of B above `start` are known to be zero."""

    def solve(X: Matrix) -> None:
        for rows in panels(len(L), start):
            if rows.start > start:
                X[rows] -= L[rows, start : rows.start] @ X[start : rows.start]
            X[rows] = blas.dtrsm(1.0, L[rows, rows], X[rows], lower=1)

    return _solve_columns(solve, B, n_threads)


def solve_upper(L: Matrix, B: Matrix, n_threads: int) -> Matrix:
    """Overwrite B (n, m) by L'^-1 B."""

    def solve(X: Matrix) -> None:
        for rows in reversed(panels(len(L))):
            if rows.stop < len(L):
                X[rows] -= L[rows.stop :, rows].T @ X[rows.stop :]
            X[rows] = blas.dtrsm(1.0, L[rows, rows], X[rows], lower=1, trans_a=1)

    return _solve_columns(solve, B, n_threads)


def _solve_columns(solve: Callable[[Matrix], None], B: Matrix, n_threads: int) -> Matrix:
    """Call `solve` for some columns of B at a time, on threads."""
    columns = panels(B.shape[1])
    with single_threaded_blas():
        run_tiles(lambda number: solve(B[:, columns[number]]), len(columns), n_threads)
    return B


def solve_factored(L: Matrix, B: Matrix, n_threads: int) -> Matrix:
    """(L L')^-1 B as a new array."""
    return solve_upper(L, solve_lower(L, np.array(B, np.float64, order="C"), n_threads), n_threads)


def inverse(L: Matrix, n_threads: int) -> Matrix:
    """(L L')^-1, both halves filled: W = L^-1 column block by column block, then W'W."""
    n = len(L)
    W, out, parts = np.eye(n), np.empty((n, n)), panels(n)

    def invert(number: int) -> None:
        solve_lower(L, W[:, parts[number]], 1, start=parts[number].start)

    def multiply(number: int) -> None:
        rows = parts[number]
        out[rows, : rows.stop] = W[rows.start :, rows].T @ W[rows.start :, : rows.stop]
        out[: rows.stop, rows] = out[rows, : rows.stop].T

    with single_threaded_blas():
        run_tiles(invert, len(parts), n_threads)
        run_tiles(multiply, len(parts), n_threads)
    return out


def clear_upper(L: Matrix) -> Matrix:
    """Set the entries above the diagonal to zero, in place, so that the array contains only the factor."""
    for rows in panels(len(L)):
        L[rows, rows] = np.tril(L[rows, rows])
        L[rows, rows.stop :] = 0.0
    return L


def log_determinant(L: Matrix) -> float:
    """log det(L L')."""
    return 2.0 * float(np.log(np.diagonal(L)).sum())
