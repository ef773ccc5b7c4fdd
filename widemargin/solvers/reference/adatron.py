"""Kernel-Adatron: stochastic gradient ascent on the dual, one point at a time.

Solves   the signed dual without equality constraint: hard margin, 1-norm, 2-norm (K + I/C) and both eps-insensitive
         losses, with fixed bias; SVC and SVR use the kernel K + tau^2 for it (Remark 7.4)
Given    a Gram, in blocks and rows
Returns  a Solution; a step is  alpha_i <- clip(alpha_i + omega eta_i (1 - y_i sum_j alpha_j y_j K_ij), 0, C)
Rate     eta_i = 1 / K_ii is the step of largest gain; omega in (0, 2) over-relaxes it (SOR) and converges. Each example
         may have a rate of its own; 0 < eta_i K_ii < 2 is sufficient for convergence
Bias     tau = max |x| is safe; any other tau, and tau = 0 for no bias, is possible
Orders   sequential   every point in turn, as in Table 7.1
         violators    only points that violate their condition by more than tol
         nonbound     the non-bound points until they meet their conditions, then a pass over all
         ascending    the support vectors by ascending alpha until the objective stops growing, then a pass over the
                      rest: the heuristic that trained on a million points (Remark 7.8)
Use      for models with a penalised bias on some thousand points; the shortest algorithm that is exact in the end.
         Linear convergence, slow where K is nearly singular: a pass costs (points visited) x n kernel values.
See      Cristianini & Shawe-Taylor (2000), section 7.2, Table 7.1, Remarks 7.4-7.10; Mangasarian & Musicant (1999) for
         SOR.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual
from widemargin.solvers.reference.passes import PASS, Passes, Run, Vector
from widemargin.solvers.reference.visits import SingleSolver, all_then_non_bound, largest_gain, visit_in_turn

ENOUGH_GROWTH = 1e-4  # relative growth of the objective below which the pass over the other points begins


@dataclass(frozen=True)
class Adatron(SingleSolver):
    """Kernel-Adatron with over-relaxation and a choice of orders.

    Parameters
    ----------
    order : {"sequential", "violators", "nonbound", "ascending"}, default "sequential"
    omega : float in (0, 2), default 1.0
        Over-relaxation; 1 goes to the exact optimum of each multiplier.
    rates : float, sequence of n_samples floats, or None, default None
        Learning rates eta_i, one for all examples or one for each in the order of the data (of two classes, or of
        regression), multiplied by omega. None takes 1 / (K_ii + tau^2), the largest gain. Rates of 2 / (K_ii + tau^2)
        or more may oscillate; the run then ends as STALLED.
    tau : float or None, default None
        SVC and SVR add tau^2 to the kernel, which makes the bias tau^2 sum y alpha, penalised like a weight. None takes
        the largest |x| in feature space, the safe choice (Remark 7.4); 0 holds the bias at 0.
    max_passes : int, default 10,000

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVC
    >>> from widemargin.solvers.reference import Adatron
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> SVC(kernel="linear", solver=Adatron("nonbound", omega=1.2)).fit(X, [0, 0, 1, 1]).certificate_.holds
    True
    """

    order: Literal["sequential", "violators", "nonbound", "ascending"] = "sequential"
    omega: float = 1.0
    rates: float | Sequence[float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rates is not None:
            rates = np.asarray(self.rates, np.float64)
            if rates.ndim > 1 or not np.all((rates > 0.0) & (rates < np.inf)):
                raise ValueError(f"rates must be a positive number, or one for each example; got {self.rates!r}.")
            object.__setattr__(self, "rates", float(rates) if rates.ndim == 0 else tuple(rates.tolist()))
        if not 0.0 < self.omega < 2.0:
            raise ValueError(f"omega must lie between 0 and 2, where the iteration converges; got {self.omega!r}.")

    def check(self, dual: SignedDual) -> None:
        super().check(dual)
        if isinstance(self.rates, tuple) and len(self.rates) != len(dual):
            raise ValueError(
                f"rates has {len(self.rates)} numbers, and this problem has {len(dual)} examples: give one number for "
                "all, or one for each example of a two-class problem or a regression."
            )

    def passes(self, run: Run) -> Passes:
        given = largest_gain(run) if self.rates is None else np.broadcast_to(np.asarray(self.rates), len(run.dual))
        rate = self.omega * given
        if self.order == "nonbound":
            return (yield from all_then_non_bound(run, rate))
        tol = 0.0 if self.order == "sequential" else run.stopping.tol
        while True:
            if self.order == "ascending":
                yield from self._support_vectors(run, rate)
            if not (yield from visit_in_turn(run, np.arange(len(run.dual)), rate, tol)):
                return Status.STALLED
            yield PASS

    def _support_vectors(self, run: Run, rate: Vector) -> Passes:
        """Repeat over the support vectors, smallest multipliers first, until the objective hardly grows."""
        objective = run.dual.objective(run.beta, run.Kb)
        while True:
            size = np.abs(run.beta)
            support = np.flatnonzero(size)
            ascending = support[np.argsort(size[support], kind="stable")]
            if not (yield from visit_in_turn(run, ascending, rate, run.stopping.tol)):
                return Status.STALLED
            yield PASS
            before, objective = objective, run.dual.objective(run.beta, run.Kb)
            if before - objective <= ENOUGH_GROWTH * abs(objective):
                return Status.STALLED
