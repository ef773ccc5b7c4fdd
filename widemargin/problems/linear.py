"""A linear machine as its solvers take it, and what they hand back.

Solves      min  1/2 |w|^2 + sum_i loss_i(w'x_i + bias),     the losses those of a signed dual (problems/dual.py)

bias        penalised:    one more weight, on a constant column of value tau (LIBLINEAR; intercept_scaling = tau)
            unpenalised:  free, which makes the multipliers sum to zero (LIBSVM; the machine of SVC(kernel="linear"))
            none:         column = 0
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.linalg.rows import DenseRows, SparseRows
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """Rows and signed dual of one linear machine.

    Attributes
    ----------
    rows : the samples, with the constant column; column 1 where the bias is not penalised
    dual : c, box, D and e; n_groups = 1 says that the bias is not penalised
    rate : r of each sample (responses.py): C_i for linear losses, 1/D_i for squared ones
    squared : whether the losses are squared
    scale : typical size of -c about its middle, the unit of a margin: 1 for classes
    """

    rows: DenseRows | SparseRows
    dual: SignedDual
    rate: Vector
    squared: bool
    scale: float

    @property
    def free_bias(self) -> bool:
        return self.dual.n_groups == 1

    @property
    def box(self) -> tuple[Vector, Vector, Vector, Vector]:
        return self.dual.linear_term, self.dual.epsilon, self.dual.lower, self.dual.upper

    def every(self, stride: int) -> LinearProblem:
        """The problem of each stride-th sample with C raised so that the optimum is about the same."""
        some, d = slice(None, None, stride), self.dual
        dual = SignedDual(
            linear_term=d.linear_term[some],
            lower=d.lower[some] * stride,
            upper=d.upper[some] * stride,
            diagonal=d.diagonal[some] / stride,
            epsilon=d.epsilon[some],
            n_groups=d.n_groups,
        )
        return replace(self, rows=self.rows.take(some), dual=dual, rate=self.rate[some] * stride)


def linear_problem(rows: DenseRows | SparseRows, dual: SignedDual) -> LinearProblem:
    """Read off the numbers the solvers need. Losses must be all squared or all linear with a finite box."""
    squared = bool(dual.diagonal[0] > 0.0)
    rate = 1.0 / dual.diagonal if squared else np.maximum(dual.upper, -dual.lower)
    if dual.n_groups == 1 and not squared:  # no multiplier can be larger than all of the other sign together
        rate = np.minimum(rate, np.where(dual.upper >= -dual.lower, -dual.lower.sum(), dual.upper.sum()))
    spread = float(np.abs(dual.linear_term - np.median(dual.linear_term)).mean()) if dual.epsilon.any() else 1.0
    return LinearProblem(rows, dual, rate, squared, spread if spread > 0.0 else 1.0)


@dataclass
class Budget:
    """How long a solver may work, and who watches.

    gap : relative gap (P - D) / P to reach; max_iter : Newton steps or passes; deadline : on time.perf_counter()
    """

    gap: float
    max_iter: int = 1000
    deadline: float = float("inf")
    watch: Watch | None = None
    began: float = field(default_factory=time.perf_counter)

    def ended(self, iterations: int) -> Status | None:
        """Why the solver must stop now, if it must."""
        if iterations >= self.max_iter:
            return Status.MAX_ITER
        return Status.TIME_LIMIT if time.perf_counter() >= self.deadline else None

    def report(self, gap: float, primal: float, iterations: int, weights: Vector, beta: Vector | None = None) -> None:
        """Call the listener; the gap is reported as the violation."""
        if self.watch is not None:
            self.watch(
                Iteration(
                    violation=gap,
                    tol=self.gap,
                    objective=-primal,
                    iterations=iterations,
                    rounds=iterations,
                    n_support=0 if beta is None else int(np.count_nonzero(beta)),
                    seconds=time.perf_counter() - self.began,
                    iterate=weights.copy,
                    multipliers=None if beta is None else beta.copy,
                )
            )


class Undecidable(Exception):
    """Raised by a further condition on an answer: what is missing are digits, more steps will not meet it."""


@dataclass
class Point:
    """Weights, multipliers, u = X w, and X'b or None: what a further condition on an answer looks at."""

    w: Vector
    beta: Vector
    u: Vector
    total: Vector | None = None


Accept = Callable[[Any], bool]  # of a Point or of anything with its attributes; may raise Undecidable


Decide = Callable[..., Status | None]  # how a solver that hands over its point should end; None: it goes on


class PassesAnswer(NamedTuple):
    """The point that passes over samples or weights came to (weights first), and how they ended."""

    point: tuple[Vector, ...]
    status: Status
    passes: int


@dataclass
class LinearAnswer:
    """Weights (bias last, on the constant column), multipliers, and how the solver ended.

    margins, total : X w and X'b, where the solver's last act was to compute them from the data for just this pair
    """

    weights: Vector
    beta: Vector
    status: Status
    iterations: int
    gap: float
    margins: Vector | None = None
    total: Vector | None = None
