"""Cholesky factor A = L L' of a large symmetric matrix on the package's own threads, and what is solved with it.

Given    A dense, in float64 or float32, its lower half is read; everything happens in place
See      Golub & Van Loan (2013), section 4.2.5: the left-looking block algorithm. A block column is brought up to date
         by one product with all columns to its left, so the matrix is read often but written once.

Why not LAPACK's own threads: they wait by spinning, and on a machine with other work on it two of them took 2.4 s for
5,000 samples where one thread takes 1.2 s. Here nearly all work is in matrix products of NumPy, which let go of the
GIL, and the number of threads is `n_jobs`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from widemargin.parallel.tiles import run_tiles, single_threaded_blas

PANEL = 256  # columns factored at a time: the serial part, n^2 PANEL / 2 operations, is small and products still long
HEIGHT = 512  # rows of a panel per task
RIGHT_SIDES = 256  # columns of a right-hand side per task

Matrix = NDArray[np.float64]
FACTORS = {np.dtype(np.float64): (lapack.dpotrf, blas.dtrsm), np.dtype(np.float32): (lapack.spotrf, blas.strsm)}


class NotPositiveDefinite(np.linalg.LinAlgError):
    """A matrix has no Cholesky factor: its kernel is indefinite, or singular and without noise."""


def factor_in_place(A: Matrix, n_threads: int) -> Matrix:
    """Overwrite the lower half of A by L; what is above the diagonal keeps its old values and is never read."""
    n = len(A)
    factor_corner, divide = FACTORS[A.dtype]
    with single_threaded_blas():
        for first in range(0, n, PANEL):
            last = min(n, first + PANEL)
            above = A[first:last, :first]
            if first:
                A[first:last, first:last] -= above @ above.T
            corner, failed = factor_corner(A[first:last, first:last], lower=1)
            if failed:
                raise NotPositiveDefinite(f"leading minor {first + failed} of {n} is not positive")
            if not np.isfinite(np.diagonal(corner)).all():  # LAPACK lets NaN pass
                raise NotPositiveDefinite("the matrix holds NaN or infinity")
            A[first:last, first:last] = corner

            def finish(number: int, first=first, last=last, above=above, corner=corner) -> None:  # type: ignore
                rows = slice(last + number * HEIGHT, min(n, last + (number + 1) * HEIGHT))
                part = A[rows, first:last]
                if first:
                    part -= A[rows, :first] @ above.T
                part[...] = divide(1.0, corner, part, side=1, lower=1, trans_a=1)

            run_tiles(finish, -(-(n - last) // HEIGHT), n_threads)
    return A


def solve_lower(L: Matrix, B: Matrix, n_threads: int, start: int = 0) -> Matrix:
    """Overwrite B (n, m) by L^-1 B; rows of B above `start` are known to be zero."""

    def solve(number: int) -> None:
        columns = slice(number * RIGHT_SIDES, (number + 1) * RIGHT_SIDES)
        for first in range(start, len(L), PANEL):
            last = min(len(L), first + PANEL)
            if first > start:
                B[first:last, columns] -= L[first:last, start:first] @ B[start:first, columns]
            B[first:last, columns] = blas.dtrsm(1.0, L[first:last, first:last], B[first:last, columns], lower=1)

    with single_threaded_blas():
        run_tiles(solve, -(-B.shape[1] // RIGHT_SIDES), n_threads)
    return B


def solve_upper(L: Matrix, B: Matrix, n_threads: int) -> Matrix:
    """Overwrite B (n, m) by L'^-1 B."""
    n = len(L)

    def solve(number: int) -> None:
        columns = slice(number * RIGHT_SIDES, (number + 1) * RIGHT_SIDES)
        for first in range((n - 1) // PANEL * PANEL, -1, -PANEL):
            last = min(n, first + PANEL)
            if last < n:
                B[first:last, columns] -= L[last:, first:last].T @ B[last:, columns]
            corner = L[first:last, first:last]
            B[first:last, columns] = blas.dtrsm(1.0, corner, B[first:last, columns], lower=1, trans_a=1)

    with single_threaded_blas():
        run_tiles(solve, -(-B.shape[1] // RIGHT_SIDES), n_threads)
    return B


def solve_factored(L: Matrix, B: Matrix, n_threads: int) -> Matrix:
    """(L L')^-1 B as a new array."""
    return solve_upper(L, solve_lower(L, np.array(B, np.float64, order="C"), n_threads), n_threads)


def inverse(L: Matrix, n_threads: int) -> Matrix:
    """(L L')^-1, both halves filled: W = L^-1 column block by column block, then W'W."""
    n = len(L)
    W = np.eye(n)
    edges = [(first, min(n, first + PANEL)) for first in range(0, n, PANEL)]

    def invert(number: int) -> None:
        first, last = edges[number]
        solve_lower(L, W[:, first:last], 1, start=first)

    out = np.empty((n, n))

    def multiply(number: int) -> None:
        first, last = edges[number]
        out[first:last, :last] = W[first:, first:last].T @ W[first:, :last]
        out[:last, first:last] = out[first:last, :last].T

    with single_threaded_blas():
        run_tiles(invert, len(edges), n_threads)
        run_tiles(multiply, len(edges), n_threads)
    return out


def clear_upper(L: Matrix) -> Matrix:
    """Set what is above the diagonal to zero, in place, so that the array is the factor and nothing else."""
    for first in range(0, len(L), PANEL):
        last = min(len(L), first + PANEL)
        L[first:last, first:last] = np.tril(L[first:last, first:last])
        L[first:last, last:] = 0.0
    return L


def log_determinant(L: Matrix) -> float:
    """log det(L L')."""
    return 2.0 * float(np.log(np.diagonal(L)).sum())
