"""Bounds on the errors of computed kernel values, for each way of evaluation, in a form that can be summed.

    |k~(x_i, z_j) - k(x_i, z_j)|   <=  sum_q left[i, q] right[j, q]     k of the data as given, k~ as computed
    |k(x_i, z_j)|, |k~(x_i, z_j)|  <=  size[i] size[j]

so that a sum F_i = sum_j b_j k_ij, computed from values k~ with m additions in float64 in any order, is within

    left[i] . sum_j |b_j| right[j]  +  gamma_(m + 5) size[i] sum_j |b_j| size[j]

of the exact sum, gamma_m = m u / (1 - m u) (Higham 2002, section 3.1): a product with n values costs two scalar sums.

Letters     u        unit roundoff of the precision of the values: 2^-24 or 2^-53
            d        largest number of roundings of a sum over features
            s        roundings of |x|^2 or |x|_1 as stored: negligible where float64 sums are used for float32 values
            r, s     |x|_2 and |x|_1 of a sample as stored, after it was moved to an origin where it was
            dl       how far the sample as stored is from the one given: at most u r if it was rounded or moved

Exponentials of t = scale * distance. All bounds are absolute and need nothing to be small:
    t off by a relative h    |exp(-t (1 + h)) - exp(-t)| <= h / (e (1 - h)), since t exp(-t) <= 1/e
    t off by h               |exp(-t - h) - exp(-t)| <= |h|, both exponents being <= 0
    Gaussian, data off       |d/dD exp(-gamma D^2)| <= sqrt(2 gamma / e), so sqrt(2 gamma / e) (dl_i + dl_j)
    exp itself               3 u relative (kernels/exponential.py), and 0 instead of a value below the smallest normal

Every count below is of roundings in first order. SECOND_ORDER covers products of them, the rounding of the bound itself
and of norms; it is enough while d u <= SMALL, and beyond that the bound is infinite. Underflow costs at most the
smallest normal number per operation, whether a processor flushes or not, and is counted where it could matter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin.linalg.arrays import Vector

UNIT = float(np.finfo(np.float64).eps) / 2
SECOND_ORDER = 1.02
SMALL = 0.01  # largest d u for which SECOND_ORDER covers what a first-order count omits
EXP_ERROR = 3.0  # units: relative error of exp of a nonpositive number
STEEPEST_GAUSSIAN = float(np.sqrt(2.0 / np.e))  # the largest slope of exp(-D^2)
LARGEST_WEIGHTED = float(np.exp(-1.0))  # the largest t exp(-t)


class ErrorTerms(NamedTuple):
    """Bounds on computed values of a kernel on some samples; see the module's header.

    left, right : shape (n, q)
    size : shape (n,); infinite where nothing is known about the size of values
    """

    left: Vector
    right: Vector
    size: Vector

    def take(self, index: NDArray[np.int64]) -> ErrorTerms:
        return ErrorTerms(self.left[index], self.right[index], self.size[index])

    def joined(self, other: ErrorTerms) -> ErrorTerms:
        """Return the terms of these samples, followed by others evaluated in the same way."""
        return ErrorTerms(*(np.concatenate([mine, theirs]) for mine, theirs in zip(self, other)))

    def rounded_to(self, dtype: DTypeLike) -> ErrorTerms:
        """Return the terms of the values rounded to another precision, which changes each by at most u of its size."""
        unit, least = unit_of(dtype), float(np.finfo(dtype).tiny)
        left = np.column_stack([self.left, unit * self.size, np.full(len(self.size), least)])
        return ErrorTerms(left, np.column_stack([self.right, self.size, np.ones(len(self.size))]), self.size)

    def of_sums(self, weights: Vector, n_terms: float, of: ErrorTerms | None = None) -> Vector:
        """Bound on the error of sum_j b_j k(x_i, z_j) for each sample x_i, computed with `n_terms` additions.

        weights : |b_j|, or the sum of the sizes of all changes that made b_j up; one per sample of `of`
        of : terms of the samples z_j; None means the same samples as x_i
        """
        of, used = self if of is None else of, np.flatnonzero(weights)
        with np.errstate(invalid="ignore", over="ignore"):
            rounding = rounding_of_sum(n_terms + 5) * self.size * float(weights[used] @ of.size[used])
        return self.of_values(weights, of, rounding)

    def of_values(self, weights: Vector, of: ErrorTerms | None = None, rounding: Vector | float = 0.0) -> Vector:
        """As `of_sums`, for sums whose rounding is given; infinite where no bound is known."""
        of, used = self if of is None else of, np.flatnonzero(weights)
        with np.errstate(invalid="ignore", over="ignore"):
            error = SECOND_ORDER * (self.left @ (weights[used] @ of.right[used]) + rounding)
        error[np.isnan(error)] = np.inf
        return error if len(used) else np.zeros(len(self.size))

    def largest(self) -> float:
        """Bound on the error of any value among these samples."""
        if not len(self.size):
            return 0.0
        with np.errstate(invalid="ignore", over="ignore"):
            bound = float((self.left.max(axis=0) * self.right.max(axis=0)).sum())
        return float("inf") if np.isnan(bound) else bound


def rounding_of_sum(n_terms: float) -> float:
    """gamma_m in float64: relative to the sum of the sizes of the terms, in any order of summation."""
    return n_terms * UNIT / (1.0 - n_terms * UNIT) if n_terms * UNIT < 0.5 else float("inf")


def unit_of(dtype: DTypeLike) -> float:
    """u, the largest relative error of one rounded operation."""
    return float(np.finfo(dtype).eps) / 2


def additive(share: Vector, size: Vector) -> ErrorTerms:
    """|error| <= share_i + share_j."""
    ones = np.ones(len(share))
    share = np.where(np.isnan(share), np.inf, SECOND_ORDER * share)
    return ErrorTerms(np.column_stack([share, ones]), np.column_stack([ones, share]), size)


def multiplicative(coefficient: float, factor: Vector, size: Vector) -> ErrorTerms:
    """|error| <= coefficient factor_i factor_j."""
    factor = np.where(np.isnan(factor), np.inf, factor)
    left = SECOND_ORDER * coefficient * factor if coefficient else np.zeros(len(factor))
    return ErrorTerms(left[:, None], factor[:, None] if coefficient else np.zeros((len(factor), 1)), size)


def unknown(n: int, dtype: DTypeLike) -> ErrorTerms:
    """Terms of kernels without stated errors: float64 values are exact by definition, and of unknown size."""
    share = np.zeros(n) if np.dtype(dtype) == np.float64 else np.full(n, np.inf)
    return additive(share, np.full(n, np.inf))


def exponential_by_table(n: int, scale: float, step: float, dtype: DTypeLike) -> ErrorTerms:
    """Entries exp(-scale step k) of a float64 table: five roundings of t, two of numpy's exp, one to the precision."""
    share = 5.0 * UNIT + (unit_of(dtype) if np.dtype(dtype) != np.float64 else 0.0)
    if not all(is_normal(number, np.float64) for number in (scale, step, scale * step)):
        share = float("inf")
    return additive(np.full(n, 0.5 * share), np.ones(n))


def gaussian_by_differences(gamma: float, d: int, norms: Vector, rounded: bool, dtype: DTypeLike) -> ErrorTerms:
    """Each difference is rounded once and enters twice, then product and d sums; two more for gamma: d + 5 of t.

    norms : r; rounded : whether the samples may differ from the data given
    """
    u, limits = unit_of(dtype), np.finfo(dtype)
    share = 0.5 * (LARGEST_WEIGHTED * (d + 5) * u + EXP_ERROR * u + (2 * gamma * d + 1) * float(limits.tiny))
    data = STEEPEST_GAUSSIAN * np.sqrt(gamma) * (u * norms + np.sqrt(d) * float(limits.tiny)) if rounded else 0 * norms
    return additive(_within(share + data, norms, gamma, d, dtype), np.ones(len(norms)))


def gaussian_by_products(
    gamma: float, d: int, s: int, norms: Vector, dtype: DTypeLike, data: Vector | float
) -> ErrorTerms:
    """gamma (r_i^2 + r_j^2) bounds 2 gamma |x'z| too: d roundings of the product, s of squares, six more.

    data : dl of each sample
    """
    u, limits = unit_of(dtype), np.finfo(dtype)
    with np.errstate(over="ignore"):
        share = (d + s + 6) * u * gamma * norms**2 + 0.5 * EXP_ERROR * u + (gamma * d + 1) * float(limits.tiny)
        share = share + STEEPEST_GAUSSIAN * np.sqrt(gamma) * data
    return additive(_within(share, norms, gamma, d + s, dtype), np.ones(len(norms)))


def _within(share: Vector, norms: Vector, gamma: float, d: int, dtype: DTypeLike) -> Vector:
    """Return the bounds, infinite where sums of squares could overflow, gamma is subnormal, or counts are not small."""
    with np.errstate(over="ignore"):
        return np.where(np.isfinite(bounded(norms * np.sqrt(max(1.0, gamma)), d, dtype, gamma)), share, np.inf)


def exponential_of_l1(
    gamma: float, d: int, s: int, sums: Vector, steepness: float, direct: bool, dtype: DTypeLike
) -> ErrorTerms:
    """exp(-gamma distance) for distances of L1 kind, sums = |x|_1; direct, or from what sparse samples have in common.

    direct    at most seven roundings of each term, d of the sum: relative to t
    common    each common term errs by four roundings of what it is made of, and d additions follow; s of |x|_1; then
              gamma and the difference, six more: all relative to gamma (|x|_1 + |z|_1)
    Rounding the data moves the distance by at most `steepness` u (|x|_1 + |z|_1).
    """
    u, limits = unit_of(dtype), np.finfo(dtype)
    constant = 0.5 * EXP_ERROR * u + (gamma * d + 1) * float(limits.tiny)
    with np.errstate(over="ignore"):
        data = (steepness * u * gamma if np.dtype(dtype) != np.float64 else 0.0) * sums
        if direct:
            share = constant + 0.5 * LARGEST_WEIGHTED * (d + 7) * u + data
        else:
            share = constant + (d + s + 11) * u * gamma * sums + data
    return additive(_within(share, np.sqrt(sums), gamma, d + s, dtype), np.ones(len(sums)))


def inner_product(
    d: int, norms: Vector, dtype: DTypeLike, rounded: bool = True, exact: NDArray[np.bool_] | bool = False
) -> ErrorTerms:
    """|error of x'z| <= (d + 2) u r_i r_j, two of it for rounding the data; with a share for underflow.

    exact : samples whose products with each other are exact; a product errs if either is not
    """
    u, limits = unit_of(dtype), np.finfo(dtype)
    factor = norms + float(np.sqrt(float(limits.tiny) / u))
    terms = multiplicative((d + (2 if rounded else 0)) * u, bounded(factor, d, dtype), SECOND_ORDER * factor)
    inexact = np.broadcast_to(~np.asarray(exact), norms.shape)[:, None]  # max(I_i, I_j) = I_i + (1 - I_i) I_j
    left = np.hstack([np.where(inexact, terms.left, 0.0), np.where(inexact, 0.0, terms.left)])
    return ErrorTerms(left, np.hstack([terms.right, np.where(inexact, terms.right, 0.0)]), terms.size)


def power(degree: int, gamma: float, coef0: float, d: int, norms: Vector, dtype: DTypeLike) -> ErrorTerms:
    """(gamma x'z + coef0)^p: |base| <= A_i A_j with A^2 = |gamma| r^2 + |coef0|, and errs by (d + 6) u A_i A_j.

    p factors of that, and at most 2 p products: p (d + 8) u A_i^p A_j^p.
    """
    u, limits = unit_of(dtype), np.finfo(dtype)
    smallest = float(np.sqrt(float(limits.tiny) / u))  # underflow of a product or of a power
    base = np.sqrt(abs(gamma) * norms**2 + abs(coef0)) + smallest * (1 + abs(gamma))
    with np.errstate(over="ignore"):
        factor = base**degree + smallest
    count = degree * (d + 8)
    return multiplicative(count * u, bounded(factor, count, dtype, gamma, coef0), SECOND_ORDER * factor)


def sigmoid(gamma: float, coef0: float, d: int, norms: Vector, dtype: DTypeLike) -> ErrorTerms:
    """tanh has slopes of one and less: (d + 6) u (|gamma| r_i r_j + |coef0|), and nine roundings of its own."""
    u, limits = unit_of(dtype), np.finfo(dtype)
    factor = np.sqrt(abs(gamma)) * (norms + float(np.sqrt(float(limits.tiny) / u)))
    product = multiplicative((d + 6) * u, bounded(factor, d, dtype, gamma, coef0), np.ones(len(norms)))
    constant = np.full(len(norms), 0.5 * u * ((d + 6) * abs(coef0) + 9.0) + float(limits.tiny))
    return stacked([product, additive(constant, np.ones(len(norms)))], np.ones(len(norms)))


def cosine(d: int, s: int, squares: Vector, dtype: DTypeLike) -> ErrorTerms:
    """(d + s + 8) u, where products neither overflow nor underflow before the division; 0 for zero samples.

    squares : NaN where they underflowed
    """
    u, limits = unit_of(dtype), np.finfo(dtype)
    is_safe = (squares == 0) | ((squares > float(limits.tiny) / u * (d + 1)) & (squares < float(limits.max) * u))
    share = np.where(is_safe, 0.5 * (d + s + 8) * u, np.inf) if (d + s) * u <= SMALL else np.full(len(squares), np.inf)
    return additive(share, np.ones(len(squares)))


def bounded(factor: Vector, count: float, dtype: DTypeLike, *parameters: float) -> Vector:
    """Infinite where a product of two factors could overflow, the count of roundings is not small, or a parameter is no
    normal number of the precision."""
    if count * unit_of(dtype) > SMALL or not all(is_normal(parameter, dtype) for parameter in parameters):
        return np.full(len(factor), np.inf)
    return np.where(factor < np.sqrt(float(np.finfo(dtype).max) / 16), factor, np.inf)


def is_normal(parameter: float, dtype: DTypeLike) -> bool:
    """Whether rounding a number to a precision has a relative error of at most u."""
    limits = np.finfo(dtype)
    return parameter == 0.0 or float(limits.tiny) < abs(parameter) < float(limits.max) / 16


def stacked(parts: list[ErrorTerms], size: Vector) -> ErrorTerms:
    """Return the terms of a sum of values, whose errors add up."""
    return ErrorTerms(np.hstack([part.left for part in parts]), np.hstack([part.right for part in parts]), size)


def of_sum(parts: list[ErrorTerms], dtype: DTypeLike) -> ErrorTerms:
    """Return the terms of k1 + k2 + ..., with a rounding for each sum; sizes by Cauchy and Schwarz."""
    size = np.sqrt(sum(part.size**2 for part in parts))
    return stacked([*parts, multiplicative(len(parts) * unit_of(dtype), size, size)], size)


def of_product(parts: list[ErrorTerms], dtype: DTypeLike) -> ErrorTerms:
    """Return the terms of k1 k2 ...: |k1~ k2~ - k1 k2| <= |k1| err2 + |k2| err1 + err1 err2, and a rounding."""
    total = parts[0]
    for part in parts[1:]:
        size = total.size * part.size
        with np.errstate(invalid="ignore"):
            terms = [
                (total.size[:, None] * part.left, total.size[:, None] * part.right),
                (part.size[:, None] * total.left, part.size[:, None] * total.right),
                (_outer(total.left, part.left), _outer(total.right, part.right)),
            ]
        left, right = (np.nan_to_num(np.hstack(side), nan=np.inf, posinf=np.inf) for side in zip(*terms))
        product = ErrorTerms(left, right, size)
        total = stacked([product, multiplicative(2 * unit_of(dtype), size, size), underflow(len(size), dtype)], size)
    return total


def scaled(factor: float, terms: ErrorTerms, dtype: DTypeLike) -> ErrorTerms:
    """Return the terms of factor * k: the factor and the product are rounded."""
    size = np.sqrt(factor) * terms.size
    if not is_normal(factor, dtype):
        size = np.full(len(size), np.inf)
    product = ErrorTerms(factor * terms.left, terms.right, size)
    return stacked([product, multiplicative(2 * unit_of(dtype), size, size), underflow(len(size), dtype)], size)


def underflow(n: int, dtype: DTypeLike) -> ErrorTerms:
    """Bound on the underflow of one product: the smallest normal number, twice if a factor has underflowed."""
    return additive(np.full(n, float(np.finfo(dtype).tiny)), np.zeros(n))


def _outer(a: Vector, b: Vector) -> Vector:
    """Return all products of a column of one array with a column of the other."""
    return (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)
