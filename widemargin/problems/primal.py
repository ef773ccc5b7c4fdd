"""The primal of the signed dual, for any model, at the best scaling of the w found.

    primal(s, r) = s^2/2 b'Kb + sum_i loss_i(s F_i - r_g(i)) - sum_g r_g s_g          (losses: problems/dual.py)

A KKT tolerance alone is not a certificate: at C = 1e4 and tol = 1e-3 the function (w, r) of common solvers is 19-96 %
away from optimal, yet the rescaled (s w, r) is within 7e-4. So the primal is taken at the best s, a convex problem in
one number. Write the argument of the loss as v_i(s) = base_i - s G_i; with b*_i the maximiser inside loss_i,
d loss_i / ds = -G_i b*_i. Models with an infinite box and no diagonal (hard margin) have infinite losses: there the
threshold is scaled with w, and s is restricted to the interval in which no constraint is violated.
"""

from __future__ import annotations

import numpy as np

from widemargin._jit import jit
from widemargin.problems.dual import SignedDual, Vector

NEWTON_STEPS = 80  # safeguarded by bisection; a handful is usual
BEST_ENOUGH = 1e-3  # share of the gap to the dual that the best scaling can still gain when the search ends


@jit
def feasible_scales(terms, base, G):
    """Interval of scales s >= 0 at which no variable with an infinite box and no diagonal has an infinite loss."""
    low, high = 0.0, np.inf
    for t in range(base.shape[0]):
        if terms.diagonal[t] > 0.0:
            continue
        for side in range(2):
            sign = 1.0 - 2.0 * side
            end = terms.upper[t] if side == 0 else -terms.lower[t]
            if end < np.inf:
                continue
            need, gain = sign * base[t] - terms.epsilon[t], sign * G[t]  # need <= s gain
            if gain > 0.0:
                low = max(low, need / gain)
            elif gain < 0.0:
                high = min(high, need / gain)
            elif need > 0.0:
                high = -1.0
    return low, high


@jit(inner=True)
def best_scale(terms, norm2, linear, base, G, interval, lowest):
    """Minimise s^2/2 norm2 - s linear + sum of losses over an interval of scales by Newton steps inside a bracket.

    Infinite losses, of an infinite box without diagonal, are left to the caller and count as zero here.
    lowest : a lower bound on the value; the search ends when it can gain only a small share of the distance to it.
    """
    low, high = interval
    scale = 1.0 if low < 1.0 else low
    scale = scale if scale < high else high
    best, best_at = np.inf, scale
    for turn in range(NEWTON_STEPS):
        loss = slope = 0.0  # sums of loss_i and of G_i b*_i
        for t in range(base.shape[0]):
            v = base[t] - scale * G[t]
            if v > terms.epsilon[t]:
                excess, end, sign = v - terms.epsilon[t], terms.upper[t], 1.0
            elif v < -terms.epsilon[t]:
                excess, end, sign = -v - terms.epsilon[t], -terms.lower[t], -1.0
            else:
                continue
            b = end
            if terms.diagonal[t] > 0.0:
                b = excess / terms.diagonal[t]
                b = b if b < end else end
            elif end == np.inf:
                continue
            loss += excess * b - 0.5 * terms.diagonal[t] * b * b
            slope += sign * b * G[t]
        value = 0.5 * scale * scale * norm2 - scale * linear + loss
        if value < best:
            best, best_at = value, scale
        derivative = scale * norm2 - linear - slope
        if abs(derivative) <= 1e-13 * (scale * norm2 + abs(linear) + abs(slope)):
            break
        if derivative > 0.0:
            high = scale
        else:
            low = scale
        gain = abs(derivative) * (high - low)  # convex: no value in the bracket is lower by more
        if gain <= 1e-13 * abs(best) or gain <= BEST_ENOUGH * (best - lowest):
            break
        step = scale - derivative / norm2 if norm2 > 0.0 else np.inf
        middle = 0.5 * (low + high) if high < np.inf else 2.0 * scale + 1.0
        # Newton steps on the kinked derivative can be slow; alternating with bisection always shrinks the bracket.
        scale = step if low < step < high and turn % 3 != 2 else middle
    return best, best_at


@jit(interpret_first=True)
def soft_primal(terms, F, norm2, dual_value, threshold):
    """Return the value of `best_primal` if no loss is infinite; a scaling of 0 means that one may be."""
    base = np.empty(F.shape[0], F.dtype)
    for t in range(F.shape[0]):
        base[t] = -terms.linear_term[t]
        if terms.diagonal[t] == 0.0 and (terms.upper[t] == np.inf or terms.lower[t] == -np.inf):
            return np.inf, 0.0
    threshold_sum = 0.0
    for g in range(terms.n_groups):
        for t in range(terms.starts[g], terms.starts[g + 1]):
            threshold_sum += threshold[g] * terms.start[t]
            base[t] += threshold[g]
    value, scale = best_scale(terms, norm2, 0.0, base, F, (0.0, np.inf), dual_value + threshold_sum)
    return value - threshold_sum, scale


@jit(interpret_first=True)
def hard_primal(terms, F, norm2, dual_value, threshold):
    """`best_primal` with infinite losses: the threshold is scaled with w, within the scales at which they are zero."""
    base = np.empty(F.shape[0], F.dtype)
    G = np.empty(F.shape[0], F.dtype)
    for t in range(F.shape[0]):
        base[t] = -terms.linear_term[t]
        G[t] = F[t]
    threshold_sum = 0.0
    for g in range(terms.n_groups):
        for t in range(terms.starts[g], terms.starts[g + 1]):
            threshold_sum += threshold[g] * terms.start[t]
            G[t] -= threshold[g]
    low, high = feasible_scales(terms, base, G)
    if not low <= high:
        return np.inf, 1.0
    return best_scale(terms, norm2, threshold_sum, base, G, (low, high), dual_value)


def best_primal(
    dual: SignedDual, Kb: Vector, norm2: float, threshold: Vector, dual_value: float = np.inf
) -> tuple[float, float]:
    """Primal value at the best scaling, and that scaling; `Kb` is given per variable, `threshold` one per group.

    dual_value : a lower bound on it, which determines the required accuracy; inf means to rounding.
    There are two functions, because a single one would make every first fit compile the rare hard margins, too.
    """
    problem = (dual.terms, Kb, norm2, dual_value, threshold)
    value, scale = soft_primal(*problem)
    return hard_primal(*problem) if scale == 0.0 else (value, scale)
