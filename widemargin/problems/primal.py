"""The primal of the signed dual, for any machine, at the best scaling of the function found.

    primal(s, r) = s^2/2 b'Kb + sum_i loss_i(s F_i - r_g(i)) - sum_g r_g s_g          (losses: problems/dual.py)

A KKT tolerance alone is no certificate: at C = 1e4 and tol = 1e-3 the function (w, r) of common solvers is 19-96 %
away from optimal, yet the rescaled (s w, r) is within 7e-4. So the primal is taken at the best s, a convex problem in
one number. Write the argument of the loss as v_i(s) = base_i - s G_i; with b*_i the maximiser inside loss_i,
d loss_i / ds = -G_i b*_i. Machines with an infinite box and no ridge (hard margin) have infinite losses: there the
level is scaled along with w, and s is confined to the interval in which no constraint is broken.
"""

from __future__ import annotations

import numpy as np

from widemargin._jit import jit
from widemargin.problems.dual import SignedDual, Vector

NEWTON_STEPS = 80  # safeguarded by bisection; a handful is usual
BEST_ENOUGH = 1e-3  # of the gap to the dual: what the best scaling can still gain when the search ends


@jit
def losses_at(scale, base, G, lo, hi, ridge, kink):
    """Sum of the losses at v = base - s G and sum of G_i b*_i. Infinite boxes are the caller's business."""
    total = 0.0
    slope = 0.0
    for t in range(base.shape[0]):
        v = base[t] - scale * G[t]
        if v > kink[t]:
            excess, end, sign = v - kink[t], hi[t], 1.0
        elif v < -kink[t]:
            excess, end, sign = -v - kink[t], -lo[t], -1.0
        else:
            continue
        if ridge[t] > 0.0:
            b = min(excess / ridge[t], end)
        elif end == np.inf:
            continue
        else:
            b = end
        total += excess * b - 0.5 * ridge[t] * b * b
        slope += sign * b * G[t]
    return total, slope


@jit
def feasible_scales(base, G, lo, hi, ridge, kink):
    """Interval of scales s >= 0 at which no variable with an infinite box and no ridge has an infinite loss."""
    low, high = 0.0, np.inf
    for t in range(base.shape[0]):
        if ridge[t] > 0.0:
            continue
        for side in range(2):
            sign = 1.0 - 2.0 * side
            end = hi[t] if side == 0 else -lo[t]
            if end < np.inf:
                continue
            need, gain = sign * base[t] - kink[t], sign * G[t]  # need <= s gain
            if gain > 0.0:
                low = max(low, need / gain)
            elif gain < 0.0:
                high = min(high, need / gain)
            elif need > 0.0:
                high = -1.0
    return low, high


@jit
def best_scale(norm2, linear, base, G, lo, hi, ridge, kink, low, high, lower):
    """Minimise s^2/2 norm2 - s linear + sum of losses over low <= s <= high by Newton steps inside a bracket.

    lower : a value that none is below; the search ends where it can gain little of the way to it.
    """
    scale = min(max(1.0, low), high)
    best, best_at = np.inf, scale
    for _ in range(NEWTON_STEPS):
        loss, slope = losses_at(scale, base, G, lo, hi, ridge, kink)
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
        if abs(derivative) * (high - low) <= max(1e-13 * abs(best), BEST_ENOUGH * (best - lower)):
            break  # convex: no value in the bracket is lower by more
        step = scale - derivative / norm2 if norm2 > 0.0 else np.inf
        middle = 0.5 * (low + high) if high < np.inf else 2.0 * scale + 1.0
        # A Newton step on the kinked derivative can creep: alternate with halving so that the bracket always shrinks.
        scale = step if low < step < high and _ % 3 != 2 else middle
    return best, best_at


@jit
def primal_of(F, norm2, dual_value, level, shift, lo, hi, ridge, kink, start, starts, n_groups):
    """Primal value at the best scaling, and that scaling; F per variable, level and starts per group.

    dual_value : a lower bound on it, which says how well it must be known; inf means to rounding.
    """
    n = F.shape[0]
    hard = False
    level_sum = 0.0
    base = np.empty(n)
    G = np.empty(n)
    for t in range(n):
        base[t] = -shift[t]
        G[t] = F[t]
        hard = hard or (ridge[t] == 0.0 and (hi[t] == np.inf or lo[t] == -np.inf))
    for g in range(n_groups):
        for t in range(starts[g], starts[g + 1]):
            level_sum += level[g] * start[t]
            if hard:
                G[t] -= level[g]
            else:
                base[t] += level[g]
    low, high, linear = 0.0, np.inf, 0.0
    if hard:
        linear = level_sum
        low, high = feasible_scales(base, G, lo, hi, ridge, kink)
        if not low <= high:
            return np.inf, 1.0
    lower = dual_value if hard else dual_value + level_sum
    value, scale = best_scale(norm2, linear, base, G, lo, hi, ridge, kink, low, high, lower)
    if not hard:
        value -= level_sum
    return value, scale


def best_primal(dual: SignedDual, function: Vector, norm2: float, level: Vector) -> tuple[float, float]:
    """Primal value at the best scaling, and that scaling; `function` is F per variable, `level` one per group."""
    d = dual
    box = (d.shift, d.lo, d.hi, d.ridge, d.kink)
    return primal_of(function, norm2, np.inf, level, *box, d.start, d.group_starts, d.n_groups)
