"""Rounds in memory, in one compiled call: rows for the worst violators, pair steps on all variables that have a row.

Solves   the signed dual with groups, one variable per sample, on a RowStore (gram/row_store.py)
Given    a store, the terms of the dual, beta and K b, a Rule
Returns  beta and K b changed in place; Progress: steps, rounds, thresholds of the groups, lowest curvature
Round    evaluate -> choose: the worst violators without a row get one and stay (growing.py) -> solve the block of all
         variables with rows -> K b += rows of what moved, in float64. Where every row is in the store from the start,
         the block is the whole problem and one round is usually enough; in float32 more rounds reduce rounding errors.
Why      small problems and class pairs take microseconds to a millisecond: rounds in Python would cost more than the
         work. Problems that do not finish here are continued in on_demand/ from the point reached.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.linalg.row_sums import add_weighted_rows
from widemargin.problems.dual import Terms
from widemargin.problems.optimality import violation_of
from widemargin.solvers.in_memory.growing import add_to_block, begin_block, evaluate_and_choose
from widemargin.solvers.steps.block import Block
from widemargin.solvers.steps.pairs import solve_pairs

UNLIMITED = 1 << 62  # work
INNER_SHARE = 0.1  # share of the violation to which a block is solved before new variables are added
ROUNDS_WHOLE, ROUNDS_GROWING = 10, 200  # limits on rounds, with all rows in memory and otherwise

STEPS, ROUNDS, ROWS, WORK = range(4)  # entries of Progress.counts
VIOLATION, CURVATURE, OBJECTIVE = range(3)  # entries of Progress.reached


class Rule(NamedTuple):
    """When to stop: violation to reach, violation and number of steps of the first round, steps and work in all."""

    tol: float
    aim: float
    first_steps: int
    max_steps: int
    max_work: int = UNLIMITED


class Progress(NamedTuple):
    """Result of a call, filled in place.

    counts : steps, rounds, rows added to K b, and work: the variables looked at in all steps
    reached : violation, lowest curvature, value of the minimised dual (where the problem is solved)
    thresholds : of the groups, as of `scan_groups`
    moved : sizes of all changes that went into K b, one per variable
    """

    counts: NDArray[np.int64]
    reached: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    moved: NDArray[np.float64]


def new_progress(n_groups: int, n_variables: int) -> Progress:
    """Return the progress record of a new solve."""
    return Progress(np.zeros(4, np.int64), np.zeros(3), np.empty((n_groups, 4)), np.zeros(n_variables))


@jit(interpret_first=True)
def solve_rounds(store, terms, beta, Kb, rule, keys, progress):
    """Rounds until the problem is solved, or until steps or rounds are used up."""
    counts, reached, table = progress.counts, progress.reached, progress.thresholds
    n_groups = table.shape[0]
    midpoints = np.empty(n_groups)
    block = begin_block(store, terms, beta)
    is_whole = block.active.shape[0] == beta.shape[0]
    while True:
        new, reached[OBJECTIVE] = evaluate_and_choose(store, terms, beta, Kb, block, rule.tol, table)
        violation = reached[VIOLATION] = violation_of(table, n_groups)
        enough = rule.aim if is_whole and counts[ROUNDS] == 0 else rule.tol
        if violation <= enough or not violation < np.inf:
            return
        if counts[STEPS] >= rule.max_steps or counts[WORK] >= rule.max_work:
            return
        if counts[ROUNDS] >= (ROUNDS_WHOLE if is_whole else ROUNDS_GROWING):
            return
        counts[ROUNDS] += 1
        block = add_to_block(store, terms, block, new)
        size = max(1, block.active.shape[0])
        tol, most = 0.5 * rule.tol, min(rule.max_steps - counts[STEPS], 1 + (rule.max_work - counts[WORK]) // size)
        if is_whole:
            tol = 0.99 * rule.tol
            if counts[ROUNDS] == 1:
                tol, most = min(tol, rule.aim), min(most, rule.first_steps)
        elif new.shape[0] > 0:
            tol = max(tol, INNER_SHARE * violation)
        for g in range(n_groups):
            is_movable = abs(table[g, 0]) < np.inf and abs(table[g, 1]) < np.inf
            midpoints[g] = 0.5 * (table[g, 0] + table[g, 1]) if is_movable else 0.0
        part = restrict(block.active, terms, beta, Kb, midpoints, store.diag, block.K, keys)
        taken, _, lowest = solve_pairs(part, tol, most)
        reached[CURVATURE] = min(reached[CURVATURE], lowest)
        added = join(block.active, part.beta, beta, store.rows, store.slot, Kb, progress.moved)
        if added < 0:
            return
        counts[STEPS] += taken
        counts[ROWS] += added
        counts[WORK] += taken * size
        if taken == 0 and new.shape[0] == 0:
            return


@jit(inner=True)
def restrict(active, terms, beta, Kb, midpoints, diag, K, keys):
    """Return the problem of the active variables, with all others fixed, as a Block."""
    q, n_groups = active.shape[0], midpoints.shape[0]
    f, total_diagonal = np.empty(q, K.dtype), np.empty(q, K.dtype)
    values = np.empty((5, q))
    starts = np.zeros(n_groups + 1, np.int64)
    g = 0
    for k in range(q):
        t = active[k]
        while t >= terms.starts[g + 1]:
            g += 1
            starts[g] = k
        diagonal = terms.diagonal[t]
        f[k] = Kb[t] + diagonal * beta[t] + terms.linear_term[t] - midpoints[g]
        total_diagonal[k] = diag[t] + diagonal
        values[0, k], values[1, k], values[2, k] = beta[t], terms.lower[t], terms.upper[t]
        values[3, k], values[4, k] = diagonal, terms.epsilon[t]
    for later in range(g + 1, n_groups + 1):
        starts[later] = q
    part = Terms(values[0], values[1], values[2], values[3], values[4], values[0], starts, n_groups)
    return Block(K, f, total_diagonal, values[0], part, keys)


@jit(inner=True)
def join(active, answer, beta, rows, slot, Kb, sizes):
    """Insert the answer of the active variables: K b += rows of what moved, and `sizes` by how much.

    Returns the number of rows, or -1 for an infinite step, which is not taken.
    """
    moved, change = np.empty(active.shape[0], np.int64), np.empty(active.shape[0])
    count = 0
    for k in range(active.shape[0]):
        if not abs(answer[k]) < np.inf:  # the general solver reports the cause
            return -1
        if answer[k] != beta[active[k]]:
            moved[count] = slot[active[k]]
            change[count] = answer[k] - beta[active[k]]
            count += 1
    for k in range(active.shape[0]):
        sizes[active[k]] += abs(answer[k] - beta[active[k]])
        beta[active[k]] = answer[k]
    add_weighted_rows(rows, np.int64(0), moved[:count], change[:count], Kb)
    return count
