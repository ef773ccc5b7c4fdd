"""The loop that the coordinate descent methods share: visit in random order, shrink, measure the gap, decide, report.

A method (`CoordinateDescent`) defines its compiled pass over some of its coordinates, its exact gap, and its work
between passes. Coordinates are the multipliers of samples (dual_descent.py, crammer_singer.py) or weights (l1.py).

shrinking   a pass marks coordinates at a bound whose slope points outwards by more than the largest violation of the
            last pass as SHRUNK: they are left out until all other coordinates are nearly optimal
gap         measured when a method's own estimate meets the tolerance or, without an estimate, at intervals
memory      where the data exceed the cache, visits are random among a few random blocks of neighbouring rows, so that
            a fetched page is used more than once
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from widemargin._jit import jit
from widemargin.monitor.interrupt import status_of
from widemargin.monitor.status import Status
from widemargin.problems.linear import LinearAnswer, LinearRun, Vector

ACTIVE, NEAR_OPTIMAL, SHRUNK = range(3)  # marks of a coordinate
NEIGHBOURS = 16  # rows of a block, and blocks visited together: else sorted data would be visited class by class
NEXT = 0.2  # reduction of the gap after which a rejected answer is judged again
SEED = 88172645463325252  # state of the generator that `seed` is mixed into
CURVATURE_FLOOR = 1e-12  # of an empty row or column
NO_STEP = 1e-12  # smaller slopes are not worth a write


@jit
def shuffle(visits, start, end, state):
    """Shuffle visits[start:end] by a xorshift generator."""
    bits = state[0]
    for k in range(start, end):
        bits ^= bits << np.uint64(13)
        bits ^= bits >> np.uint64(7)
        bits ^= bits << np.uint64(17)
        jump = np.int64(((bits >> np.uint64(32)) * np.uint64(end - k)) >> np.uint64(32))
        visits[k], visits[k + jump] = visits[k + jump], visits[k]
    state[0] = bits


@jit
def arrange(chosen, block, state):
    """Return the chosen coordinates in random order, or in random order within groups of NEIGHBOURS random blocks."""
    if block == 1:
        visits = chosen.copy()
        shuffle(visits, 0, visits.shape[0], state)
        return visits
    visits = np.empty_like(chosen)
    blocks = np.arange((chosen.shape[0] + block - 1) // block)
    shuffle(blocks, 0, blocks.shape[0], state)
    place = first = 0
    for s in range(blocks.shape[0]):
        for k in range(blocks[s] * block, min((blocks[s] + 1) * block, chosen.shape[0])):
            visits[place] = chosen[k]
            place += 1
        if s % NEIGHBOURS == NEIGHBOURS - 1 or s == blocks.shape[0] - 1:
            shuffle(visits, first, place, state)
            first = place
    return visits


@jit
def select(chosen, marks, highest):
    """Return the chosen coordinates whose mark is at most `highest`, in the same order."""
    out = np.empty_like(chosen)
    kept = 0
    for s in range(chosen.shape[0]):
        if marks[chosen[s]] <= highest:
            out[kept] = chosen[s]
            kept += 1
    return out[:kept]


class VisitOrder:
    """The active coordinates, their marks, and the generator of random orders."""

    def __init__(self, n: int, seed: int) -> None:
        self.n = n
        self.active = np.arange(n)
        self.marks = np.empty(n, np.uint8)
        self.state = np.array([SEED ^ (seed * 2654435761 & 0xFFFFFFFF)], np.uint64)


class CoordinateDescent(ABC):
    """A problem that is solved one coordinate at a time.

    Attributes
    ----------
    w : the weights
    beta : the multipliers, or None where they follow from the weights
    gap, primal : relative gap and objective, as far as they are known
    """

    estimates: ClassVar[bool] = False  # whether each pass gives an estimate of the gap
    wait: ClassVar[tuple[int, int]] = (1, 10)  # passes between two measurements: at least, and a share of all passes

    w: Vector
    gap: float = np.inf
    primal: float = 0.0

    @property
    def beta(self) -> Vector | None:
        return None

    @abstractmethod
    def visit(self, order: VisitOrder, threshold: float, goal: float) -> float:
        """Make one pass over the active coordinates; returns the largest violation."""

    @abstractmethod
    def measure(self) -> LinearAnswer:
        """Return the current point with its gap, computed from the data."""

    @abstractmethod
    def is_settled(self, worst: float, tol: float) -> bool:
        """Whether the active coordinates are nearly optimal among themselves, so that all must be visited again."""

    def refresh(self) -> None:  # noqa: B027
        """Recompute from the data the sums that have drifted over many steps."""

    def improve(self, order: VisitOrder, goal: float, passes: int) -> Status | None:  # noqa: B027
        """Work between two passes; a status ends the run."""


def run_passes(method: CoordinateDescent, n: int, run: LinearRun) -> LinearAnswer:
    """Make passes over n coordinates until the run accepts an answer, or a limit or the method ends them."""
    order = VisitOrder(n, run.seed)
    threshold, goal, passes, next_check, measured = np.inf, run.stopping.tol, 0, method.wait[0], False
    status = run.ended(0)
    try:
        while status is None:
            order.marks[:] = ACTIVE
            worst = method.visit(order, threshold, goal)
            if threshold < np.inf:
                order.active = select(order.active, order.marks, NEAR_OPTIMAL)
            passes += 1
            status = run.ended(passes)
            measured = status is not None or (method.gap <= goal if method.estimates else passes >= next_check)
            if measured:
                next_check = passes + max(method.wait[0], passes // method.wait[1])
                answer = method.measure()
                if answer.gap <= goal:
                    status = run.judge(answer) or status
                    goal = NEXT * answer.gap
                    if status is None:
                        method.refresh()
            run.report(method.gap, method.primal, passes, method.w, method.beta)
            if status is None:
                status = method.improve(order, goal, passes)
                measured = measured and status is None
            threshold = worst if worst > 0.0 else np.inf
            n_active = len(order.active)
            if n_active < n and (n_active == 0 or method.is_settled(worst, run.stopping.tol)):
                order.active, threshold, next_check = np.arange(n), np.inf, passes + 1
    except KeyboardInterrupt as interrupt:  # the point is always feasible, so it can be certified
        status, measured = status_of(interrupt), False
    if not measured:
        answer = method.measure()
    answer.status, answer.iterations = status, passes
    return answer
