"""Violation and threshold (bias) of a point, by the optimality conditions of problems/dual.py.

Shared by the solvers (on their incremental gradient) and the certificate (on a recomputed one).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import REASSOCIATE, jit, stand_in
from widemargin.problems.dual import Terms

# Columns of a table of thresholds, which has one row per group: `scan_groups`.
LOWEST, HIGHEST, FREE_SUM, FREE = range(4)


@jit(inner=True)
def slopes(f, b, epsilon):
    """Return the slopes along which a variable with gradient f can rise and fall; the slope of e|b| jumps at zero."""
    return f + (epsilon if b >= 0.0 else -epsilon), f + (epsilon if b > 0.0 else -epsilon)


def slopes_of(f, b, epsilon):
    """`slopes` of several variables."""
    return f + np.where(b >= 0.0, epsilon, -epsilon), f + np.where(b > 0.0, epsilon, -epsilon)


def free_of(b, lower, upper, epsilon):
    """Whether a variable can move both ways along one slope; a mask if given arrays."""
    return (lower < b) & (b < upper) & ((b != 0.0) | (epsilon == 0.0))


is_free = jit(free_of, inner=True)  # of one variable, for compiled code


@jit(interpret_first=True)
def scan_groups(f, beta, lower, upper, epsilon, starts, n_groups):
    """Lowest slope that can rise, highest that can fall, sum and count of free slopes: one row per group, shape (., 4).

    Without groups the whole problem is one row and the two slopes are compared with zero by the caller.

    Conditional moves instead of branches: the directions are unpredictable, and a branch misprediction takes as long
    as five variables.
    """
    count = n_groups if n_groups > 0 else 1
    table = np.empty((count, 4))
    for g in range(count):
        lowest = np.inf
        highest = -np.inf
        free_sum = 0.0
        free = 0.0
        is_wild = False
        for t in range(starts[g], starts[g + 1]):
            b = beta[t]
            is_wild |= not (abs(f[t]) < np.inf) or not (abs(b) < np.inf)
            can_rise, can_fall = b < upper[t], b > lower[t]
            rise, fall = slopes(f[t], b, epsilon[t])
            low = rise if can_rise else np.inf
            high = fall if can_fall else -np.inf
            lowest = low if low < lowest else lowest
            highest = high if high > highest else highest
            counts = is_free(b, lower[t], upper[t], epsilon[t])
            free_sum += rise if counts else 0.0
            free += 1.0 if counts else 0.0
        if is_wild:
            free_sum = np.nan
        table[g, LOWEST], table[g, HIGHEST], table[g, FREE_SUM], table[g, FREE] = lowest, highest, free_sum, free
    return table


def scan_groups_by_numpy(f, beta, lower, upper, epsilon, starts, n_groups):
    """`scan_groups` with the same bits for a first fit, which does not compile it."""
    table = np.empty((max(n_groups, 1), 4))
    for g in range(len(table)):
        own = slice(starts[g], starts[g + 1])
        values, b, e = f[own], beta[own], epsilon[own]
        rise, fall = slopes_of(values, b, e)
        low = np.where((b < upper[own]) & (rise < np.inf), rise, np.inf)  # NaN counts as closed
        high = np.where((b > lower[own]) & (fall > -np.inf), fall, -np.inf)
        table[g, LOWEST] = low[low.argmin()] if len(low) else np.inf  # the first of equals, as -0.0 and 0.0 are
        table[g, HIGHEST] = high[high.argmax()] if len(high) else -np.inf
        free = rise[free_of(b, lower[own], upper[own], e)]
        table[g, FREE] = len(free)
        is_finite = np.isfinite(values).all() and np.isfinite(b).all()
        in_order = np.add.accumulate(np.append(0.0, free))  # a sum in pairs would give other bits
        table[g, FREE_SUM] = in_order[-1] if is_finite else np.nan
    return table


stand_in(scan_groups, scan_groups_by_numpy)


def free_variables(terms: Terms, beta: NDArray[np.float64]) -> NDArray[np.int64]:
    """Numbers of the free variables."""
    return np.flatnonzero(free_of(beta, terms.lower, terms.upper, terms.epsilon))


@jit(interpret_first=True)
def evaluate_dual(terms, beta, Kb):
    """Gradient, thresholds of the groups (`scan_groups`) and value of the dual at a point; K b is given per variable.

    One compiled call: NumPy's passes over all variables took a twentieth of a fit.
    """
    f = np.empty(beta.shape[0])
    value = gradient_and_value(Kb, beta, terms.linear_term, terms.diagonal, terms.epsilon, f)
    thresholds = scan_groups(f, beta, terms.lower, terms.upper, terms.epsilon, terms.starts, terms.n_groups)
    return f, thresholds, value


@jit(fastmath=REASSOCIATE)
def gradient_and_value(values, beta, linear_term, diagonal, epsilon, f):
    """f = F + D b + c, and 1/2 b'(F + D b) + c'b + e'|b|."""
    value = 0.0
    for t in range(beta.shape[0]):
        b = beta[t]
        smooth = values[t] + diagonal[t] * b
        f[t] = smooth + linear_term[t]
        value += (0.5 * smooth + linear_term[t]) * b + epsilon[t] * abs(b)
    return value


@jit(interpret_first=True)
def violation_of(table, n_groups):
    """Largest KKT violation: the widest overlap of a group, or the largest projected slope without groups.

    Infinite for a table with NaN (from a gradient that is not finite).
    """
    largest = 0.0
    for g in range(table.shape[0]):
        for k in range(table.shape[1]):
            if table[g, k] != table[g, k]:
                return np.inf
        lowest, highest = table[g, LOWEST], table[g, HIGHEST]
        excess = highest - lowest
        if n_groups == 0:
            excess = highest if highest > -lowest else -lowest
        if excess != excess:  # inf - inf: unknown
            return np.inf
        if excess > largest:
            largest = excess
    return largest


def thresholds_of(table: NDArray[np.float64], n_groups: int) -> NDArray[np.float64]:
    """Return the threshold of each group: the mean slope of free variables, or the middle of the feasible interval."""
    thresholds = np.zeros(n_groups)
    for g in range(n_groups):
        lowest, highest = table[g, LOWEST], table[g, HIGHEST]
        if table[g, FREE] > 0.0:
            mean = table[g, FREE_SUM] / table[g, FREE]  # between the two, except for the rounding of a sum
            thresholds[g] = min(max(mean, min(lowest, highest)), max(lowest, highest))
        elif lowest < np.inf and highest > -np.inf:
            thresholds[g] = 0.5 * (lowest + highest)
        elif lowest < np.inf:
            thresholds[g] = lowest
        elif highest > -np.inf:
            thresholds[g] = highest
    return thresholds


#: For compiled code. Python calls the plain function, which saves compiling time in a first fit.
compiled_thresholds_of = jit(thresholds_of, interpret_first=True)
