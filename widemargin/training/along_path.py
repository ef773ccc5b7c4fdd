"""The problems of a path by compiled calls, with Newton steps between them where pair steps are slow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from widemargin.certificate.bounds import Point
from widemargin.certificate.certificate import FACTS, certificate_of
from widemargin.costs import COSTS
from widemargin.gram import Gram
from widemargin.gram.full import FullGram
from widemargin.gram.row_store import FullStore
from widemargin.gram.scores import Scores
from widemargin.linalg.arrays import Vector
from widemargin.monitor import clock
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems.dual import SignedDual
from widemargin.solvers import Solution, tuning
from widemargin.solvers.in_memory.nearby import DOUBLE, WORTH, newton_on_free
from widemargin.solvers.state import State
from widemargin.solvers.steps.packed_keys import keys_of
from widemargin.training.certified import aiming
from widemargin.training.links import SLOW, UNSOLVED, Answers, Limits, Links, follow_links
from widemargin.training.task import Trained

SLICE = 1 << 18  # variables of all problems of a call: their terms and answers take about 20 MB
COMPUTED, OBJECTIVE = FACTS.index("computed"), FACTS.index("objective")


class Reached(NamedTuple):
    """A point on a path, with K b there.

    is_begun : whether it is a feasible point of the next problem, not the answer to the one before
    """

    beta: Vector
    scores: Scores
    is_begun: bool = False

    @classmethod
    def start_of(cls, dual: SignedDual, gram: Gram) -> Reached:
        """The start of the first problem of a path."""
        zero = np.zeros(dual.n_samples)
        known = gram.scores(dual.per_sample(dual.start)) if dual.start.any() else Scores(zero, zero)
        return cls(dual.start, known, True)


def suits(duals: Sequence[SignedDual], gram: Gram, stopping: Stopping) -> bool:
    """Whether problems can be solved here; the kernel is positive semi-definite."""
    if not isinstance(gram.store, FullStore) or stopping.criterion != "kkt" or not np.isfinite(gram.errors.size).all():
        return False
    are_plain = all(dual.is_plain and dual.n_groups and 0.0 < dual.largest_bound < np.inf for dual in duals)
    most = tuning.DEFAULT.largest_single_precision
    return are_plain and float(np.abs([dual.linear_term for dual in duals]).max(initial=0.0)) <= most


def solve_links(
    duals: Sequence[SignedDual], ratios: Sequence[float], gram: FullGram, stopping: Stopping, reached: Reached
) -> tuple[list[Trained], Reached]:
    """Solve and certify problems that share their groups, in order, up to the first one that does not succeed.

    Returns the answers and the point reached: if one does not succeed, in that problem.
    """
    began, store, n = clock.now(), gram.store, len(duals[0])
    links = stacked(duals, ratios)
    beta, Kb = np.empty((2, len(duals), n))
    thresholds, facts = np.empty((len(duals), links.n_groups)), np.empty((len(duals), len(FACTS)))
    answers = Answers(beta, Kb, thresholds, facts, np.zeros((len(duals), 2), np.int64))
    point = Point(reached.beta.copy(), reached.scores.values.copy(), reached.scores.error.copy())
    unit = COSTS.pair_step * store.fast.dtype.itemsize / DOUBLE
    limits = Limits(
        stopping.tol, aiming(stopping, gram).tol, tuning.DEFAULT.steps_per_call, WORTH, WORTH,
        COSTS.newton_step / unit, COSTS.newton_cube / unit,
    )  # fmt: skip
    keys, first, is_begun = keys_of(n, store.fast.dtype), 0, reached.is_begun
    while True:
        place, how = follow_links(store, gram.errors, links, limits, keys, point, first, is_begun, answers)
        if how != SLOW:
            break
        state = State(duals[place], gram, point.beta, Scores(point.Kb, point.error))
        doubled = 2.0 * (limits.patience if place == first else WORTH)
        limits = limits._replace(patience=WORTH if newton_on_free(state) else doubled)
        error = state.error
        assert error is not None
        point, first, is_begun = Point(state.beta, state.Kb, error), place, True
    seconds = (clock.now() - began) / max(1, place)
    done = [answer(number, answers, stopping.tol, gram.rows_computed, seconds) for number in range(place)]
    return done, Reached(point.beta, Scores(point.Kb, point.error), how == UNSOLVED)


def stacked(duals: Sequence[SignedDual], ratios: Sequence[float]) -> Links:
    """Return problems as arrays with a row each."""

    def rows(name: str) -> Vector:
        return np.array([getattr(dual, name) for dual in duals])

    return Links(
        rows("linear_term"), rows("lower"), rows("upper"), rows("diagonal"), rows("epsilon"), rows("start"),
        duals[0].group_starts, duals[0].n_groups, np.array(ratios, dtype=np.float64),
    )  # fmt: skip


def answer(number: int, answers: Answers, tol: float, rows: int, seconds: float) -> Trained:
    """Return the solution and the certificate of one problem."""
    facts, thresholds = answers.facts[number], answers.thresholds[number]
    steps, rounds = answers.counts[number].tolist()
    costs = {"status": Status.OPTIMAL, "iterations": steps, "rows_computed": rows, "seconds": seconds}
    solution = Solution(
        beta=answers.beta[number], Kb=answers.Kb[number], thresholds=thresholds, rounds=rounds,
        violation=float(facts[COMPUTED]), objective=-float(facts[OBJECTIVE]), **costs,
    )  # fmt: skip
    return Trained(solution, certificate_of(facts, thresholds, tol=tol, is_psd=True, **costs))
