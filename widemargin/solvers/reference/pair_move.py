"""The exact step of SMO: two multipliers change, the others stay fixed.

In signed multipliers the sum b_1 + b_2 = gamma is kept, so labels and the two cases (13), (14) of the ends become one,

    L = max(lo_2, gamma - hi_1),  H = min(hi_2, gamma - lo_1)
    eta = K_11 + D_1 + K_22 + D_2 - 2 K_12                       (15)
    b_2 <- clip(b_2 - (f_2 - f_1) / eta, L, H)                   (16), (17)      b_1 <- gamma - b_2     (18)

eta <= 0 (equal points, or no valid kernel): the end with the lower objective, or no step if both are the same (19).
A kink (regression) cuts the line at b_1 = 0 and b_2 = 0: the step is found in every quadrant that contains the current
pair, with slope f_2 - f_1 + e (sgn b_2 - sgn b_1), and the best is taken (Theorem 7.18).

See  Platt (1998), section 2.1; Cristianini & Shawe-Taylor (2000), Theorems 7.12 and 7.18.
"""

from __future__ import annotations

import numpy as np

from widemargin._jit import jit

LARGEST = 1e150  # multiplier times K: squares beyond it leave the numbers of the machine, so no step goes there
ETA_FLOOR = 1e-12  # curvature over the diagonal entries: below it is rounding; equal points give zero (Platt, 2.1)


@jit
def quadrant(lower, upper, epsilon, side):
    """The part of a box in which b keeps the sign `side`; without a kink, side +1 is the whole box and -1 is empty."""
    if epsilon == 0.0:
        return (lower, upper) if side > 0.0 else (np.inf, -np.inf)
    return (max(lower, 0.0), upper) if side > 0.0 else (lower, min(upper, 0.0))


@jit
def end_value(end, b, slope, eta):
    """Change of the objective from b to an end of the line; no progress counted towards an infinite end."""
    if not np.isfinite(end):
        return 0.0
    return slope * (end - b) + 0.5 * eta * (end - b) ** 2


@jit
def pair_move(b1, b2, slope, eta, scale, lo1, hi1, lo2, hi2, kink1, kink2):
    """New (b_1, b_2) and the decrease of the objective; slope = f_2 - f_1, scale = K_11 + D_1 + K_22 + D_2.

    Bounds are assigned exactly, so that tests for being at a bound are exact afterwards.
    """
    total = b1 + b2
    best1, best2, best = b1, b2, 0.0
    for side1 in (1.0, -1.0):
        l1, u1 = quadrant(lo1, hi1, kink1, side1)
        if b1 < l1 or b1 > u1:
            continue
        for side2 in (1.0, -1.0):
            l2, u2 = quadrant(lo2, hi2, kink2, side2)
            if b2 < l2 or b2 > u2:
                continue
            low, high = max(l2, total - u1), min(u2, total - l1)
            if not low < high:
                continue
            here = slope + kink2 * side2 - kink1 * side1
            curvature = eta
            if eta <= ETA_FLOOR * scale:
                at_low, at_high = end_value(low, b2, here, eta), end_value(high, b2, here, eta)
                if at_low < 0.0 or at_high < 0.0:
                    new2 = low if at_low < at_high else high
                elif here != 0.0 and not np.isfinite(low if here > 0.0 else high):
                    curvature = max(ETA_FLOOR * scale, 1e-300)  # hard margin on equal points: a very long step shows it
                    new2 = b2 - here / curvature
                else:
                    continue
            else:
                new2 = b2 - here / eta
            new2 = min(max(new2, low), high)
            new1 = total - new2
            if (new2 == low and total - u1 >= l2) or new1 > u1:
                new1 = u1
            elif (new2 == high and total - l1 <= u2) or new1 < l1:
                new1 = l1
            if not abs(new2) < LARGEST / max(1.0, scale):
                continue
            step = new2 - b2
            decrease = -(here * step + 0.5 * curvature * step * step)
            if decrease > best:
                best, best1, best2 = decrease, new1, new2
    return best1, best2, best


@jit
def open_slopes(f, b, lower, upper, epsilon):
    """Slope along which b can rise (inf if it cannot) and along which it can fall (-inf if it cannot)."""
    rise = np.inf
    fall = -np.inf
    if b < upper:
        rise = f + epsilon if b >= 0.0 else f - epsilon
    if b > lower:
        fall = f + epsilon if b > 0.0 else f - epsilon
    return rise, fall
