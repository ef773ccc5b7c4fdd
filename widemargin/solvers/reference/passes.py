"""The loop that all reference solvers share: passes, time checks, stop rules, endings.

An algorithm is a generator. It changes the point of its `Run`, yields PASS after each pass over the data and SLICE
where only the time limit and Ctrl-C have to be checked, and returns when it can make no further progress: the tolerance
then decides whether that was the optimum, and otherwise the returned status is the reason.

Stops    the criteria of Cristianini & Shawe-Taylor (2000), section 7.1 (monitor/stopping.py), checked after every pass
Ends     always: by the criterion, max_iter, max_passes, time, Ctrl-C, a hard margin that does not exist (UNBOUNDED), or
         STALL_PASSES passes that did not lower the objective (STALLED, or INDEFINITE after a negative curvature)
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

from widemargin.gram.gram import Gram
from widemargin.linalg.arrays import Vector
from widemargin.monitor import clock
from widemargin.monitor.interrupt import status_of
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems.dual import SignedDual
from widemargin.problems.measure import measure
from widemargin.problems.optimality import free_of, scan_groups, thresholds_of, violation_of
from widemargin.solvers.solution import Solution

STALL_PASSES = 3  # passes in a row without a lower objective before a solver is stalled
NO_GROWTH = 1e-15  # relative change of the objective that is only rounding
SMALLEST_MARGIN2 = 1e-10  # squared margin over the largest K_ii below which a hard margin counts as impossible

SLICE, PASS = "slice", "pass"  # yielded by an algorithm: after part of a pass, to check the time, or after a whole pass
Turns = Generator[str, None, int]
Passes = Generator[str, None, Status]


class Run:
    """One solve: the problem, the point reached, and the counters.

    Attributes
    ----------
    point : (beta, F) with F = K b per sample; F is None while an algorithm does not keep it
    seen : (violation, objective) found during a pass, for algorithms that do not keep F; None otherwise
    lowest_curvature : most negative curvature met, 0 if the kernel showed none
    """

    def __init__(
        self, dual: SignedDual, gram: Gram, stopping: Stopping, start: NDArray | None, function: NDArray | None
    ) -> None:
        self.dual, self.gram, self.stopping = dual, gram, stopping
        self.began = clock.now()
        self.deadline = stopping.deadline()
        self.iterations = self.rounds = 0
        self.seen: tuple[float, float] | None = None
        self.lowest_curvature = 0.0
        self.ran_away = False  # whether a step was infinite
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
            Kb = self.gram.scores(self.dual.per_sample(beta)).values
            self.point = (beta, Kb)
        return Kb

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
        return np.iinfo(np.int64).max if allowed < 0 else max(0, allowed - self.iterations)

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

    def meets(self, violation: float, objective: float, previous: float) -> bool:
        """Whether the point meets the criterion; values found during a pass are recomputed exactly."""
        stop = self.stopping
        if stop.criterion != "gap" and self.seen is None and violation <= stop.tol:
            return True
        if stop.criterion == "kkt":
            return False
        if stop.criterion == "objective":
            return self.rounds > 0 and previous - objective <= stop.tol * abs(objective)
        return measure(self.dual, self.beta, self.Kb)["gap"] <= stop.tol

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

    def report(self, violation: float, objective: float) -> Iteration:
        """Progress report; `point` computes (beta, F) on request."""
        return Iteration(
            violation=violation,
            tol=self.stopping.tol,
            objective=objective,
            iterations=self.iterations,
            rounds=self.rounds,
            n_support=int(np.count_nonzero(self.beta)),
            n_free=int(np.count_nonzero(self.free())),
            seconds=clock.now() - self.began,
            point=lambda: (self.beta, self.Kb),
        )


@dataclass(frozen=True)
class ReferenceSolver(ABC):
    """A solver of the signed dual with options: `SVC(solver=Adatron(omega=1.2))`; call it or use `solve`.

    Parameters
    ----------
    max_passes : int
        Passes over the data after which the solver gives up with the status MAX_ITER.
    """

    max_passes: int = field(default=10_000, kw_only=True)

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
        run = Run(dual, gram, stopping, start, function)
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
        violation, objective = run.measure()
        previous, stalled = np.inf, 0
        passes = self.passes(run)
        while True:
            now = run.report(violation, objective)
            if watch is not None:
                watch(now)
            if run.has_no_margin():
                return run.or_indefinite(Status.UNBOUNDED)
            if run.meets(violation, objective, previous):
                return Status.OPTIMAL
            if self.max_passes <= run.rounds:
                return Status.MAX_ITER
            stalled = stalled + 1 if run.rounds and previous - objective <= NO_GROWTH * abs(objective) else 0
            if stalled >= STALL_PASSES and not self.keeps_going:
                return run.or_indefinite(Status.STALLED)
            try:
                while True:
                    ended = run.out_of_budget()
                    if ended is not None:
                        return ended
                    if next(passes) is PASS:
                        break
                    if watch is not None:
                        watch(replace(now, iterations=run.iterations, seconds=clock.now() - run.began))
            except StopIteration as end:
                return self._judge(run, previous, end.value)
            run.rounds += 1
            previous = objective
            violation, objective = run.measure()

    def _judge(self, run: Run, previous: float, reason: Status) -> Status:
        """Return the status of a run whose algorithm can make no further progress."""
        run.seen = None
        if run.has_no_margin():
            return run.or_indefinite(Status.UNBOUNDED)
        if run.meets(*run.measure(), previous):
            return Status.OPTIMAL
        return run.or_indefinite(reason) if reason is Status.STALLED else reason
