"""Solve a signed dual: in memory where its rows are, on demand otherwise.

Solves   the signed dual of problems/dual.py, every SVM of the package
Given    a Gram, a stop rule, optionally a feasible start and its K b
Returns  a Solution
How      a problem whose rows are in memory is solved by one compiled call (in_memory/rounds.py), one that starts near
         its answer by a few of them (in_memory/nearby.py); problems that these cannot finish, from the point reached,
         and all others are solved by working sets (on_demand/solver.py).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from widemargin.gram.gram import Gram
from widemargin.gram.row_store import FullStore
from widemargin.gram.scores import Scores
from widemargin.monitor import clock
from widemargin.monitor.interrupt import status_of
from widemargin.monitor.iteration import Watch
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import thresholds_of
from widemargin.solvers import tuning as block_tuning
from widemargin.solvers.in_memory.nearby import STEPS_PER_LOOK, solve_nearby
from widemargin.solvers.in_memory.rounds import (
    CURVATURE,
    OBJECTIVE,
    ROUNDS,
    STEPS,
    VIOLATION,
    Progress,
    Rule,
    new_progress,
    solve_rounds,
)
from widemargin.solvers.on_demand.solver import BlockSolver, has_no_margin
from widemargin.solvers.solution import Solution
from widemargin.solvers.state import State
from widemargin.solvers.steps.packed_keys import keys_of
from widemargin.solvers.tuning import BlockTuning


def solve_blocks(
    dual: SignedDual,
    gram: Gram,
    stopping: Stopping,
    start: NDArray | None = None,
    function: NDArray | Scores | None = None,
    watch: Watch | None = None,
    tuning: BlockTuning | None = None,
) -> Solution:
    """Solve a signed dual; `function` is K b at `start` if the caller knows it, with its error if that is known too."""
    began, deadline, rows_before = clock.now(), stopping.deadline(), gram.rows_computed
    tuning = block_tuning.DEFAULT if tuning is None else tuning
    state = State.at(dual, gram, start, function)
    aim = stopping.tol if start is not None else exact_aim(dual, gram, stopping, tuning)
    progress = solve_in_memory(state, stopping, tuning, aim, is_near=start is not None)
    if progress is not None and is_solved(state, progress, stopping.tol, tuning):
        solution = Solution(
            beta=state.beta,
            Kb=state.Kb,
            thresholds=thresholds_of(progress.thresholds, dual.n_groups),
            status=Status.OPTIMAL,
            violation=float(progress.reached[VIOLATION]),
            objective=float(progress.reached[OBJECTIVE]),
            iterations=int(progress.counts[STEPS]),
            rounds=int(progress.counts[ROUNDS]),
            rows_computed=gram.rows_computed - rows_before,
            seconds=clock.now() - began,
            error=state.error,
        )
        return solution if watch is None else reported(solution, progress, stopping.tol, watch)
    solver = BlockSolver(state, stopping, tuning, deadline, aim)
    solver.began, solver.rows_before = began, rows_before
    if progress is not None:
        solver.iterations, solver.rounds = int(progress.counts[STEPS]), int(progress.counts[ROUNDS])
        solver.inner.lowest_curvature = float(progress.reached[CURVATURE])
    return solver.run(watch)


solve_blocks.tracks_error = True  # type: ignore[attr-defined]


def exact_aim(dual: SignedDual, gram: Gram, stopping: Stopping, tuning: BlockTuning) -> float:
    """Return the violation at which the first steps end: tol, or rounding for a small problem."""
    if len(dual) > tuning.exact or gram.dtype != np.float64 or stopping.criterion != "kkt":
        return stopping.tol
    size = max(1.0, float(np.abs(dual.linear_term).max(initial=0.0)), float(gram.diag.max(initial=0.0)))
    return min(stopping.tol, tuning.exact_violation * size)


def solve_in_memory(
    state: State, stopping: Stopping, tuning: BlockTuning, aim: float, is_near: bool
) -> Progress | None:
    """Solve by compiled calls on rows in memory, changing the state; None for problems that they do not support.

    is_near : whether the caller gave the state's point, near its answer or for a problem of a family
    """
    dual, store = state.dual, state.gram.store
    if store is None or not dual.is_plain or dual.n_groups == 0 or stopping.criterion != "kkt":
        return None
    is_small = np.abs(dual.linear_term).max() <= tuning.largest_single_precision
    if state.gram.dtype == np.float32 and not is_small:
        return None
    most = tuning.steps_per_call if stopping.max_iter < 0 else min(tuning.steps_per_call, stopping.max_iter)
    if is_near and isinstance(store, FullStore):
        return solve_nearby(state, store if is_small else store._replace(fast=store.rows), stopping, most)
    if state.gram.is_whole and len(dual) > tuning.single:
        return None
    state.start = None  # the error of K b is not tracked here: it can be summed again from the rows
    first_steps = tuning.exact_steps if aim < stopping.tol and not len(dual.hard) else most
    rule = Rule(stopping.tol, aim, first_steps, most)
    progress, keys = new_progress(dual.n_groups, len(dual)), keys_of(len(dual), state.gram.dtype)
    deadline = stopping.deadline()
    while True:
        if stopping.time_limit is not None:
            rule = rule._replace(max_steps=min(most, int(progress.counts[STEPS]) + STEPS_PER_LOOK))
        solve_rounds(store, dual.terms, state.beta, state.Kb, rule, keys, progress)
        if progress.counts[STEPS] < rule.max_steps or rule.max_steps == most or clock.now() >= deadline:
            return progress


def is_solved(state: State, progress: Progress, tol: float, tuning: BlockTuning) -> bool:
    """Whether the compiled calls reached a final answer."""
    violation, curvature = progress.reached[VIOLATION], progress.reached[CURVATURE]
    return violation <= tol and curvature >= 0.0 and not has_no_margin(state, tuning.smallest_margin2)


def reported(solution: Solution, progress: Progress, tol: float, watch: Watch) -> Solution:
    """Report a solution to `watch`, which may end the fit, and return it."""
    try:
        watch(solution.iteration(tol, int(progress.thresholds[:, 3].sum())))
    except KeyboardInterrupt as interrupt:
        return replace(solution, status=status_of(interrupt))
    return solution
