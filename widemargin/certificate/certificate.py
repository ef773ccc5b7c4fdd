"""The certificate: what is proven about an answer, rounding errors counted, outside any solver.

violation      bound on the largest KKT violation (problems/dual.py); the level given by the model takes part, so that
               a wrong bias shows
gap            bound on (primal - dual) / max(|primal|, |dual|) of this answer, the primal at the best scaling found
               (problems/primal.py)
primal, dual   bounds on the optimum, which lies between them
infeasibility  how far beta leaves its box (not at all, if it holds) or its groups' sums, relative to the size of beta

Nothing a solver says is used but beta and, where its error is bounded, the function F = K b it kept
(certificate/prove.py). What is proven rests on three things: the arithmetic of IEEE 754 with its usual model of
rounding, kernels that compute their values by the formulas that kernels/errors.py counts, and for primal, dual and gap
a positive semi-definite kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin.monitor.status import Status

if TYPE_CHECKING:
    from widemargin.solvers.solution import Solution

FEASIBILITY = 1e-9  # relative error of a group's sum; bounds on the optimum allow for it, boxes are kept exactly


@dataclass(frozen=True)
class Certificate:
    """How close an answer is to the optimum; `print` it to see a small table.

    Attributes
    ----------
    primal, dual : float
        Bounds on the optimum, rounding counted: primal >= optimum >= dual. After fits with float32 rows at large C they
        can be some per cent apart; `widemargin.verify` computes all in float64 and gives closer ones.
    objective : float
        The dual value as computed: the best guess at the optimum.
    gap : float
        Bound on the difference of the primal and the dual value of this answer, relative to the larger of them. It can
        be far smaller than the distance of `primal` and `dual`, since errors that both values share cancel in it.
    violation, tol : float
        Bound on the largest KKT violation, and what was asked for.
    computed : float
        The violation (or the gap, where that is the criterion) as computed, without the rounding that is counted in its
        bound.
    rounding : float
        Largest bound on the error of a decision value F that went into the certificate.
    infeasibility : float
        How far the multipliers leave their box or their groups' sums, relative to their size.
    drift : float
        Largest difference between the solver's own function and one computed afresh, where both were at hand; NaN where
        nothing had to be computed afresh.
    criterion : {"kkt", "gap", "objective"}
        What `tol` was about.
    is_psd : bool
        Whether the kernel is known to be positive semi-definite. If not, stationarity alone is proven: `holds` is about
        the violation, and primal, dual and gap are bounds only if the kernel is.
    status : Status or None
        How the solver ended; None for models trained elsewhere.
    n_support, n_free : int
    iterations, rows_computed : int
        Steps of the solver, and kernel rows it evaluated; rows for some of the samples count by their length.
    seconds : float
    level : tuple of float
        The levels (minus the bias, for machines with one group) at which the primal was taken.
    parts : tuple of Certificate
        The certificates of the problems of a many-class machine; empty for a single problem.
    """

    primal: float
    dual: float
    gap: float
    violation: float
    infeasibility: float
    tol: float
    objective: float = float("nan")
    computed: float = float("nan")
    rounding: float = 0.0
    drift: float = float("nan")
    criterion: str = "kkt"
    is_psd: bool = True
    status: Status | None = None
    n_support: int = 0
    n_free: int = 0
    iterations: int = 0
    rows_computed: int = 0
    seconds: float = float("nan")
    level: tuple[float, ...] = field(default=(), repr=False)
    parts: tuple[Certificate, ...] = field(default=(), repr=False)

    @property
    def holds(self) -> bool:
        """Whether it is proven that the answer is as close to the optimum as was asked for; of parts, every one."""
        if self.parts:
            return all(part.holds for part in self.parts)
        if not self.infeasibility <= FEASIBILITY or self.status is Status.INDEFINITE:
            return False
        if not self.is_psd and not self.primal < np.inf:  # b'Kb < 0
            return False
        return self.bound <= self.tol

    @property
    def bound(self) -> float:
        """What has to be at most tol: the violation, or the gap for the criteria that are about objectives."""
        return self.violation if self.criterion == "kkt" or not self.is_psd else self.gap

    @property
    def is_undecided(self) -> bool:
        """Whether the criterion is met as computed, and only rounding keeps it from being proven."""
        if self.parts:
            return any(part.is_undecided for part in self.parts)
        return not self.holds and self.computed <= self.tol < self.bound

    def __str__(self) -> str:
        condition = "" if self.is_psd else "   (if the kernel is positive semi-definite)"
        rows = [
            ("certificate", "holds" if self.holds else "DOES NOT HOLD"),
            ("largest KKT violation", f"{self.violation:.3e}   (tol {self.tol:.1e}, criterion {self.criterion})"),
            ("relative gap", f"{self.gap:.3e}{condition}"),
            ("objective", f"{self.objective:.10g}"),
            ("primal, at most", f"{self.primal:.10g}{condition}"),
            ("dual, at least", f"{self.dual:.10g}{condition}"),
            ("infeasibility", f"{self.infeasibility:.1e}"),
            ("rounding, at most", f"{self.rounding:.1e}"),
            ("gradient drift", "not measured" if np.isnan(self.drift) else f"{self.drift:.1e}"),
            ("support vectors", f"{self.n_support} ({self.n_free} free)"),
            ("steps / kernel rows", f"{self.iterations} / {self.rows_computed}"),
            ("seconds", f"{self.seconds:.3g}"),
        ]
        if self.status is not None and self.status is not Status.OPTIMAL:
            rows.append(("status", self.status.value))
        return "\n".join(f"{name:<22} {value}" for name, value in rows)


def price(solution: Solution) -> dict[str, Any]:
    """What a certificate says about how an answer was found."""
    return {name: getattr(solution, name) for name in ("status", "iterations", "rows_computed", "seconds")}


def combine(certificates: Sequence[Certificate]) -> Certificate:
    """One certificate for the problems of a many-class machine: sums of objectives and costs, worst of the rest."""
    if len(certificates) == 1:
        return certificates[0]
    primal = sum(c.primal for c in certificates)
    dual = sum(c.dual for c in certificates)
    objective = sum(c.objective for c in certificates)
    worst_status = next((c.status for c in certificates if c.status is not Status.OPTIMAL), certificates[0].status)
    return replace(
        certificates[0],
        primal=primal,
        dual=dual,
        objective=objective,
        gap=max(c.gap for c in certificates),
        violation=max(c.violation for c in certificates),
        infeasibility=max(c.infeasibility for c in certificates),
        computed=max(c.computed for c in certificates),
        rounding=max(c.rounding for c in certificates),
        drift=max((c.drift for c in certificates if not np.isnan(c.drift)), default=float("nan")),
        is_psd=all(c.is_psd for c in certificates),
        status=worst_status,
        n_support=sum(c.n_support for c in certificates),
        n_free=sum(c.n_free for c in certificates),
        iterations=sum(c.iterations for c in certificates),
        rows_computed=sum(c.rows_computed for c in certificates),
        seconds=sum(c.seconds for c in certificates),
        level=(),
        parts=tuple(certificates),
    )
