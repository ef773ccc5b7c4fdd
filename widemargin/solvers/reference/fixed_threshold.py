"""SMO for a fixed threshold: one multiplier per step.

Solves   the signed dual without equality constraint (fixed bias; SVC and SVR use the kernel K + tau^2 for it)
Given    a Gram, in blocks and rows
Returns  a Solution; a step is the exact optimum of one multiplier, clipped to its box:
             alpha_1 <- alpha_1 - y_1 E_1 / K(x_1, x_1)                                                    (23)
         (the report prints a plus; the minus follows from its own E = u - y)
Loop     the first-choice heuristic of SMO: a pass over all points, then passes over the non-bound ones until they meet
         the conditions within tol, then all points again, until none of them changes
Use      where a penalised bias is acceptable; cheaper per step than SMO, since no partner is needed.
See      Platt (1998), section 2.6; Cristianini & Shawe-Taylor (2000), Remark 7.16.
"""

from __future__ import annotations

from dataclasses import dataclass

from widemargin.solvers.reference.passes import Passes, Run
from widemargin.solvers.reference.visits import SingleSolver, all_then_non_bound, largest_gain


@dataclass(frozen=True)
class FixedThreshold(SingleSolver):
    """Platt's fixed-threshold SMO.

    Parameters
    ----------
    tau : float or None, default None
        The fixed bias; see `Adatron`.
    max_passes : int, default 10,000

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> SVC(kernel="linear", solver="fixed-threshold").fit(X, [0, 0, 1, 1]).coef_.round(2).tolist()
    [[0.5, 0.5]]
    """

    def passes(self, run: Run) -> Passes:
        return all_then_non_bound(run, largest_gain(run))
