"""From data and a kernel to certified answers: prepare -> Gram -> solve -> certify -> go on if the certificate fails.

`Training` holds what the problems of one fit share (prepared samples, Gram, threads). Each `Task` is one signed dual on
some of the samples: one for a binary machine or a regression, one per pair or per class for many classes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.certificate import Certificate, certify_function, levels_at
from widemargin.gram import CachedGram, FullGram, Gram
from widemargin.gram.budget import cache_budget
from widemargin.gram.fresh import decisive_samples, fresh_function
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.problems.dual import SignedDual
from widemargin.solvers import Solution, Status, solver_named
from widemargin.stopping import Stopping
from widemargin.threads import resolve_n_jobs, run_tiles, single_threaded_blas

FULL = 2048  # samples up to which the whole matrix is held in float64: 32 MB
SAFE_ROUNDING = 1e-4  # largest error of a kernel value with which float32 rows are used; the certificate catches the rest
DECISIVE_SHARE = 0.5  # of the samples: beyond, one float64 pass over all of them is cheaper than two passes
RESUMES = 3  # times a float32 answer is taken up again from its fresh function before rows become float64

Watch = Callable[[dict[str, Any]], None]


@dataclass
class Task:
    """One problem of a fit. `index` are the samples it is about (None: all, in order); `start` a feasible beta."""

    dual: SignedDual
    index: NDArray[np.int64] | None = None
    start: NDArray[np.float64] | None = None


@dataclass
class Trained:
    """The solution of a task and its certificate."""

    solution: Solution
    certificate: Certificate


class Training:
    """What the problems of one fit share.

    Precision: up to FULL samples the whole matrix in float64. Beyond, rows are float32 where the kernel bounds their error by
    SAFE_ROUNDING, else float64. Sums are float64 always, every answer is checked on a function computed afresh, and one that
    fails is taken up again from that function, in the end with float64 rows.

    Parameters
    ----------
    kernel : Kernel
    X : raw training data, anything `kernel.prepare` takes
    cache_size : float or None
        Megabytes for rows of the kernel matrix; None takes a share of the free memory.
    n_jobs : int or None
        Threads; None means all cores.
    solver : str
        "auto" (the fast block solver) or the name of another solver.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        *,
        cache_size: float | None = None,
        n_jobs: int | None = None,
        solver: str = "auto",
    ) -> None:
        self.kernel = kernel
        self.X = X
        self.n_threads = resolve_n_jobs(n_jobs)
        self.budget = cache_budget(cache_size)
        self.solve = solver_named(solver)
        self.exact = kernel.prepare(X, np.float64)  # for full matrices and for certificates
        self.fast: Samples | None = None  # float32, prepared when a large problem asks for it
        self.full: FullGram | None = None
        self.cancelled = threading.Event()

    def train(self, tasks: Sequence[Task], stopping: Stopping, watch: Watch | None = None) -> list[Trained]:
        """Solve every task to the stop rule and certify each answer."""
        results: list[Trained | None] = [None] * len(tasks)

        def report(info: dict[str, Any]) -> None:
            if self.cancelled.is_set():
                raise KeyboardInterrupt
            if watch is not None:
                watch(info)

        def run(number: int) -> None:
            results[number] = self._train_one(tasks[number], stopping, report)

        with single_threaded_blas():
            try:
                if len(tasks) > 1:
                    self._share(tasks)
                run_tiles(run, len(tasks), self.n_threads)
            except KeyboardInterrupt:
                self.cancelled.set()
            for number in range(len(tasks)):  # what an interrupt left out ends at once, at its start
                if results[number] is None:
                    run(number)
        return results  # type: ignore[return-value]

    def _share(self, tasks: Sequence[Task]) -> None:
        """Before tasks run side by side, make what they share."""
        if len(self.exact) <= FULL:
            self._whole()

    def _whole(self) -> FullGram:
        """The full float64 matrix of all samples."""
        if self.full is None:
            self.full = FullGram.of(self.kernel, self.exact, np.float64, self.n_threads)
        return self.full

    def _gram(self, index: NDArray[np.int64] | None, double: bool) -> Gram:
        """A Gram for the samples of a task."""
        n = len(self.exact) if index is None else len(index)
        if len(self.exact) <= FULL:
            whole = self._whole()
            return whole if index is None else whole.subset(index)
        if n <= FULL:
            return FullGram.of(self.kernel, self.exact.take(index), np.float64)
        samples = self.exact if double else self._fast()
        dtype = np.float64 if samples is self.exact else np.float32
        part = samples if index is None else samples.take(index)
        return CachedGram(self.kernel, part, dtype, self.budget, self.n_threads)

    def _fast(self) -> Samples:
        """Samples for float32 rows, or the float64 ones where float32 is not safe."""
        if self.fast is None:
            single = self.kernel.prepare(self.X, np.float32)
            self.fast = single if self.kernel.rounding(single) <= SAFE_ROUNDING else self.exact
        return self.fast

    def _fresh(self, gram: Gram, task: Task, beta: NDArray) -> NDArray:
        """F = K b afresh: by float64 kernel values wherever they can decide the violation, see gram/fresh.py."""
        coefficients = task.dual.per_sample(beta)
        if isinstance(gram, FullGram) and gram.dtype == np.float64:
            return gram.matrix @ coefficients
        exact = self.exact if task.index is None else self.exact.take(task.index)
        if gram.dtype == np.float32:
            samples = gram.samples
            function = fresh_function(self.kernel, samples, coefficients, np.float32, self.n_threads)
            error = self.kernel.rounding(samples) * float(np.abs(coefficients).sum())
            decisive = decisive_samples(task.dual, beta, function, error)
            if len(decisive) <= DECISIVE_SHARE * len(function):
                part = exact.take(decisive)
                function[decisive] = fresh_function(
                    self.kernel, exact, coefficients, np.float64, self.n_threads, at=part
                )
                return function
        return fresh_function(self.kernel, exact, coefficients, np.float64, self.n_threads)

    def _train_one(self, task: Task, stopping: Stopping, watch: Watch) -> Trained:
        """Solve, certify on a fresh function, and go on from that function while the certificate fails."""
        gram = self._gram(task.index, double=False)
        solution = self.solve(task.dual, gram, stopping, start=task.start, watch=watch)
        for attempt in range(2 * RESUMES):
            if solution.status is Status.INTERRUPTED:
                self.cancelled.set()
                function = solution.function
            else:
                function = self._fresh(gram, task, solution.beta)
            certificate = certify_function(
                task.dual, solution.beta, function, stopping.tol, criterion=stopping.criterion, solution=solution
            )
            solution.function, solution.level = function, levels_at(task.dual, solution.beta, function)
            goes_on = solution.status in (Status.OPTIMAL, Status.STALLED) and not certificate.holds
            if not goes_on or (gram.dtype == np.float64 and solution.status is Status.STALLED):
                break
            if attempt + 1 == RESUMES or solution.status is Status.STALLED:
                gram = self._gram(task.index, double=True)
            solution = resume(self.solve, task.dual, gram, stopping, solution, watch)
        if solution.status is Status.OPTIMAL and not certificate.holds:
            solution.status = Status.STALLED
            certificate = replace(certificate, status=Status.STALLED)
        return Trained(solution, certificate)


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
