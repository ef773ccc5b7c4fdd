"""The result of every solver: the point reached, the status, and the costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widemargin.gram.scores import Scores
from widemargin.linalg.arrays import Vector
from widemargin.monitor.iteration import Iteration
from widemargin.monitor.status import Status


@dataclass(frozen=True, eq=False)
class Solution:
    """Result of a solver.

    Attributes
    ----------
    beta : signed multipliers, shape (n_variables,)
    Kb : K b, shape (n_samples,), as computed by the solver
    error : bound on the error of `Kb` at each sample; None if the solver did not track it
    thresholds : r, one per group; shape (n_groups,)
    violation : largest KKT violation by the solver's own gradient
    iterations : two-variable (or one-variable) steps; rounds : outer rounds
    """

    beta: Vector
    Kb: Vector
    thresholds: Vector
    status: Status
    violation: float
    objective: float
    iterations: int
    rounds: int
    rows_computed: int
    seconds: float
    error: Vector | None = None

    @property
    def scores(self) -> Scores:
        """K b with its error."""
        return Scores.untracked(self.Kb) if self.error is None else Scores(self.Kb, self.error)

    def iteration(self, tol: float, n_free: int) -> Iteration:
        """Return the progress record of a problem that was solved in one call."""
        return Iteration(
            violation=self.violation,
            tol=tol,
            objective=self.objective,
            iterations=self.iterations,
            rounds=self.rounds,
            n_support=int(np.count_nonzero(self.beta)),
            n_free=n_free,
            rows_computed=self.rows_computed,
            seconds=self.seconds,
            point=lambda: (self.beta, self.Kb),
        )
