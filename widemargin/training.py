"""From data and a kernel to certified answers: prepare -> Gram -> solve -> certify -> go on if the certificate fails.

`Training` holds what the problems of one fit share (prepared samples, Gram, threads). Each `Task` is one signed dual on
some of the samples: one for a binary machine or a regression, one per pair or per class for many classes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.certificate import Certificate, certify_function
from widemargin.gram import Gram
from widemargin.gram.gram import ROW_TILE
from widemargin.gram.source import GramSource, Index, Parts
from widemargin.kernels import FeatureKernel, Linear
from widemargin.kernels.kernel import Kernel
from widemargin.linear.kernel_path import LinearPath
from widemargin.problems.bias import safe_tau, without_bias
from widemargin.problems.dual import SignedDual
from widemargin.solvers import Solution, Status, solve_blocks, solver_named
from widemargin.stopping import Stopping
from widemargin.threads import resolve_n_jobs, run_tiles, single_threaded_blas

RESUMES = 3  # times a float32 answer is taken up again from its fresh function before rows become float64
WORTH_THREADS = (
    200_000  # kernel entries of all tasks together below which handing them to threads costs more than it saves
)

Watch = Callable[[dict[str, Any]], None]


@dataclass
class Task:
    """One problem of a fit. `index` are the samples it is about; `start` a feasible beta.

    index : None means all samples, in order; a tuple of index arrays is joined, and arrays that stand in several tasks
        (the classes of a many-class machine) share their part of the kernel matrix.
    """

    dual: SignedDual
    index: Index | Parts | None = None
    start: NDArray[np.float64] | None = None


@dataclass
class Trained:
    """The solution of a task and its certificate."""

    solution: Solution
    certificate: Certificate


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
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        *,
        cache_size: float | None = None,
        n_jobs: int | None = None,
        solver: str | Callable[..., Solution] = "auto",
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
        if self.solve is solve_blocks and LinearPath.suits(kernel, X):
            self.linear = LinearPath(X)
        self.cancelled = threading.Event()

    def train(self, tasks: Sequence[Task], stopping: Stopping, watch: Watch | None = None) -> list[Trained]:
        """Solve every task to the stop rule and certify each answer."""
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
                    watch({**info, "task": number, "n_tasks": len(tasks)})

            left = stopping if stopping.time_limit is None else stopping.until(deadline)
            results[number] = self._train_one(tasks[number], left, report)

        with single_threaded_blas() if len(self.source) > ROW_TILE else nullcontext():
            try:
                if len(tasks) > 1 and self.linear is None:
                    self.source.share(task.index for task in tasks)
                work = sum(len(task.dual) ** 2 for task in tasks)
                run_tiles(run, len(tasks), self.n_threads if work > WORTH_THREADS else 1)
            except KeyboardInterrupt:
                self.cancelled.set()
            for number in range(len(tasks)):  # what an interrupt left out ends at once, at its start
                if results[number] is None:
                    run(number)
        if self.tau2 is not None:  # the bias of K + tau^2 is tau^2 sum b: hand it over as a level, F as K b
            for result in results:
                part = self.tau2 * float(result.solution.beta.sum())  # type: ignore[union-attr]
                result.solution.function = result.solution.function - part  # type: ignore[union-attr]
                result.solution.level = np.array([-part])  # type: ignore[union-attr]
        return results  # type: ignore[return-value]

    def _train_one(self, task: Task, stopping: Stopping, watch: Watch) -> Trained:
        """Solve, certify on a fresh function, and go on from that function while the certificate fails."""
        if self.linear is not None and task.start is None and not self.cancelled.is_set():
            answer = self.linear.train(task.dual, task.index, stopping, watch)
            if answer is not None:
                if answer[1].holds or answer[0].status in (Status.TIME_LIMIT, Status.INTERRUPTED):
                    return Trained(*answer)
                task = replace(task, start=answer[0].beta)
        gram = self.source.gram(task.index)
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
        return Trained(solution, certificate)

    def _certify(self, task: Task, gram: Gram, solution: Solution, stopping: Stopping) -> Certificate:
        """Certificate on a fresh function, which the solution takes over; after Ctrl-C, at once on the solver's own."""
        if solution.status is Status.INTERRUPTED:
            self.cancelled.set()
            function = solution.function
        else:
            function = self.source.fresh(gram, task.dual, solution.beta, task.index)
        certificate = certify_function(
            task.dual, solution.beta, function, stopping.tol, criterion=stopping.criterion, solution=solution
        )
        solution.function, solution.level = function, np.array(certificate.level)
        return certificate


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
