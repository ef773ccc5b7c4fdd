"""The problems of a fit on a cluster: on all samples one after another, on all workers; class pairs side by side.

A class pair is a task on one worker, which trains and certifies it as on one machine; the longest come first. Its rows
are those of its two classes, gathered once per class. A pair for which one worker has no room, or that alone would hold
up the others, is a fit on all workers (plan.py). Folds behind probabilities go with their pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin.certificate import certify_function
from widemargin.certificate.certificate import price
from widemargin.dask import slabs
from widemargin.dask.cluster import Job, Kept
from widemargin.dask.plan import Plan
from widemargin.dask.rows import RowsThere
from widemargin.dask.sizes import bytes_of
from widemargin.dask.source import ClusterSource
from widemargin.gram.full import FullGram
from widemargin.gram.scores import Scores
from widemargin.linalg.arrays import Index
from widemargin.monitor.interrupt import StopSignal, status_of
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.solvers import Solution
from widemargin.training.checkpoint import Checkpoint
from widemargin.training.fit import Training
from widemargin.training.task import Task, Trained

SENT_APART = 1 << 20  # bytes of problems that go to a worker beside the task, not in it


class ClusterTraining(Training):
    """Training whose rows lie on a cluster.

    source : of all rows
    plan : where class pairs are solved
    cancelled : set by Ctrl-C or a callback
    """

    source: ClusterSource

    def __init__(self, source: ClusterSource, plan: Plan, cancelled: StopSignal) -> None:
        super().__init__(source.kernel, source.lying.sample, n_jobs=1, cancelled=cancelled, source=source)
        self.plan = plan

    def matrix_of_pairs(self, classes: Sequence[Index]) -> FullGram | None:
        return None

    def train(
        self,
        tasks: Sequence[Task],
        stopping: Stopping,
        watch: Watch | None = None,
        classes: Sequence[Index] = (),
        checkpoint: Checkpoint | None = None,
    ) -> list[Trained]:
        if not len(classes):
            return super().train(tasks, stopping, watch, classes, checkpoint)
        self.source.classes = classes
        families = [[number] for number, task in enumerate(tasks) if task.neighbour is None]
        for number, task in enumerate(tasks):
            if task.neighbour is not None:
                families[task.neighbour].append(number)
        order = np.argsort(-self.plan.sizes, kind="stable")
        alone = [families[k] for k in order if not self.plan.is_spread[k]]
        spread = [families[k] for k in order if self.plan.is_spread[k]]
        answers, deadline = dict[int, Trained](), stopping.deadline()

        def rule() -> Stopping:
            return stopping if stopping.time_limit is None else stopping.until(deadline)

        def note(family: list[int], found: Sequence[Trained]) -> None:
            solution, members = found[0].solution, self.source.members(tasks[family[0]].index)
            coefficients = tasks[family[0]].dual.per_sample(solution.beta)
            self.source.lying.take(np.asarray(members)[np.flatnonzero(coefficients)])  # kept here, for the model
            answers.update(zip(family, found, strict=True))
            if checkpoint is not None:
                for number in family:
                    checkpoint.done(number, answers[number].solution.beta)
            self._listener(tasks[family[0]].dual, (family[0], len(families)), stopping.tol, watch)(record_of(found[0]))

        try:
            jobs = self._jobs(alone, tasks, classes, rule)
            for k, found in self.source.lying.cluster.each(jobs, most=self.plan.at_a_time):
                note(alone[k], found)
            for family in spread:
                note(family, self._on_all(alone_on_samples(tasks, family), tasks[family[0]], rule()))
        except KeyboardInterrupt as interrupt:
            self.cancelled.request(status_of(interrupt))
            left = [number for number in range(len(tasks)) if number not in answers]
            if self.cancelled.status is Status.LOST and any(start_of(tasks[number]).any() for number in left):
                raise  # the support vectors of a start are not here
        return [
            answers[number] if number in answers else self._unsolved(task, stopping)
            for number, task in enumerate(tasks)
        ]

    def _jobs(self, families: Sequence[list[int]], tasks: Sequence[Task], classes: Any, rule: Any) -> Iterator[Job]:
        """Yield a job for each family of tasks, made when it starts: the time that is left is part of it."""
        cluster, rows = self.source.lying.cluster, dict[int, Kept]()
        options = {"n_jobs": self.plan.threads_per_pair, "cache_size": self.source.cache_size}
        for k, family in enumerate(families):
            pair = tasks[family[0]].index
            assert isinstance(pair, tuple)
            for number in pair:
                if number not in rows:
                    rows[number] = self.source.lying.gathered(classes[number])
            own: Any = alone_on_samples(tasks, family)
            if bytes_of(own) > SENT_APART:
                own = cluster.send(own, None)
            parts = [rows[number] for number in pair]
            yield Job("pair", slabs.train, (self.source.kernel, own, rule(), options, *parts), None, k)

    def _on_all(self, own: Sequence[Task], whole: Task, stopping: Stopping) -> list[Trained]:
        """Return the answers to a class pair and its folds, solved on all workers together."""
        members = self.source.members(whole.index)
        assert members is not None
        rows = self.source.lying.subset(members)
        source = ClusterSource(self.source.kernel, rows, self.source.cache_size, self.source.n_threads, stopping)
        source.gram(None)
        if isinstance(rows, RowsThere):
            rows.forget_chunks()
        training = Training(self.source.kernel, rows.sample, n_jobs=1, cancelled=self.cancelled, source=source)
        return training.train(own, stopping)

    def _unsolved(self, task: Task, stopping: Stopping) -> Trained:
        """Return a task at its start, where nothing is known of K b."""
        beta, status = start_of(task).copy(), self.cancelled.status
        n, thresholds = task.dual.n_samples, np.zeros(task.dual.n_groups)
        scores = Scores(np.zeros(n), np.full(n, np.inf) if beta.any() else np.zeros(n))
        certificate = certify_function(
            task.dual, beta, scores, stopping.tol, criterion=stopping.criterion, is_psd=self.is_psd
        )
        solution = Solution(beta, scores.values, thresholds, status, np.inf, 0.0, 0, 0, 0, 0.0)
        if not beta.any():
            solution = replace(solution, thresholds=np.array(certificate.level))
        return Trained(solution, replace(certificate, **price(solution)))


def alone_on_samples(tasks: Sequence[Task], family: Sequence[int]) -> list[Task]:
    """Return a task and its followers as tasks on all samples of their own fit."""
    first, *others = (tasks[number] for number in family)
    return [replace(first, index=None), *(replace(task, index=None, neighbour=0) for task in others)]


def start_of(task: Task) -> Any:
    """Return the point at which a task starts."""
    return task.dual.start if task.start is None else task.start


def record_of(answer: Trained) -> Iteration:
    """Return the answer to a problem as a record for listeners, who get no others from workers."""
    solution, certificate = answer.solution, answer.certificate
    return Iteration(
        violation=certificate.violation, tol=certificate.tol, objective=solution.objective,
        iterations=solution.iterations, rounds=solution.rounds, n_support=certificate.n_support,
        n_free=certificate.n_free, rows_computed=solution.rows_computed, seconds=solution.seconds,
        point=lambda: (solution.beta, solution.Kb),
    )  # fmt: skip
