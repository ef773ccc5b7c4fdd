"""Rounds in memory, in one compiled call: rows for the worst violators, pair steps on all variables that have a row.

Solves   the signed dual with groups, one variable per sample, on a RowStore (gram/row_store.py)
Given    a store, the terms of the dual, beta and K b, a Rule
Returns  beta and K b changed in place; Progress: steps, rounds, thresholds of the groups, lowest curvature
Round    evaluate -> choose: the worst violators without a row get one and stay -> solve the block of all variables
         with rows -> K b += rows of what moved, in float64. Where every row is in the store from the start, the block
         is the whole problem and one round is usually enough; in float32 the rounds remove what rounding left.
Why      small problems and class pairs take microseconds to a millisecond: rounds in Python would cost more than the
         work. What does not end here goes on in on_demand/ from the point it came to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.gram.row_store import evaluate_rows, gather_square
from widemargin.linalg.row_sums import add_weighted_rows
from widemargin.problems.dual import Terms
from widemargin.problems.optimality import scan_groups, slopes, violation_of
from widemargin.solvers.in_memory.violators import extreme_slopes, take_worst
from widemargin.solvers.steps.block import Block
from widemargin.solvers.steps.pairs import solve_pairs

INNER_SHARE = 0.1  # of the violation: how far the block is solved before new variables are asked for
ROUNDS_WHOLE, ROUNDS_GROWING = 10, 200  # at most, with all rows known and otherwise
NEW = 24  # variables that get a row in a round: with more, some are evaluated in vain; fewer take more rounds
FIRST_CAPACITY = 256  # variables the block has room for at first; doubled when it is full

STEPS, ROUNDS = range(2)  # entries of Progress.counts
VIOLATION, CURVATURE = range(2)  # entries of Progress.reached


class Rule(NamedTuple):
    """When to stop: violation to reach, violation and number of steps of the first round, steps in all."""

    tol: float
    aim: float
    first_steps: int
    max_steps: int


class Progress(NamedTuple):
    """What a call reached, filled in place.

    counts : steps, rounds
    reached : violation, lowest curvature
    thresholds : of the groups, as of `scan_groups`
    """

    counts: NDArray[np.int64]
    reached: NDArray[np.float64]
    thresholds: NDArray[np.float64]


def new_progress(n_groups: int) -> Progress:
    """Of a solve that begins."""
    return Progress(np.zeros(2, np.int64), np.zeros(2), np.empty((n_groups, 4)))


@jit
def solve_rounds(store, terms, beta, Kb, rule, keys, progress):
    """Rounds until the problem is solved, or until steps or rounds are used up."""
    n = beta.shape[0]
    n_groups = terms.starts.shape[0] - 1
    counts, reached, new = progress.counts, progress.reached, np.empty(NEW, np.int64)
    active = np.empty(n, np.int64)
    q = collect_active(store.slot, active)
    is_whole = q == n
    capacity = max(FIRST_CAPACITY, q)
    K = store.rows if is_whole else np.empty((capacity, capacity), store.rows.dtype)
    gathered = 0
    midpoints = np.empty(n_groups)
    rise, fall = np.empty(0 if is_whole else n), np.empty(0 if is_whole else n)
    if not is_whole:
        slopes_outside(terms, beta, store.slot, rise, fall)
    while True:
        violation, count = find_violators(
            terms, (beta, Kb), active[:q], (rise, fall), rule.tol, midpoints, progress.thresholds, new
        )
        reached[VIOLATION] = violation
        enough = rule.aim if is_whole and counts[ROUNDS] == 0 else rule.tol
        if violation <= enough or not np.isfinite(violation) or counts[STEPS] >= rule.max_steps:
            return
        if counts[ROUNDS] >= (ROUNDS_WHOLE if is_whole else ROUNDS_GROWING):
            return
        counts[ROUNDS] += 1
        if count > 0:
            evaluate_rows(store, new[:count])
            for k in range(count):
                active[q + k] = new[k]
                rise[new[k]] = np.inf
                fall[new[k]] = -np.inf
            q += count
            if n_groups > 1:  # groups must lie together in the block
                collect_active(store.slot, active)
                gathered = 0
        if not is_whole:
            if q > capacity:
                capacity = min(n, 2 * q)
                K = np.empty((capacity, capacity), store.rows.dtype)
                gathered = 0
            gather_square(store.rows, store.slot, active[:q], gathered, K)
            gathered = q
        tol, most = 0.5 * rule.tol, rule.max_steps - counts[STEPS]
        if is_whole:
            tol = 0.99 * rule.tol
            if counts[ROUNDS] == 1:
                tol, most = min(tol, rule.aim), min(most, rule.first_steps)
        elif count > 0:
            tol = max(tol, INNER_SHARE * violation)
        taken, lowest, finite = improve(store, K, active[:q], terms, beta, Kb, (midpoints, tol, most), keys)
        reached[CURVATURE] = min(reached[CURVATURE], lowest)
        counts[STEPS] += taken
        if not finite or (taken == 0 and count == 0):
            return


@jit
def collect_active(slot, active):
    """Numbers of the variables with a row, in order; returns how many."""
    q = 0
    for t in range(slot.shape[0]):
        if slot[t] >= 0:
            active[q] = t
            q += 1
    return q


@jit
def improve(store, K, active, terms, beta, Kb, how, keys):
    """Restrict to the active variables, solve their block K, and join: K b += rows of what moved.

    how : threshold midpoints of the groups, violation to reach, steps at most
    Returns the number of steps, the lowest curvature, and False for a step without end, which is not taken.
    """
    midpoints, tol, most = how
    q, n_groups = active.shape[0], midpoints.shape[0]
    f, total_diagonal = np.empty(q, K.dtype), np.empty(q, K.dtype)
    inner = np.empty((6, q))
    starts = np.zeros(n_groups + 1, np.int64)
    g = 0
    for k in range(q):
        t = active[k]
        while t >= terms.starts[g + 1]:
            g += 1
            starts[g] = k
        f[k] = Kb[t] + terms.diagonal[t] * beta[t] + terms.linear_term[t] - midpoints[g]
        total_diagonal[k] = store.diag[t] + terms.diagonal[t]
        inner[0, k], inner[1, k], inner[2, k] = beta[t], terms.lower[t], terms.upper[t]
        inner[3, k], inner[4, k], inner[5, k] = terms.diagonal[t], terms.epsilon[t], terms.linear_term[t]
    for later in range(g + 1, n_groups + 1):
        starts[later] = q
    part = Terms(inner[5], inner[1], inner[2], inner[3], inner[4], inner[0], starts, n_groups)
    steps, _, lowest = solve_pairs(Block(K, f, total_diagonal, inner[0], part, keys), tol, most)
    moved, change = np.empty(q, np.int64), np.empty(q)
    count = 0
    for k in range(q):
        if not np.isfinite(inner[0, k]):  # the general solver will name the cause
            return 0, lowest, False
        if inner[0, k] != beta[active[k]]:
            moved[count] = store.slot[active[k]]
            change[count] = inner[0, k] - beta[active[k]]
            count += 1
    for k in range(q):
        beta[active[k]] = inner[0, k]
    add_weighted_rows(store.rows, 0, moved[:count], change[:count], Kb)
    return steps, lowest, True


@jit
def slopes_outside(terms, beta, slot, rise, fall):
    """Slopes of the variables without a row, less K b: their beta stays what it is, so that only K b changes.

    Infinite where a direction is closed, and for variables with a row.
    """
    for t in range(beta.shape[0]):
        rise[t], fall[t] = np.inf, -np.inf
        if slot[t] < 0:
            up, down = slopes(terms.diagonal[t] * beta[t] + terms.linear_term[t], beta[t], terms.epsilon[t])
            if beta[t] < terms.upper[t]:
                rise[t] = up
            if beta[t] > terms.lower[t]:
                fall[t] = down


@jit
def find_violators(terms, point, active, outside, tol, midpoints, table, new):
    """The violation, thresholds (in `table`) and their midpoints, and the worst violators without a row (in `new`).

    point : beta and K b
    outside : `slopes_outside`, empty where every variable has a row
    Returns the violation and the number of violators. Columns 2 and 3 of the thresholds (sum and number of free slopes)
    are filled only where the problem is solved.
    """
    beta, Kb = point
    rise, fall = outside
    n, n_groups = beta.shape[0], midpoints.shape[0]
    count = np.int64(0)  # a plain 0 is a type of its own to Numba, which would compile `take_worst` twice
    is_whole = active.shape[0] == n
    violation = np.inf
    if not is_whole:
        for g in range(n_groups):
            first, last = terms.starts[g], terms.starts[g + 1]
            table[g, 0], table[g, 1], table[g, 2] = extreme_slopes(Kb, rise, fall, first, last)
            table[g, 3] = 0.0
        widen_by_active(terms, beta, Kb, active, table)
        violation = violation_of(table, n_groups)
    if is_whole or violation <= tol or not np.isfinite(violation):
        f = np.empty(n)
        for t in range(n):
            f[t] = Kb[t] + terms.diagonal[t] * beta[t] + terms.linear_term[t]
        found = scan_groups(f, beta, terms.lower, terms.upper, terms.epsilon, terms.starts, n_groups)
        for g in range(n_groups):  # assigning slices would compile the message of an error that cannot come: 3 s
            for k in range(4):
                table[g, k] = found[g, k]
        violation = violation_of(table, n_groups)
    for g in range(n_groups):
        is_movable = np.isfinite(table[g, 0]) and np.isfinite(table[g, 1])
        midpoints[g] = 0.5 * (table[g, 0] + table[g, 1]) if is_movable else 0.0
        if is_movable and not is_whole and tol < violation < np.inf:
            group = (terms.starts[g], terms.starts[g + 1])
            count = take_worst(Kb, outside, group, midpoints[g], new, count, new.shape[0] // (2 * n_groups))
    return violation, count


@jit
def widen_by_active(terms, beta, Kb, active, table):
    """Lowest and highest slopes of each group with those of the active variables counted."""
    g = 0
    for t in active:
        while t >= terms.starts[g + 1]:
            g += 1
        f = Kb[t] + terms.diagonal[t] * beta[t] + terms.linear_term[t]
        up, down = slopes(f, beta[t], terms.epsilon[t])
        if beta[t] < terms.upper[t] and up < table[g, 0]:
            table[g, 0] = up
        if beta[t] > terms.lower[t] and down > table[g, 1]:
            table[g, 1] = down
