"""Where a solve begins: small problems and pairs of classes are a few compiled calls, the rest is for the block solver.

Solves   the signed dual of problems/dual.py, every machine of the package
Given    a Gram, a stop rule, optionally a feasible start and its F = K b
Returns  a Solution; of `solve_pair` None where one compiled call is not enough
Why      a problem of 2,000 samples is solved in milliseconds, a pair of classes in half of one: rounds in Python would
         cost as much again. What the compiled calls cannot end (solvers/whole.py, solvers/growing.py) goes on in
         solvers/block.py from where they came.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

import widemargin.solvers.block as block
from widemargin.gram.full import FullGram
from widemargin.gram.gram import Gram
from widemargin.gram.pair import PairGram
from widemargin.gram.scores import Scores
from widemargin.monitor.interrupt import status_of
from widemargin.monitor.iteration import Watch
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import levels_of, violation_of
from widemargin.solvers.growing import solve_growing
from widemargin.solvers.packed import key_limits
from widemargin.solvers.solution import Solution
from widemargin.solvers.whole import solve_whole


def solve_blocks(
    dual: SignedDual,
    gram: Gram,
    stopping: Stopping,
    start: NDArray | None = None,
    function: NDArray | Scores | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Solve a signed dual; `function` is F = K start when the caller knows it, with its error if that is known too."""
    beta, scores = starting_point(dual, gram, start, function)
    function = scores.values
    solver = block.BlockSolver(
        dual, gram, stopping, cold=start is None, start=Scores(scores.values.copy(), scores.error)
    )
    if is_plain(dual, stopping) and isinstance(gram, FullGram | PairGram):
        solution = solve_at_once(solver, beta, function)
        if solution is not None:
            try:
                if watch is not None:
                    watch(solver.report(solver.table, solution.objective))
            except KeyboardInterrupt as interrupt:
                solution.status = status_of(interrupt)
            return solution
    return solver.run(beta, function, watch)


def starting_point(
    dual: SignedDual, gram: Gram, start: NDArray | None, function: NDArray | Scores | None
) -> tuple[NDArray, Scores]:
    """Beta and F = K beta to be changed in place: of `start`, or of the dual's own; F is computed where it is None."""
    beta = np.array(dual.start if start is None else start, dtype=np.float64)
    if function is None:
        return beta, gram.scores(dual.per_sample(beta))
    if isinstance(function, Scores):
        return beta, Scores(function.values.copy(), function.error)
    return beta, Scores.untracked(np.array(function, dtype=np.float64))


def is_plain(dual: SignedDual, stopping: Stopping) -> bool:
    """Whether compiled calls can take the problem: groups, one variable per sample, KKT criterion."""
    return dual.row is None and dual.sign is None and dual.n_groups > 0 and stopping.criterion == "kkt"


def solve_at_once(solver: block.BlockSolver, beta: NDArray, function: NDArray) -> Solution | None:
    """The answer of the compiled calls, or None, with beta, function and the solver as far as it came."""
    dual, stopping, gram = solver.dual, solver.stopping, solver.gram
    most = block.STEPS_PER_CALL if stopping.max_iter < 0 else min(block.STEPS_PER_CALL, stopping.max_iter)
    if gram.dtype == np.float32 and np.abs(dual.linear_term).max() > block.LARGEST_SINGLE:
        return None
    solver.start = None  # no track is kept of what goes into F here; rows are at hand to sum it again
    if isinstance(gram, PairGram):
        solver.iterations, solver.rounds, table, solver.lowest_curvature = solve_growing(
            dual, gram, beta, function, solver.tol, most
        )
        violation = violation_of(table, dual.n_groups)
    elif isinstance(gram, FullGram) and len(dual) <= block.WHOLE:
        position, limits = key_limits(len(dual), gram.dtype)
        solver.iterations, solver.rounds, solver.lowest_curvature, table = solve_whole(
            gram.matrix, gram.diag, dual.linear_term, dual.lower, dual.upper, dual.diagonal, dual.epsilon,
            dual.group_starts,
            beta, function, solver.tol, 0.99 * solver.tol, solver.aim, most, solver.first_steps, position, limits,
        )  # fmt: skip
        violation = violation_of(table, dual.n_groups)
    else:
        return None
    solver.beta, solver.function, solver.table = beta, function, table
    if not violation <= solver.tol or solver.lowest_curvature < 0.0 or (solver.may_run_away and solver.has_no_margin()):
        return None
    return solver.solution(Status.OPTIMAL, table)


def solve_pair(
    dual: SignedDual,
    gram: PairGram,
    stopping: Stopping,
    start: NDArray | None = None,
    function: NDArray | None = None,
) -> Solution | None:
    """`solve_blocks` for a pair of classes and little else, in one compiled call: None where that is not enough.

    A machine for 26 classes asks for 325 of these, of half a millisecond each. The objective is left for the
    certificate, which computes it anyway.
    """
    if not is_plain(dual, stopping) or stopping.max_iter >= 0 or block.has_infinite_box(dual):
        return None
    began = time.perf_counter()
    beta, scores = starting_point(dual, gram, start, function)
    function = scores.values
    tol = stopping.tol
    steps, rounds, table, lowest_curvature = solve_growing(dual, gram, beta, function, tol, block.STEPS_PER_CALL)
    violation = violation_of(table, dual.n_groups)
    if not violation <= tol or lowest_curvature < 0.0:
        return None
    level, seconds = levels_of(table, dual.n_groups), time.perf_counter() - began
    return Solution(
        beta, function, level, Status.OPTIMAL, violation, np.nan, steps, rounds, gram.rows_computed, seconds
    )
