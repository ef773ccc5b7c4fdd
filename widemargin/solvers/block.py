"""The fast solver: blocks of variables solved by SMO on a dense K_WW, full kernel rows only for variables that moved.

Solves   the signed dual of problems/dual.py, every machine of the package
Given    a Gram (blocks K_WW and weighted sums of rows), a stop rule, optionally a feasible start and its F = K b
Returns  a Solution: beta, F, levels, status
Round    select W -> K_WW -> solve the block (pairs within groups, or single variables without) -> F += sum over the
         variables whose value changed -> check. Once few variables are active, the same with those alone
         (shrinking.py). Different rows per support vector measured: 1.2-1.4; cheap ones are evaluated several times
         rather than kept (gram/cached.py).
Ends     when the criterion is met; when max_iter, time or the user's patience ends; or with a named reason when
         rounding stops progress (STALLED), the dual has no bound (UNBOUNDED) or the kernel is not valid (INDEFINITE).
See      Joachims (1999) for decomposition; Wen et al. (2018), ThunderSVM, and oneDAL for large blocks solved apart;
         Fan, Chen & Lin (2005) for the pair choice inside.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from widemargin.gram.gram import Gram
from widemargin.gram.memory import ThreadMemory
from widemargin.gram.scores import Scores
from widemargin.monitor.interrupt import StopRequested, status_of
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import levels_of, standing, violation_of
from widemargin.problems.primal import best_primal
from widemargin.solvers.interior import LARGEST, interior_cost, interior_point
from widemargin.solvers.newton import is_free, newton_cost, newton_step
from widemargin.solvers.packed import key_limits
from widemargin.solvers.pair_steps import solve_pairs
from widemargin.solvers.selection import Selector, free_variables
from widemargin.solvers.shrinking import ActivePart, Shrunk, active_part, active_variables
from widemargin.solvers.single_steps import solve_singles
from widemargin.solvers.solution import Solution

FIRST_BLOCK = 128  # variables of the first block; doubled every round up to the cap
SMALLEST_CAP, USUAL_CAP, LARGEST_CAP = 1008, 4080, 6640  # variables; larger blocks measured slower, and so did powers
# of two, whose rows fall into the same few sets of the cache
FREE_SHARE = 0.9  # of the free variables in a block where they are more than USUAL_CAP (a9a, C = 100: 4.5 -> 3.8 s)
WHOLE = 2048  # up to here the block is the whole problem
INNER_SHARE = 0.2  # a block is solved to this share of the violation: the rest needs other variables first
STEPS_PER_CALL = 100_000  # bounds the time between two looks at the clock and at Ctrl-C (at most ~0.4 s)
FIRST_WAIT = 2  # small steps per variable of the block before a Newton step is considered
PAIR_STEP = 0.6  # ns per variable of the block that a pair step takes, to compare it with the other methods
SHRINK = 0.5  # violations by which the slope of an inactive variable is on the right side of its threshold
ACTIVE_SHARE = 0.5  # of the variables that may be active for the others to be left out; with 0.7 measured slower
LOOK_AGAIN_BELOW = 0.8  # of the violation at which the active variables were counted last
SHRINK_ABOVE = 5.0  # tol: below this violation few rounds are left
SMALL_PART = 512  # active variables solved as one block, to tol; with 1,024 moons at C = 100 took a fifth longer
MOST_CREEPS_WHOLE, MOST_CREEPS = 6, 100  # calls that may use up their steps without halving the violation
CREEPS_BEFORE_INTERIOR = 3  # such calls before the interior-point method, unless it is the cheaper one: most blocks end
# before (cpusmall SVR at C = 100 in five orders of the samples: 1.8-5.5 s when one was enough, 1.5-2.0 s now)
EXACT = 100  # variables up to which the first steps go on to rounding: measured 4 % of a fit of three such problems
EXACT_VIOLATION = 1e-10  # of the size of slopes and kernel values: what "to rounding" means there
EXACT_STEPS = 1000  # of these first steps at most, 0.1 ms; what is not at the optimum by then is solved to tol
STALL_ROUNDS = 3  # rounds without progress before the function is recomputed, and again before giving up
REFRESHES = 3  # times the function is recomputed in one solve
LARGEST_SINGLE = 1e15  # slopes beyond this leave float32's range in a product: such a block is solved in float64
SMALLEST_MARGIN2 = 1e-10  # squared margin over the largest K_ii below which a hard margin counts as impossible


class BlockSolver:
    """One solve: state in attributes, `run` is the loop."""

    def __init__(
        self,
        dual: SignedDual,
        gram: Gram,
        stopping: Stopping,
        cold: bool = True,
        deadline: float | None = None,
        start: Scores | None = None,
    ) -> None:
        self.dual, self.gram, self.stopping = dual, gram, stopping
        self.start = start  # F at the start with its error, if anybody wants to know that at the end
        self.moved = np.zeros(len(gram))  # sizes of all changes of each coefficient that went into F since then, ...
        self.rows_added = 0  # ... and how many
        self.deadline = stopping.deadline() if deadline is None else deadline
        self.began = time.perf_counter()
        self.rows_before = gram.rows_computed
        self.starts = dual.group_starts
        self.factors = ThreadMemory()  # where Newton steps factorise
        self.hard = np.zeros(0, np.bool_)
        if has_infinite_box(dual):
            self.hard = (np.isinf(dual.upper) | np.isinf(dual.lower)) & (dual.diagonal == 0.0)
        self.may_run_away = bool(self.hard.any())
        one_variable_each = dual.row is None and dual.sign is None
        self.may_shrink = one_variable_each and stopping.criterion == "kkt" and not self.may_run_away
        self.lowest_curvature = 0.0
        self.newton_wait = FIRST_WAIT  # small steps per variable before a Newton step; doubled by one that fails
        self.creeps = 0  # calls that used up their steps since the violation last halved
        self.creep_violation = np.inf
        self.refreshes = REFRESHES
        self.looked_at = self.shrunk_at = np.inf  # violations at which the active were counted, others left out, last
        self.ran_away = False  # whether a step had no end
        self.table: NDArray = np.empty((0, 4))  # thresholds of the groups where the compiled calls ended
        self.iterations = self.rounds = self.last_moved = 0
        self.whole = len(dual) <= WHOLE
        self.tol = stopping.tol
        self.aim, self.first_steps = self.tol, STEPS_PER_CALL  # of the first call
        if cold and len(dual) <= EXACT and gram.dtype == np.float64 and stopping.criterion == "kkt":
            slope = max(1.0, float(np.abs(dual.linear_term).max(initial=0.0)), float(gram.diag.max(initial=0.0)))
            if EXACT_VIOLATION * slope < self.tol:
                self.aim = EXACT_VIOLATION * slope
                if not self.may_run_away:  # else the first call is to show whether they do
                    self.first_steps = EXACT_STEPS

    def run(self, beta: NDArray, function: NDArray, watch: Watch | None) -> Solution:
        self.beta, self.function = beta, function
        self.row = self.dual.row if self.dual.row is not None else np.arange(len(self.dual), dtype=np.int64)
        self.selector = Selector(self.dual)
        self.changed_before = np.zeros(len(self.gram), np.bool_)
        size = FIRST_BLOCK
        stalled = 0
        objective = np.inf
        try:
            while True:
                f, table, value = self.stand()
                previous, objective = objective, value
                if watch is not None:
                    watch(self.report(table, objective))
                ended = self.ended(table, previous, objective, self.deadline)
                if ended is not None:
                    status = ended
                    break
                if previous - objective <= 1e-15 * abs(objective):
                    stalled += 1
                    if stalled >= STALL_ROUNDS:
                        if self.refreshes == 0:
                            status = Status.INDEFINITE if self.lowest_curvature < 0.0 else Status.STALLED
                            break
                        self.refresh()
                        stalled, objective = 0, np.inf
                        self.refreshes -= 1
                        continue
                else:
                    stalled = 0
                if self.solve_active(f, table, objective, watch):
                    continue
                free = self.free_variables()
                cap = self.cap(len(free))
                size = min(size, cap)
                self.improve(self.choose(f, table, size, cap, free), f, table)
                size = min(2 * size, cap)
                self.rounds += 1
        except KeyboardInterrupt as interrupt:
            status = status_of(interrupt)
        return self.solution(status, self.stand()[1])

    def solution(self, status: Status, table: NDArray) -> Solution:
        """The point reached, with what it cost."""
        return Solution(
            beta=self.beta,
            function=self.function,
            level=levels_of(table, self.dual.n_groups),
            status=status,
            violation=violation_of(table, self.dual.n_groups),
            objective=self.dual.objective(self.beta, self.function),
            iterations=self.iterations,
            rounds=self.rounds,
            rows_computed=self.gram.rows_computed - self.rows_before,
            seconds=time.perf_counter() - self.began,
            error=self.error(),
        )

    def error(self) -> NDArray | None:
        """Bound on the error of F: what it had at the start, and what all rows added since can have brought."""
        if self.start is None:
            return None
        return self.start.error_after(self.gram.errors, self.moved, self.rows_added)

    def note_rows(self, index: NDArray[np.int64], sizes: NDArray, n_rows: int) -> None:
        """Rows of these samples have been added to F, with changes of these sizes in all."""
        self.moved[index] += sizes
        self.rows_added += n_rows

    def stand(self) -> tuple[NDArray, NDArray, float]:
        """The gradient, the thresholds of every group, and the value of the dual."""
        d = self.dual
        values = d.per_variable(self.function)
        f, table, value = standing(
            values, self.beta, d.linear_term, d.lower, d.upper, d.diagonal, d.epsilon, self.starts, d.n_groups
        )
        return f, table, d.objective(self.beta, self.function) if isinstance(d, ActivePart) else value

    def free_variables(self) -> NDArray[np.int64]:
        """Variables that can move both ways along one slope."""
        return free_variables(self.beta, self.dual.lower, self.dual.upper, self.dual.epsilon)

    def choose(self, f: NDArray, table: NDArray, size: int, cap: int, free: NDArray[np.int64]) -> NDArray[np.int64]:
        """Variables of the next block; all of them where the problem is small."""
        if self.whole:
            return np.arange(len(self.dual), dtype=np.int64)
        return self.selector.choose(f, self.beta, table, size, cap, free)

    def cap(self, n_free: int) -> int:
        """Largest block: about a power of two above 1.2 times the free variables, within the measured limits.

        Where most of them are more than usual, so many, if there is memory for it.
        """
        wanted = (1 << max(0, int(np.ceil(1.2 * n_free)) - 1).bit_length()) - 16
        many = int(min(LARGEST_CAP, FREE_SHARE * n_free, self.gram.block_limit))
        return min(len(self.dual), max(SMALLEST_CAP, many, min(USUAL_CAP, wanted)))

    def ended(self, table: NDArray, previous: float, objective: float, deadline: float) -> Status | None:
        """The reason to stop now, if there is one."""
        stop, dual = self.stopping, self.dual
        violation = violation_of(table, dual.n_groups)
        reached = Status.INDEFINITE if self.lowest_curvature < 0.0 else Status.OPTIMAL
        if not np.isfinite(violation):
            return Status.NOT_FINITE
        if self.ran_away or (self.may_run_away and self.has_no_margin()):
            return Status.INDEFINITE if self.lowest_curvature < 0.0 else Status.UNBOUNDED
        if violation <= (self.tol if self.rounds else self.aim) and stop.criterion != "gap":
            return reached
        if stop.criterion == "gap":
            level = levels_of(table, dual.n_groups)
            norm2 = float(dual.per_sample(self.beta) @ self.function)
            primal, _ = best_primal(dual, dual.per_variable(self.function), norm2, level)
            if np.isfinite(primal) and abs(primal + objective) <= self.tol * max(abs(primal), abs(objective)):
                return reached
        if stop.criterion == "objective" and self.rounds and previous - objective <= stop.tol * abs(objective):
            return reached
        if violation < 0.5 * self.creep_violation:
            self.creeps, self.creep_violation = 0, violation
        if self.creeps > (MOST_CREEPS_WHOLE if self.whole else MOST_CREEPS):
            return Status.STALLED
        if 0 <= stop.max_iter <= self.iterations:
            return Status.MAX_ITER
        if time.perf_counter() >= deadline:
            return Status.TIME_LIMIT
        return None

    def has_no_margin(self) -> bool:
        """Hard margin: 2 |sum b phi| / sum |b| bounds the distance of the two hulls; is it zero to rounding?

        Soft variables in the sum do not matter once the hard ones, which alone can grow without end, outweigh them.
        """
        size = np.abs(self.beta)
        total = float(size.sum())
        if total == 0.0 or float(size[~self.hard].sum()) > 1e-6 * total:
            return False
        norm2 = float(self.dual.per_sample(self.beta) @ self.function)
        return norm2 <= 0.25 * SMALLEST_MARGIN2 * float(self.gram.diag.max()) * total * total

    def refresh(self) -> None:
        """Recompute F = K b from rows, so that rounding gathered over many updates is gone."""
        coefficients = self.dual.per_sample(self.beta)
        support = np.flatnonzero(coefficients)
        function = np.zeros(len(self.gram))
        self.gram.add_rows(support, coefficients[support], function)
        self.function, self.moved, self.rows_added = function, np.abs(coefficients), len(support)
        if self.start is not None:
            self.start = Scores(np.zeros(len(function)), np.zeros(len(function)))

    def improve(self, chosen: NDArray[np.int64], f: NDArray, table: NDArray) -> None:
        """Solve the block of the chosen variables and carry the change into F."""
        dual, gram = self.dual, self.gram
        samples = self.row[chosen]
        block = gram.block(samples)
        gradient = f[chosen] - self.middles(table)[dual.group[chosen]]
        kind = gram.dtype if np.abs(gradient).max() < LARGEST_SINGLE else np.dtype(np.float64)
        block = block.astype(kind, copy=False)
        if dual.sign is not None:
            sign = dual.sign[chosen].astype(kind)
            block = block * sign[:, None] * sign
        diagonal, epsilon = dual.diagonal[chosen], dual.epsilon[chosen]
        shifted = gradient.astype(kind)
        old = self.beta[chosen]
        new = old.copy()
        violation = violation_of(table, dual.n_groups)
        first = self.aim < self.tol and self.rounds == 0
        inner_tol, budget = (self.aim, self.first_steps) if first else (self.inner_tol(violation), STEPS_PER_CALL)
        if self.stopping.max_iter >= 0:
            budget = min(budget, self.stopping.max_iter - self.iterations)
        keys = key_limits(len(chosen), kind)
        total_diagonal = (gram.diag[samples] + diagonal).astype(kind)
        problem = (block, shifted, new, dual.lower[chosen], dual.upper[chosen], epsilon, diagonal)
        starts = np.searchsorted(chosen, self.starts) if dual.n_groups else np.zeros(1, np.int64)

        def small_steps(most: int) -> tuple[int, float]:
            if dual.n_groups == 0:
                return solve_singles(*problem, total_diagonal, inner_tol, most, *keys)
            steps, left, curvature = solve_pairs(*problem, total_diagonal, starts, inner_tol, most, *keys)
            self.lowest_curvature = min(self.lowest_curvature, curvature)
            return steps, left

        if first:  # so few variables that a Newton step costs more than all of these
            steps, left = small_steps(budget)
        else:
            steps, left = self.alternate(small_steps, problem, starts, inner_tol, budget, violation)
        self.iterations += steps
        if left > inner_tol and steps >= STEPS_PER_CALL:
            self.creeps += 1
            crept = self.creeps * steps * len(chosen) * PAIR_STEP
            is_time = self.creeps >= CREEPS_BEFORE_INTERIOR or crept >= interior_cost(len(chosen))
            if is_time and len(chosen) <= LARGEST and np.isfinite(new).all():
                better = interior_point(block, shifted, new, *problem[3:], starts)
                new = new if better is None else better
        if not np.isfinite(new).all():
            self.ran_away = True
            return
        moved = np.flatnonzero(new != old)
        if not len(moved):
            return
        beta = self.beta.copy()
        beta[chosen] = new
        change = new[moved] - old[moved]
        if dual.sign is not None:
            change *= dual.sign[chosen[moved]]
        index = samples[moved]
        if dual.row is not None:  # several variables may stand on one sample
            index, inverse = np.unique(index, return_inverse=True)
            change = np.bincount(inverse, weights=change, minlength=len(index))
        d_new = beta[chosen[moved]]
        free = (d_new > dual.lower[chosen[moved]]) & (d_new < dual.upper[chosen[moved]])
        keep = self.changed_before[index] | (free if dual.row is None else True)
        function = self.function.copy()  # F and beta change together: an interrupt in between leaves the old pair
        gram.add_rows(index, change, function, keep)
        self.note_rows(index, np.abs(change), len(index))
        self.changed_before[index] = True
        self.last_moved = len(index)
        self.beta, self.function = beta, function

    def solve_active(self, f: NDArray, table: NDArray, objective: float, watch: Watch | None) -> bool:
        """Solve for the active variables alone where that pays (solvers/shrinking.py); False where it does not."""
        dual, n = self.dual, len(self.dual)
        violation = violation_of(table, dual.n_groups)
        if not self.may_shrink or violation < SHRINK_ABOVE * self.tol or not np.isfinite(table[:, :2]).all():
            return False
        if violation > LOOK_AGAIN_BELOW * self.looked_at:  # hardly fewer variables are active than last time
            return False
        self.looked_at = violation
        if violation > 0.5 * self.shrunk_at:  # too much had been left out: the others go on violating
            self.may_shrink = False
            return False
        active = active_variables(
            f, self.beta, dual.lower, dual.upper, dual.epsilon, self.starts, self.middles(table), SHRINK * violation
        )
        gram = self.gram.part(active, self.last_moved) if 0 < len(active) <= ACTIVE_SHARE * n else None
        if gram is None:
            return False
        shrunk = Shrunk(self.gram, gram, active, self.beta, self.function)
        solver = self.for_part(active_part(dual, active, self.beta, f, objective), gram)
        before = self.report(table, objective)

        def tell(now: Iteration) -> None:
            if watch is not None and now.rounds:  # at the start nothing is new
                watch(shrunk.report(now, before))

        answer = solver.run(self.beta[active], self.function[active], tell)
        self.note_rows(active, solver.moved, solver.rows_added + len(active))
        self.beta, self.function = shrunk.joined(answer.beta, answer.function)
        self.gram.rows_computed += shrunk.rows_computed
        self.iterations += answer.iterations
        self.rounds += answer.rounds + 1
        self.lowest_curvature, self.newton_wait = solver.lowest_curvature, solver.newton_wait
        self.may_shrink, self.shrunk_at = answer.status is Status.OPTIMAL, violation
        if answer.status.on_request:
            raise StopRequested(answer.status)
        return True

    def for_part(self, part: SignedDual, gram: Gram) -> BlockSolver:
        """A solver for some of the variables, within what is left of the budgets."""
        stopping = self.stopping
        if stopping.max_iter >= 0:
            stopping = replace(stopping, max_iter=stopping.max_iter - self.iterations)
        solver = BlockSolver(part, gram, stopping, cold=False, deadline=self.deadline)
        solver.whole = gram.is_whole and len(part) <= SMALL_PART
        solver.refreshes = 0  # F of a part also holds what the others contribute
        solver.factors, solver.newton_wait = self.factors, self.newton_wait
        solver.lowest_curvature = self.lowest_curvature
        return solver

    def alternate(
        self,
        small_steps: Callable[[int], tuple[int, float]],
        problem: tuple,
        starts: NDArray,
        tol: float,
        budget: int,
        violation: float,
    ) -> tuple[int, float]:
        """Small steps, and Newton steps where those are cheaper, at the pace the small steps have.

        Returns the number of small steps and the violation left in the block.

        A Newton step that fails doubles the number of small steps before the next one; one that helps resets it.
        """
        block, f, beta, lower, upper, epsilon, diagonal = problem
        taken = since = 0
        reference = violation
        while True:
            steps, left = small_steps(min(self.newton_wait * len(f), budget - taken))
            taken += steps
            since += steps
            if left <= tol or taken >= budget or steps == 0:
                return taken, left
            n_free = int(np.count_nonzero(is_free(beta, lower, upper, epsilon)))
            gained = np.log(reference / left) if left < reference else 0.0
            ahead = since * np.log(left / tol) / gained if gained > 0.0 else np.inf
            if ahead > newton_cost(n_free) / (PAIR_STEP * len(f)):
                since, reference = 0, left
                helped = newton_step(
                    block, f, beta, lower, upper, epsilon, diagonal, starts, self.gram.n_threads, self.factors
                )
                self.newton_wait = FIRST_WAIT if helped else 2 * self.newton_wait

    def inner_tol(self, violation: float) -> float:
        """How far a block is solved: to tol when it is the whole problem, else to a share of the violation.

        The gap and the objective may need a far smaller violation than tol, so there the share alone decides.
        """
        if self.stopping.criterion != "kkt":
            return INNER_SHARE * violation
        return 0.99 * self.tol if self.whole else max(0.5 * self.tol, INNER_SHARE * violation)

    def middles(self, table: NDArray) -> NDArray:
        """Shift of each group that brings the gradient near its threshold close to zero, where floats are finest."""
        if not self.dual.n_groups:
            return np.zeros(1)
        movable = np.isfinite(table[:, :2]).all(axis=1)
        middle = np.zeros(len(table))
        middle[movable] = 0.5 * (table[movable, 0] + table[movable, 1])
        return middle

    def report(self, table: NDArray, objective: float) -> Iteration:
        """Progress report of a round."""
        return Iteration(
            violation=violation_of(table, self.dual.n_groups),
            tol=self.stopping.tol,
            objective=objective,
            iterations=self.iterations,
            rounds=self.rounds,
            n_support=int(np.count_nonzero(self.beta)),
            n_free=int(table[:, 3].sum()),
            rows_computed=self.gram.rows_computed,
            seconds=time.perf_counter() - self.began,
            point=lambda: (self.beta, self.function),
        )


def has_infinite_box(dual: SignedDual) -> bool:
    """Whether a multiplier may grow without end."""
    return bool(dual.upper.max(initial=0.0) == np.inf or dual.lower.min(initial=0.0) == -np.inf)
