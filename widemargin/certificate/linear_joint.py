"""Certificate of the joint machine of many classes: bounds on objective and gap that hold with all rounding counted.

With m_ik = w_k'x_i + bias_k + [k != y_i] and M_i = max_k m_ik, weights W and multipliers a of crammer_singer.py:

    P(W) - D(a) = 1/2 |W - X'a|^2 + sum_i { (C_i - a_iy) (M_i - m_iy) + sum_{k != y} (-a_ik) (M_i - m_ik) }

because the multipliers of a sample sum to zero: a sum of terms that are not negative, in which nothing cancels.

Point       a_ik of the other classes as they are, cut at zero; a_iy is minus their sum S_i as a real number, which
            makes the sample's sum exact. Where S_i exceeds C_i (by rounding), and by the roundings of C_i itself, the
            sample's multipliers are shrunk by a share k_i.
Rounding    m_ik is off by at most E_i = gamma_(p_i + 8) (sum_j |x_ij| |w_jk| + |bias_k| + 1), p_i entries in row i;
            C_i - a_iy by (k_i + gamma_K) S_i + SCALING C_i;
            X'a by at most sum_i S_i |x_i| (2 gamma_(n + 2) + 2 k_i + gamma_K), for |a_i|_2 <= 2 S_i.
Two classes are predicted by one vector c = w_1 - w_0: certified is the pair -c/2, c/2.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.certificate.linear import FEW_ROUNDINGS, LEAST_RATE, NOTHING, SCALING, Proof
from widemargin.certificate.linear_rounding import SUMS, TINY, UNIT, gamma, norm_bound, row_norms
from widemargin.linalg.rows import SparseRows
from widemargin.problems.linear import Vector


@jit
def sum_samples(indptr, indices, values, column, labels, cost, W, alpha, norms, V):
    """Sums over the samples; fills V = X'a.

    Returns losses (lower bound, computed, upper bound), comp (computed, upper bound), the bound on the error of V, the
    violation and the largest E.
    """
    n, K = alpha.shape
    last = W.shape[0] - 1
    m, size, a = np.empty(K), np.empty(K), np.empty(K)
    lower = losses = upper = comp = proven = doubt = violation = largest = 0.0
    gamma_K = (K + 4) * UNIT / (1.0 - (K + 4) * UNIT)
    gamma_n = (n + 2) * UNIT / (1.0 - (n + 2) * UNIT)
    for i in range(n):
        own, C = labels[i], cost[i]
        for k in range(K):
            bias = column * W[last, k]
            m[k] = bias + (k != own)
            size[k] = abs(bias) + 1.0
        for p in range(indptr[i], indptr[i + 1]):
            for k in range(K):
                term = values[p] * W[indices[p], k]
                m[k] += term
                size[k] += abs(term)
        terms = indptr[i + 1] - indptr[i] + 8
        E = (terms * UNIT / (1.0 - terms * UNIT) * size.max() + terms * TINY) * SUMS
        if not np.isfinite(E):  # comparisons with NaN would lose it
            return np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.inf, np.inf
        largest = max(largest, E)
        other, lowest, S = -np.inf, np.inf, 0.0
        for k in range(K):
            a[k] = min(alpha[i, k], 0.0) if k != own else 0.0
            S -= a[k]
            if k != own:
                other = max(other, m[k])
            if a[k] < 0.0 and k != own:
                lowest = min(lowest, m[k])
        a[own] = S
        if S < C:
            lowest = min(lowest, m[own])
        M = max(other, m[own])
        violation = max(violation, M - lowest + 2.0 * E)
        shrink = 2.0 * SCALING + max(S * (1.0 + gamma_K) / C - 1.0, 0.0)
        behind = other - m[own]
        lower += C * max(behind - 2.0 * E, 0.0)
        losses += C * max(behind, 0.0)
        upper += C * max(behind + 2.0 * E, 0.0)
        room = max(C - S, 0.0)
        comp += room * max(behind, 0.0)
        proven += (room + SCALING * C + (shrink + gamma_K) * S) * max(behind + 2.0 * E, 0.0)
        for k in range(K):
            if a[k] < 0.0 and k != own:
                comp -= a[k] * (M - m[k])
                proven -= a[k] * (M - m[k] + 2.0 * E)
        if S > 0.0:
            doubt += S * (norms[i] + abs(column)) * (2.0 * gamma_n + 2.0 * shrink + gamma_K)
            for p in range(indptr[i], indptr[i + 1]):
                for k in range(K):
                    V[indices[p], k] += values[p] * a[k]
            for k in range(K):
                V[last, k] += column * a[k]
    return lower, losses, upper, comp, proven, doubt, violation, largest


def prove_joint(rows: SparseRows, labels: NDArray[np.int64], bound: Vector, W: Vector, alpha: Vector) -> Proof:
    """Bounds for weights W, one column per class, and multipliers alpha, one row per sample."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite proves nothing
        return _prove(rows, labels, bound, W, alpha)


def _prove(rows: SparseRows, labels: NDArray[np.int64], bound: Vector, W: Vector, alpha: Vector) -> Proof:
    if not (np.isfinite(W).all() and np.isfinite(alpha).all() and bound.min() >= LEAST_RATE):
        return NOTHING
    if W.shape[1] == 2:
        half_way = 0.5 * (W[:, 1] - W[:, 0])
        W = np.ascontiguousarray(np.array([-half_way, half_way]).T)
    V = np.zeros_like(W)
    data = (rows.indptr, rows.indices, rows.values, rows.column, labels, bound)
    sums = sum_samples(*data, W, alpha, row_norms(rows), V)
    lower, losses, upper, comp, proven, doubt, violation, largest = sums
    last = rows.d + 1 if rows.column != 0.0 else rows.d
    residual, weights = (W - V)[:last].ravel(), W[:last].ravel()
    lost = 2.0 * UNIT * norm_bound(W[-1]) + W.shape[1] * TINY / rows.column if last > rows.d else 0.0
    entries = len(labels) + W.size
    square = float(weights @ weights)
    distance = norm_bound(residual) + (doubt + entries * TINY) * SUMS + lost
    floor = entries * 4.0 * TINY + lost * (norm_bound(W[-1]) + lost)
    rest = float(gamma(max(rows.n, W.size) + FEW_ROUNDINGS))
    primal = (upper + 0.5 * square) * (1.0 + rest) + floor
    least = (lower + 0.5 * square) * (1.0 - rest) - floor
    gap = (0.5 * distance * distance + proven) * SUMS + floor
    if not (gap < math.inf and primal < math.inf):
        return NOTHING
    value, difference = losses + 0.5 * square, 0.5 * float(residual @ residual) + comp
    dual = least - gap
    return Proof(
        primal=primal,
        dual=dual - 2.0 * UNIT * abs(dual),
        objective=value - difference,
        gap=min(gap / least * (1.0 + SCALING), 2.0) if least > 0.0 else 2.0,
        computed=difference / value if value > 0.0 else math.inf,
        violation=violation,
        rounding=largest,
        drift=float(np.abs(residual).max(initial=0.0)),
        n_support=int(np.count_nonzero(alpha.any(axis=1))),
        n_free=0,
    )
