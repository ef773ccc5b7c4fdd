"""Many small problems at once: all pairs of small classes, solved and certified in one compiled call per thread.

A model of 1,000 classes has half a million class pairs of a few samples each. As single tasks they would cost hundreds
of microseconds of Python each; here a pair takes a few microseconds of compiled code: its part of the kernel matrix is
gathered, solved by the rounds of solvers/in_memory and certified by the functions of certificate/in_memory.

Given    the kernel matrix of all samples in memory, and the problems as arrays: variables one problem after the other
Returns  multipliers, K b, thresholds and FACTS of all problems; which of them are proven
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.certificate.bounds import FEASIBILITY, Point
from widemargin.certificate.certificate import FACTS, CertificateTable
from widemargin.certificate.in_memory import certify_point
from widemargin.gram.full import FullGram
from widemargin.gram.row_store import FullStore, gather_square
from widemargin.kernels.errors import ErrorTerms
from widemargin.linalg.arrays import Vector
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.parallel.tiles import run_tiles
from widemargin.problems.dual import SignedDual, Terms
from widemargin.solvers import tuning
from widemargin.solvers.in_memory.rounds import CURVATURE, STEPS, Progress, Rule, solve_rounds
from widemargin.solvers.steps.packed_keys import Keys, keys_of
from widemargin.training.certified import aiming

CHUNKS_PER_THREAD = 8  # so that threads finish at about the same time
VIOLATION, INFEASIBILITY, PRIMAL = (FACTS.index(name) for name in ("violation", "infeasibility", "primal"))


class Batch(NamedTuple):
    """Problems with one group each, one after the other.

    samples : sample of each variable
    starts : problem p has the variables starts[p]:starts[p + 1]
    dual : terms of all variables
    """

    samples: NDArray[np.int64]
    starts: NDArray[np.int64]
    dual: SignedDual


class BatchAnswers(NamedTuple):
    """Answers to a batch, as arrays.

    beta : one value per variable
    thresholds, iterations : one per problem
    facts : one row of FACTS per problem
    is_proven : which certificates hold
    """

    beta: Vector
    thresholds: Vector
    iterations: NDArray[np.int64]
    facts: Vector
    is_proven: NDArray[np.bool_]

    def of(self, variables: slice, problems: slice) -> BatchAnswers:
        """Return views of the answers to some of the problems."""
        return BatchAnswers(
            self.beta[variables], self.thresholds[problems], self.iterations[problems], self.facts[problems],
            self.is_proven[problems],
        )  # fmt: skip

    def certificates(self, tol: float, is_psd: bool, seconds: float, rows: int) -> CertificateTable:
        """Return the certificates; seconds are divided evenly, `rows` were evaluated for all problems together."""
        about = {"tol": tol, "is_psd": is_psd, "status": Status.OPTIMAL, "rows_computed": 0}
        about["seconds"] = seconds / max(1, len(self.facts))
        return CertificateTable(self.facts, self.thresholds, self.iterations, about, rows)


def new_answers(n_variables: int, n_problems: int) -> BatchAnswers:
    """Allocate answers."""
    facts = np.zeros((n_problems, len(FACTS)))
    iterations = np.zeros(n_problems, np.int64)
    return BatchAnswers(np.zeros(n_variables), np.zeros(n_problems), iterations, facts, np.zeros(n_problems, np.bool_))


class Matrix(NamedTuple):
    """The kernel matrix of all samples, its diagonal and its errors."""

    store: FullStore
    errors: ErrorTerms


def train_batch(batch: Batch, gram: FullGram, stopping: Stopping, is_psd: bool, answers: BatchAnswers) -> None:
    """Solve and certify every problem of a batch into `answers`; unproven problems are left to the caller."""
    n_problems, largest = len(batch.starts) - 1, int(np.diff(batch.starts).max(initial=1))
    rule, tuned = aiming(stopping, gram), tuning.DEFAULT
    aim, first_steps = rule.tol, tuned.steps_per_call
    if gram.dtype == np.float64 and largest <= tuned.exact:  # small problems are solved to rounding
        aim, first_steps = min(aim, tuned.exact_violation * max(1.0, float(gram.diag.max()))), tuned.exact_steps
    how = Rule(rule.tol, aim, first_steps, tuned.steps_per_call)
    keys, matrix = keys_of(largest, gram.dtype), Matrix(gram.store, gram.errors)
    edges = np.linspace(0, n_problems, CHUNKS_PER_THREAD * gram.n_threads + 1).astype(np.int64)

    def solve(number: int) -> None:
        chunk = (edges[number], edges[number + 1])
        solve_chunk(matrix, batch.samples, batch.starts, batch.dual.terms, how, keys, chunk, answers)

    run_tiles(solve, len(edges) - 1, gram.n_threads)
    facts = answers.facts
    is_proven = (facts[:, VIOLATION] <= stopping.tol) & (facts[:, INFEASIBILITY] <= FEASIBILITY)
    answers.is_proven[:] &= is_proven & (is_psd | (facts[:, PRIMAL] < np.inf))


@jit
def solve_chunk(matrix, sample, starts, terms, rule, keys, chunk, answers):
    """Solve problems chunk[0]:chunk[1]; sets `is_proven` to True where no negative curvature was found."""
    store, errors = matrix
    q, n_terms, largest = 0, errors.left.shape[1], keys.position.shape[0]
    one_group, numbers = np.zeros(2, np.int64), np.arange(largest)
    counts, reached, table = np.zeros(4, np.int64), np.zeros(3), np.empty((1, 4))
    block = np.empty(largest * largest, store.rows.dtype)  # allocated for the largest problem and reused by all
    values, error_terms = np.empty((6, largest)), np.empty((2, largest * n_terms))
    for p in range(chunk[0], chunk[1]):
        a, b = starts[p], starts[p + 1]
        samples, q = sample[a:b], b - a
        one_group[1] = q
        counts[0] = counts[1] = counts[2] = counts[3] = 0
        reached[0] = reached[1] = 0.0
        own = Terms(
            terms.linear_term[a:b], terms.lower[a:b], terms.upper[a:b], terms.diagonal[a:b], terms.epsilon[a:b],
            terms.start[a:b], one_group, 1,
        )  # fmt: skip
        K, slot = block[: q * q].reshape(q, q), numbers[:q]
        diag, size, Kb, point = (
            values[0, :q],
            values[1, :q],
            values[2, :q],
            Point(answers.beta[a:b], values[3, :q], values[4, :q]),
        )
        left, right = (
            error_terms[0, : q * n_terms].reshape(q, n_terms),
            error_terms[1, : q * n_terms].reshape(q, n_terms),
        )
        gather_square(store.rows, store.slot, samples, np.int64(0), K)
        for k in range(q):
            diag[k], size[k], Kb[k] = store.diag[samples[k]], errors.size[samples[k]], 0.0
            for term in range(n_terms):
                left[k, term], right[k, term] = errors.left[samples[k], term], errors.right[samples[k], term]
        corner = FullStore(K, slot, diag, K)
        positions = Keys(keys.position[:q], keys.limits)
        solve_rounds(corner, own, point.beta, Kb, rule, positions, Progress(counts, reached, table, values[5, :q]))
        threshold = certify_point(K, slot, ErrorTerms(left, right, size), own, point, diag, Kb, answers.facts[p])
        answers.thresholds[p] = threshold[0]
        answers.iterations[p] = counts[STEPS]
        answers.is_proven[p] = reached[CURVATURE] >= 0.0
