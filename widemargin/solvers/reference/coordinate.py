"""Coordinate ascent: maximise the dual over one multiplier, with all others fixed.

Solves   the signed dual without equality constraint (fixed bias). With the constraint sum y alpha = 0 a single
         multiplier cannot move at all, which is the reason for SMO.
Given    a Gram, in blocks and rows
Returns  a Solution; a step is  alpha_i <- argmax over alpha_i of W, clipped to the box
Orders   cyclic    1, 2, ..., n, as the inner loop of CS229 has it
         random    a new permutation in every pass
         greedy    each time the multiplier whose step raises W most, slope^2 / K_ii
Use      as the simplest exact method, and to see the effect of the order. A cyclic or random pass costs n rows at most;
         the greedy order scans all n gradients per step, and needs far fewer steps.
See      Ng & Ma, CS229 lecture notes, part V, section 9.1; Straka (2019); Gauss-Southwell rule for the greedy order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from widemargin.monitor.status import Status
from widemargin.solvers.reference.passes import PASS, SLICE, Passes, Run, Vector
from widemargin.solvers.reference.visits import SingleSolver, largest_gain, visit_in_turn
from widemargin.solvers.reference.working_set import slopes_of


@dataclass(frozen=True)
class Coordinate(SingleSolver):
    """Coordinate ascent on models with a fixed bias.

    Parameters
    ----------
    order : {"cyclic", "random", "greedy"}, default "cyclic"
    seed : int, default 0
        Of the random order.
    tau : float or None, default None
        The fixed bias; see `Adatron`.
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

    order: Literal["cyclic", "random", "greedy"] = "cyclic"
    seed: int = 0

    def passes(self, run: Run) -> Passes:
        n = len(run.dual)
        rng = np.random.default_rng(self.seed)
        rate = largest_gain(run)
        while True:
            steps = 0
            if self.order == "greedy":
                for _ in range(n):
                    best = np.array([np.argmax(_excess(run) ** 2 * rate)])
                    changed = yield from visit_in_turn(run, best, rate)
                    yield SLICE
                    steps += changed
                    if not changed or _excess(run).max() <= run.tol:
                        break
            else:
                order = np.arange(n) if self.order == "cyclic" else rng.permutation(n)
                steps = yield from visit_in_turn(run, order, rate)
            if not steps:
                return Status.STALLED
            yield PASS


def _excess(run: Run) -> Vector:
    """Return how far the slope of each open direction is on the wrong side of zero."""
    rise, fall = slopes_of(run.beta, run.gradient(), run.dual.terms)
    return np.maximum(np.maximum(-rise, fall), 0.0)
