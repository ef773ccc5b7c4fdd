"""The problem of a linear model, and the answer that its solvers return.

Solves      min  1/2 |w|^2 + sum_i loss_i(w'x_i + bias),     the losses those of a signed dual (problems/dual.py)

bias        penalised:    one more weight, on a constant column of value tau (LIBLINEAR; intercept_scaling = tau)
            unpenalised:  free, which makes the multipliers sum to zero (LIBSVM; the model of SVC(kernel="linear"))
            none:         column = 0
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from widemargin.linalg.arrays import Vector
from widemargin.linalg.design import Design
from widemargin.monitor import clock
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems.dual import SignedDual


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """Rows and signed dual of one linear model.

    Attributes
    ----------
    rows : the samples, with the constant column; column 1 where the bias is not penalised
    dual : c, box, D and e; n_groups = 1 means that the bias is not penalised
    rate : r of each sample (responses.py): C_i for linear losses, 1/D_i for squared ones
    squared : whether the losses are squared
    scale : typical size of -c about its middle, the unit of a margin: 1 for classes
    """

    rows: Design
    dual: SignedDual
    rate: Vector
    squared: bool
    scale: float

    @property
    def free_bias(self) -> bool:
        return self.dual.n_groups == 1

    @cached_property
    def penalty(self) -> Vector:
        """Weight of each w_j^2 / 2 in the objective: one, and zero for an unpenalised bias."""
        penalty = np.ones(self.rows.d + 1)
        penalty[-1] = not self.free_bias
        return penalty

    def every(self, stride: int) -> LinearProblem:
        """Return the problem of each stride-th sample, with C raised so that the optimum is about the same."""
        some, d = slice(None, None, stride), self.dual
        dual = SignedDual(
            linear_term=d.linear_term[some].copy(),  # contiguous: another layout would be compiled for anew
            lower=d.lower[some] * stride,
            upper=d.upper[some] * stride,
            diagonal=d.diagonal[some] / stride,
            epsilon=d.epsilon[some].copy(),
            n_groups=d.n_groups,
        )
        return replace(self, rows=self.rows.take(some), dual=dual, rate=self.rate[some] * stride)


def linear_problem(rows: Design, dual: SignedDual) -> LinearProblem:
    """Return the problem with the values solvers need. Losses must be all squared or all linear with a finite box."""
    squared = bool(dual.diagonal[0] > 0.0)
    rate = 1.0 / dual.diagonal if squared else np.maximum(dual.upper, -dual.lower)
    if dual.n_groups == 1 and not squared:  # no multiplier can exceed the sum of all multipliers of the other sign
        rate = np.minimum(rate, np.where(dual.upper >= -dual.lower, -dual.lower.sum(), dual.upper.sum()))
    spread = float(np.abs(dual.linear_term - np.median(dual.linear_term)).mean()) if dual.epsilon.any() else 1.0
    return LinearProblem(rows, dual, rate, squared, spread if spread > 0.0 else 1.0)


@dataclass
class LinearAnswer:
    """Weights (bias last, on the constant column), multipliers, and how the solver ended.

    margins, total : X w and X'b, if the solver has just recomputed them from the data for this pair
    """

    weights: Vector
    beta: Vector
    margins: Vector | None = None
    total: Vector | None = None
    gap: float = np.inf
    status: Status = Status.STALLED
    iterations: int = 0


#: Returns the status for an answer whose gap meets the tolerance; None if the solver should continue.
Decide = Callable[[LinearAnswer], Status | None]


@dataclass(frozen=True)
class LinearRun:
    """One run of one or several solvers: the stop rule and the listener.

    Attributes
    ----------
    stopping : tol is the relative gap (P - D) / P to reach, max_iter limits Newton steps and passes together
    watch : called once per step or pass (monitor/iteration.py)
    decide : called when the gap meets the tolerance, and again whenever it has shrunk by NEXT
    start : the answer from which to continue; its multipliers have no entries where only the weights are known
    seed : of the random order of visits
    began : on `clock.now()`
    """

    stopping: Stopping
    watch: Watch | None = None
    decide: Decide | None = None
    seed: int = 0
    start: LinearAnswer | None = None
    began: float = field(default_factory=clock.now)

    def limited(self, **limits: Any) -> LinearRun:
        """Return the same run with another tol or max_iter."""
        return replace(self, stopping=replace(self.stopping, **limits))

    def ended(self, iterations: int) -> Status | None:
        """Return the status with which the solver must stop now, or None."""
        if 0 <= self.stopping.max_iter <= iterations:
            return Status.MAX_ITER
        limit = self.stopping.time_limit
        return Status.TIME_LIMIT if limit is not None and clock.now() - self.began >= limit else None

    def judge(self, answer: LinearAnswer) -> Status | None:
        """Return OPTIMAL or UNDECIDED if the solver should end with this answer, which meets the gap, else None."""
        return Status.OPTIMAL if self.decide is None else self.decide(answer)

    def report(self, gap: float, primal: float, iterations: int, weights: Vector, beta: Vector | None = None) -> None:
        """Call the listener; the gap is reported as the violation."""
        if self.watch is not None:
            self.watch(
                Iteration(
                    violation=gap,
                    tol=self.stopping.tol,
                    objective=-primal,
                    iterations=iterations,
                    rounds=iterations,
                    n_support=0 if beta is None else int(np.count_nonzero(beta)),
                    seconds=clock.now() - self.began,
                    iterate=weights.copy,
                    multipliers=None if beta is None else beta.copy,
                )
            )
