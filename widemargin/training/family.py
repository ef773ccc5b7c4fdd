"""Families: related problems on the same samples, for many kernels, C and folds, trained together.

A search over C and gamma with five folds solves hundreds of problems that differ little. They share

    distances   of all pairs of samples, for all gammas (gram/shared_distances.py)
    a matrix    for each kernel, for all C and folds: a fold is the problem of all samples with the boxes of the
                held-out ones emptied, so that K b has their decision values
    answers     a path is a sequence of problems on one kernel and one fold, C ascending: each starts at the answer
                before it

Paths run on the threads of the process, one matrix after another; the next matrix is made by the first thread that has
no path left on the one before. Every answer is certified as a single fit is (training/certified.py). A matrix that does
not fit the budget is replaced by rows on demand with one cache for all paths of a kernel, which then run one by one.

See   DeCoste & Wagstaff (2000), KDD, for starting folds and C at neighbours' answers
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from widemargin._jit import prepare_fit
from widemargin.gram import Gram
from widemargin.gram.full import FullGram
from widemargin.gram.scores import Scores
from widemargin.gram.shared_distances import SharedDistances
from widemargin.gram.source import GramSource, Index
from widemargin.kernels.errors import SECOND_ORDER, UNIT
from widemargin.kernels.kernel import Kernel
from widemargin.linalg.arrays import Vector
from widemargin.linalg.row_sums import several_sums_at, sums_at
from widemargin.monitor.interrupt import StopSignal
from widemargin.monitor.iteration import Iteration
from widemargin.monitor.stopping import Stopping
from widemargin.parallel.tiles import resolve_n_jobs, run_tiles, single_threaded_blas
from widemargin.problems.dual import SignedDual
from widemargin.problems.warm_start import restart, scale_along_path
from widemargin.solvers import solver_named
from widemargin.solvers.state import State
from widemargin.training.along_path import SLICE, Reached, solve_links, suits
from widemargin.training.certified import CertifiedSolver
from widemargin.training.task import Task, Trained

DOUBLE = 8192  # samples up to which matrices are float64: with large C proofs need it, and many problems share them
FAST = 4  # bytes of the float32 copy of a value
WHOLE_SHARE = 0.45  # of the budget for a matrix: two are in memory when threads pass from one to the next


@dataclass(frozen=True, eq=False)
class Path:
    """Problems on one kernel, each of which starts at the answer before it.

    kernel : number of the kernel
    duals : the problems, built when they are solved
    prices : C of each problem: multipliers at their bounds grow in proportion; equal where boxes are
    stopping : when to stop
    index : their samples; None for all
    at : samples, ascending, at which the values of every answer will be wanted; used with `index`
    """

    kernel: int
    duals: Sequence[Callable[[], SignedDual]]
    prices: Sequence[float]
    stopping: Stopping
    index: Index | None = None
    at: Index | None = None


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer to a problem of a path.

    dual : the problem
    trained : solution and certificate
    index : samples of the problem; None for all
    whole : the Gram of all samples
    known : samples and K b there, if it has been computed
    """

    dual: SignedDual
    trained: Trained
    index: Index | None
    whole: Gram
    known: tuple[Index, Vector] | None = None

    @cached_property
    def coefficients(self) -> tuple[Index, Vector]:
        """The support vectors, numbered as samples of the family, and their coefficients."""
        coefficients = self.dual.per_sample(self.trained.solution.beta)
        used = np.flatnonzero(coefficients)
        return used if self.index is None else self.index[used], coefficients[used]

    def values(self, at: Index) -> Vector:
        """Return K b at some samples of the family."""
        if self.index is None:
            return self.trained.solution.Kb[at]
        if self.known is not None and self.known[0] is at:
            return self.known[1]
        (rows, weights), values = self.coefficients, np.empty(len(at))
        assert isinstance(self.whole, FullGram)
        sums_at(self.whole.matrix, at, rows, weights, values)
        return values


def with_values(path: Path, answers: list[Answer]) -> list[Answer]:
    """Return the answers of a path with their values at the samples `path.at`, summed together."""
    if path.index is None or path.at is None or len(answers) < 2:
        return answers
    whole = answers[0].whole
    assert isinstance(whole, FullGram)
    coefficients = np.array([answer.dual.per_sample(answer.trained.solution.beta) for answer in answers])
    used = np.flatnonzero(coefficients.any(axis=0))
    values = np.empty((len(answers), len(path.at)))
    several_sums_at(whole.matrix, path.at, path.index[used], coefficients[:, used], values)
    return [replace(answer, known=(path.at, own)) for answer, own in zip(answers, values)]


class Family:
    """What the problems of a family share.

    Parameters
    ----------
    kernels : the kernels of the paths
    X : raw data of all samples
    cache_size, n_jobs : as of an estimator
    cancelled : when it is set, no further problem is solved
    """

    def __init__(
        self, kernels: Sequence[Kernel], X: Any, *, cache_size: float | None, n_jobs: int | None, cancelled: StopSignal
    ) -> None:
        self.kernels, self.cancelled = kernels, cancelled
        self.n_threads = resolve_n_jobs(n_jobs)
        self.sources = [GramSource(kernel, X, cache_size, self.n_threads) for kernel in kernels]
        n, budget = len(self.sources[0]), self.sources[0].budget
        self.dtype = np.dtype(np.float64 if n <= DOUBLE else np.float32)
        size = n * n * (self.dtype.itemsize + (FAST if self.dtype == np.float64 else 0))
        self.is_whole = size <= WHOLE_SHARE * budget
        self.distances: SharedDistances | None = None
        if self.is_whole and len(kernels) > 1 and 2 * size + n * n * self.dtype.itemsize <= budget:
            with single_threaded_blas():
                self.distances = SharedDistances.of(kernels, X, self.dtype, self.n_threads)

    def train(self, paths: Sequence[Path], take: Callable[[int, int, Answer], None]) -> None:
        """Solve and certify the problems of all paths.

        take : called with the number of the path, of the problem in it, and the answer, on any thread
        """
        order = sorted(range(len(paths)), key=lambda number: (paths[number].kernel, id(paths[number].index)))
        grams = Grams(self, [paths[number] for number in order])
        prepare_fit(sum(len(path.duals) for path in paths) * len(self.sources[0]), timed=False)

        def run(place: int) -> None:
            path = paths[order[place]]
            whole, own = grams.take(path)
            try:
                self._follow(path, whole, own, lambda *answer: take(order[place], *answer))
            finally:
                grams.give_back(path)

        with single_threaded_blas():
            run_tiles(run, len(order), self.n_threads if self.is_whole else 1)

    def _follow(self, path: Path, whole: Gram, gram: Gram, take: Callable[[int, Answer], None]) -> None:
        """Solve the problems of a path, one after another, on the Gram of its samples."""
        source, rule = self.sources[path.kernel], path.stopping
        solver = CertifiedSolver(source, solver_named("auto"), self.cancelled)
        solver.trusts_tracked = True
        ratios = [1.0] + [price / before for before, price in zip(path.prices, path.prices[1:])]
        at_once, place = max(1, SLICE // max(1, len(gram))), 0
        reached: Reached | None = None
        while place < len(path.duals) and not self.cancelled.is_set():
            duals = [build() for build in path.duals[place : place + at_once]]
            if reached is None:
                reached = Reached.start_of(duals[0], gram)
            if source.kernel.is_psd and suits(duals, gram, rule):
                assert isinstance(gram, FullGram)
                done, reached = solve_links(duals, ratios[place : place + len(duals)], gram, rule, reached)
                for answer in with_values(path, [Answer(*each, path.index, whole) for each in zip(duals, done)]):
                    if self.cancelled.is_set():
                        return
                    take(place, answer)
                    place += 1
                duals = duals[len(done) :]
            if duals:
                task, known = begin_at(reached, Task(duals[0], path.index), gram, ratios[place])
                trained = solver.train(task, gram, rule, self._watch, known)
                solution = trained.solution
                if solution.status.on_request:
                    return
                take(place, Answer(duals[0], trained, path.index, whole))
                reached = Reached(solution.beta, solution.scores)
                place += 1

    def _watch(self, now: Iteration) -> None:
        self.cancelled.raise_if_set()

    def make_gram(self, number: int, memory: FullGram | None = None) -> Gram:
        """Return the Gram of a kernel, in place of one that is not needed any more if there is one."""
        kernel, source = self.kernels[number], self.sources[number]
        if not self.is_whole:
            return source.gram(None)
        if self.distances is not None:
            return self.distances.gram(kernel, self.n_threads, memory)  # type: ignore[arg-type]
        if self.dtype == np.float64 or kernel.defined_by_values:
            gram = FullGram.of(kernel, source.exact, np.float64, self.n_threads)
        else:
            gram = FullGram.rounded(kernel, source.exact, self.n_threads)
        gram.add_fast()
        return gram


class Grams:
    """The matrices in use: made by the first thread that needs one, dropped by the last.

    paths : in the order in which they begin
    """

    def __init__(self, family: Family, paths: Sequence[Path]) -> None:
        self.family = family
        self.left = Counter(key for path in paths for key in keys_of(path))
        self.locks = {key: threading.Lock() for key in self.left}
        self.made: dict[tuple[int, ...], Gram] = {}
        self.spare: list[FullGram] = []  # of all samples: touching fresh memory costs more than most writes to it

    def take(self, path: Path) -> tuple[Gram, Gram]:
        """Return the Gram of all samples and that of the samples of the path."""

        def make() -> Gram:
            try:
                spare: FullGram | None = self.spare.pop()
            except IndexError:  # another thread may have taken it
                spare = None
            return self.family.make_gram(path.kernel, spare)

        whole = self._take(keys_of(path)[0], make)
        if path.index is None:
            return whole, whole
        assert isinstance(whole, FullGram)
        return whole, self._take(keys_of(path)[1], lambda: whole.subset(path.index))  # type: ignore[arg-type]

    def _take(self, key: tuple[int, ...], make: Callable[[], Gram]) -> Gram:
        with self.locks[key]:
            if key not in self.made:
                self.made[key] = make()
            return self.made[key]

    def give_back(self, path: Path) -> None:
        """Drop the Grams that no later path needs."""
        for key in keys_of(path):
            with self.locks[key]:
                self.left[key] -= 1
                if not self.left[key]:
                    gram = self.made.pop(key)
                    if len(key) == 1 and isinstance(gram, FullGram) and self.family.distances is not None:
                        self.spare.append(gram)
                    self.family.sources[path.kernel].forget()


def keys_of(path: Path) -> tuple[tuple[int, ...], ...]:
    """Names of the Grams that a path needs."""
    whole = (path.kernel,)
    return (whole,) if path.index is None else (whole, (path.kernel, id(path.index)))


def begin_at(reached: Reached, task: Task, gram: Gram, ratio: float) -> tuple[Task, Scores | None]:
    """Return the task started at the point reached on its path, and K b there; at its own start if impossible.

    ratio : of its C to the one before
    """
    dual = task.dual
    if reached.is_begun:
        return replace(task, start=reached.beta), reached.scores
    scale = scale_along_path(dual, reached.beta, ratio)
    start = restart(dual, reached.beta, scale)
    if start is None:
        return replace(task, start=dual.start), None
    known = reached.scores.scaled(scale)
    if scale != 1.0:  # each multiplier is rounded too
        with np.errstate(invalid="ignore", over="ignore"):
            size = gram.errors.size
            rounding = SECOND_ORDER * UNIT * size * float(np.abs(scale * dual.per_sample(reached.beta)) @ size)
        known = Scores(known.values, known.error + np.where(np.isnan(rounding), np.inf, rounding))
    state = State(dual, gram, scale * reached.beta, known)
    state.join(State(dual, gram, start, known.values), np.arange(len(dual), dtype=np.int64))
    error = state.error
    return replace(task, start=start), Scores.untracked(state.Kb) if error is None else Scores(state.Kb, error)
