"""From data and a kernel to certified answers: prepare -> Gram -> solve -> certify -> go on if the certificate fails.

`Training` holds what the problems of one fit share (prepared samples, Gram, threads). Each `Task` is one signed dual on
some of the samples: one for a binary machine or a regression, one per pair or per class for many classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from widemargin.certificate import Certificate, certify_function
from widemargin.certificate.in_memory import certify_rows, takes
from widemargin.certificate.prove import settle
from widemargin.gram import Gram
from widemargin.gram.full import FullGram
from widemargin.gram.gram import ROW_TILE
from widemargin.gram.pair import PairGram
from widemargin.gram.scores import Scores
from widemargin.gram.source import GramSource, Index, Parts
from widemargin.kernels import FeatureKernel, Linear
from widemargin.kernels.kernel import Kernel
from widemargin.monitor.interrupt import StopSignal, status_of
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.parallel.tiles import resolve_n_jobs, run_tiles, single_threaded_blas
from widemargin.problems.dual import SignedDual
from widemargin.problems.fixed_bias import safe_tau, without_bias
from widemargin.problems.measure import measure
from widemargin.solvers import Solution, solve_blocks, solver_named
from widemargin.solvers.begin import solve_pair
from widemargin.solvers.without import Without

if TYPE_CHECKING:
    from widemargin.training.linear_path import LinearPath

MARGINS = {np.dtype(np.float32): 0.8, np.dtype(np.float64): 0.99}  # share of tol that solvers aim at, by the precision
# of rows: the rest is for rounding, so that the answer can be proven to meet tol
LEAST_AIM = 0.3  # share of tol that they aim at where errors are large, ...
AIM_SAFETY = 2.2  # ... and by how many errors below tol: one on either side, and a little more
WORTH_THREADS = (
    200_000  # kernel entries of all tasks together below which handing them to threads costs more than it saves
)
MOST_STEPS = (10_000_000, 1_000)  # steps, and steps per variable, that a problem gets without max_iter; LIBSVM's is 1e7
MOST_VAIN_STEPS = (700_000, 200)  # the same where rounding of the gradient alone exceeds tol
HELD_OUT_TOL = 0.1  # violation that a machine without some samples may keep: A and B of a sigmoid change by 0.1 %
EPS = float(np.finfo(np.float64).eps)
INNER_SHARE = 0.5  # of it, up to which the variables with rows are solved
OUTSIDE_TOL = 0.9  # violation by variables without rows from which they take part too: below, A changes by 1-2 %

Vector = NDArray[np.float64]


@dataclass
class Task:
    """One problem of a fit. `index` are the samples it is about; `start` a feasible beta.

    index : None means all samples, in order; a tuple of index arrays is joined, and arrays that stand in several tasks
        (the classes of a many-class machine) share their part of the kernel matrix.
    fold : number of the fold of each sample, -1 for none. After the whole is solved, each fold is left out once, on the
        same Gram and from its answer; None if not requested.
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

    An answer is certified with the error of its function counted (certificate/prove.py); one that fails is taken up
    again from the function computed for that, once with rows as they are and once in float64.

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
        `fixed_bias` set (Adatron and similar) is given the machine without equality constraint on the kernel K + tau^2,
        tau the largest |x| in feature space; that machine, with its penalised bias, is what the certificate is about.
    cancelled : StopSignal or None
        Where it is set, every problem ends at its next round with what it has (widemargin.monitor.interrupt).
    in_memory : int or None
        Samples up to which the whole kernel matrix is held in float64; None means gram.source.FULL. With 0 the smallest
        problem takes the way of the large ones.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        *,
        cache_size: float | None = None,
        n_jobs: int | None = None,
        solver: str | Callable[..., Solution] = "auto",
        cancelled: StopSignal | None = None,
        in_memory: int | None = None,
    ) -> None:
        self.n_threads = resolve_n_jobs(n_jobs)
        self.solve = solver_named(solver)
        if isinstance(kernel, FeatureKernel):  # features are written out once; from here on it is a linear machine
            X, kernel = kernel.features(X), Linear()
        self.tau2: float | None = None  # a solver for machines with fixed bias gets one: K + tau^2, no constraint
        if getattr(self.solve, "fixed_bias", False):
            self.tau2 = safe_tau(kernel.diag(kernel.prepare(X, np.float64))) ** 2
            kernel = kernel + self.tau2
        self.source = GramSource(kernel, X, cache_size, self.n_threads, in_memory)
        self.linear: LinearPath | None = None  # problems with a linear kernel need no kernel matrix
        if self.solve is solve_blocks and type(kernel) is Linear:
            from widemargin.training.linear_path import LinearPath  # imported only when needed

            self.linear = LinearPath(X) if LinearPath.suits(kernel, X) else None
        self.cancelled = StopSignal() if cancelled is None else cancelled
        self._forgets = cancelled is None  # an interrupt of one call of `train` is over when the next begins

    def train(self, tasks: Sequence[Task], stopping: Stopping, watch: Watch | None = None) -> list[Trained]:
        """Solve every task to the stop rule and certify each answer.

        `watch` may raise KeyboardInterrupt: then every task ends with what it has.
        """
        if self._forgets:
            self.cancelled.clear()
        if not self.source.kernel.is_psd:  # a gap is a bound for positive semi-definite kernels only
            stopping = replace(stopping, criterion="kkt")
        results: list[Trained | None] = [None] * len(tasks)
        deadline = stopping.deadline()
        if self.tau2 is not None:
            tasks = [replace(task, dual=without_bias(task.dual)) for task in tasks]

        def run(number: int) -> None:
            def report(now: Iteration) -> None:
                self.cancelled.raise_if_set()
                if watch is None:
                    return
                dual, point = tasks[number].dual, now.point
                measured = None if point is None else lambda: measure(dual, *point())
                try:
                    watch(replace(now, tol=stopping.tol, task=number, n_tasks=len(tasks), dual=dual, measure=measured))
                except KeyboardInterrupt as interrupt:
                    self.cancelled.request(status_of(interrupt))
                    raise

            left = stopping if stopping.time_limit is None else stopping.until(deadline)
            if self.cancelled.is_set() or left.time_limit == 0.0:
                status = self.cancelled.status if self.cancelled.is_set() else Status.TIME_LIMIT
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
            except KeyboardInterrupt as interrupt:
                self.cancelled.request(status_of(interrupt))
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
        solution = solve_pair(task.dual, gram, aiming(stopping, gram), task.start)
        if solution is None:
            return None
        certificate, scores = certify_rows(task.dual, gram, solution, stopping.tol, self.source.kernel.is_psd)
        if certificate.is_undecided and AIM_SAFETY * certificate.rounding <= (1.0 - LEAST_AIM) * stopping.tol:
            # A few more steps on rows at hand cost less than float64 values.
            closer = solve_pair(
                task.dual, gram, aiming(stopping, gram, certificate), solution.beta, solution.function
            )  # fmt: skip
            if closer is not None:
                closer.iterations += solution.iterations
                solution = closer
                certificate, scores = certify_rows(task.dual, gram, solution, stopping.tol, self.source.kernel.is_psd)
        certificate = self._settled(task, gram, solution, stopping, certificate, scores)
        if not certificate.holds:
            return None
        solution.objective = -certificate.objective
        if watch is not None:
            try:
                watch(solution_report(solution, certificate))
            except KeyboardInterrupt as interrupt:
                solution.status = status_of(interrupt)
                certificate = replace(certificate, status=solution.status)
        return Trained(solution, certificate, self._train_without(task, gram, solution, stopping))

    def _train_one(self, task: Task, stopping: Stopping, watch: Watch) -> Trained:
        """Solve and certify, and go on from the function that decided it where the certificate fails."""
        if self.linear is not None and task.start is None and not self.cancelled.is_set():
            answer = self.linear.train(task.dual, task.index, stopping, watch)
            if answer is not None:
                solution, certificate = answer
                if certificate.holds and not solution.status.on_request:
                    solution.status = Status.OPTIMAL  # it may have stalled where it had come near enough
                    certificate = replace(certificate, status=Status.OPTIMAL)
                if certificate.holds or solution.status is Status.TIME_LIMIT or solution.status.on_request:
                    return Trained(solution, certificate, self._train_linear_without(task, solution, stopping, watch))
                task = replace(task, start=solution.beta)
        return self._solve_and_certify(task, stopping, watch)

    def _solve_and_certify(self, task: Task, stopping: Stopping, watch: Watch) -> Trained:
        """`_train_one` for a kernel that is given by its values."""
        gram = self.source.gram(task.index)
        bounded = self.solve is solve_blocks and stopping.max_iter < 0
        vain = bounded and rounding_of(task.dual, gram.diag, len(task.dual)) > stopping.tol
        if bounded:
            stopping = replace(stopping, max_iter=most_steps(len(task.dual), vain))
        solution = self.solve(task.dual, gram, aiming(stopping, gram), start=task.start, watch=watch)
        solution.rows_computed = gram.rows_computed  # those of a matrix made beforehand count too
        certificate = self._certify(task, gram, solution, stopping)
        for again in range(2):
            if certificate.holds or solution.status not in (Status.OPTIMAL, Status.STALLED) or no_kernel(certificate):
                break
            if gram.dtype == np.float64:
                if solution.status is Status.STALLED:
                    break
            elif again or solution.status is Status.STALLED:
                gram = self.source.gram(task.index, double=True)
            aim = aiming(stopping, gram, certificate)
            solution = resume(self.solve, task.dual, gram, aim, solution, watch)
            certificate = self._certify(task, gram, solution, stopping)
        if certificate.holds and not solution.status.on_request:
            solution.status = Status.OPTIMAL  # solvers aim at less than tol, and may have come near enough
        elif solution.status in (Status.OPTIMAL, Status.STALLED):
            is_finite = bool(np.isfinite(gram.diag).all())
            solution.status = unproven(certificate, solution.status) if is_finite else Status.NOT_FINITE
        elif solution.status is Status.MAX_ITER and bounded:
            solution.status = Status.STALLED if vain else Status.TOO_SLOW
        certificate = replace(certificate, status=solution.status)
        return Trained(solution, certificate, self._train_without(task, gram, solution, stopping))

    def _leave_at_start(self, task: Task, stopping: Stopping, status: Status) -> Trained | None:
        """The zero solution of a task that is not solved, without kernel values; None if zero is not feasible."""
        if task.dual.start.any() or task.start is not None:
            return None
        zero, level = np.zeros(task.dual.n_samples), np.zeros(task.dual.n_groups)
        solution = Solution(task.dual.start.copy(), zero, level, status, np.inf, 0.0, 0, 0, 0, 0.0)
        certificate = certify_function(
            task.dual, solution.beta, zero, stopping.tol,
            criterion=stopping.criterion, is_psd=self.source.kernel.is_psd, diagonal=0.0, solution=solution,
        )  # fmt: skip
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

        def stop_if_cancelled(now: Iteration) -> None:
            self.cancelled.raise_if_set()

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
            lower, upper = (np.where(task.fold == number, 0.0, bound) for bound in (task.dual.lower, task.dual.upper))
            answer = self.linear.train(replace(task.dual, lower=lower, upper=upper), task.index, rule, watch)
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
        """Certificate of a solution, whose function becomes the one that decided it.

        Rows in memory are summed afresh; else the function is the solver's own, if it kept track of its error. What
        that leaves open is computed in float64, unless the user will not wait for it.
        """
        if solution.status.on_request:
            self.cancelled.request(solution.status)
        if takes(task.dual, gram, stopping.criterion):
            is_psd = self.source.kernel.is_psd
            certificate, scores = certify_rows(task.dual, gram, solution, stopping.tol, is_psd)  # type: ignore[arg-type]
            return self._settled(task, gram, solution, stopping, certificate, scores)
        scores, drift = solution.scores, np.nan
        if self.solve is not solve_blocks:  # the error of other solvers is unknown
            scores = Scores.untracked(solution.function)
        if isinstance(gram, FullGram | PairGram):
            scores = gram.scores(task.dual.per_sample(solution.beta))
            drift = float(np.abs(scores.values - solution.function).max(initial=0.0))
        scores, seen = self._settle(task, solution, stopping, scores)
        return self._certify_scores(task, gram, solution, scores, float(np.fmax(drift, seen)), stopping)

    def _settled(
        self,
        task: Task,
        gram: Gram,
        solution: Solution,
        stopping: Stopping,
        certificate: Certificate,
        scores: Scores,
    ) -> Certificate:
        """The certificate made from rows in memory, or another one where float64 values decide what it left open."""
        if not certificate.holds:
            settled, seen = self._settle(task, solution, stopping, scores)
            if settled is not scores or solution.status is not certificate.status:
                drift = float(np.fmax(certificate.drift, seen))
                return self._certify_scores(task, gram, solution, settled, drift, stopping)
        solution.function, solution.error = scores
        solution.level = np.array(certificate.level)
        return certificate

    def _settle(self, task: Task, solution: Solution, stopping: Stopping, scores: Scores) -> tuple[Scores, float]:
        """`settle` with values of this fit's kernel, unless the user will not wait for them."""
        coefficients = task.dual.per_sample(solution.beta)
        try:
            return settle(
                task.dual, solution.beta, scores, lambda at: self.source.exactly(coefficients, task.index, at),
                stopping.tol, stopping.criterion,
            )  # fmt: skip
        except KeyboardInterrupt as interrupt:
            self.cancelled.request(status_of(interrupt))
            solution.status = self.cancelled.status
            return scores, np.nan

    def _certify_scores(
        self, task: Task, gram: Gram, solution: Solution, scores: Scores, drift: float, stopping: Stopping
    ) -> Certificate:
        """The certificate of a solution with these scores, which the solution keeps."""
        certificate = certify_function(
            task.dual, solution.beta, scores.values, stopping.tol,
            error=scores.error, criterion=stopping.criterion, is_psd=self.source.kernel.is_psd,
            diagonal=float(gram.diag.max(initial=0.0)), solution=solution, drift=drift,
        )  # fmt: skip
        solution.function, solution.error = scores
        solution.level = np.array(certificate.level)
        return certificate


def aiming(stopping: Stopping, gram: Gram, certificate: Certificate | None = None) -> Stopping:
    """The rule for a solver: a little below tol, and further below where errors kept an answer from being proven."""
    share = MARGINS[gram.dtype]
    if certificate is not None and certificate.criterion == "kkt":
        share = max(LEAST_AIM, min(share, 1.0 - AIM_SAFETY * certificate.rounding / stopping.tol))
    elif certificate is not None:
        share *= 0.5
    return stopping if stopping.criterion == "objective" else replace(stopping, tol=share * stopping.tol)


def no_kernel(certificate: Certificate) -> bool:
    """Whether b'Kb < 0 was seen, rounding counted: the kernel is not positive semi-definite."""
    return not certificate.is_psd and certificate.primal == np.inf and np.isfinite(certificate.dual)


def unproven(certificate: Certificate, status: Status) -> Status:
    """What to call an answer that the solver was content with, or could not improve, and that is not proven."""
    if no_kernel(certificate):
        return Status.INDEFINITE
    if certificate.is_undecided:
        return Status.UNDECIDED
    return Status.OWN_RULE if status is Status.OPTIMAL and certificate.criterion == "objective" else Status.STALLED


def nothing_held_out(task: Task) -> HeldOut:
    """Room for what becomes of the folds of a task: zero everywhere."""
    assert task.fold is not None
    n_folds = int(task.fold.max(initial=-1)) + 1
    return HeldOut(np.zeros(task.dual.n_samples), np.zeros((n_folds, max(1, task.dual.n_groups))))


def solution_report(solution: Solution, certificate: Certificate) -> Iteration:
    """Progress report of a problem that was solved at once, as after a round of the solver."""
    return Iteration(
        violation=certificate.violation,
        tol=certificate.tol,
        objective=solution.objective,
        iterations=solution.iterations,
        rounds=solution.rounds,
        n_support=certificate.n_support,
        n_free=certificate.n_free,
        rows_computed=solution.rows_computed,
        seconds=solution.seconds,
        point=lambda: (solution.beta, solution.function),
    )


def rounding_of(dual: SignedDual, diag: Vector, n_support: int) -> float:
    """About how far rounding alone can move a decision value: terms of size C K_ii, of random sign."""
    bound = max(float(dual.upper.max(initial=0.0)), -float(dual.lower.min(initial=0.0)))
    if bound == np.inf:
        ends = np.maximum(dual.upper, -dual.lower)
        bound = float(ends[np.isfinite(ends)].max(initial=0.0))
    return EPS * bound * float(diag.max(initial=0.0)) * max(1, n_support) ** 0.5


def most_steps(n_variables: int, vain: bool) -> int:
    """Steps after which a problem without max_iter is given up; `vain` where rounding alone exceeds the tolerance."""
    fixed, each = MOST_VAIN_STEPS if vain else MOST_STEPS
    return fixed + each * n_variables


def resume(
    solve: Callable[..., Solution], dual: SignedDual, gram: Gram, stopping: Stopping, before: Solution, watch: Watch
) -> Solution:
    """Go on from an answer and its certified function, within what is left of the budgets; costs are added up."""
    max_iter = stopping.max_iter if stopping.max_iter < 0 else max(0, stopping.max_iter - before.iterations)
    time_limit = None if stopping.time_limit is None else max(0.0, stopping.time_limit - before.seconds)
    rest = replace(stopping, max_iter=max_iter, time_limit=time_limit)
    known = before.scores if solve is solve_blocks else before.function
    after = solve(dual, gram, rest, start=before.beta, function=known, watch=watch)
    after.iterations += before.iterations
    after.rounds += before.rounds
    after.rows_computed += before.rows_computed
    after.seconds += before.seconds
    return after
