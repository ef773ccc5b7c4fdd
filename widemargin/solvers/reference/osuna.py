"""Osuna's decomposition: a working set of fixed size, some variables exchanged every round.

Solves   every SVM of the package
Given    a Gram, in blocks and rows
Returns  a Solution
Round    put the worst violators outside the set in the place of as many inside -> solve the quadratic programme on the
         set -> update F. As long as one violator enters, the objective falls (Osuna's theorem).
Leaving  variables at a bound first, then all others
Use      when the matrix of all support vectors, which chunking needs, does not fit: memory is size^2 numbers for any n.
See      Osuna, Freund & Girosi (1997), NNSP; Cristianini & Shawe-Taylor (2000), section 7.4; Platt (1998), section 1.2.
         Which variables to exchange is not published there; here half of each side, as in Joachims (1999).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from widemargin.solvers.reference.passes import Passes, ReferenceSolver, Run
from widemargin.solvers.reference.sub_problems import Inner, solve_in_rounds, worst_violators
from widemargin.solvers.reference.working_set import Index


@dataclass(frozen=True)
class Osuna(ReferenceSolver):
    """Decomposition with a working set of constant size.

    Parameters
    ----------
    size : int, default 1,000
        Variables in the working set.
    exchange : int, default 250
        Most variables exchanged per round.
    inner : {"conjugate-gradient", "clarabel", "cvxopt"}, default "conjugate-gradient"
    max_passes : int, default 100,000

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVC
    >>> from widemargin.solvers.reference import Osuna
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> SVC(kernel="linear", solver=Osuna(size=3, exchange=2)).fit(X, [0, 0, 1, 1]).coef_.round(3).tolist()
    [[0.5, 0.5]]
    """

    size: int = 1_000
    exchange: int = 250
    inner: Inner = "conjugate-gradient"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.exchange <= self.size:
            raise ValueError(
                f"exchange must lie between 2 and size={self.size}, so that both sides of a pair can enter; "
                f"got {self.exchange!r}."
            )

    def passes(self, run: Run) -> Passes:
        n = len(run.dual)
        inside = np.arange(0)

        def choose() -> Index:
            nonlocal inside
            if not len(inside):
                inside = np.arange(min(self.size, n))  # an arbitrary set at first, as in Table 7.2
            elif len(inside) < n:
                inside = self._exchange(run, inside)
            return inside

        return solve_in_rounds(run, self.inner, choose)

    def _exchange(self, run: Run, inside: Index) -> Index:
        """Return the next working set: worst violators first, then old members, of which bound ones leave first."""
        new = worst_violators(run, self.exchange)
        beta, dual = run.beta[inside], run.dual
        at_bound = (beta <= dual.lower[inside]) | (beta >= dual.upper[inside])
        old = np.concatenate([inside[~at_bound], inside[at_bound]])
        kept = old[~np.isin(old, new)][: self.size - len(new)]
        return np.sort(np.concatenate([new, kept]))
