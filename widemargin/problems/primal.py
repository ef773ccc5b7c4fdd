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


@jit(inner=True)
def best_scale(norm2, linear, base, G, lo, hi, ridge, kink, low, high, lower):
    """Minimise s^2/2 norm2 - s linear + sum of losses over low <= s <= high by Newton steps inside a bracket.

    Infinite losses, of an infinite box without ridge, are the caller's business and count zero here.
    lower : a value that none is below; the search ends where it can gain little of the way to it.
    """
    scale = 1.0 if low < 1.0 else low
    scale = scale if scale < high else high
    best, best_at = np.inf, scale
    for turn in range(NEWTON_STEPS):
        loss = slope = 0.0  # sums of loss_i and of G_i b*_i
        for t in range(base.shape[0]):
            v = base[t] - scale * G[t]
            if v > kink[t]:
                excess, end, sign = v - kink[t], hi[t], 1.0
            elif v < -kink[t]:
                excess, end, sign = -v - kink[t], -lo[t], -1.0
            else:
                continue
            b = end
            if ridge[t] > 0.0:
                b = excess / ridge[t]
                b = b if b < end else end
            elif end == np.inf:
                continue
            loss += excess * b - 0.5 * ridge[t] * b * b
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
        if gain <= 1e-13 * abs(best) or gain <= BEST_ENOUGH * (best - lower):
            break
        step = scale - derivative / norm2 if norm2 > 0.0 else np.inf
        middle = 0.5 * (low + high) if high < np.inf else 2.0 * scale + 1.0
        # A Newton step on the kinked derivative can creep: alternate with halving so that the bracket always shrinks.
        scale = step if low < step < high and turn % 3 != 2 else middle
    return best, best_at


@jit
def soft_primal(F, norm2, dual_value, level, shift, lo, hi, ridge, kink, start, starts, n_groups):
    """The value of `best_primal` where no loss is infinite; a scaling of 0 says that one may be."""
    base = np.empty(F.shape[0], F.dtype)
    for t in range(F.shape[0]):
        base[t] = -shift[t]
        if ridge[t] == 0.0 and (hi[t] == np.inf or lo[t] == -np.inf):
            return np.inf, 0.0
    level_sum = 0.0
    for g in range(n_groups):
        for t in range(starts[g], starts[g + 1]):
            level_sum += level[g] * start[t]
            base[t] += level[g]
    value, scale = best_scale(norm2, 0.0, base, F, lo, hi, ridge, kink, 0.0, np.inf, dual_value + level_sum)
    return value - level_sum, scale


@jit
def hard_primal(F, norm2, dual_value, level, shift, lo, hi, ridge, kink, start, starts, n_groups):
    """The same with infinite losses: the level is scaled along with w, within the scales at which they are zero."""
    base = np.empty(F.shape[0], F.dtype)
    G = np.empty(F.shape[0], F.dtype)
    for t in range(F.shape[0]):
        base[t] = -shift[t]
        G[t] = F[t]
    level_sum = 0.0
    for g in range(n_groups):
        for t in range(starts[g], starts[g + 1]):
            level_sum += level[g] * start[t]
            G[t] -= level[g]
    low, high = feasible_scales(base, G, lo, hi, ridge, kink)
    if not low <= high:
        return np.inf, 1.0
    return best_scale(norm2, level_sum, base, G, lo, hi, ridge, kink, low, high, dual_value)


def best_primal(
    dual: SignedDual, function: Vector, norm2: float, level: Vector, dual_value: float = np.inf
) -> tuple[float, float]:
    """Primal value at the best scaling, and that scaling; `function` is F per variable, `level` one per group.

    dual_value : a lower bound on it, which says how well it must be known; inf means to rounding.
    Two functions, because hard margins are rare and one for both would make every first fit compile both.
    """
    d = dual
    box = (d.shift, d.lo, d.hi, d.ridge, d.kink)
    problem = (function, norm2, dual_value, level, *box, d.start, d.group_starts, d.n_groups)
    value, scale = soft_primal(*problem)
    return hard_primal(*problem) if scale == 0.0 else (value, scale)
