"""From data and a kernel to certified answers: prepare -> Gram -> solve -> certify -> go on if the certificate fails.

`Training` holds what the problems of one fit share (prepared samples, Gram, threads). Each `Task` is one signed dual on
some of the samples: one for a binary machine or a regression, one per pair or per class for many classes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

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
from widemargin.solvers import Solution, Status, solve_blocks, solver_named
from widemargin.solvers.begin import solve_pair
from widemargin.solvers.without import Without
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
    fold : number of the fold of each sample, -1 for none. After the whole is solved, each fold is left out once, on the
        same Gram and from its answer; None where nobody asks for that.
    """

    dual: SignedDual
    index: Index | Parts | None = None
    start: NDArray[np.float64] | None = None
    fold: NDArray[np.int64] | None = None


@dataclass
class HeldOut:
    """What became of the folds: F at each sample under the machine without its fold, and the levels of each machine."""

    function: Vector
    levels: Vector


@dataclass
class Trained:
    """The solution of a task and its certificate, and what became of its folds."""

    solution: Solution
    certificate: Certificate
    held_out: HeldOut | None = None


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
                quick = self._train_pair(tasks[number], left, None if watch is None else report)
                results[number] = quick or self._train_one(tasks[number], left, report)

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
        self.source.close()
        trained = [result for result in results if result is not None]
        for solution in (result.solution for result in trained):
            solution.function, solution.level = self.hand_over_bias(solution.beta, solution.function, solution.level)
        return trained

    def hand_over_bias(self, beta: Vector, function: Vector, level: Vector) -> tuple[Vector, Vector]:
        """The bias of K + tau^2 is tau^2 sum b: F as K b, and the bias as a level. Other machines stay as they are."""
        if self.tau2 is None:
            return function, level
        part = self.tau2 * float(beta.sum())
        return function - part, np.array([-part])

    def _train_pair(self, task: Task, stopping: Stopping, watch: Watch | None) -> Trained | None:
        """A pair of classes, with as little Python as possible; None where `_train_one` has to do it."""
        if self.solve is not solve_blocks or self.linear is not None or not self.source.has_pair(task.index):
            return None
        gram = cast(PairGram, self.source.gram(task.index))
        solution = solve_pair(task.dual, gram, stopping, task.start)
        if solution is None:
            return None
        certificate = self._certify(task, gram, solution, stopping)
        if not certificate.holds:
            return None
        solution.objective = -certificate.dual
        if watch is not None:
            try:
                watch(solution_report(solution, certificate))
            except KeyboardInterrupt:
                solution.status = Status.INTERRUPTED
                certificate = replace(certificate, status=Status.INTERRUPTED)
        return Trained(solution, certificate, self._train_without(task, gram, solution, stopping))

    def _train_one(self, task: Task, stopping: Stopping, watch: Watch) -> Trained:
        """Solve, certify on a fresh function, and go on from that function while the certificate fails."""
        if self.linear is not None and task.start is None and not self.cancelled.is_set():
            answer = self.linear.train(task.dual, task.index, stopping, watch)
            if answer is not None:
                solution, certificate = answer
                if certificate.holds or solution.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
                    return Trained(solution, certificate, self._train_linear_without(task, solution, stopping, watch))
                task = replace(task, start=solution.beta)
        with ExitStack() as grams:
            return self._solve_and_certify(task, stopping, watch, grams)

    def _solve_and_certify(self, task: Task, stopping: Stopping, watch: Watch, grams: ExitStack) -> Trained:
        """`_train_one` for a kernel that is given by its values; what `grams` holds is closed by the caller."""
        gram = grams.enter_context(closing(self.source.gram(task.index)))
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
                gram = grams.enter_context(closing(self.source.gram(task.index, double=True)))
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
        solution = Solution(task.dual.start.copy(), zero, level, status, np.inf, 0.0, 0, 0, 0, 0.0)
        certificate = certify_function(
            task.dual, solution.beta, zero, stopping.tol, criterion=stopping.criterion, solution=solution
        )
        solution.level, solution.violation = np.array(certificate.level), certificate.violation
        return Trained(solution, certificate, None if task.fold is None else nothing_held_out(task))

    def _train_without(self, task: Task, gram: Gram, whole: Solution, stopping: Stopping) -> HeldOut | None:
        """The machine without each fold, from the one with all samples: most multipliers stay."""
        if task.fold is None:
            return None
        rule = replace(stopping, tol=max(stopping.tol, HELD_OUT_TOL), criterion="kkt")
        dual = task.dual
        fold = task.fold if dual.row is None else task.fold[dual.row]
        without = Without(dual, gram, whole, fold)
        held_out = nothing_held_out(task)
        enough = max(OUTSIDE_TOL, rule.tol)
        for number in without.solve_with_rows(INNER_SHARE * rule.tol, enough, held_out.function, held_out.levels):
            self._keep(held_out, task, number, self._leave_out(without, number, rule))
        return held_out

    def _leave_out(self, without: Without, number: int, rule: Stopping) -> Solution:
        """One machine without a fold, on all variables."""

        def stop_if_cancelled(info: dict[str, Any]) -> None:
            if self.cancelled.is_set():
                raise KeyboardInterrupt

        start = without.start(number)
        if start is None:
            return without.whole  # nothing is left without these samples
        dual, function = start
        if isinstance(without.gram, PairGram) and self.solve is solve_blocks:
            quick = solve_pair(dual, without.gram, rule, function=function)
            if quick is not None:
                return quick
        return self.solve(dual, without.gram, rule, start=dual.start, function=function, watch=stop_if_cancelled)

    def _train_linear_without(self, task: Task, whole: Solution, stopping: Stopping, watch: Watch) -> HeldOut | None:
        """As `_train_without`, for a linear kernel: each fold is left out by a box that has no room."""
        if task.fold is None:
            return None
        assert self.linear is not None
        rule = replace(stopping, tol=max(stopping.tol, HELD_OUT_TOL), criterion="kkt")
        held_out = nothing_held_out(task)
        for number in range(len(held_out.levels)):
            lo, hi = (np.where(task.fold == number, 0.0, bound) for bound in (task.dual.lo, task.dual.hi))
            answer = self.linear.train(replace(task.dual, lo=lo, hi=hi), task.index, rule, watch)
            if answer is None:  # too few samples are left: the folds go the way of all kernels
                return self._train_without(task, self.source.gram(task.index), whole, stopping)
            self._keep(held_out, task, number, answer[0])
        return held_out

    def _keep(self, held_out: HeldOut, task: Task, number: int, answer: Solution) -> None:
        """Take the values of a fold from the answer without it."""
        function, held_out.levels[number] = self.hand_over_bias(answer.beta, answer.function, answer.level)
        away = task.fold == number
        held_out.function[away] = function[away]

    def _certify(self, task: Task, gram: Gram, solution: Solution, stopping: Stopping) -> Certificate:
        """Certificate on a fresh function, which the solution takes over; on the solver's own if interrupted there."""
        if solution.status is Status.INTERRUPTED:
            self.cancelled.set()
        if isinstance(gram, PairGram):
            quick = certify_pair(
                task.dual, gram, solution, stopping,
                lambda function, proven, violation: self.source.checked(
                    task.dual, solution.beta, function, task.index, proven, stopping.tol, violation
                ),
            )  # fmt: skip
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


def nothing_held_out(task: Task) -> HeldOut:
    """Room for what becomes of the folds of a task: zero everywhere."""
    assert task.fold is not None
    n_folds = int(task.fold.max(initial=-1)) + 1
    return HeldOut(np.zeros(task.dual.n_samples), np.zeros((n_folds, max(1, task.dual.n_groups))))


def solution_report(solution: Solution, certificate: Certificate) -> dict[str, Any]:
    """What a watcher is told about a problem that was solved at once; the same keys as of a round of the solver."""
    return {
        "rounds": solution.rounds,
        "iterations": solution.iterations,
        "violation": certificate.violation,
        "tol": certificate.tol,
        "objective": solution.objective,
        "n_support": certificate.n_support,
        "n_free": certificate.n_free,
        "rows_computed": solution.rows_computed,
        "seconds": solution.seconds,
        "point": lambda: (solution.beta, solution.function),
    }


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
