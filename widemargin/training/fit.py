"""From data and a kernel to certified answers for all problems of a fit.

A fit is a family of related problems on one kernel: one for two classes or a regression, one per class pair or per
class for many classes, and for probabilities the same without the samples of each fold. All share prepared
samples, rows of the kernel matrix and threads; a task with a neighbour starts at the neighbour's answer, on its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin._jit import prepare_fit
from widemargin.certificate import certify_function
from widemargin.certificate.certificate import price
from widemargin.costs import COSTS, threads_for
from widemargin.gram import Gram
from widemargin.gram.full import FullGram
from widemargin.gram.gram import ROW_TILE
from widemargin.gram.scores import Scores
from widemargin.gram.source import GramSource, Index
from widemargin.kernels import FeatureKernel, Linear
from widemargin.kernels.kernel import Kernel
from widemargin.linalg.arrays import Vector
from widemargin.monitor import clock
from widemargin.monitor.interrupt import StopSignal, status_of
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.monitor.time_limit import overshoot
from widemargin.parallel.tiles import resolve_n_jobs, single_threaded_blas
from widemargin.problems.dual import SignedDual
from widemargin.problems.fixed_bias import tau_of, without_bias
from widemargin.problems.measure import measure
from widemargin.problems.warm_start import restart
from widemargin.solvers import Solution, solver_named, tuning
from widemargin.solvers.state import State
from widemargin.training.certified import CertifiedSolver, is_singular
from widemargin.training.chains import Chain, run_chains
from widemargin.training.checkpoint import Checkpoint
from widemargin.training.task import Task, Trained

if TYPE_CHECKING:
    from widemargin.training.linear_path import LinearPath

FIRST_STEPS = 200  # steps of a problem for which no time is left: a class pair of the digits needs about as many
MOST_LATE = 100  # such problems of a fit, which take about 0.2 s together


class Training:
    """Data and resources that the problems of one fit share.

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
        `fixed_bias` set (Adatron and similar) is given the model without equality constraint on the kernel K + tau^2,
        tau its own or the largest |x| in feature space; that model, with its penalised bias, is what the certificate is
        about.
    cancelled : StopSignal or None
        When it is set, every problem ends at its next round with its current point (widemargin.monitor.interrupt).
    in_memory : int or None
        Samples up to which the whole kernel matrix is held in float64; None means gram.source.FULL. With 0 even the
        smallest problem is solved like a large one.
    source : GramSource or None
        Where kernel values come from, if not from X in this process; for kernels and solvers that need nothing else.
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
        source: GramSource | None = None,
    ) -> None:
        self.n_threads = resolve_n_jobs(n_jobs)
        solve = solver_named(solver)
        if isinstance(kernel, FeatureKernel):  # features are computed once; from here on it is a linear model
            X, kernel = kernel.features(X), Linear()
        self.tau2: float | None = None  # a solver for models with fixed bias gets one: K + tau^2, no constraint
        if getattr(solve, "fixed_bias", False):
            self.tau2 = tau_of(solve, kernel.diag(kernel.prepare(X, np.float64))) ** 2
            kernel = kernel + self.tau2
        self.source = GramSource(kernel, X, cache_size, self.n_threads, in_memory) if source is None else source
        self.linear: LinearPath | None = None  # problems with a linear kernel need no kernel matrix
        if source is None and getattr(solve, "tracks_error", False) and type(kernel) is Linear:
            from widemargin.training.linear_path import LinearPath  # imported only when needed

            self.linear = LinearPath(X) if LinearPath.suits(kernel, X) else None
        self._forgets = cancelled is None  # an interrupt applies to one call of `train` only
        self.cancelled = StopSignal() if cancelled is None else cancelled
        self.n_late = 0  # problems for which no time was left
        self.latest = float(
            "inf"
        )  # value of the clock by which the fit must have ended, the allowed overshoot included
        self.solver = CertifiedSolver(self.source, solve, self.cancelled)

    def train(
        self,
        tasks: Sequence[Task],
        stopping: Stopping,
        watch: Watch | None = None,
        classes: Sequence[Index] = (),
        checkpoint: Checkpoint | None = None,
    ) -> list[Trained]:
        """Solve every task to the stop rule and certify each answer.

        `watch` may raise KeyboardInterrupt: then every task ends with its current point.
        classes : the samples of each class, where tasks are about class pairs
        checkpoint : notes the multipliers of these tasks while they are solved
        """
        if self._forgets:
            self.cancelled.clear()
        if not self.is_psd:  # a gap is a bound for positive semi-definite kernels only
            stopping = replace(stopping, criterion="kkt")
        self.source.classes = classes
        if self.tau2 is not None:
            tasks = [replace(task, dual=self.as_solved(task.dual)) for task in tasks]
        results: list[Trained | None] = [None] * len(tasks)
        chains = {number: Chain([number]) for number, task in enumerate(tasks) if task.neighbour is None}
        for number, task in enumerate(tasks):
            if task.neighbour is not None:
                chains[task.neighbour].numbers.append(number)

        def run_next(chain: Chain) -> None:
            first, number = chain.numbers[0], chain.numbers[chain.done]
            rule = stopping if stopping.time_limit is None else stopping.until(deadline)
            begin = None if number == first else results[first]
            listener = watch if number == first else None  # further tasks are not part of the model
            report = self._listener(tasks[number].dual, (number, len(chains)), stopping.tol, listener)
            results[number] = self._train_one(tasks[number], rule, report, begin, chain, checkpoint)
            chain.done += 1

        quiet_blas = single_threaded_blas() if len(self.source) > ROW_TILE else nullcontext()
        prepare_fit(sum(len(task.dual) for task in tasks), timed=stopping.time_limit is not None)
        with quiet_blas:
            deadline = stopping.deadline()  # compiling and loading are over, or stop the clock
            self.latest = deadline + overshoot(stopping.time_limit or 0.0)
            try:
                if len(chains) > 1 and self.linear is None:
                    self.source.share(classes)
                work = sum(len(tasks[number].dual) ** 2 for number in chains)
                n_threads = min(len(chains), threads_for(COSTS.task_value * work, self.n_threads))
                run_chains(run_next, sorted(chains.values(), key=lambda c: -len(tasks[c.numbers[0]].dual)), n_threads)
            except KeyboardInterrupt as interrupt:
                self.cancelled.request(status_of(interrupt))
            run_chains(run_next, chains.values(), 1)  # tasks that an interrupt left out end at their start
        self.source.close()
        answers = [result for result in results if result is not None]
        return answers if self.tau2 is None else [self._with_bias(answer) for answer in answers]

    def as_solved(self, dual: SignedDual) -> SignedDual:
        """Return the problem as the solver gets it: without the constraint due to the bias if it needs a fixed one."""
        return dual if self.tau2 is None else without_bias(dual)

    def values_in_time(self) -> float:
        """Return how many kernel values can be evaluated after training without breaking the time limit."""
        each = self.solver.seconds_per_value
        return max(0.0, self.latest - clock.now()) / each if each else float("inf")

    @property
    def is_psd(self) -> bool:
        """Whether the kernel is known to be positive semi-definite."""
        return self.source.kernel.is_psd

    def matrix_of_pairs(self, classes: Sequence[Index]) -> FullGram | None:
        """Return the matrix of all samples if class pairs share one and each pair fits a compiled call, else None."""
        if self.linear is not None or not self.solver.tracks_error or self.cancelled.is_set():
            return None
        if 2 * max(len(members) for members in classes) > tuning.DEFAULT.single:
            return None
        self.source.classes = classes
        with single_threaded_blas() if len(self.source) > ROW_TILE else nullcontext():
            self.source.share(classes)
        return self.source.shared_matrix

    def _listener(self, dual: SignedDual, place: tuple[int, int], tol: float, watch: Watch | None) -> Watch:
        """Return the listener of one task: it ends the task if the fit was cancelled, and passes records on.

        place : number of the task, and the number of tasks that report
        """

        def report(now: Iteration) -> None:
            self.cancelled.raise_if_set()
            if watch is None:
                return
            point = now.point
            measured = None if point is None else lambda: measure(dual, *point())
            try:
                watch(replace(now, tol=tol, task=place[0], n_tasks=place[1], dual=dual, measure=measured))
            except KeyboardInterrupt as interrupt:
                self.cancelled.request(status_of(interrupt))
                raise

        return report

    def _train_one(
        self,
        task: Task,
        stopping: Stopping,
        watch: Watch,
        neighbour: Trained | None,
        chain: Chain,
        checkpoint: Checkpoint | None,
    ) -> Trained:
        """Return the answer to the next task of a chain, on the chain's Gram."""
        has_no_time = stopping.time_limit == 0.0
        is_new = task.start is None and neighbour is None
        may_begin = is_new and self.solver.tracks_error and not self.cancelled.is_set()
        if has_no_time and may_begin and self.n_late < MOST_LATE:
            self.n_late += 1
            return self._first_steps(task, stopping, watch)
        if self.cancelled.is_set() or has_no_time:
            status = self.cancelled.status if self.cancelled.is_set() else Status.TIME_LIMIT
            known = None
            if neighbour is not None and chain.gram is not None:
                task, known = begin_at(neighbour.solution, task, chain.gram)
            left = self._leave_at_start(task, stopping, status, known)
            if left is not None:
                return left
        if self.linear is not None and task.start is None and not self.cancelled.is_set():
            trained = self.linear.train(task.dual, self.source.members(task.index), stopping, watch)
            if trained is not None:
                status = trained.solution.status
                if trained.certificate.holds or status is Status.TIME_LIMIT or status.on_request:
                    return trained
                task, neighbour = replace(task, start=trained.solution.beta), None
        if chain.gram is None:
            is_kept = len(chain.numbers) > 1
            chain.gram = self.source.gram(task.index, is_kept=is_kept)
            if is_singular(task.dual, chain.gram):
                chain.gram = self.source.gram(task.index, double=True, is_kept=is_kept)
        gram = chain.gram
        known = None
        if neighbour is not None and task.start is None:
            task, known = begin_at(neighbour.solution, task, gram)
        if checkpoint is None:
            return self.solver.train(task, gram, stopping, watch, known)
        number = chain.numbers[chain.done]
        trained = self.solver.train(task, gram, stopping, checkpoint.listener(number, watch), known)
        checkpoint.done(number, trained.solution.beta)
        return trained

    def _first_steps(self, task: Task, stopping: Stopping, watch: Watch) -> Trained:
        """Return a task after its first steps: a class pair without any would take a class out of the model."""
        n_steps = FIRST_STEPS if stopping.max_iter < 0 else min(FIRST_STEPS, stopping.max_iter)
        rule = replace(stopping, time_limit=None, max_iter=n_steps)
        trained = self.solver.train(task, self.source.gram(task.index), rule, watch)
        if trained.solution.status is not Status.MAX_ITER:
            return trained
        ended = Status.TIME_LIMIT
        return Trained(replace(trained.solution, status=ended), replace(trained.certificate, status=ended))

    def _leave_at_start(self, task: Task, stopping: Stopping, status: Status, known: Scores | None) -> Trained | None:
        """Return a task that is not solved at its start, without kernel values; None where K b is not known there.

        known : K b at the start of the task; at zero it is zero
        """
        beta = task.dual.start.copy() if task.start is None else task.start
        if known is None and beta.any():
            return None
        zero, thresholds = np.zeros(task.dual.n_samples), np.zeros(task.dual.n_groups)
        scores = Scores(zero, zero) if known is None else known
        solution = Solution(beta, scores.values, thresholds, status, np.inf, 0.0, 0, 0, 0, 0.0)
        certificate = certify_function(
            task.dual, beta, scores, stopping.tol, criterion=stopping.criterion, is_psd=self.is_psd
        )
        thresholds = np.array(certificate.level)
        solution = replace(solution, thresholds=thresholds, violation=certificate.violation)
        return Trained(solution, replace(certificate, **price(solution)))

    def _with_bias(self, trained: Trained) -> Trained:
        """Return the answer with K b and thresholds from `split_bias`."""
        solution = trained.solution
        Kb, thresholds = self.split_bias(solution.beta, solution.Kb, solution.thresholds)
        return replace(trained, solution=replace(solution, Kb=Kb, thresholds=thresholds))

    def split_bias(self, beta: Vector, Kb: Vector, thresholds: Vector) -> tuple[Vector, Vector]:
        """Return K b and thresholds without the bias tau^2 sum b of kernel K + tau^2; unchanged for other models."""
        if self.tau2 is None:
            return Kb, thresholds
        part = self.tau2 * float(beta.sum())
        return Kb - part, np.array([-part])


def begin_at(neighbour: Solution, task: Task, gram: Gram) -> tuple[Task, Scores | None]:
    """Return the task started at the neighbour's answer, moved into its box, and K b there; unchanged if impossible."""
    start = restart(task.dual, neighbour.beta)
    if start is None:
        return task, None
    state = State(task.dual, gram, neighbour.beta, neighbour.scores)
    everything = np.arange(len(task.dual), dtype=np.int64)
    state.join(State(task.dual, gram, start, neighbour.Kb), everything)
    error = state.error
    known = Scores.untracked(state.Kb) if error is None else Scores(state.Kb, error)
    return replace(task, start=start), known
