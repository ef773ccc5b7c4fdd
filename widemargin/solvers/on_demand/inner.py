"""Solve a working set by small steps, Newton steps where these are cheaper, or an interior point where both are slow.

Given    a Block (the working set with its kernel matrix), how far to solve it, and how many steps to take at most
Returns  its multipliers changed in place; the number of small steps
Rule     a Newton step is tried when, at the present rate, the remaining small steps would cost more; a failed step
         doubles the wait for the next, a successful one resets it. Calls that use up their steps without halving the
         violation are followed by the interior-point method.
"""

from __future__ import annotations

import numpy as np

from widemargin.costs import COSTS
from widemargin.gram.memory import ThreadMemory
from widemargin.monitor import clock
from widemargin.parallel.tiles import single_threaded_blas
from widemargin.problems.optimality import free_variables
from widemargin.solvers.steps.block import Block
from widemargin.solvers.steps.interior import LARGEST, interior_cost, interior_point
from widemargin.solvers.steps.newton import newton_cost, newton_step
from widemargin.solvers.steps.pairs import solve_pairs
from widemargin.solvers.steps.singles import solve_singles
from widemargin.solvers.tuning import BlockTuning


class InnerSolver:
    """Solves the working sets of one problem, and remembers which steps helped.

    Attributes
    ----------
    lowest_curvature : the lowest found; negative if the kernel is not positive semi-definite
    ran_away : whether a step was infinite
    slow_calls, slow_violation : calls that used up their steps since the violation last halved, and that violation
    largest : size of the largest working set among these calls
    interior_points : of blocks since then
    no_interior : whether one found no better answer since then
    interior_steps : small steps that would have taken as long as all interior points of the problem
    is_rounded : whether that, or too many of them, was on float32 rows, whose rounding then is the cause
    """

    def __init__(self, tuning: BlockTuning, n_threads: int, deadline: float = np.inf) -> None:
        self.tuning, self.n_threads, self.deadline = tuning, n_threads, deadline
        self.factors = ThreadMemory()
        self.newton_wait = tuning.newton_wait
        self.lowest_curvature = 0.0
        self.ran_away = False
        self.slow_calls = self.largest = 0
        self.slow_violation = np.inf
        self.no_interior = self.is_rounded = False
        self.interior_points = self.interior_steps = 0

    def continues(self, other: InnerSolver) -> None:
        """Copy the statistics of another solver on the same kernel, and reuse its memory."""
        self.factors, self.newton_wait = other.factors, other.newton_wait
        self.lowest_curvature, self.interior_steps = other.lowest_curvature, other.interior_steps

    def solve(self, block: Block, violation: float, tol: float, budget: int, only_small: bool = False) -> int:
        """Change the block's multipliers; returns the number of small steps.

        violation : of the block at the start
        only_small : no Newton steps, for so few variables that one costs more than all small steps
        """
        steps, left = (
            self.small_steps(block, tol, budget) if only_small else self.alternate(block, violation, tol, budget)
        )
        if left > tol and steps >= self.tuning.steps_per_call:
            self.slow_calls, self.largest = self.slow_calls + 1, max(self.largest, len(block.f))
            spent = self.slow_calls * steps * len(block.f) * COSTS.pair_step
            is_time = self.slow_calls >= self.tuning.slow_calls_before_interior or spent >= interior_cost(len(block.f))
            is_time = is_time and not self.no_interior and self.has_time(interior_cost(len(block.f)))
            if is_time and len(block.f) <= LARGEST and np.isfinite(block.beta).all():
                with single_threaded_blas():
                    better = interior_point(block)
                self.interior_points += 1
                self.interior_steps += int(interior_cost(len(block.f)) / (COSTS.pair_step * len(block.f)))
                self.no_interior = better is None
                if better is not None:
                    block.beta[:] = better
                if block.K.dtype == np.float32:
                    self.is_rounded = self.no_interior or self.interior_points >= self.tuning.most_interior_rounded
        self.ran_away = not np.isfinite(block.beta).all()
        return steps

    def small_steps(self, block: Block, tol: float, most: int) -> tuple[int, float]:
        """Make pair steps, or single steps without groups; return their number and the remaining violation."""
        if block.terms.n_groups == 0:
            return solve_singles(block, tol, most)
        steps, left, curvature = solve_pairs(block, tol, most)
        self.lowest_curvature = min(self.lowest_curvature, curvature)
        return steps, left

    def alternate(self, block: Block, violation: float, tol: float, budget: int) -> tuple[int, float]:
        """Alternate small and Newton steps; return the number of small steps and the remaining violation."""
        taken = since = 0
        reference = violation
        while True:
            steps, left = self.small_steps(block, tol, min(self.newton_wait * len(block.f), budget - taken))
            taken += steps
            since += steps
            if left <= tol or taken >= budget or steps == 0:
                return taken, left
            gained = np.log(reference / left) if left < reference else 0.0
            ahead = since * np.log(left / tol) / gained if gained > 0.0 else np.inf
            n_free = len(free_variables(block.terms, block.beta))
            cost = newton_cost(n_free)
            if ahead > cost / (COSTS.pair_step * len(block.f)) and self.has_time(cost):
                since, reference = 0, left
                with single_threaded_blas():  # a fit of few samples does not limit BLAS: it may end before this
                    helped = newton_step(block, self.n_threads, self.factors)
                self.newton_wait = self.tuning.newton_wait if helped else 2 * self.newton_wait

    def has_time(self, nanoseconds: float) -> bool:
        """Whether work of this duration ends before the deadline; unlike small steps it cannot be cut into rounds."""
        return clock.now() + 1e-9 * nanoseconds < self.deadline

    def is_stuck(self, violation: float, n_variables: int) -> bool:
        """Whether too many calls for so many variables have used up their steps without halving the violation.

        On float32 rows fewer are enough where interior points could not help: with rows rounded so coarsely that a
        block is not convex, steps lower the objective without end and the violation grows.
        """
        if violation < 0.5 * self.slow_violation:
            self.slow_calls, self.largest, self.slow_violation = 0, 0, violation
            self.interior_points, self.no_interior, self.is_rounded = 0, False, False
        return self.is_rounded or self.slow_calls * self.largest > self.tuning.most_slow_calls * n_variables
