"""The exact step of SMO: two multipliers change, all others are fixed.

In signed multipliers the sum b_1 + b_2 = gamma is kept, so labels and the two cases (13), (14) of the ends become one,

    L = max(lo_2, gamma - hi_1),  H = min(hi_2, gamma - lo_1)
    eta = K_11 + D_1 + K_22 + D_2 - 2 K_12                       (15)
    b_2 <- clip(b_2 - (f_2 - f_1) / eta, L, H)                   (16), (17)      b_1 <- gamma - b_2     (18)

eta <= 0 (equal points, or an indefinite kernel): the end with the lower objective, or no step if both are equal (19).
A kink (regression) cuts the line at b_1 = 0 and b_2 = 0: the step is found in every quadrant that contains the current
pair, with slope f_2 - f_1 + e (sgn b_2 - sgn b_1), and the best is taken (Theorem 7.18).

See  Platt (1998), section 2.1; Cristianini & Shawe-Taylor (2000), Theorems 7.12 and 7.18.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from widemargin._jit import jit
from widemargin.problems.optimality import is_free, slopes

LARGEST = 1e150  # multiplier times K: squares beyond it overflow, so no step goes there
ETA_FLOOR = 1e-12  # curvature over the diagonal entries: below it is rounding; equal points give zero (Platt, 2.1)


class Multiplier(NamedTuple):
    """One variable: its value b, its gradient f, its box and its kink."""

    b: float
    f: float
    lower: float
    upper: float
    epsilon: float


@jit
def open_slopes(v):
    """Slope along which v can rise (inf if it cannot) and along which it can fall (-inf if it cannot)."""
    rise, fall = slopes(v.f, v.b, v.epsilon)
    return rise if v.b < v.upper else np.inf, fall if v.b > v.lower else -np.inf


@jit
def threshold_between(one, two):
    """Equations (20) and (21): the threshold that puts a non-bound point of a pair on its margin, else halfway."""
    by_one, by_two = one.f + one.epsilon * np.sign(one.b), two.f + two.epsilon * np.sign(two.b)
    if is_free(one.b, one.lower, one.upper, one.epsilon):
        return by_one
    return by_two if is_free(two.b, two.lower, two.upper, two.epsilon) else 0.5 * (by_one + by_two)


@jit
def quadrant(v, side):
    """The part of a box in which b keeps the sign `side`; without a kink, side +1 is the whole box and -1 is empty."""
    if v.epsilon == 0.0:
        return (v.lower, v.upper) if side > 0.0 else (np.inf, -np.inf)
    return (max(v.lower, 0.0), v.upper) if side > 0.0 else (v.lower, min(v.upper, 0.0))


@jit
def end_value(end, b, slope, eta):
    """Return the change of the objective from b to an end of the line; zero for an infinite end."""
    if not np.isfinite(end):
        return 0.0
    return slope * (end - b) + 0.5 * eta * (end - b) ** 2


@jit
def pair_move(one, two, eta, scale):
    """New (b_1, b_2) and the decrease of the objective; scale = K_11 + D_1 + K_22 + D_2.

    Bounds are assigned exactly, so that tests for being at a bound are exact afterwards.
    """
    total = one.b + two.b
    best1, best2, best = one.b, two.b, 0.0
    for side1 in (1.0, -1.0):
        l1, u1 = quadrant(one, side1)
        if one.b < l1 or one.b > u1:
            continue
        for side2 in (1.0, -1.0):
            l2, u2 = quadrant(two, side2)
            low, high = max(l2, total - u1), min(u2, total - l1)
            if two.b < l2 or two.b > u2 or not low < high:
                continue
            slope = two.f - one.f + two.epsilon * side2 - one.epsilon * side1
            curvature = eta
            if eta > ETA_FLOOR * scale:
                new2 = two.b - slope / eta
            else:
                at_low, at_high = end_value(low, two.b, slope, eta), end_value(high, two.b, slope, eta)
                if at_low < 0.0 or at_high < 0.0:
                    new2 = low if at_low < at_high else high
                elif slope != 0.0 and not np.isfinite(low if slope > 0.0 else high):
                    curvature = max(ETA_FLOOR * scale, 1e-300)  # hard margin on equal points: a very long step
                    new2 = two.b - slope / curvature
                else:
                    continue
            new2 = min(max(new2, low), high)
            new1 = total - new2
            if (new2 == low and total - u1 >= l2) or new1 > u1:
                new1 = u1
            elif (new2 == high and total - l1 <= u2) or new1 < l1:
                new1 = l1
            step = new2 - two.b
            decrease = -(slope * step + 0.5 * curvature * step * step)
            if decrease > best and abs(new2) < LARGEST / max(1.0, scale):
                best, best1, best2 = decrease, new1, new2
    return best1, best2, best
