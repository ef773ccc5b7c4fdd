"""Vapnik's chunking: the support vectors so far, and the M points that violate their conditions most.

Solves   every SVM of the package
Given    a Gram, in blocks and rows
Returns  a Solution
Round    working set = every non-zero multiplier + the M worst violators, or all violators if there are fewer -> solve
         the quadratic programme on it, started from the last values -> update F -> find violators
Inner    projected conjugate gradient with Platt's schedule: stop at a relative improvement of 3e-10; a third of it from
         the next chunk on whenever the non-bound points propose thresholds further apart than the conditions allow
Use      as the competitor in Platt's comparison. The matrix of the working set must fit in memory: (support vectors)^2
         numbers; time grows like its cube where many multipliers are free or at a bound.
See      Vapnik (1982); Cristianini & Shawe-Taylor (2000), section 7.4, Table 7.2; Platt (1998), sections 1.2 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widemargin.solvers.reference.passes import Passes, ReferenceSolver, Run
from widemargin.solvers.reference.sub_problems import Inner, solve_in_rounds, worst_violators
from widemargin.solvers.reference.working_set import Index


@dataclass(frozen=True)
class Chunking(ReferenceSolver):
    """Chunking with a numerical solver of quadratic programmes inside.

    Parameters
    ----------
    chunk : int, default 500
        Violators added per round; Platt's figure for his artificial sets.
    inner : {"conjugate-gradient", "clarabel", "cvxopt"}, default "conjugate-gradient"
        Method for the sub-problems.
    max_passes : int, default 10,000

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> SVC(kernel="linear", solver="chunking").fit(X, [0, 0, 1, 1]).coef_.round(3).tolist()
    [[0.5, 0.5]]
    """

    chunk: int = 500
    inner: Inner = "conjugate-gradient"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chunk < 2:
            raise ValueError(f"chunk must be at least 2, one point of either side; got {self.chunk!r}.")

    def passes(self, run: Run) -> Passes:
        def choose() -> Index:
            support = run.beta != 0.0
            return np.union1d(np.flatnonzero(support), worst_violators(run, self.chunk, support))

        return solve_in_rounds(run, self.inner, choose)
