"""When a solver may stop: one tolerance, three criteria (Cristianini & Shawe-Taylor 2000, section 7.1), two budgets.

kkt        largest violation of the optimality conditions <= tol (LIBSVM's meaning of `tol`; the default)
gap        (primal - dual) / max(|primal|, |dual|) <= tol, the feasibility gap of equation (7.3) without the 1 added to
           its denominator there, which would accept an empty model as optimal at small C
objective  growth of the dual objective over a round, in which all samples are looked at, <= tol * |objective|; the
           simplest and the least reliable of the three: only the gap shows how good the answer is
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from widemargin.monitor import clock

CRITERIA = ("kkt", "gap", "objective")


@dataclass(frozen=True)
class Stopping:
    """Stop rule shared by every solver.

    Parameters
    ----------
    tol : float, default 1e-3
    criterion : {"kkt", "gap", "objective"}, default "kkt"
    max_iter : int, default -1
        Largest number of two-variable steps; -1 means no limit.
    time_limit : float or None, default None
        Seconds of solving (`clock.py`) after which the best answer so far is returned.
    """

    tol: float = 1e-3
    criterion: str = "kkt"
    max_iter: int = -1
    time_limit: float | None = None

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise ValueError(f"stopping must be one of {', '.join(CRITERIA)}; got {self.criterion!r}.")
        if not self.tol > 0:
            raise ValueError(f"tol must be a positive number; got {self.tol!r}. 1e-3 is the usual choice.")

    def deadline(self) -> float:
        """The value of `clock.now()` at which the time limit ends."""
        return float("inf") if self.time_limit is None else clock.now() + self.time_limit

    def until(self, deadline: float) -> Stopping:
        """Return the same rule with the time left before a deadline shared by several problems."""
        return replace(self, time_limit=max(0.0, deadline - clock.now()))

    def relative_to(self, weight: NDArray[np.float64]) -> Stopping:
        """Return the rule for nu- and one-class SVMs, whose slopes are as large as the weights of their samples.

        With weights of about one or more, tol is unchanged. With small weights it is reduced in proportion: otherwise
        it would be met before the first step.
        """
        return replace(self, tol=self.tol * min(1.0, float(weight.mean())))
