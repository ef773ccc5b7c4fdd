"""Solve a problem on a full matrix from a point near its answer: the next C of a path, a fold of a solved problem.

Solves   the signed dual with groups, one variable per sample, all rows in memory
Given    a State at a start, with K b and its error; the rows; a stop rule
Returns  Progress of the rounds; the state changed in place, with the error of K b tracked, so that a certificate
         need not sum K b again
How      most variables stay where they are. Pair steps on a block that grows by the worst violators (rounds.py with a
         WarmStore), and Newton steps on the free variables when pair steps have cost more than those would. Where a
         large part of the variables takes part, gathering their block would cost more than steps on all of them.
         Steps may be made on float32 rows (FullStore.fast): K b is summed from float64 rows, and more rounds
         follow until the violation is at most tol.
"""

from __future__ import annotations

import numpy as np

from widemargin._jit import jit
from widemargin.costs import COSTS
from widemargin.gram.full import FullGram, gather_block_of
from widemargin.gram.row_store import FullStore, WarmStore
from widemargin.monitor import clock
from widemargin.monitor.stopping import Stopping
from widemargin.problems.optimality import FREE, HIGHEST, LOWEST, free_variables, slopes, violation_of
from widemargin.solvers.in_memory.growing import scan_point
from widemargin.solvers.in_memory.rounds import ROWS, STEPS, VIOLATION, WORK, Progress, Rule, new_progress, solve_rounds
from widemargin.solvers.on_demand.working_set import threshold_midpoints
from widemargin.solvers.state import State
from widemargin.solvers.steps.block import block_of
from widemargin.solvers.steps.newton import newton_cost, newton_step
from widemargin.solvers.steps.packed_keys import keys_of

WORTH = 2.0  # Newton steps that pair steps may cost before one is tried; doubled after one that failed
LARGE_SHARE = 0.25  # of the variables: if more take part, steps are made on all of them
CLEARLY = 0.1  # of the violation: variables that violate by more take part
DOUBLE = 8  # bytes of the numbers on which `COSTS.pair_step` was measured
STEPS_PER_LOOK = 5_000  # steps after which the clock is read, if there is a time limit


def solve_nearby(state: State, store: FullStore, stopping: Stopping, most_steps: int) -> Progress:
    """Solve as far as `most_steps` pair steps go; see the module's header."""
    dual, kind = state.dual, store.fast.dtype
    state.Kb = state.Kb.copy()  # changed in place, and the error bound needs its value at the start
    progress, keys = new_progress(dual.n_groups, len(dual)), keys_of(len(dual), kind)
    pair_step = COSTS.pair_step * kind.itemsize / DOUBLE
    takes_many, _ = look_around(dual.terms, state.beta, state.Kb, progress.thresholds)
    rows = store if takes_many else WarmStore(*store)
    deadline, patience = stopping.deadline(), WORTH
    while True:
        n_free = len(free_variables(dual.terms, state.beta))
        work = int(progress.counts[WORK] + patience * newton_cost(n_free) / pair_step)
        most = most_steps
        if stopping.time_limit is not None:
            most = min(most, int(progress.counts[STEPS]) + STEPS_PER_LOOK)
        rows_before = int(progress.counts[ROWS])
        progress.moved[:] = 0.0
        solve_rounds(
            rows, dual.terms, state.beta, state.Kb, Rule(stopping.tol, stopping.tol, most, most, work), keys, progress
        )
        state.moved += progress.moved
        state.rows_added += int(progress.counts[ROWS]) - rows_before
        is_cut = progress.counts[WORK] >= work or progress.counts[STEPS] >= most
        is_over = progress.counts[STEPS] >= most_steps or clock.now() >= deadline
        if is_over or not is_cut or not stopping.tol < progress.reached[VIOLATION] < np.inf:
            return progress
        if progress.counts[WORK] >= work:
            patience = WORTH if newton_on_free(state) else 2.0 * patience


@jit(interpret_first=True)
def look_around(terms, beta, Kb, table):
    """Whether a large share of the variables is free or clearly violates its condition; and how many are free."""
    scan_point(terms, beta, Kb, table)
    distance, n_free, n_violators = CLEARLY * violation_of(table, terms.n_groups), 0.0, 0
    for g in range(terms.n_groups):
        n_free += table[g, FREE]
        lowest, highest = table[g, LOWEST], table[g, HIGHEST]
        middle = 0.5 * (lowest + highest) if abs(lowest) < np.inf and abs(highest) < np.inf else 0.0
        for t in range(terms.starts[g], terms.starts[g + 1]):
            b = beta[t]
            rise, fall = slopes(Kb[t] + terms.diagonal[t] * b + terms.linear_term[t], b, terms.epsilon[t])
            may_rise = b < terms.upper[t] and rise < middle - distance
            may_fall = b > terms.lower[t] and fall > middle + distance
            n_violators += 1 if may_rise or may_fall else 0
    return max(n_violators, n_free) > LARGE_SHARE * beta.shape[0], n_free


def newton_on_free(state: State) -> bool:
    """Make a Newton step on the free variables; return whether there was one."""
    dual, gram = state.dual, state.gram
    assert isinstance(gram, FullGram)
    free = free_variables(dual.terms, state.beta)
    f, thresholds, _ = state.evaluate()
    middles = threshold_midpoints(thresholds, dual.n_groups)
    K = gather_block_of(gram.matrix, free)
    part = state.restrict(free, FullGram(K))
    block = block_of(K, f[free] - middles[dual.group[free]], gram.diag[free], part.beta, part.dual.terms, gram.dtype)
    if not newton_step(block):
        return False
    part.beta = block.beta
    state.join(part, free)
    return True
