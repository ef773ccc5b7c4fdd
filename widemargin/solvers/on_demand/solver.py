"""The fast solver: working sets solved in memory on a dense K_WW, full kernel rows only for variables that moved.

Solves   the signed dual of problems/dual.py, every SVM of the package
Given    a State (problem, Gram, point with K b), a stop rule
Returns  a Solution: beta, K b, thresholds, status
Round    evaluate -> choose W -> restrict to W -> solve in memory -> join: K b += rows of the variables that moved. Once
         few variables are active, the same with the active variables only (shrinking.py).
Ends     when the criterion is met; at max_iter, the time limit or Ctrl-C; or with a named reason when
         rounding stops progress (STALLED), the dual has no bound (UNBOUNDED) or the kernel is not valid (INDEFINITE).
See      Joachims (1999) for decomposition; Wen et al. (2018), ThunderSVM, and oneDAL for large blocks solved apart;
         Fan, Chen & Lin (2005) for the pair choice inside.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from widemargin.gram.full import FullGram
from widemargin.gram.gram import Gram
from widemargin.monitor import clock
from widemargin.monitor.interrupt import StopRequested, status_of
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems.measure import relative_gap
from widemargin.problems.optimality import thresholds_of, violation_of
from widemargin.solvers.on_demand.inner import InnerSolver
from widemargin.solvers.on_demand.shrinking import Shrinking, active_variables
from widemargin.solvers.on_demand.working_set import Selector, threshold_midpoints
from widemargin.solvers.solution import Solution
from widemargin.solvers.state import Origin, State
from widemargin.solvers.steps.block import block_of
from widemargin.solvers.tuning import BlockTuning

ROUNDING = 1e-15  # relative growth of the dual in a round that is not progress


class BlockSolver:
    """One solve; `run` is the loop.

    Parameters
    ----------
    state : the problem at its starting point, changed in place
    stopping, deadline : the stop rule; the time at which to end, if another solver has set it
    tuning : see tuning.py
    aim : violation to which the first working set is solved, if it is the whole problem
    """

    def __init__(
        self,
        state: State,
        stopping: Stopping,
        tuning: BlockTuning,
        deadline: float | None = None,
        aim: float | None = None,
    ) -> None:
        dual, gram = state.dual, state.gram
        self.state, self.stopping, self.tuning = state, stopping, tuning
        self.deadline = stopping.deadline() if deadline is None else deadline
        self.aim = stopping.tol if aim is None else aim
        self.began, self.rows_before = clock.now(), gram.rows_computed
        self.is_single = len(dual) <= tuning.single
        self.inner = InnerSolver(tuning, gram.n_threads, self.deadline)
        may_shrink = dual.is_plain and stopping.criterion == "kkt" and not len(dual.hard)
        self.shrinking = Shrinking(may_shrink, tuning, stopping.tol)
        self.iterations = self.rounds = 0
        self.recomputations = tuning.recomputations

    def run(self, watch: Watch | None) -> Solution:
        """Run rounds until there is a reason to stop; return the Solution."""
        state = self.state
        selector = Selector(state.dual, self.tuning, state.gram)
        moved_before = np.zeros(len(state.gram), np.bool_)
        last_moved = stalled = 0
        objective = np.inf
        try:
            while True:
                f, thresholds, value = state.evaluate()
                previous, objective = objective, value
                if watch is not None:
                    watch(self.report(thresholds, objective))
                ended = self.reason_to_stop(thresholds, previous, objective)
                if ended is not None:
                    status = ended
                    break
                has_gained = previous - objective > ROUNDING * abs(objective)  # not if a value is NaN
                stalled = 0 if has_gained else stalled + 1
                if stalled >= self.tuning.stall_rounds:
                    if self.recomputations == 0:
                        status = self.named(Status.STALLED)
                        break
                    state.recompute()
                    stalled, objective = 0, np.inf
                    self.recomputations -= 1
                    continue
                if self.solve_active(f, thresholds, objective, last_moved, watch):
                    continue
                working_set = np.arange(len(state.dual), dtype=np.int64)
                if not self.is_single:
                    working_set = selector.choose(f, state.beta, thresholds)
                last_moved = self.improve(working_set, f, thresholds, moved_before)
                self.rounds += 1
        except KeyboardInterrupt as interrupt:
            status = status_of(interrupt)
        return self.solution(status)

    def solution(self, status: Status) -> Solution:
        """Return the point reached, with its costs."""
        state = self.state
        thresholds = state.evaluate()[1]
        return Solution(
            beta=state.beta,
            Kb=state.Kb,
            thresholds=thresholds_of(thresholds, state.dual.n_groups),
            status=status,
            violation=violation_of(thresholds, state.dual.n_groups),
            objective=state.dual.objective(state.beta, state.Kb),
            iterations=self.iterations,
            rounds=self.rounds,
            rows_computed=state.gram.rows_computed - self.rows_before,
            seconds=clock.now() - self.began,
            error=state.error,
        )

    def named(self, status: Status) -> Status:
        """Return the status, or INDEFINITE if negative curvature was found."""
        return Status.INDEFINITE if self.inner.lowest_curvature < 0.0 else status

    def reason_to_stop(self, thresholds: NDArray, previous: float, objective: float) -> Status | None:
        """Return the status to end with, or None to continue."""
        stop, dual, state = self.stopping, self.state.dual, self.state
        violation = violation_of(thresholds, dual.n_groups)
        if not np.isfinite(violation):
            return Status.NOT_FINITE
        if self.inner.ran_away or has_no_margin(state, self.tuning.smallest_margin2):
            return self.named(Status.UNBOUNDED)
        if violation <= (stop.tol if self.rounds else self.aim) and stop.criterion != "gap":
            return self.named(Status.OPTIMAL)
        if stop.criterion == "gap" and self.relative_gap(thresholds) <= stop.tol:
            return self.named(Status.OPTIMAL)
        if stop.criterion == "objective" and self.rounds and previous - objective <= stop.tol * abs(objective):
            return self.named(Status.OPTIMAL)
        if self.inner.is_stuck(violation, len(dual)):
            return Status.STALLED
        if 0 <= stop.max_iter <= self.iterations + self.inner.interior_steps:
            return Status.MAX_ITER
        return Status.TIME_LIMIT if clock.now() >= self.deadline else None

    def relative_gap(self, thresholds: NDArray) -> float:
        """Return the relative gap of the present point."""
        state = self.state
        return relative_gap(state.dual, state.beta, state.Kb, thresholds_of(thresholds, state.dual.n_groups))

    def improve(
        self, working_set: NDArray[np.int64], f: NDArray, thresholds: NDArray, moved_before: NDArray[np.bool_]
    ) -> int:
        """Solve the working set and join its answer; returns the number of samples that moved."""
        state, dual, gram = self.state, self.state.dual, self.state.gram
        samples = working_set if dual.row is None else dual.row[working_set]
        K = gram.block(samples)
        if dual.sign is not None:
            sign = dual.sign[working_set].astype(K.dtype)
            K = K * sign[:, None] * sign
        part = state.restrict(working_set, FullGram(K, gram.n_threads))
        midpoints = threshold_midpoints(thresholds, dual.n_groups)
        gradient = f[working_set] - (midpoints[dual.group[working_set]] if dual.n_groups > 1 else midpoints[0])
        in_range = np.abs(gradient).max() < self.tuning.largest_single_precision
        precision = gram.dtype if in_range else np.dtype(np.float64)
        block = block_of(K, gradient, gram.diag[samples], part.beta, part.dual.terms, precision)
        violation = violation_of(thresholds, dual.n_groups)
        to_rounding = self.aim < self.stopping.tol and self.rounds == 0
        tol, budget = self.inner_tol(violation), self.tuning.steps_per_call
        if to_rounding:
            tol = self.aim
            budget = budget if len(dual.hard) else self.tuning.exact_steps  # the first call shows infinite steps
        if self.stopping.max_iter >= 0:
            budget = min(budget, self.stopping.max_iter - self.iterations)
        self.iterations += self.inner.solve(block, violation, tol, budget, only_small=to_rounding)
        if self.inner.ran_away:
            return 0
        part.beta = block.beta
        inside = (part.beta > part.dual.lower) & (part.beta < part.dual.upper)
        moved = state.join(part, working_set, moved_before[samples] | inside)
        moved_before[moved] = True
        return len(moved)

    def inner_tol(self, violation: float) -> float:
        """Return the violation to reach in a working set: tol if it is the whole problem, else a share of the current.

        The gap and the objective may need a far smaller violation than tol, so for them only the share counts.
        """
        share, tol = self.tuning.inner_share * violation, self.stopping.tol
        if self.stopping.criterion != "kkt":
            return share
        return 0.99 * tol if self.is_single else max(0.5 * tol, share)

    def solve_active(
        self, f: NDArray, thresholds: NDArray, objective: float, last_moved: int, watch: Watch | None
    ) -> bool:
        """Solve for the active variables only (shrinking.py); return False if that is not worthwhile."""
        state, dual, tuning = self.state, self.state.dual, self.tuning
        violation = violation_of(thresholds, dual.n_groups)
        if not self.shrinking.is_time(violation, thresholds):
            return False
        midpoints = threshold_midpoints(thresholds, dual.n_groups)
        active = active_variables(dual.terms, f, state.beta, midpoints, tuning.inactive * violation)
        gram = state.gram.part(active, last_moved) if 0 < len(active) <= tuning.active_share * len(dual) else None
        if gram is None:
            return False
        part = state.restrict(active, gram, Origin(state.beta[active], f[active], objective))
        solver = self.for_part(part)
        before = self.report(thresholds, objective)
        answer = solver.run(
            None if watch is None else lambda now: _report_whole(now, before, self, part, active, watch)
        )
        state.join(part, active)
        self.inner.continues(solver.inner)
        state.gram.rows_computed += rows_by_length(gram, state.gram)
        self.iterations += answer.iterations
        self.rounds += answer.rounds + 1
        self.shrinking.may_shrink, self.shrinking.shrunk_at = answer.status is Status.OPTIMAL, violation
        if answer.status.on_request:
            raise StopRequested(answer.status)
        return True

    def for_part(self, part: State) -> BlockSolver:
        """Return a solver for some of the variables, within the remaining budgets."""
        stopping = self.stopping
        if stopping.max_iter >= 0:
            stopping = replace(stopping, max_iter=stopping.max_iter - self.iterations)
        solver = BlockSolver(part, stopping, self.tuning, self.deadline)
        solver.is_single = part.gram.is_whole and len(part.dual) <= self.tuning.single_active
        solver.recomputations = 0  # K b of a part includes the contribution of all other variables
        solver.inner.continues(self.inner)
        return solver

    def report(self, thresholds: NDArray, objective: float) -> Iteration:
        """Report the progress of a round."""
        state = self.state
        return Iteration(
            violation=violation_of(thresholds, state.dual.n_groups),
            tol=self.stopping.tol,
            objective=objective,
            iterations=self.iterations,
            rounds=self.rounds,
            n_support=int(np.count_nonzero(state.beta)),
            n_free=int(thresholds[:, 3].sum()),
            rows_computed=state.gram.rows_computed,
            seconds=clock.now() - self.began,
            point=lambda: (state.beta, state.Kb),
            error=lambda: state.error,
            multipliers=lambda: state.beta.copy(),
        )


def _report_whole(
    now: Iteration, before: Iteration, solver: BlockSolver, part: State, active: NDArray[np.int64], watch: Watch
) -> None:
    """Report a round of a part as one of the whole problem, whose last report was `before`."""
    part_point = now.point
    if not now.rounds or part_point is None:  # the start of a part was already reported
        return
    state = solver.state

    def point() -> tuple[NDArray, NDArray]:
        whole = State(state.dual, state.gram, state.beta, state.Kb)
        reached = State(part.dual, part.gram, *part_point())
        reached.rows_added = 1  # its K b is up to date
        with state.gram.uncounted():
            whole.join(reached, active)
        return whole.beta, whole.Kb

    def multipliers() -> NDArray:
        beta, part_beta = state.beta.copy(), now.multipliers
        beta[active] = part.beta if part_beta is None else part_beta()
        return beta

    assert before.rows_computed is not None
    watch(
        replace(
            now,
            rounds=now.rounds + before.rounds,
            iterations=now.iterations + before.iterations,
            seconds=now.seconds + before.seconds,
            n_support=now.n_support + int(np.count_nonzero(state.beta) - np.count_nonzero(state.beta[active])),
            rows_computed=before.rows_computed + rows_by_length(part.gram, state.gram),
            on_active_set=True,
            point=point,
            error=lambda: state.error,
            multipliers=multipliers,
        )
    )


def rows_by_length(part: Gram, whole: Gram) -> int:
    """Return the rows evaluated for a part, converted to rows of full length."""
    return round(part.rows_computed * len(part) / max(1, len(whole)))


def has_no_margin(state: State, smallest_margin2: float) -> bool:
    """Whether the hard margin is zero to rounding: 2 |sum b phi| / sum |b| bounds the distance of the two hulls.

    Soft variables in the sum do not matter once the hard variables, the only unbounded ones, outweigh them.
    """
    hard = state.dual.hard
    if not len(hard):
        return False
    size = np.abs(state.beta)
    total = float(size.sum())
    if total == 0.0 or float(size[~hard].sum()) > 1e-6 * total:
        return False
    with np.errstate(over="ignore", invalid="ignore"):  # multipliers that grow without bound
        norm2 = float(state.dual.per_sample(state.beta) @ state.Kb)
    return not norm2 > 0.25 * smallest_margin2 * float(state.gram.diag.max()) * total * total
