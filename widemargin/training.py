"""From data and a kernel to certified answers: prepare -> Gram -> solve -> certify -> go on if the certificate fails.

`Training` holds what the problems of one fit share (prepared samples, Gram, threads). Each `Task` is one signed dual on
some of the samples: one for a binary machine or a regression, one per pair or per class for many classes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from widemargin.certificate import Certificate, certify_function
from widemargin.gram import Gram
from widemargin.gram.gram import ROW_TILE
from widemargin.gram.pair import PairGram
from widemargin.gram.source import GramSource, Index, Parts
from widemargin.kernels import FeatureKernel, Linear
from widemargin.kernels.kernel import Kernel
from widemargin.pair_certificate import certify_pair
from widemargin.problems.bias import safe_tau, without_bias
from widemargin.problems.dual import SignedDual
from widemargin.restart import nearest_feasible
from widemargin.solvers import Solution, Status, solve_blocks, solver_named
from widemargin.solvers.optimality import levels_of, scan_groups, violation_of
from widemargin.solvers.without import Without, emptied
from widemargin.stopping import Stopping
from widemargin.threads import resolve_n_jobs, run_tiles, single_threaded_blas

if TYPE_CHECKING:
    from widemargin.linear.kernel_path import LinearPath

RESUMES = 3  # times a float32 answer is taken up again from its fresh function before rows become float64
WORTH_THREADS = (
    200_000  # kernel entries of all tasks together below which handing them to threads costs more than it saves
)
MOST_STEPS = (10_000_000, 1_000)  # steps, and steps per variable, that a problem gets without max_iter; LIBSVM's is 1e7
MOST_VAIN_STEPS = (700_000, 200)  # the same where rounding of the gradient alone exceeds tol
HELD_OUT_TOL = 0.1  # violation that a machine without some samples may keep: A and B of a sigmoid change by 0.1 %
EPS = float(np.finfo(np.float64).eps)
INNER_SHARE = 0.5  # of it, up to which the variables with rows are solved
OUTSIDE_TOL = 0.9  # violation by variables without rows from which they take part too: below, A changes by 1-2 %

Watch = Callable[[dict[str, Any]], None]
Vector = NDArray[np.float64]


@dataclass
class Task:
    """One problem of a fit. `index` are the samples it is about; `start` a feasible beta.

    index : None means all samples, in order; a tuple of index arrays is joined, and arrays that stand in several tasks
        (the classes of a many-class machine) share their part of the kernel matrix.
    held_out : sets of variables, each to be left out once after the whole is solved, on the same Gram and from its
        answer: the function then holds the values of their samples under a machine that has not seen them.
    """

    dual: SignedDual
    index: Index | Parts | None = None
    start: NDArray[np.float64] | None = None
    held_out: Sequence[NDArray[np.bool_]] = ()


@dataclass
class Trained:
    """The solution of a task and its certificate, and the solutions of its held-out problems."""

    solution: Solution
    certificate: Certificate
    held_out: list[Solution] = field(default_factory=list)


class Training:
    """What the problems of one fit share.

    An answer is checked on a function computed afresh (gram/source.py); one that fails is taken up again from that
    function, in the end with float64 rows.

    Parameters
    ----------
    kernel : Kernel
    X : raw training data, anything `kernel.prepare` takes
    cache_size : float or None
        Megabytes for rows of the kernel matrix; None takes a share of the free memory.
    n_jobs : int or None
        Threads; None means all cores.
    solver : str or callable
        "auto" (the fast block solver), the name of another solver, or a function or object with its signature. One with
        `fixed_bias` set (Adatron and its kin) is given the machine without equality constraint on the kernel K + tau^2,
        tau the largest |x| in feature space; that machine, with its penalised bias, is what the certificate is about.
    cancelled : threading.Event or None
        Where it is set, every problem ends at its next round with what it has (widemargin.interrupt).
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        *,
        cache_size: float | None = None,
        n_jobs: int | None = None,
        solver: str | Callable[..., Solution] = "auto",
        cancelled: threading.Event | None = None,
    ) -> None:
        self.n_threads = resolve_n_jobs(n_jobs)
        self.solve = solver_named(solver)
        if isinstance(kernel, FeatureKernel):  # features are written out once; from here on it is a linear machine
            X, kernel = kernel.features(X), Linear()
        self.tau2: float | None = None  # a solver for machines with fixed bias gets one: K + tau^2, no constraint
        if getattr(self.solve, "fixed_bias", False):
            self.tau2 = safe_tau(kernel.diag(kernel.prepare(X, np.float64))) ** 2
            kernel = kernel + self.tau2
        self.source = GramSource(kernel, X, cache_size, self.n_threads)
        self.linear: LinearPath | None = None  # problems with a linear kernel need no kernel matrix
        if self.solve is solve_blocks and type(kernel) is Linear:
            from widemargin.linear.kernel_path import LinearPath  # nobody else needs these modules

            self.linear = LinearPath(X) if LinearPath.suits(kernel, X) else None
        self.cancelled = threading.Event() if cancelled is None else cancelled
        self._forgets = cancelled is None  # an interrupt of one call of `train` is over when the next begins

    def train(self, tasks: Sequence[Task], stopping: Stopping, watch: Watch | None = None) -> list[Trained]:
        """Solve every task to the stop rule and certify each answer.

        `watch` may raise KeyboardInterrupt: then every task ends with what it has.
        """
        if self._forgets:
            self.cancelled.clear()
        results: list[Trained | None] = [None] * len(tasks)
        deadline = stopping.deadline()
        if self.tau2 is not None:
            tasks = [replace(task, dual=without_bias(task.dual)) for task in tasks]

        def run(number: int) -> None:
            def report(info: dict[str, Any]) -> None:
                if self.cancelled.is_set():
                    raise KeyboardInterrupt
                if watch is not None:
                    watch({**info, "task": number, "n_tasks": len(tasks), "dual": tasks[number].dual})

            left = stopping if stopping.time_limit is None else stopping.until(deadline)
            if self.cancelled.is_set() or left.time_limit == 0.0:
                status = Status.INTERRUPTED if self.cancelled.is_set() else Status.TIME_LIMIT
                results[number] = self._leave_at_start(tasks[number], left, status)
            if results[number] is None:
                results[number] = self._train_one(tasks[number], left, report)

        with single_threaded_blas() if len(self.source) > ROW_TILE else nullcontext():
            try:
                if len(tasks) > 1 and self.linear is None:
                    self.source.share(task.index for task in tasks)
                work = sum(len(task.dual) ** 2 for task in tasks)
                large_first = sorted(range(len(tasks)), key=lambda number: -len(tasks[number].dual))
                run_tiles(
                    lambda place: run(large_first[place]), len(tasks), self.n_threads if work > WORTH_THREADS else 1
                )
            except KeyboardInterrupt:
                self.cancelled.set()
            for number in range(len(tasks)):  # what an interrupt left out ends at once, at its start
                if results[number] is None:
                    run(number)
        trained = [result for result in results if result is not None]
        for solution in (each for result in trained for each in (result.solution, *result.held_out)):
            solution.function, solution.level = self.hand_over_bias(solution.beta, solution.function, solution.level)
        return trained

    def hand_over_bias(self, beta: Vector, function: Vector, level: Vector) -> tuple[Vector, Vector]:
        """The bias of K + tau^2 is tau^2 sum b: F as K b, and the bias as a level. Other machines stay as they are."""
        if self.tau2 is None:
            return function, level
        part = self.tau2 * float(beta.sum())
        return function - part, np.array([-part])

    def _train_one(self, task: Task, stopping: Stopping, watch: Watch) -> Trained:
        """Solve, certify on a fresh function, and go on from that function while the certificate fails."""
        if self.linear is not None and task.start is None and not self.cancelled.is_set():
            answer = self.linear.train(task.dual, task.index, stopping, watch)
            if answer is not None:
                solution, certificate = answer
                if certificate.holds or solution.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
                    return Trained(solution, certificate, self._train_linear_without(task, solution, stopping, watch))
                task = replace(task, start=solution.beta)
        gram = self.source.gram(task.index)
        bounded = self.solve is solve_blocks and stopping.max_iter < 0
        vain = bounded and rounding_of(task.dual, gram.diag, len(task.dual)) > stopping.tol
        if bounded:
            stopping = replace(stopping, max_iter=most_steps(len(task.dual), vain))
        solution = self.solve(task.dual, gram, stopping, start=task.start, watch=watch)
        solution.rows_computed = gram.rows_computed  # those of a matrix made beforehand count too
        certificate = self._certify(task, gram, solution, stopping)
        for attempt in range(2 * RESUMES):
            if certificate.holds or solution.status not in (Status.OPTIMAL, Status.STALLED):
                break
            if gram.dtype == np.float64:
                if solution.status is Status.STALLED:
                    break
            elif attempt + 1 >= RESUMES or solution.status is Status.STALLED:
                gram = self.source.gram(task.index, double=True)
            solution = resume(self.solve, task.dual, gram, stopping, solution, watch)
            certificate = self._certify(task, gram, solution, stopping)
        if solution.status is Status.OPTIMAL and not certificate.holds:
            solution.status = Status.STALLED
            certificate = replace(certificate, status=Status.STALLED)
        if solution.status is Status.MAX_ITER and bounded:
            solution.status = Status.STALLED if vain else Status.TOO_SLOW
            certificate = replace(certificate, status=solution.status)
        return Trained(solution, certificate, self._train_without(task, gram, solution, stopping))

    def _leave_at_start(self, task: Task, stopping: Stopping, status: Status) -> Trained | None:
        """A problem nobody will wait for, left at zero without a kernel value; None where zero is not feasible."""
        if task.dual.start.any() or task.start is not None:
            return None
        zero, level = np.zeros(task.dual.n_samples), np.zeros(task.dual.n_groups)

        def at_start(dual: SignedDual) -> Solution:
            return Solution(dual.start.copy(), zero.copy(), level, status, np.inf, 0.0, 0, 0, 0, 0.0)

        solution = at_start(task.dual)
        certificate = certify_function(
            task.dual, solution.beta, zero, stopping.tol, criterion=stopping.criterion, solution=solution
        )
        solution.level, solution.violation = np.array(certificate.level), certificate.violation
        return Trained(solution, certificate, [at_start(task.dual) for _ in task.held_out])

    def _train_without(self, task: Task, gram: Gram, whole: Solution, stopping: Stopping) -> list[Solution]:
        """The machine without each set of samples held out, from the one with all: most multipliers stay."""
        quick = Without(task.dual, gram, whole) if len(task.held_out) and Without.fits(task.dual, gram) else None
        rule = replace(stopping, tol=max(stopping.tol, HELD_OUT_TOL), criterion="kkt")
        return [self._leave_out(task.dual, gram, whole, away, rule, quick) for away in task.held_out]

    def _train_linear_without(self, task: Task, whole: Solution, stopping: Stopping, watch: Watch) -> list[Solution]:
        """As `_train_without`, for a linear kernel: each set is left out by a box that has no room."""
        assert self.linear is not None
        rule = replace(stopping, tol=max(stopping.tol, HELD_OUT_TOL), criterion="kkt")
        answers = []
        for away in task.held_out:
            lo, hi, _ = emptied(task.dual, away)
            answer = self.linear.train(replace(task.dual, lo=lo, hi=hi), task.index, rule, watch)
            if answer is None:  # too few samples are left: the rest goes the way of all kernels
                return self._train_without(task, self.source.gram(task.index), whole, stopping)
            answers.append(answer[0])
        return answers

    def _leave_out(
        self,
        dual: SignedDual,
        gram: Gram,
        whole: Solution,
        away: NDArray[np.bool_],
        rule: Stopping,
        quick: Without | None,
    ) -> Solution:
        """One machine without some samples: on the variables with rows, and on all where that is not enough."""

        def stop_if_cancelled(info: dict[str, Any]) -> None:
            if self.cancelled.is_set():
                raise KeyboardInterrupt

        lo, hi, sums = emptied(dual, away)
        change = None if quick is None else quick.change(lo, hi, sums, INNER_SHARE * rule.tol)
        beta = np.empty(len(dual)) if change is None else whole.beta + change
        if change is None and not nearest_feasible(whole.beta, 1.0, lo, hi, sums, dual.group_starts, beta):
            return whole  # nothing is left without these samples
        coefficients = dual.per_sample(beta - whole.beta)
        moved = np.flatnonzero(coefficients)
        function = whole.function.copy()
        gram.add_rows(moved, coefficients[moved], function)
        f = dual.gradient(beta, function)
        table = scan_groups(f, beta, lo, hi, dual.kink, dual.group_starts, dual.n_groups, 0.0)
        if change is None or violation_of(table, dual.n_groups) > max(OUTSIDE_TOL, rule.tol):
            rest = replace(dual, lo=lo, hi=hi, start=beta)
            return self.solve(rest, gram, rule, start=beta, function=function, watch=stop_if_cancelled)
        return replace(whole, beta=beta, function=function, level=levels_of(table, dual.n_groups))

    def _certify(self, task: Task, gram: Gram, solution: Solution, stopping: Stopping) -> Certificate:
        """Certificate on a fresh function, which the solution takes over; on the solver's own if interrupted there."""
        if solution.status is Status.INTERRUPTED:
            self.cancelled.set()
        if isinstance(gram, PairGram):
            rounding = 0.0 if gram.dtype == np.float64 else self.source.rounding
            quick = certify_pair(task.dual, gram, solution, stopping, rounding)
            if quick is not None:
                certificate, solution.function = quick
                solution.level = np.array(certificate.level)
                return certificate
        try:
            enough = stopping.tol if stopping.criterion == "kkt" else 0.0
            running = solution.function if self.solve is solve_blocks else None
            function, error = self.source.fresh(gram, task.dual, solution.beta, running, task.index, enough)
        except KeyboardInterrupt:  # someone who will not wait for one pass over the kernel
            self.cancelled.set()
            function, error = solution.function, 0.0
            solution.status = Status.INTERRUPTED
        certificate = certify_function(
            task.dual, solution.beta, function, stopping.tol,
            criterion=stopping.criterion, solution=solution, error=error,
        )  # fmt: skip
        solution.function, solution.level = function, np.array(certificate.level)
        return certificate


def rounding_of(dual: SignedDual, diag: Vector, n_support: int) -> float:
    """About how far rounding alone can move a decision value: terms of size C K_ii, of random sign."""
    bound = max(float(dual.hi.max(initial=0.0)), -float(dual.lo.min(initial=0.0)))
    if bound == np.inf:
        ends = np.maximum(dual.hi, -dual.lo)
        bound = float(ends[np.isfinite(ends)].max(initial=0.0))
    return EPS * bound * float(diag.max(initial=0.0)) * max(1, n_support) ** 0.5


def most_steps(n_variables: int, vain: bool) -> int:
    """Steps after which a problem without max_iter is given up; `vain` where rounding alone exceeds the tolerance."""
    fixed, each = MOST_VAIN_STEPS if vain else MOST_STEPS
    return fixed + each * n_variables


def resume(
    solve: Callable[..., Solution], dual: SignedDual, gram: Gram, stopping: Stopping, before: Solution, watch: Watch
) -> Solution:
    """Go on from an answer and its fresh function, within what is left of the budgets; costs are added up."""
    max_iter = stopping.max_iter if stopping.max_iter < 0 else max(0, stopping.max_iter - before.iterations)
    time_limit = None if stopping.time_limit is None else max(0.0, stopping.time_limit - before.seconds)
    rest = replace(stopping, max_iter=max_iter, time_limit=time_limit)
    after = solve(dual, gram, rest, start=before.beta, function=before.function, watch=watch)
    after.iterations += before.iterations
    after.rounds += before.rounds
    after.rows_computed += before.rows_computed
    after.seconds += before.seconds
    return after
