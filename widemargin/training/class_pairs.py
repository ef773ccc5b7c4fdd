"""All pairs of many small classes, by training/batch.py; pairs that it does not prove are trained one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from widemargin.certificate import Certificate
from widemargin.gram.full import FullGram
from widemargin.gram.source import ClassPair
from widemargin.linalg.arrays import Vector
from widemargin.models.multiclass import ClassPairs
from widemargin.monitor import clock
from widemargin.monitor.stopping import Stopping
from widemargin.problems.classification import hinge
from widemargin.problems.dual import SignedDual
from widemargin.training.batch import Batch, new_answers, train_batch
from widemargin.training.fit import Training
from widemargin.training.indefinite import is_indefinite
from widemargin.training.task import Task

FEWEST_PAIRS = 64  # below, single tasks are cheap, and a first fit need not compile the batch
MOST_TESTED = 2_048  # samples of a matrix that is tested as a whole, in 0.1 s, for all pairs
SLICE = 1 << 18  # variables of all problems of a batch: their terms take about 20 MB

Build = Callable[[Vector, NDArray[np.int64]], SignedDual]  # the dual of some variables, by their signs and samples


@dataclass(frozen=True, eq=False)
class PairAnswers:
    """Answers to all class pairs.

    beta : multipliers, one pair after the other, as `ClassPairs.variables` lists them
    thresholds, iterations, certificates : one per pair
    """

    beta: Vector
    thresholds: Vector
    iterations: NDArray[np.int64]
    certificates: Sequence[Certificate]


def train_class_pairs(training: Training, pairs: ClassPairs, build: Build, stopping: Stopping) -> PairAnswers | None:
    """Solve and certify all pairs; return None if single tasks are faster."""
    if len(pairs) < FEWEST_PAIRS or stopping.criterion != "kkt" or stopping.max_iter >= 0:
        return None
    gram = training.matrix_of_pairs(pairs.members)
    if gram is None:
        return None
    began = clock.now()
    ends = np.cumsum(pairs.sizes)
    edges = np.unique(np.searchsorted(ends, np.arange(SLICE, ends[-1] + SLICE, SLICE), side="right"))
    whole = new_answers(int(ends[-1]), len(pairs))
    for first, last in zip([0, *edges[:-1].tolist()], edges.tolist()):
        if training.cancelled.is_set():  # after an interrupt, the remaining pairs end at their start, below
            break
        variables = pairs.variables(first, last)
        batch = Batch(variables.samples, variables.starts, build(variables.sign, variables.samples))
        if len(batch.dual.hard):  # infinite losses are certified one by one
            return None
        part = whole.of(slice(ends[first] - pairs.sizes[first], ends[last - 1]), slice(first, last))
        train_batch(batch, gram, stopping, training.is_psd, part)
    if not training.is_psd and not is_definite(gram, whole.beta, stopping.tol):
        whole.is_proven[:] = False  # each pair is tested alone, below
    seconds = clock.now() - began
    certificates: Sequence[Certificate] = whole.certificates(stopping.tol, training.is_psd, seconds, gram.rows_computed)
    unproven = np.flatnonzero(~whole.is_proven)
    if len(unproven):
        certificates = list(certificates)
    tasks = []
    for number in unproven:
        pair, starts = pairs[number], ends[number] - pairs.sizes[number]
        start = whole.beta[starts : ends[number]]
        dual = build(pair.sign, pair.index)
        tasks.append(Task(dual, ClassPair(pair.positive, pair.negative), start if start.any() else None))
    if not tasks:
        training.source.close()
    for number, trained in zip(unproven, training.train(tasks, stopping, None, pairs.members) if tasks else ()):
        solution = trained.solution
        whole.beta[ends[number] - pairs.sizes[number] : ends[number]] = solution.beta
        whole.thresholds[number] = solution.thresholds[0]
        whole.iterations[number] += solution.iterations
        certificates[number] = replace(  # type: ignore[index]
            trained.certificate, iterations=int(whole.iterations[number])
        )
    return PairAnswers(whole.beta, whole.thresholds, whole.iterations, certificates)


def is_definite(gram: FullGram, beta: Vector, tol: float) -> bool:
    """Whether the matrix of all samples, and so that of every pair, is shown to be positive semi-definite enough."""
    if len(gram) > MOST_TESTED:
        return False
    everything = np.arange(len(gram), dtype=np.int64)
    dual = hinge(np.ones(len(gram)), np.ones(len(gram)))  # a sum of zero over a pair is one over all samples
    return not is_indefinite(dual, everything, gram.block(everything), beta, tol)
