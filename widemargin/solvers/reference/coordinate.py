"""Coordinate ascent: maximise the dual over one multiplier, hold the others.

Solves   the signed dual without equality constraint (fixed bias). With the constraint sum y alpha = 0 a single
         multiplier cannot move at all, which is the reason for SMO.
Given    a Gram, in blocks and rows
Returns  a Solution; a step is  alpha_i <- argmax over alpha_i of W, clipped to the box
Orders   cyclic    1, 2, ..., n, as the inner loop of CS229 has it
         random    a new permutation in every pass
         greedy    each time the multiplier whose step raises W most, slope^2 / K_ii
Use      as the simplest exact method, and to see what the order is worth. A cyclic or random pass costs n rows at most;
         a greedy step looks at all n gradients, and needs far fewer steps.
See      Ng & Ma, CS229 lecture notes, part V, section 9.1; Straka (2019); Gauss-Southwell rule for the greedy order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual
from widemargin.solvers.reference.passes import PASS, Passes, ReferenceSolver, Run
from widemargin.solvers.reference.visits import Visitor, refuse_groups

ORDERS = ("cyclic", "random", "greedy")


@dataclass(frozen=True)
class Coordinate(ReferenceSolver):
    """Coordinate ascent on machines with a fixed bias.

    Parameters
    ----------
    order : {"cyclic", "random", "greedy"}, default "cyclic"
    seed : int, default 0
        Of the random order.
    max_passes : int, default 10,000

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVC
    >>> from widemargin.solvers.reference import Coordinate
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> SVC(kernel="linear", solver=Coordinate("greedy")).fit(X, [0, 0, 1, 1]).certificate_.holds
    True
    """

    order: str = "cyclic"
    seed: int = 0

    fixed_bias: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise ValueError(f"order must be one of {', '.join(ORDERS)}; got {self.order!r}.")

    def check(self, dual: SignedDual) -> None:
        refuse_groups(dual, "coordinate")

    def passes(self, run: Run) -> Passes:
        visitor = Visitor(run)
        n = len(run.dual)
        everything = np.arange(n, dtype=np.int64)
        rng = np.random.default_rng(self.seed)
        while True:
            steps = 0
            if self.order == "greedy":
                for _ in range(n):
                    yield from visitor.visit(_largest_gain(run, visitor.total_diagonal), 0.0)
                    steps += visitor.changed
                    if not visitor.changed or run.stopping.tol >= float(_excess(run).max()):
                        break
            else:
                yield from visitor.visit(everything if self.order == "cyclic" else rng.permutation(n), 0.0)
                steps = visitor.changed
            if not steps:
                return Status.STALLED
            yield PASS


def _excess(run: Run) -> NDArray[np.float64]:
    """How far the slope of each open direction is on the wrong side of zero."""
    f, beta, dual = run.gradient(), run.beta, run.dual
    rise = np.where(beta >= 0.0, f + dual.epsilon, f - dual.epsilon)
    fall = np.where(beta > 0.0, f + dual.epsilon, f - dual.epsilon)
    return np.maximum(np.where(beta < dual.upper, -rise, 0.0), np.where(beta > dual.lower, fall, 0.0)).clip(0.0)


def _largest_gain(run: Run, total_diagonal: NDArray[np.float64]) -> NDArray[np.int64]:
    """The variable with the largest slope^2 / K_ii, as an index array of one."""
    gain = _excess(run) ** 2 / np.maximum(total_diagonal, np.finfo(float).tiny)
    return np.array([np.argmax(gain)], np.int64)
