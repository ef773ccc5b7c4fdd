"""The smoothed losses of the proximal dual: multipliers as a function of the margins, and their sums.

With z = -(u + c), u = w'x + bias and c the linear term of the signed dual (problems/dual.py), sample i has the
multiplier

    b(u) = clip( soft( centre + s r z, s r e ), lo, hi ),      soft(t, k) = sign(t) max(|t| - k, 0)

which maximises  z b - D b^2 / 2 - e |b| - (b - centre)^2 / (2 s r)  over the box.
    linear losses  (D = 0)   r = C_i,  s the proximal parameter, centre the multipliers of the last outer round
    squared losses (D > 0)   r = 1/D,  s = 1, centre = 0: the loss is smooth already and b exact
A sample is *free* where b moves with u, with slope -s r. The gap between the primal at w and the dual at b is

    1/2 |w - X'b|^2 + sum_i comp_i,     comp_i = loss_i(u) - (z b - D b^2 / 2 - e |b|) >= 0,

exactly, as long as u = X w (and sum b = 0 where the bias is not penalised): it costs nothing beyond these sums. For
linear losses comp is summed without cancellation, with p = z - e and q = z + e:

    comp_i = p+ (hi - b) + q- (b - lo) + b+ min(p-, 2e) + b- min(q+, 2e),      t+ = max(t, 0),  t- = max(-t, 0)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin._jit import REASSOCIATE, jit
from widemargin.linalg.arrays import Vector
from widemargin.problems.dual import SignedDual

SUM_ROUNDING = 1e-15  # relative accuracy of a sum: beyond, bisection to the last bit gains nothing
BRACKET_STEPS = 200  # of Newton's method inside a bracket; a handful is usual


class Smoothed(NamedTuple):
    """The smoothed losses: centre, step = s r, and c, e and box of the dual, one entry per sample."""

    centre: Vector
    step: Vector
    linear_term: Vector
    epsilon: Vector
    lower: Vector
    upper: Vector


def smoothed_losses(dual: SignedDual, centre: Vector, step: Vector) -> Smoothed:
    """Return the losses of a dual, smoothed about `centre`."""
    return Smoothed(centre, step, dual.linear_term, dual.epsilon, dual.lower, dual.upper)


@jit
def multiplier(z, centre, step, epsilon, lower, upper):
    """The multiplier of one sample; without branches, so that loops over samples vectorise."""
    t = centre + step * z
    k = step * epsilon
    return min(max(t - min(max(t, -k), k), lower), upper)


@jit(fastmath=REASSOCIATE)
def respond(smoothed, u, squared):
    """Multipliers, sum of losses and sum of comp; squared losses are (|z| - e)^2 r / 2 = b^2 / (2 r), and comp is 0."""
    centre, step, linear_term, epsilon, lower, upper = smoothed
    beta = np.empty_like(u)
    losses = comp = 0.0
    for i in range(u.shape[0]):
        z = -(u[i] + linear_term[i])
        b = multiplier(z, centre[i], step[i], epsilon[i], lower[i], upper[i])
        beta[i] = b
        if squared:
            losses += 0.5 * b * b / step[i]
        else:
            above, below = z - epsilon[i], -z - epsilon[i]
            inside = 2.0 * epsilon[i]
            losses += max(above, 0.0) * upper[i] - max(below, 0.0) * lower[i]
            comp += max(above, 0.0) * (upper[i] - b) + max(below, 0.0) * (b - lower[i])
            comp += max(b, 0.0) * max(min(-above, inside), 0.0) + max(-b, 0.0) * max(min(-below, inside), 0.0)
    return beta, losses, comp


@jit(fastmath=REASSOCIATE)
def slope_along(smoothed, u, q, t):
    """Sum of q b(u + t q), and sums over the free of s r q^2, s r q and s r: derivatives along q and the bias."""
    centre, step, linear_term, epsilon, lower, upper = smoothed
    first = second = cross = mass = 0.0
    for i in range(u.shape[0]):
        b = multiplier(-(u[i] + t * q[i] + linear_term[i]), centre[i], step[i], epsilon[i], lower[i], upper[i])
        first += q[i] * b
        weight = step[i] * ((b > lower[i]) & (b < upper[i]) & ((b != 0.0) | (epsilon[i] == 0.0)))
        second += weight * q[i] * q[i]
        cross += weight * q[i]
        mass += weight
    return first, second, cross, mass


@jit(fastmath=REASSOCIATE)
def sum_multipliers(smoothed, u, change):
    """Return the sum of the multipliers after a change of the bias, minus its slope, and the size of its terms."""
    centre, step, linear_term, epsilon, lower, upper = smoothed
    total = slope = size = 0.0
    for i in range(u.shape[0]):
        b = multiplier(-(u[i] + change + linear_term[i]), centre[i], step[i], epsilon[i], lower[i], upper[i])
        weight = step[i] * ((b > lower[i]) & (b < upper[i]) & ((b != 0.0) | (epsilon[i] == 0.0)))
        total += b
        slope += weight
        size += abs(b) + weight * (abs(u[i] + change) + abs(linear_term[i]))
    return total, slope, size


@jit(interpret_first=True)
def bias_change(smoothed, u, change):
    """Return the change of the bias after which the multipliers sum to zero: the minimum over an unpenalised bias.

    The sum falls as the bias grows, piecewise linearly, from sum hi > 0 to sum lo < 0: Newton steps inside a bracket,
    from the given guess.
    """
    low, high = -np.inf, np.inf
    reach = 1.0
    for _ in range(BRACKET_STEPS):
        total, slope, size = sum_multipliers(smoothed, u, change)
        if abs(total) <= SUM_ROUNDING * size:
            break
        if total > 0.0:
            low = change
        else:
            high = change
        target = change + total / slope if slope > 0.0 else np.inf
        if not low < target < high:
            if low == -np.inf:
                target = high - reach
            elif high == np.inf:
                target = low + reach
            else:
                target = 0.5 * (low + high)
            reach *= 2.0
        if target == change:
            break
        change = target
    return change


@jit(interpret_first=True)
def line_minimum(smoothed, u, q, slope0, linear, quadratic, free_bias):
    """Step t along q, and the change of the bias there: bracketed Newton from the full step.

    linear + t quadratic - sum q b(u + t q) is the derivative along q. An unpenalised bias is set to its minimum at
    every t, so that the search follows the valley; by the envelope theorem the derivative
    is the same sum. The search ends where the derivative is a tenth of `slope0`, its (negative) value at zero.
    """
    t, low, high = 1.0, 0.0, np.inf
    bias = 0.0
    for _ in range(BRACKET_STEPS):
        if free_bias:
            moved = u + t * q
            bias = bias_change(smoothed, moved, bias)
            first, second, cross, mass = slope_along(smoothed, moved + bias, q, 0.0)
            if mass > 0.0:
                second -= cross * cross / mass
        else:
            first, second, _, _ = slope_along(smoothed, u, q, t)
        derivative = linear + t * quadratic - first
        if abs(derivative) <= 0.1 * abs(slope0):
            break
        if derivative > 0.0:
            high = t
        else:
            low = t
        curvature = quadratic + second
        target = t - derivative / curvature if curvature > 0.0 else np.inf
        if not low < target < high:
            target = 0.5 * (low + high) if high < np.inf else 2.0 * t
        t = target
    return t, bias
