"""Class labels from float32 kernel values where they are proven, from float64 elsewhere.

Let f~ be the value of f_k(x) = sum_j c_kj k(x, z_j) + b_k computed from float32 kernel values and summed in float64. If

    |f~ - f| <= e < |f~|

then f~ has the sign of f in exact arithmetic, and a label that depends only on such signs is proven. e is the sum of
the bounds of kernels/errors.py on the kernel values and, with n support vectors, of gamma_(n + 5) sum_j |c_j| |k_j| for
products and sums in any order: one rounding of a product, at most n + 1 of additions within blocks, across blocks and
of the two halves of a pair of classes. Beyond that

    b_k         adding it rounds once, relative to the result: u / (1 - u)
    underflow   of a product c_j k_j: at most the smallest normal number each
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin._sklearn import num_samples
from widemargin.kernels import FeatureKernel, Precomputed
from widemargin.kernels.errors import SECOND_ORDER, rounding_of_sum
from widemargin.kernels.kernel import Samples
from widemargin.kernels.samples.binary import BinaryRows
from widemargin.linalg.arrays import Matrix
from widemargin.models.expansion import Expansion, Piece, rows_not_finite, sum_by_problem
from widemargin.parallel.tiles import single_threaded_blas

WORTH_SINGLE = 1024  # rows and support vectors from which float32 blocks save more than their proof costs
TRIED_ROWS = 64  # rows spread over X, to estimate the share in doubt

Numbers = NDArray[np.intp]
Mask = NDArray[np.bool_]
Choose = Callable[[Matrix], Numbers]
ChooseSurely = Callable[[Matrix, Matrix], tuple[Numbers, Mask]]


def find_classes(
    f: Expansion, X: Any, choose: Choose, choose_surely: ChooseSurely, n_jobs: int | None = None
) -> tuple[Numbers, Numbers]:
    """Class numbers of the samples in X, and the rows whose decision values are not finite.

    choose : class numbers from decision values
    choose_surely : class numbers from decision values and bounds on their errors, and where they are certain
    """
    n_rows = num_samples(X)
    if not _may_pay(f, n_rows):
        values = f.decision(X, n_jobs)
        return choose(values), rows_not_finite(values)
    numbers, certain = np.zeros(n_rows, np.intp), np.zeros(n_rows, bool)
    tried = np.linspace(0, n_rows - 1, TRIED_ROWS).astype(np.intp)
    with single_threaded_blas():
        sure = _by_single_precision(f, X[tried], choose_surely)[1]

    def task(rows: slice) -> None:
        numbers[rows], certain[rows] = _by_single_precision(f, X[rows], choose_surely)

    if sure.sum() > TRIED_ROWS / 2:  # float32 takes half the time of float64
        f.run(task, n_rows, n_jobs)
    others = np.flatnonzero(~certain)
    if not len(others):
        return numbers, others
    values = f.decision(X if len(others) == n_rows else X[others], n_jobs)
    numbers[others] = choose(values)
    return numbers, others[rows_not_finite(values)]


def _may_pay(f: Expansion, n_rows: int) -> bool:
    """Whether float32 blocks can be faster and their errors are bounded; bits gain nothing."""
    if min(n_rows, f.coefficients.shape[1]) < WORTH_SINGLE:
        return False
    if f.kernel.accepts_objects or isinstance(f.kernel, Precomputed | FeatureKernel) or f.may_collapse():
        return False
    if isinstance(f.support(np.float64), BinaryRows):
        return False
    return bool(np.isfinite(_bounds(f, f.support(np.float32), False)).all(axis=1).any())


def _by_single_precision(f: Expansion, X: Any, choose_surely: ChooseSurely) -> tuple[Numbers, Mask]:
    """Class numbers of some rows by float32 blocks, and where they are proven."""
    n_rows = X.shape[0]
    pieces = f.pieces(X, np.float32)
    errors = _errors(f, pieces, n_rows)
    if not np.isfinite(errors).any():
        return np.zeros(n_rows, np.intp), np.zeros(n_rows, bool)
    values = f.rows(pieces, n_rows, np.float32)
    with np.errstate(invalid="ignore"):
        errors += rounding_of_sum(4) * np.abs(values)  # one addition, and one for comparing f~ with e
        return choose_surely(values, errors)


def _errors(f: Expansion, pieces: list[Piece], n_rows: int) -> Matrix:
    """Bounds on the errors of the decision values of prepared rows, before the intercept is added."""
    errors = np.empty((n_rows, len(f.intercept)), order="F")
    for piece in pieces:
        bounds = _bounds(f, piece.right, piece.general)
        with np.errstate(over="ignore", invalid="ignore"):
            terms = f.kernel.errors(piece.left)
            found = (bounds @ np.column_stack([terms.left, terms.size]).T).T
        errors[slice(None) if piece.rows is None else piece.rows] = found
    errors += f.coefficients.shape[1] * float(np.finfo(np.float64).tiny)
    return np.where(np.isnan(errors), np.inf, errors)


def _bounds(f: Expansion, right: Samples, general: bool | None) -> Matrix:
    """Return the support vectors' part of the bounds, shape (n_outputs, q + 1), summed once per preparation.

    Its columns are sum_j |c_kj| right[j] over the support vectors of output k, and sum_j |c_kj| size[j] times the
    rounding of sums.
    """

    def make() -> Matrix:
        sizes = np.abs(f.coefficients)
        with np.errstate(over="ignore", invalid="ignore"):
            terms = f.kernel.errors(right)
            totals = sum_by_problem(sizes, np.column_stack([terms.right, terms.size]), f.class_starts)
            totals[:, -1] *= rounding_of_sum(sizes.shape[1] + 5)
            return SECOND_ORDER * totals

    return make() if general is None else f.once(("bounds", general), make)
