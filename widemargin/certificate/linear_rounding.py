"""Bounds on the rounding errors of the products of linear rows, from norms or, in `fine` form, from the data.

u = 2^-53, gamma_m = m u / (1 - m u); a sum of m products, in any order and with or without fused operations, is off by
at most gamma_m times the sum of the sizes of its terms. With p_i entries in row i, m multipliers that are not zero and
v = X'b:

    X w           |error_i|  <= gamma_(p_i + 3) sum_k |x_ik| |w_k|           <= gamma_(p_i + 3) |x_i| |w|
    X'b           |error_k|  <= gamma_(m + 2) sum_i |b_i| |x_ik|,     |error| <= gamma_(m + 2) sum_i |b_i| |x_i|
    X (X'b)       |error_i|  <= error of X v~ at the computed v~  +  |x_i| |v - v~|

The 3 counts the product itself, the constant column's product and the addition of two partial sums. A product that
underflows loses at most TINY, whether it is flushed to zero or not. The bounds are themselves computed: they are sums
of terms that are not negative, whose rounding SUMS covers.

See         Higham (2002), Accuracy and Stability of Numerical Algorithms, sections 3.1 and 2.2 (underflow).
"""

from __future__ import annotations

import numpy as np

from widemargin.certificate.bounds import TINY
from widemargin.kernels.errors import UNIT
from widemargin.linalg.design import Design, Index, Vector

ROOT_TINY = float(np.sqrt(TINY))  # bound on what a norm loses for each entry whose square underflows
SUMS = 1.0 + 2.0**-20  # covers gamma_m for m < 2^32: the rounding of sums of terms that are not negative


def gamma(terms: Vector | float) -> Vector | float:
    """Higham's gamma_m for m = terms, a number or an array."""
    return terms * UNIT / (1.0 - terms * UNIT)


def norm_bound(values: Vector) -> float:
    """Upper bound on the Euclidean norm of a vector."""
    return float(np.sqrt(values @ values)) * SUMS + ROOT_TINY * float(np.sqrt(len(values)))


def row_norms(rows: Design) -> Vector:
    """Upper bounds on the norms of the rows without the constant column."""
    return np.sqrt(rows.squared_norms) * SUMS + ROOT_TINY * np.sqrt(rows.d)


def times_error(rows: Design, w: Vector, fine: bool = False) -> Vector:
    """Bound, for each row, on the error of `rows.times(w)` against x_i'w plus the rounded product of the bias.

    fine : from |X| |w|, for one more pass over the data, instead of from norms
    """
    if not w[:-1].any():  # sums of zeros and the bias are exact
        return np.zeros(rows.n)
    terms = rows.terms()
    if fine:
        size = np.concatenate([chunk.times(np.abs(w)) for _, chunk in rows.absolute_chunks()])
    else:
        size = row_norms(rows) * norm_bound(w[:-1]) + abs(rows.column * w[-1])
    return (gamma(terms + 3.0) * size + (terms + 2.0) * TINY) * SUMS


def transposed_error(rows: Design, support: Index, beta: Vector) -> tuple[float, float]:
    """Bounds on the norm of the error of X'b by `rows.add_transposed` into zeros: of the features, of the bias."""
    size = np.abs(beta)
    factor = float(gamma(len(support) + 2.0))
    lost = len(support) * TINY
    features = factor * float(size @ row_norms(rows)[support]) + lost * float(np.sqrt(rows.d))
    return features * SUMS, (factor * abs(rows.column) * float(size.sum()) + lost) * SUMS


def transposed_sizes(rows: Design, support: Index, beta: Vector) -> Vector:
    """Upper bound on sum_i |b_i| |x_ik| for each feature k, the constant column last: one more pass over the data."""
    total, size = np.zeros(rows.d + 1), np.zeros(rows.n)
    size[support] = np.abs(beta)
    for part, chunk in rows.absolute_chunks():
        chunk.add_transposed(np.arange(chunk.n), size[part], total)
    return (total + len(support) * TINY) * SUMS


def function_error(rows: Design, support: Index, beta: Vector, total: Vector) -> Vector:
    """Bound, for each row, on the error of K b = X (X'b), without the bias, computed as rows.times(total).

    support, beta : the multipliers that are not zero, and where; total : X'b as `rows.add_transposed` computed it,
    with total[-1] = 0
    """
    if len(support) == 0:
        return np.zeros(rows.n)
    return (times_error(rows, total) + row_norms(rows) * transposed_error(rows, support, beta)[0]) * SUMS
