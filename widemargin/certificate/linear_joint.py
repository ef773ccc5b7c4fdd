"""Certificate of the joint model of many classes: bounds on objective and gap that hold with all rounding counted.

With m_ik = w_k'x_i + bias_k + [k != y_i] and M_i = max_k m_ik, weights W and multipliers a of crammer_singer.py:

    P(W) - D(a) = 1/2 |W - X'a|^2 + sum_i { (C_i - a_iy) (M_i - m_iy) + sum_{k != y} (-a_ik) (M_i - m_ik) }

because the multipliers of a sample sum to zero: a sum of terms that are not negative, in which nothing cancels.

Point       a_ik of the other classes as they are, cut at zero; a_iy is minus their sum S_i as a real number, which
            makes the sample's sum exact. Where S_i exceeds C_i (by rounding), and by the roundings of C_i itself, the
            sample's multipliers are shrunk by a share k_i.
Rounding    m_ik is off by at most E_i = gamma_(p_i + 8) (sum_j |x_ij| |w_jk| + |bias_k| + 1), p_i entries in row i;
            C_i - a_iy by (k_i + gamma_K) S_i + SCALING C_i;
            X'a by at most sum_i S_i |x_i| (2 gamma_(n + 2) + 2 k_i + gamma_K), for |a_i|_2 <= 2 S_i.
Two classes are predicted by one vector c = w_1 - w_0: the pair -c/2, c/2 is certified.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.certificate.bounds import TINY
from widemargin.certificate.certificate import Certificate
from widemargin.certificate.linear_judge import LEAST_RATE, NOTHING, SCALING, TermSums, proof_of
from widemargin.certificate.linear_rounding import SUMS, gamma, norm_bound, row_norms
from widemargin.kernels.errors import UNIT
from widemargin.linalg.design import SparseDesign
from widemargin.problems.linear import LinearAnswer, Vector


@np.errstate(over="ignore", invalid="ignore")  # values that are not finite prove nothing
def prove_joint(rows: SparseDesign, labels: NDArray[np.int64], cost: Vector, answer: LinearAnswer) -> Certificate:
    """Bounds for weights W, one column per class, and multipliers alpha, one row per sample."""
    W, alpha = answer.weights, answer.beta
    if not (np.isfinite(W).all() and np.isfinite(alpha).all() and cost.min() >= LEAST_RATE):
        return NOTHING
    (n, K), own = alpha.shape, (np.arange(len(labels)), labels)
    if K == 2:
        half_way = 0.5 * (W[:, 1] - W[:, 0])
        W = np.array([-half_way, half_way]).T
    wrong = np.ones((n, K))
    wrong[own] = 0.0
    bias, terms = rows.column * W[-1], rows.terms() + 8.0
    m = rows.X @ W[:-1] + (bias + wrong)
    size = np.concatenate([abs(rows.X[part]) @ np.abs(W[:-1]) for part in rows.chunks()])
    size = (size + np.abs(bias) + 1.0).max(axis=1)
    E = (gamma(terms) * size + terms * TINY) * SUMS
    if not np.isfinite(E).all():  # comparisons would drop a NaN
        return NOTHING

    a = np.minimum(alpha, 0.0) * wrong
    S = -a.sum(axis=1)
    other = np.where(wrong, m, -np.inf).max(axis=1)
    M, behind = np.maximum(other, m[own]), other - m[own]
    held = a < 0.0
    held[own] = cost > S
    lowest = np.where(held, m, np.inf).min(axis=1)
    gamma_K, gamma_n = gamma(K + 4.0), gamma(n + 2.0)
    shrink = 2.0 * SCALING + np.maximum(S * (1.0 + gamma_K) / cost - 1.0, 0.0)
    room = np.maximum(cost - S, 0.0)
    losses, upper = np.maximum(behind, 0.0), np.maximum(behind + 2.0 * E, 0.0)
    distance = M[:, None] - m
    doubt = float((S * (row_norms(rows) + abs(rows.column))) @ (2.0 * gamma_n + 2.0 * shrink + gamma_K))
    sums = TermSums(
        lower=float(cost @ np.maximum(behind - 2.0 * E, 0.0)),
        losses=float(cost @ losses),
        upper=float(cost @ upper),
        comp=float(room @ losses - np.vdot(a, distance)),
        proven=float(
            (room + SCALING * cost + (shrink + gamma_K) * S) @ upper - np.vdot(a, distance + 2.0 * E[:, None])
        ),
        violation=max(float((M - lowest + 2.0 * E).max()), 0.0),
        rounding=float(E.max()),
        n_support=int(np.count_nonzero(alpha.any(axis=1))),
        n_free=0,
    )
    a[own] = S
    V = np.vstack([rows.X.T @ a, rows.column * a.sum(axis=0)])

    last = rows.d + 1 if rows.column != 0.0 else rows.d
    weights, residual = W[:last].ravel(), (W - V)[:last].ravel()
    bias_norm, entries = norm_bound(W[-1]), n + W.size
    lost = 2.0 * UNIT * bias_norm + K * TINY / rows.column if last > rows.d else 0.0
    off = norm_bound(residual) + (doubt + entries * TINY) * SUMS + lost
    floor = entries * 4.0 * TINY + lost * (bias_norm + lost)
    return proof_of(sums, weights, residual, 0.5 * off * off, floor, max(n, W.size))
