"""Certificate of a linear model: bounds on its objective and its gap that hold with all rounding counted.

For weights w, margins u = X w + bias, multipliers b in their box (summing to zero where the bias is not penalised) and
z = -(u + c), the difference of the primal at w and the dual at b is a sum of terms that are not negative:

    P(w) - D(b) = 1/2 |w - X'b|^2 + sum_i comp_i,        comp_i = loss_i(u_i) - z_i b_i + D_i b_i^2 / 2 + e_i |b_i|

so nothing cancels, whatever C (linear_judge.py). With p = z - e, q = z + e, and for b >= 0 (b < 0 is the mirror image):
    linear loss     p >= 0:  p (hi - b)              p < 0:  -p b + q- (-lo)                      q- = max(-q, 0)
    squared loss    p >= 0:  (p - D b)^2 / (2 D)     p < 0:  -p b + D b^2 / 2 + q-^2 / (2 D)

Rounding    z lies within E of the computed value, E_i = error of u_i (linear_rounding.py) + 4 u (|z| + e). Losses are
            convex with their minimum at zero, each factor above is monotone in z on its side: upper bounds are taken at
            the end of [z - E, z + E] where the factor is largest, and the larger of the two sides counts.
            |w - X'b| is at most |w - v~| + |X'b - v~|, v~ the computed product.
Data        C_i = C * weight * class weight and D_i = 1 / (2 C_i) are rounded up to three times. Losses grow by at most
            SCALING of themselves; b is shrunk by as much, so that it lies in the true box.
Underflow   of a product: at most TINY a term. Squares are divided by D before they are made, so that this stays true.
Sum         of b, exact by math.fsum. Where it has to be zero, the multipliers of the heavier sign are shrunk by the
            share that is too much, which keeps them in the box.
Shrinking   b_i by a share k_i moves X'b by at most sum_i k_i |b_i| |x_i| and raises comp_i by at most
            k_i |b_i| (|z_i| + e_i).
Bias        the model predicts with the rounded product of constant column and weight, so that product is certified.

The bounds use norms of the rows first; if they do not prove the tolerance although the computed gap meets it, they use
|X| |w| and |X|' |b|. If that does not decide either, the status is Status.UNDECIDED.
"""

from __future__ import annotations

import math

import numpy as np

from widemargin._jit import jit
from widemargin.certificate.bounds import TINY
from widemargin.certificate.certificate import Certificate
from widemargin.certificate.linear_judge import FEW_ROUNDINGS, LEAST_RATE, NOTHING, SCALING, TermSums, proof_of
from widemargin.certificate.linear_rounding import (
    SUMS,
    gamma,
    norm_bound,
    row_norms,
    times_error,
    transposed_error,
    transposed_sizes,
)
from widemargin.kernels.errors import UNIT
from widemargin.linalg.design import Index
from widemargin.problems.linear import LinearAnswer, LinearProblem, Vector


@jit
def loss_of(above, below, lower, upper, diagonal):
    """Loss where z exceeds e by `above`, or lies below -e by `below`; zero on a side where nothing is charged."""
    largest = 0.0
    if above > 0.0 and upper > 0.0:
        largest = above * (above / (2.0 * diagonal)) if diagonal > 0.0 else above * upper
    if below > 0.0 and lower < 0.0:
        largest = max(largest, below * (below / (2.0 * diagonal)) if diagonal > 0.0 else -below * lower)
    return largest


@jit
def excess_of(b, above, under, below, lower, upper, diagonal):
    """Upper bound on comp for b >= 0 and all z with  -under <= z - e <= above,  -z - e <= below; see the header."""
    beyond = within = 0.0
    if above >= 0.0 and upper > 0.0:
        if diagonal > 0.0:
            pull = diagonal * b
            off = max(above - pull, pull + min(under, 0.0))  # -under is at least zero on this side
            off += 8.0 * UNIT * (pull + above + abs(under))  # D_i, its product and the difference
            beyond = off * (off / (2.0 * diagonal))
        else:
            beyond = above * (upper - b)
    if under > 0.0:
        within = under * b + 0.5 * diagonal * b * b + loss_of(0.0, below, lower, upper, diagonal)
    return max(beyond, within)


@jit
def sum_terms(u, error, beta, terms, shrink):
    """Return the sums over the samples in objectives and gap; see the header for shrink, above and below zero."""
    linear_term, epsilon, diagonal = terms.linear_term, terms.epsilon, terms.diagonal
    lowest, highest = terms.lower, terms.upper
    least = losses = most = comp = proven = violation = largest = 0.0
    n_free = n_support = 0
    for i in range(u.shape[0]):
        b, e, D, lower, upper = beta[i], epsilon[i], diagonal[i], lowest[i], highest[i]
        z = -(u[i] + linear_term[i])
        E = (error[i] + 4.0 * UNIT * (abs(z) + e)) * SUMS
        if not np.isfinite(E):  # comparisons would drop a NaN
            return TermSums(np.nan, np.nan, np.nan, np.nan, np.nan, np.inf, np.inf, 0, 0)
        largest = max(largest, E)
        high, low = z + E, z - E
        least += loss_of(low - e, -high - e, lower, upper, D)
        losses += loss_of(z - e, -z - e, lower, upper, D)
        top = loss_of(high - e, -low - e, lower, upper, D)
        most += top
        if b >= 0.0:
            comp += excess_of(b, z - e, e - z, -z - e, lower, upper, D)
            proven += excess_of(b, high - e, e - low, -low - e, lower, upper, D)
        else:
            comp += excess_of(-b, -z - e, z + e, z - e, -upper, -lower, D)
            proven += excess_of(-b, -low - e, high + e, high - e, -upper, -lower, D)
        proven += SCALING * (top + 0.5 * D * b * b) + shrink[0 if b > 0.0 else 1] * abs(b) * (abs(z) + E + e)
        f = D * b - z
        doubt = E + 4.0 * UNIT * (D * abs(b) + abs(z))
        if b < upper:
            violation = max(violation, doubt - (f + e if b >= 0.0 else f - e))
        if b > lower:
            violation = max(violation, doubt + (f + e if b > 0.0 else f - e))
        n_support += b != 0.0
        n_free += lower < b < upper and (b != 0.0 or e == 0.0)
    return TermSums(least, losses, most, comp, proven, violation, largest, n_support, n_free)


def prove_linear(problem: LinearProblem, tol: float, answer: LinearAnswer) -> Certificate:
    """Return the coarse proof if it meets the tolerance or a finer one cannot help, else the fine one."""
    proof = prove(problem, answer)
    if proof.gap <= tol or not proof.computed <= tol:
        return proof
    return prove(problem, answer, fine=True)


@np.errstate(over="ignore", invalid="ignore")  # values that are not finite prove nothing
def prove(problem: LinearProblem, answer: LinearAnswer, *, fine: bool = False) -> Certificate:
    """Bounds for weights and multipliers; margins and total are used where the answer has them."""
    rows, dual, w, total = problem.rows, problem.dual, answer.weights, answer.total
    if not (np.isfinite(w).all() and np.isfinite(answer.beta).all() and problem.rate.min() >= LEAST_RATE):
        return NOTHING
    beta = np.clip(answer.beta, dual.lower, dual.upper)
    support = np.flatnonzero(beta)
    active = beta[support]
    if total is None or (beta != answer.beta).any():
        total = np.zeros(rows.d + 1)
        rows.add_transposed(support, active, total)
    u = rows.times(w) if answer.margins is None else answer.margins
    share, too_much = 0.0, math.fsum(active) if problem.free_bias else 0.0
    if too_much != 0.0:
        heavier = active > 0.0 if too_much > 0.0 else active < 0.0
        share = abs(too_much) / float(np.abs(active[heavier]).sum()) * SUMS
    shrink = SCALING + (share if too_much > 0.0 else 0.0), SCALING + (share if too_much < 0.0 else 0.0)
    sums = sum_terms(u, times_error(rows, w, fine), beta, dual.terms, shrink)

    last = rows.d if problem.free_bias or rows.column == 0.0 else rows.d + 1  # the penalised weights
    lost = 2.0 * UNIT * abs(float(w[-1])) + TINY / rows.column if last > rows.d else 0.0  # the bias, rounded
    weights, residual = w[:last], w[:last] - total[:last]
    half = _half_square(problem, residual, support, active, max(shrink), lost, fine)
    some = bool(len(support) or weights.any() or sums.upper > 0.0)  # else all values are exactly zero
    floor = (rows.n + rows.d + FEW_ROUNDINGS) * 4.0 * TINY + lost * (abs(float(w[-1])) + lost) if some else 0.0
    return proof_of(sums, weights, residual, half, floor, max(rows.n, rows.d))


def _half_square(
    problem: LinearProblem, residual: Vector, support: Index, beta: Vector, shrink: float, lost: float, fine: bool
) -> float:
    """Upper bound on 1/2 |w - X'b|^2, b shrunk by at most `shrink`; residual : w - v~ of the penalised weights."""
    rows, size = problem.rows, np.abs(beta)
    has_bias = len(residual) > rows.d
    if fine:
        each = (float(gamma(len(support) + 2.0)) + shrink) * transposed_sizes(rows, support, beta)
        entries = np.abs(residual) + each[: len(residual)] + len(support) * TINY
        if has_bias:
            entries[-1] += lost
        return 0.5 * float(entries @ entries) * SUMS
    features, bias = transposed_error(rows, support, beta)
    features += shrink * float(size @ row_norms(rows)[support]) * SUMS
    bias += shrink * abs(rows.column) * float(size.sum()) * SUMS + lost
    distance = norm_bound(residual) + features + (bias if has_bias else 0.0)
    return 0.5 * distance * distance * SUMS
