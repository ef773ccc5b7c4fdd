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
         gap          the points that contribute more than the mean to the feasibility gap, largest first, until the
                      objective stops growing, then a pass over all (Remark 7.2); the gap is the sum over all points of
                          alpha_i (y_i F_i - 1) + C xi_i,    C replaced by max alpha + 1 for a hard margin
Use      for models with a penalised bias on some thousand points; the shortest algorithm that is exact in the end.
         Linear convergence, slow where K is nearly singular: a pass costs (points visited) x n kernel values.
See      Cristianini & Shawe-Taylor (2000), section 7.2, Table 7.1, Remarks 7.4-7.10; Mangasarian & Musicant (1999) for
         SOR.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual
from widemargin.solvers.reference.passes import PART, PASS, Passes, Run, Vector
from widemargin.solvers.reference.visits import SingleSolver, all_then_non_bound, largest_gain, visit_in_turn
from widemargin.solvers.reference.working_set import Index

ENOUGH_GROWTH = 1e-4  # relative growth of the objective below which the pass over the other points begins


@dataclass(frozen=True)
class Adatron(SingleSolver):
    """Kernel-Adatron with over-relaxation and a choice of orders.

    Parameters
    ----------
    order : {"sequential", "violators", "nonbound", "ascending", "gap"}, default "sequential"
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

    order: Literal["sequential", "violators", "nonbound", "ascending", "gap"] = "sequential"
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
        tol = 0.0 if self.order == "sequential" else run.tol
        while True:
            if self.order in CHOICES:
                yield from self._chosen(run, rate)
            if not (yield from visit_in_turn(run, np.arange(len(run.dual)), rate, tol)):
                return Status.STALLED
            yield PASS

    def _chosen(self, run: Run, rate: Vector) -> Passes:
        """Repeat over the points that the order prefers until the objective hardly grows."""
        objective = run.dual.objective(run.beta, run.Kb)
        while True:
            if not (yield from visit_in_turn(run, CHOICES[self.order](run), rate, run.tol)):
                return Status.STALLED
            yield PART
            before, objective = objective, run.dual.objective(run.beta, run.Kb)
            if before - objective <= ENOUGH_GROWTH * abs(objective):
                return Status.STALLED


def ascending(run: Run) -> Index:
    """Return the support vectors, smallest multipliers first."""
    size = np.abs(run.beta)
    support = np.flatnonzero(size)
    return support[np.argsort(size[support], kind="stable")]


def above_mean(run: Run) -> Index:
    """Return the points that contribute more than the mean to the gap, largest first."""
    share = gap_contributions(run)
    chosen = np.flatnonzero(share > share.mean())
    return chosen[np.argsort(-share[chosen], kind="stable")]


def gap_contributions(run: Run) -> Vector:
    """Return loss_i(F_i) + F_i b_i + c_i b_i + D_i b_i^2 / 2 + e_i |b_i| (problems/dual.py), which is never negative.

    For the hinge loss it is alpha_i (y_i F_i - 1) + C xi_i. A hard margin's boxes end at the largest multiplier + 1.
    """
    dual, beta = run.dual, run.beta
    size = np.abs(beta)
    pull = dual.diagonal * beta - run.gradient()  # -(F + c)
    excess = np.maximum(np.abs(pull) - dual.epsilon, 0.0)
    end = np.where(pull > 0.0, dual.upper, -dual.lower)
    end = np.where(np.isinf(end) & (dual.diagonal == 0.0), size.max() + 1.0, end)
    best = np.minimum(end, np.divide(excess, dual.diagonal, out=end.copy(), where=dual.diagonal > 0.0))
    loss = excess * best - 0.5 * dual.diagonal * best**2
    return loss - pull * beta + 0.5 * dual.diagonal * beta**2 + dual.epsilon * size


CHOICES: dict[str, Callable[[Run], Index]] = {"ascending": ascending, "gap": above_mean}
