"""The loop that all reference solvers share: passes, time checks, stop rules, endings.

An algorithm is a generator. It changes the point of its `Run`, yields PASS when all variables have been looked at since
the last PASS, PART after a pass over some of them and SLICE where only the time limit and Ctrl-C have to be checked. It
returns when it can make no further progress: the tolerance then decides whether that was the optimum, and otherwise the
returned status is the reason.

Stops    the criteria of Cristianini & Shawe-Taylor (2000), section 7.1 (monitor/stopping.py). Violation and gap belong
         to the point and are checked after every pass; growth of the objective is judged from one PASS to the next,
         because a pass over a few variables grows little however far the others are from their optimum
Ends     always: by the criterion, max_iter, max_passes, time, Ctrl-C, a hard margin that does not exist (UNBOUNDED), or
         STALL_PASSES times from PASS to PASS without a lower objective or violation (STALLED, or INDEFINITE after a
         negative curvature)
Tol      `Run.tol`, the violation below which an algorithm leaves a variable alone, is the tolerance at first. A gap
         within the tolerance may need a smaller violation: an algorithm that ends before that is run again with less
Point    (beta, F = K b) is one attribute and changes at once, so that an interrupt finds a consistent pair
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Literal, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from widemargin.gram.accumulate import add_row_products
from widemargin.gram.gram import Gram
from widemargin.linalg.arrays import Vector
from widemargin.monitor import clock
from widemargin.monitor.interrupt import status_of
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems.dual import SignedDual
from widemargin.problems.measure import relative_gap
from widemargin.problems.optimality import free_of, scan_groups, thresholds_of, violation_of
from widemargin.solvers.solution import Solution

STALL_PASSES = 3  # full passes in a row without progress before a solver is stalled
NO_GROWTH = 1e-15  # relative change of the objective that is only rounding
SMALLER_TOL, SMALLEST_TOL = 0.1, 1e-6  # factor of the next violation to reach for a gap; the last, as a share of tol
SMALLEST_MARGIN2 = 1e-10  # squared margin over the largest K_ii below which a hard margin counts as impossible

SLICE, PART, PASS = "slice", "part", "pass"  # yielded by an algorithm; see the header
Turns = Generator[str, None, int]
Passes = Generator[str, None, Status]


class Run:
    """One solve: the problem, the point reached, and the counters.

    Attributes
    ----------
    point : (beta, F) with F = K b per sample; F is None while an algorithm does not keep it
    seen : (violation, objective) found during a pass, for algorithms that do not keep F; None otherwise
    tol : violation below which a variable is left alone; see the header
    every_step : whether an algorithm makes one step at a time, so that listeners hear of each
    moved : the variables of the last step: the one looked at first, its partner; kept with `every_step` only
    fell : whether the last pass, full or not, lowered the objective by more than rounding
    lowest_curvature : most negative curvature met, 0 if the kernel showed none
    matrix : all kernel values, if the algorithm computed them although the Gram does not hold them
    """

    def __init__(
        self, dual: SignedDual, gram: Gram, stopping: Stopping, start: NDArray | None, function: NDArray | None,
        every_step: bool = False,
    ) -> None:  # fmt: skip
        self.every_step = every_step
        self.moved: tuple[int, ...] = ()
        self.dual, self.gram, self.stopping = dual, gram, stopping
        self.began = clock.now()
        self.deadline = stopping.deadline()
        self.tol, self.fell = stopping.tol, True
        self.iterations = self.rounds = 0
        self.seen: tuple[float, float] | None = None
        self.lowest_curvature = 0.0
        self.ran_away = False  # whether a step was infinite
        self.matrix: NDArray | None = None
        beta = np.array(dual.start if start is None else start, dtype=np.float64)
        self.point: tuple[Vector, Vector | None] = (beta, None if function is None else np.array(function, np.float64))

    @property
    def beta(self) -> Vector:
        return self.point[0]

    @property
    def Kb(self) -> Vector:
        """F = K b of the point, computed now if the algorithm does not keep it."""
        beta, Kb = self.point
        if Kb is None:
            coefficients = self.dual.per_sample(beta)
            if self.matrix is None:
                Kb = self.gram.scores(coefficients).values
            else:
                Kb = np.zeros(len(coefficients))
                add_row_products(self.matrix, coefficients, Kb)
            self.point = (beta, Kb)
        return Kb

    def _point_for_a_listener(self) -> tuple[Vector, Vector]:
        """(beta, F); rows that only a listener needs are not counted."""
        with self.gram.uncounted():
            return self.beta, self.Kb

    @cached_property
    def curvature(self) -> Vector:
        """K_ii + D_i of every variable."""
        diag = self.gram.diag if self.dual.row is None else self.gram.diag[self.dual.row]
        return diag + self.dual.diagonal

    def gradient(self) -> Vector:
        """f = F + D b + c of the point, one per variable."""
        return self.dual.gradient(self.beta, self.Kb)

    def table(self) -> NDArray:
        """Thresholds of every group at the point (problems/optimality.py)."""
        d = self.dual
        return scan_groups(self.gradient(), self.beta, d.lower, d.upper, d.epsilon, d.group_starts, d.n_groups)

    def free(self) -> NDArray[np.bool_]:
        """Mask of the variables strictly inside their box and off the kink."""
        return free_of(self.beta, self.dual.lower, self.dual.upper, self.dual.epsilon)

    def steps_left(self) -> int:
        """Steps that max_iter still allows."""
        allowed = self.stopping.max_iter
        left = np.iinfo(np.int64).max if allowed < 0 else max(0, allowed - self.iterations)
        return min(left, 1) if self.every_step else left

    def out_of_budget(self) -> Status | None:
        """Return MAX_ITER or TIME_LIMIT if that budget is used up, else None."""
        if self.steps_left() == 0:
            return Status.MAX_ITER
        return Status.TIME_LIMIT if clock.now() >= self.deadline else None

    def measure(self) -> tuple[float, float]:
        """Return violation and objective: as found during the pass if the algorithm keeps no F, else exact values."""
        if self.seen is not None:
            return self.seen
        return violation_of(self.table(), self.dual.n_groups), self.dual.objective(self.beta, self.Kb)

    def meets(self, violation: float, growth: float | None, objective: float) -> bool:
        """Whether the point meets the criterion.

        growth : of the objective since the last full pass, None after a pass over some variables
        """
        stop = self.stopping
        if stop.criterion == "gap":
            if growth is None and self.seen is not None:  # F would have to be computed
                return False
            thresholds = thresholds_of(self.table(), self.dual.n_groups)
            return relative_gap(self.dual, self.beta, self.Kb, thresholds) <= stop.tol
        if self.seen is None and violation <= stop.tol:
            return True
        return stop.criterion == "objective" and growth is not None and growth <= stop.tol * abs(objective)

    def has_no_margin(self) -> bool:
        """Whether the hard margin is zero to rounding: 2 |sum b phi| / sum |b| bounds the distance of the two hulls.

        A kernel with negative curvature can drive multipliers to infinity against any diagonal; they are checked too.
        """
        if self.ran_away:
            return True
        dual = self.dual
        if dual.largest_bound < np.inf or not (len(dual.hard) or self.lowest_curvature < 0.0):
            return False
        total = float(np.abs(self.beta).sum())
        norm2 = float(dual.per_sample(self.beta) @ self.Kb) + float(dual.diagonal @ self.beta**2)
        return total > 0.0 and 4.0 * norm2 <= SMALLEST_MARGIN2 * float(self.gram.diag.max()) * total * total

    def or_indefinite(self, status: Status) -> Status:
        """Return the given status, or INDEFINITE if negative curvature was found."""
        return Status.INDEFINITE if self.lowest_curvature < 0.0 else status

    def report(self) -> Iteration:
        """Progress report; `point` computes (beta, F) on request."""
        violation, objective = self.measure()
        return Iteration(
            violation=violation,
            tol=self.stopping.tol,
            objective=objective,
            iterations=self.iterations,
            rounds=self.rounds,
            n_support=int(np.count_nonzero(self.beta)),
            n_free=int(np.count_nonzero(self.free())),
            seconds=clock.now() - self.began,
            point=self._point_for_a_listener,
            moved=self.moved,
        )


class Progress:
    """Progress from one full pass to the next, over the passes on some variables between them.

    growth : of the objective
    idle : full passes in a row in which neither objective nor violation fell
    """

    def __init__(self) -> None:
        self.objective = self.growth = self.violation = np.inf
        self.idle = 0

    def judge(self, violation: float, objective: float) -> None:
        """Note the values after a full pass."""
        self.growth, self.objective = self.objective - objective, objective
        fell = self.growth > NO_GROWTH * abs(objective) or violation < self.violation
        self.idle = 0 if fell else self.idle + 1
        self.violation = min(self.violation, violation)


@dataclass(frozen=True)
class ReferenceSolver(ABC):
    """A solver of the signed dual with options: `SVC(solver=Adatron(omega=1.2))`; call it or use `solve`.

    Parameters
    ----------
    max_passes : int
        Passes over the data after which the solver gives up with the status MAX_PASSES.
    every_step : bool
        Whether listeners hear of every step, not of every pass: slower, for `widemargin.steps`.
    """

    max_passes: int = field(default=10_000, kw_only=True)
    every_step: bool = field(default=False, kw_only=True, repr=False)

    moves: ClassVar[int] = 0  # multipliers per step: 1 cannot keep a sum, 2 keep one sum, 0 allows all problems
    keeps_going: ClassVar[bool] = False  # whether passes without a lower objective are part of the algorithm

    def __post_init__(self) -> None:
        """Raise a ValueError for an option that is not one of the literals of its type."""
        for name, kind in get_type_hints(type(self)).items():
            known = get_args(kind) if get_origin(kind) is Literal else ()
            if known and getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}; got {getattr(self, name)!r}.")

    @property
    def fixed_bias(self) -> bool:
        """Whether the solver requires problems without equality constraint."""
        return self.moves == 1

    def check(self, dual: SignedDual) -> None:
        """Raise a ValueError if this solver cannot solve the problem."""
        name = re.sub("(?<=[a-z])(?=[A-Z])", "-", type(self).__name__).lower()  # as in SVC(solver="fixed-threshold")
        if self.moves == 1 and dual.n_groups:
            raise ValueError(
                f"solver={name!r} moves one multiplier at a time, so it needs a machine without equality "
                "constraint (fixed bias: problems.without_bias and the kernel K + tau^2, which SVC and SVR set up by "
                "themselves); this machine keeps a sum of its multipliers. Use solver='block' or 'chunking'."
            )
        if self.moves == 2 and not (dual.n_groups == 1 and dual.row is None and dual.sign is None):
            sums = "more than one equality constraint (nu)" if dual.n_groups else "no equality constraint (fixed bias)"
            instead = "'block', 'chunking' or 'osuna'" if dual.n_groups else "'fixed-threshold' or 'adatron'"
            raise ValueError(
                f"solver={name!r} moves two multipliers against one threshold, and this machine has {sums}: "
                f"use solver={instead}."
            )

    @abstractmethod
    def passes(self, run: Run) -> Passes:
        """The algorithm; see the module's header."""

    def solve(
        self,
        dual: SignedDual,
        gram: Gram,
        stopping: Stopping,
        start: NDArray | None = None,
        function: NDArray | None = None,
        watch: Watch | None = None,
    ) -> Solution:
        """Solve a signed dual from `start`; `function` is F = K start when the caller knows it."""
        self.check(dual)
        run = Run(dual, gram, stopping, start, function, self.every_step)
        rows_before = gram.rows_computed
        try:
            status = self._drive(run, watch)
        except KeyboardInterrupt as interrupt:
            status = status_of(interrupt)
        table = run.table()
        return Solution(
            beta=run.beta,
            Kb=run.Kb,
            thresholds=thresholds_of(table, dual.n_groups),
            status=status,
            violation=violation_of(table, dual.n_groups),
            objective=dual.objective(run.beta, run.Kb),
            iterations=run.iterations,
            rounds=run.rounds,
            rows_computed=gram.rows_computed - rows_before,
            seconds=clock.now() - run.began,
        )

    __call__ = solve

    def _drive(self, run: Run, watch: Watch | None) -> Status:
        """Advance the algorithm until a stop rule or the algorithm itself ends the run; return the status."""
        progress, algorithm = Progress(), self.passes(run)
        turn: str | Status = PASS
        now = run.report()
        while True:
            if watch is not None:
                watch(now)
            ended = self._reason_to_stop(run, now, progress, turn)
            if ended is not None:
                return ended
            if isinstance(turn, Status):  # the algorithm ended before the gap was small enough
                run.tol *= SMALLER_TOL
                algorithm = self.passes(run)
            turn = self._next_pass(run, algorithm, now, watch)
            before, reached = now, run.iterations > now.iterations or not isinstance(turn, Status)
            run.rounds += reached
            now = run.report()
            run.fell = before.objective - now.objective > NO_GROWTH * abs(now.objective)

    def _next_pass(self, run: Run, algorithm: Passes, now: Iteration, watch: Watch | None) -> str | Status:
        """Run the algorithm to the end of a pass; return PART or PASS, or the status with which it ended inside."""
        try:
            while True:
                ended = run.out_of_budget()
                if ended is not None:
                    break
                turn = next(algorithm)
                if turn is not SLICE:
                    return turn
                if watch is not None:
                    seconds, n_support = clock.now() - run.began, int(np.count_nonzero(run.beta))
                    watch(
                        replace(now, iterations=run.iterations, n_support=n_support, seconds=seconds, moved=run.moved)
                    )
        except StopIteration as end:
            ended = end.value
        run.seen = None
        return ended

    def _reason_to_stop(self, run: Run, now: Iteration, progress: Progress, turn: str | Status) -> Status | None:
        """Return the status to end with, or None to continue."""
        is_full = turn is not PART
        if is_full:
            progress.judge(now.violation, now.objective)
        if turn in (Status.MAX_ITER, Status.TIME_LIMIT):
            return turn
        if run.has_no_margin():
            return run.or_indefinite(Status.UNBOUNDED)
        if run.meets(now.violation, progress.growth if is_full else None, now.objective):
            return Status.OPTIMAL
        if isinstance(turn, Status) and not self._may_tighten(run, turn):
            return run.or_indefinite(turn) if turn is Status.STALLED else turn
        if self.max_passes <= run.rounds:
            return Status.MAX_PASSES
        if is_full and progress.idle >= STALL_PASSES and not self.keeps_going:
            return run.or_indefinite(Status.STALLED)
        return None

    def _may_tighten(self, run: Run, reason: Status) -> bool:
        """Whether an algorithm that can make no further progress may go on to a smaller violation."""
        stop = run.stopping
        ended = reason in (Status.STALLED, Status.OWN_RULE)
        return ended and stop.criterion == "gap" and run.tol > SMALLEST_TOL * stop.tol
