"""Certificate of the l1-penalised squared hinge: bounds on both objectives that hold with all rounding counted.

    P(w)   = sum_j |w_j| + sum_i C_i s_i^2,     s_i = max(0, 1 - y_i u_i),  u = X w + bias
    D(t a) = t A - t^2 Q,     A = sum_i a_i,  Q = sum_i a_i^2 / (4 C_i),    for any a >= 0 and t |X'(y a)|_inf <= 1

Rounding    s_i lies within E_i = error of u_i (linear_rounding.py) + 4 u |1 - y_i u_i| of the computed value.
            a_i = 2 C_i s_i as computed is a vector of floats like any other, so only the sums A, Q and G = X'(y a) are
            rounded; |G_j| is at most its computed size plus gamma_(m + 2) sum_i a_i |x_ij|, and t is the reciprocal of
            the largest, or the best t = A / (2 Q) if that is smaller.
Violation   of the conditions |g_j| <= 1 (w_j = 0) and g_j = -sign(w_j), g the gradient of the losses: from -G, with
            2 C_i E_i |x_ij| for the errors of the margins from which a was computed.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from widemargin.certificate.bounds import TINY
from widemargin.certificate.certificate import Certificate
from widemargin.certificate.linear_judge import FEW_ROUNDINGS, LEAST_RATE, NOTHING, SCALING
from widemargin.certificate.linear_rounding import SUMS, gamma, times_error, transposed_sizes
from widemargin.kernels.errors import UNIT
from widemargin.linalg.design import Design
from widemargin.problems.linear import LinearAnswer, Vector


@np.errstate(over="ignore", invalid="ignore")  # values that are not finite prove nothing
def prove_l1(rows: Design, sign: Vector, bound: Vector, answer: LinearAnswer) -> Certificate:
    """Return bounds for the weights w, with multipliers computed from their margins."""
    w = answer.weights
    if not (np.isfinite(w).all() and bound.min() >= LEAST_RATE):
        return NOTHING
    z = 1.0 - sign * rows.times(w)
    error = (times_error(rows, w, fine=True) + 4.0 * UNIT * np.abs(z)) * SUMS
    last = rows.d + 1 if rows.column != 0.0 else rows.d
    norm1 = float(np.abs(w[:last]).sum())
    low, middle, high = (np.maximum(z + side, 0.0) for side in (-error, 0.0, error))
    rest = float(gamma(max(rows.n, rows.d) + FEW_ROUNDINGS))
    floor = (rows.n + rows.d + FEW_ROUNDINGS) * 4.0 * TINY
    if last > rows.d:
        floor += 2.0 * TINY / rows.column  # an intercept that underflows
    upper, value, lower = (norm1 + float((bound * s) @ s) for s in (high, middle, low))
    primal, least = upper * (1.0 + rest) + floor, lower * (1.0 - rest) - floor

    a = 2.0 * bound * middle
    near = np.flatnonzero(a)
    G = np.zeros(rows.d + 1)
    rows.add_transposed(near, (sign * a)[near], G)
    doubt = (float(gamma(len(near) + 2.0)) * transposed_sizes(rows, near, a[near]) + len(near) * TINY) * SUMS
    largest = float((np.abs(G) + doubt)[:last].max(initial=0.0)) * (1.0 + 4.0 * UNIT)
    total, square = float(a.sum()), float((a * (a / (4.0 * bound))).sum())
    best = total / (2.0 * square) if square > 0.0 else 0.0
    t = min(best, 1.0 / largest if largest > 0.0 else math.inf) * (1.0 - 4.0 * UNIT)
    gains, costs = t * total, t * t * square
    dual = gains * (1.0 - rest) - costs * (1.0 + rest) - floor
    if not (np.isfinite(error).all() and primal < math.inf and dual > -math.inf and least > 0.0 and dual <= primal):
        return NOTHING
    steepest = float(np.abs(G)[:last].max(initial=0.0))
    plain = min(best, 1.0 / steepest if steepest > 0.0 else math.inf)
    objective = plain * total - plain * plain * square
    moved = 2.0 * bound * np.where(high > 0.0, error, 0.0)
    around = np.flatnonzero(moved)
    doubt += transposed_sizes(rows, around, moved[around]) * SUMS + 8.0 * UNIT * (np.abs(G) + 1.0)
    off = np.where(w == 0.0, np.maximum(np.abs(G) - 1.0, 0.0), np.abs(G - np.sign(w))) + doubt
    return replace(
        NOTHING,
        primal=primal,
        dual=dual,
        objective=objective,
        gap=min((primal - dual) / least * (1.0 + SCALING), 2.0),
        computed=(value - objective) / value,
        violation=float(off[:last].max(initial=0.0)),
        rounding=float(error.max()),
        drift=math.nan,
        n_support=len(near),
        n_free=len(near),
    )
