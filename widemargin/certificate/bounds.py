"""Bounds on violation, dual value and duality gap of a point whose K b is known up to an error per variable.

Given       |F~_t - F_t| <= e_t for every variable t (kernels/errors.py says where e comes from)
Violation   slopes are monotone in F: the largest that can fall is at most max(fall + e), the lowest that can rise is at
            least min(rise - e). The rounding of f = F + D b + c itself is part of e.
Dual        1/2 b'Kb = 1/2 sum b_t F_t errs by at most 1/2 sum |b_t| e_t, and sums of n terms by gamma_n of their sizes.
            A group whose sum is off by delta is repaired by moving delta to a variable with room: the value changes by
            at most |f_t delta| + (K_tt + D_t) delta^2 / 2, for several groups (sum |delta|)^2 instead of delta^2.
            delta is known up to the rounding of Neumaier's sum, and there is a variable with room for either end.
Gap         with the scale s of w, v_t = r - c_t - s F_t and g_t(b) = v_t b - D_t b^2 / 2 - e_t |b|,

                primal(s, r) - dual = (1 - s)^2 / 2 b'Kb + sum_g r_g delta_g + sum_t phi_t,
                phi_t = max{g_t(b') : lower <= b' <= upper} - g_t(b_t) >= 0:

            term by term, so that nothing cancels however large the box is. phi_t is convex in v_t: its largest value is
            at an end of the interval given by the error. A variable at its correct bound contributes 0 whatever
            its error. (Both sides expanded: the terms in r, c and K cancel.)
Relative    to the larger of |primal| and |dual|, for a gap of at most G: where the dual is at least d >= 0, the primal
            is larger, and the ratio 1 - dual / primal is at most G / (d + G). Where it is at most -d < 0, the ratio is
            at most G / d; and always 2, since |primal - dual| <= |primal| + |dual|.

Sums of nonnegative terms are multiplied by 1 + (n + 16) u, which covers their rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.kernels.errors import UNIT
from widemargin.problems.optimality import FREE, FREE_SUM, HIGHEST, LOWEST, is_free, slopes

TINY = float(np.finfo(np.float64).tiny)  # the most that underflow costs in one operation
FEASIBILITY = 1e-9  # relative error of a group's sum; bounds on the optimum allow for it, boxes are kept exactly
ROUNDINGS = 8.0 * UNIT  # roundings of a gradient or of a loss argument, relative to the sizes of its terms

# Tables of thresholds (problems/optimality.py): as computed, and with every slope moved by its error so that the
# violation is largest or smallest.
COMPUTED, LARGEST, SMALLEST = range(3)


class Point(NamedTuple):
    """A point of a dual for compiled code: per variable, the multiplier, K b and a bound on its error."""

    beta: NDArray[np.float64]
    Kb: NDArray[np.float64]
    error: NDArray[np.float64]


class Numbers(NamedTuple):
    """Values that a certificate needs in addition to thresholds and primal.

    value, value_error : of the (maximised) dual, and a bound on its error
    squared_length, length_error : b'Kb, and a bound on its error
    infeasibility : excess over the box relative to the largest multiplier, or error of a group's sum relative to
        sum |b|
    unbalanced : the largest error of a group's sum
    mending : bound on the cost of repairing the sums
    """

    value: float
    value_error: float
    squared_length: float
    length_error: float
    infeasibility: float
    unbalanced: float
    mending: float


@jit(inner=True)
def gradient_of(terms, point, t):
    """Gradient of one variable and a bound on its error, the rounding of the gradient itself included."""
    diagonal_part = terms.diagonal[t] * point.beta[t]
    f = point.Kb[t] + diagonal_part + terms.linear_term[t]
    sizes = abs(point.Kb[t]) + abs(diagonal_part) + abs(terms.linear_term[t]) + terms.epsilon[t]
    e = point.error[t] + ROUNDINGS * sizes
    return f, e if e >= 0.0 else np.inf, sizes


@jit(interpret_first=True)
def evaluate_point(terms, point, largest_diagonal):
    """Tables of thresholds (COMPUTED, LARGEST, SMALLEST) and the `Numbers` of a point.

    largest_diagonal : of k(x, x)
    """
    smooth = magnitude = squared = length_error = size = excess = largest = mending = unbalanced = all_off = 0.0
    finite = True
    lower, upper = terms.lower, terms.upper
    n = point.beta.shape[0]
    tables = np.empty((3, max(1, terms.n_groups), 4))
    for g in range(tables.shape[1]):
        lowest = lowest_low = lowest_high = np.inf
        highest = highest_high = highest_low = -np.inf
        free_sum = free = 0.0
        total = correction = size_of_parts = lost_twice = 0.0
        for t in range(terms.starts[g], terms.starts[g + 1]):
            b, Kb, epsilon = point.beta[t], point.Kb[t], terms.epsilon[t]
            f, e, sizes = gradient_of(terms, point, t)
            finite &= (abs(f) < np.inf) & (abs(b) < np.inf) & (lower[t] <= upper[t])
            smooth += (0.5 * (Kb + terms.diagonal[t] * b) + terms.linear_term[t]) * b + epsilon * abs(b)
            magnitude += abs(b) * sizes
            squared += b * Kb
            if b != 0.0:
                length_error += abs(b) * (point.error[t] if point.error[t] >= 0.0 else np.inf)
            size += abs(b)
            largest = max(largest, abs(b))
            excess = max(excess, b - upper[t], lower[t] - b)
            for part in (b, -terms.start[t]):  # Neumaier's sum: the rounding error of each addition is kept
                summed = total + part
                lost = (total - summed) + part if abs(total) >= abs(part) else (part - summed) + total
                corrected = correction + lost
                larger, smaller = (correction, lost) if abs(correction) >= abs(lost) else (lost, correction)
                lost_twice += abs((larger - corrected) + smaller)
                correction = corrected
                total = summed
                size_of_parts += abs(part)
            rise, fall = slopes(f, b, epsilon)
            if b < upper[t]:
                lowest, lowest_low = min(lowest, rise), min(lowest_low, rise - e)
                lowest_high = min(lowest_high, rise + e)
            if b > lower[t]:
                highest, highest_low = max(highest, fall), max(highest_low, fall - e)
                highest_high = max(highest_high, fall + e)
            if is_free(b, lower[t], upper[t], epsilon):
                free_sum += rise
                free += 1.0
        tables[COMPUTED, g, LOWEST], tables[COMPUTED, g, HIGHEST] = lowest, highest
        tables[LARGEST, g, LOWEST], tables[LARGEST, g, HIGHEST] = lowest_low, highest_high
        tables[SMALLEST, g, LOWEST], tables[SMALLEST, g, HIGHEST] = lowest_high, highest_low
        tables[:, g, FREE_SUM], tables[:, g, FREE] = free_sum, free
        if terms.n_groups > 0:
            change = total + correction
            spare = 4.0 * UNIT * abs(change)
            if lost_twice > 0.0:  # else the sum is exact except for its last addition
                spare += (2.0 * n * UNIT) * (2.0 * n * UNIT) * size_of_parts
            off = abs(change) + spare
            unbalanced = max(unbalanced, off)
            all_off += off
            if off > 0.0:
                down, up = mending_cost(change - spare, terms, point, g), mending_cost(change + spare, terms, point, g)
                mending += off * max(down, up)
    if all_off > 0.0:
        mending += 0.5 * largest_diagonal * all_off * all_off
    if not finite:
        tables[:, :, FREE_SUM] = np.nan
    lost = 4.0 * n * TINY  # lost to underflow
    worst = max(excess / largest if largest > 0.0 else excess, unbalanced / size if size > 0.0 else unbalanced)
    return tables, Numbers(
        value=-smooth,
        value_error=(0.5 * length_error + (n + 8) * UNIT * magnitude + lost) * (1.0 + (n + 16) * UNIT),
        squared_length=squared,
        length_error=(length_error + (n + 8) * UNIT * magnitude + lost) * (1.0 + (n + 16) * UNIT),
        infeasibility=worst if finite else np.inf,
        unbalanced=unbalanced,
        mending=mending if excess <= 0.0 else np.inf,
    )


@jit(interpret_first=True)
def summarise(violation, computed, gap, numbers, facts):
    """Fill the bounds and values of a certificate (`certificate.FACTS`).

    violation, computed : bound on the violation, and as computed; gap : bound on primal - dual
    """
    value, error = numbers.value, numbers.value_error
    upper, lower = value + error + gap, value - error - numbers.mending
    infeasibility = numbers.infeasibility
    if numbers.mending == np.inf:  # outside the box, or no variable has room to repair a sum
        infeasibility = max(infeasibility, 2.0 * FEASIBILITY)
    facts[0] = upper if upper == upper else np.inf
    facts[1] = lower if lower == lower else -np.inf
    facts[2] = relative(gap, value, error)
    facts[3], facts[4], facts[5], facts[6] = value, violation, computed, infeasibility


@jit(interpret_first=True)
def relative(gap, value, error):
    """Return a bound on (primal - dual) / max(|primal|, |dual|).

    gap : bound on primal - dual; value, error : of the dual
    """
    if gap == 0.0 or not gap < np.inf:
        return 0.0 if gap == 0.0 else np.inf
    if value >= error:
        return gap / (value - error + gap) * (1.0 + 4.0 * UNIT)
    size = abs(value) - error  # where it is not positive, the dual may have either sign
    return min(gap / size * (1.0 + 4.0 * UNIT), 2.0) if size > 0.0 else 2.0


@jit(interpret_first=True)
def mending_cost(change, terms, point, g):
    """Return the least slope |f| of a variable of group g that has room for `change`; infinite if there is none."""
    least = np.inf
    for t in range(terms.starts[g], terms.starts[g + 1]):
        b = point.beta[t] - change
        if change == 0.0 or (b > terms.lower[t] if change > 0.0 else b < terms.upper[t]):
            f, e, _ = gradient_of(terms, point, t)
            slope = abs(f) + terms.epsilon[t] + e + terms.diagonal[t] * abs(change)
            least = min(least, slope if slope >= 0.0 else np.inf)
    return least


@jit(interpret_first=True)
def loss_excess(v, b, lower, upper, diagonal, epsilon):
    """phi = max{v b' - D b'^2 / 2 - epsilon |b'| : lower <= b' <= upper} - the same at b, without cancellation."""
    slope = v - epsilon if v > epsilon else v + epsilon if v < -epsilon else 0.0
    best = 0.0
    interior = False
    if slope != 0.0:
        best = upper if slope > 0.0 else lower
        if diagonal > 0.0 and abs(slope / diagonal) < abs(best):
            best = slope / diagonal
            interior = True
    if best == b:
        return 0.0
    if interior and best * b >= 0.0 and (b != 0.0 or epsilon == 0.0):
        return 0.5 * diagonal * (best - b) * (best - b)
    gain = best * (slope - 0.5 * diagonal * best) if best != 0.0 else 0.0
    if b == 0.0:
        return gain
    own = v - epsilon if b > 0.0 else v + epsilon  # slope at b
    if best * b > 0.0:
        return max(0.0, (best - b) * (own - 0.5 * diagonal * (best + b)))
    return gain + max(0.0, b * (0.5 * diagonal * b - own))


@jit(interpret_first=True)
def gap_at(terms, point, threshold, scale, numbers, excess):
    """Primal - dual at a scale and thresholds: an upper bound, and as computed.

    excess : filled with what the error of each variable adds to the bound
    """
    bound = computed = 0.0
    n = point.beta.shape[0]
    for g in range(terms.starts.shape[0] - 1):
        r = threshold[g] if g < threshold.shape[0] else 0.0
        for t in range(terms.starts[g], terms.starts[g + 1]):
            Kb, c, epsilon = scale * point.Kb[t], terms.linear_term[t], terms.epsilon[t]
            box = (point.beta[t], terms.lower[t], terms.upper[t], terms.diagonal[t], epsilon)
            v = r - c - Kb
            e = scale * point.error[t] + ROUNDINGS * (abs(r) + abs(c) + abs(Kb) + epsilon)
            here = loss_excess(v, *box)
            most = np.inf
            if abs(v) < np.inf and 0.0 <= e < np.inf:
                most = max(loss_excess(v - e, *box), loss_excess(v + e, *box))
            if not most >= 0.0:
                most = np.inf
            bound += most
            computed += here
            excess[t] = most - here if most < np.inf else np.inf
    bound *= 1.0 + (n + 16) * UNIT
    length, shrunk, sums = max(0.0, numbers.squared_length), 0.5 * (1.0 - scale) * (1.0 - scale), 0.0
    for g in range(threshold.shape[0]):
        sums += abs(threshold[g]) * numbers.unbalanced
    bound += shrunk * (length + numbers.length_error) + sums
    return bound * (1.0 + 16.0 * UNIT), computed + shrunk * length


@jit(interpret_first=True)
def safe_hard_scale(terms, point, threshold, scale):
    """Return the scale, raised until no variable with an infinite box can have an infinite loss; 0 if impossible."""
    for g in range(terms.starts.shape[0] - 1):
        r = threshold[g] if g < threshold.shape[0] else 0.0
        for t in range(terms.starts[g], terms.starts[g + 1]):
            if terms.diagonal[t] > 0.0:
                continue
            Kb, c, epsilon = point.Kb[t], terms.linear_term[t], terms.epsilon[t]
            e = point.error[t] + 2.0 * ROUNDINGS * (abs(r) + abs(Kb) + (abs(c) + epsilon) / max(scale, 1e-300))
            for sign in (1.0, -1.0):
                if (terms.upper[t] if sign > 0.0 else -terms.lower[t]) < np.inf:
                    continue
                need, gain = -sign * c - epsilon, sign * (Kb - r) - e
                if need > 0.0 and gain <= 0.0:
                    return 0.0
                if need > 0.0:
                    scale = max(scale, need / gain * (1.0 + 16.0 * UNIT))
    return scale


@jit(interpret_first=True)
def doubtful_slopes(terms, point, table, tol):
    """Return the variables whose slope, given its error, may be farther than tol / 2 from their group's midpoint."""
    doubtful = np.zeros(point.beta.shape[0], np.bool_)
    for g in range(table.shape[0]):
        middle, reach = 0.0, tol
        if terms.n_groups > 0:
            middle, reach = 0.5 * (table[g, LOWEST] + table[g, HIGHEST]), 0.5 * tol
        for t in range(terms.starts[g], terms.starts[g + 1]):
            b = point.beta[t]
            f, e, _ = gradient_of(terms, point, t)
            rise, fall = slopes(f, b, terms.epsilon[t])
            may_rise, may_fall = b < terms.upper[t], b > terms.lower[t]
            doubtful[t] = (may_rise and not rise - e >= middle - reach) or (may_fall and not fall + e <= middle + reach)
    return doubtful
