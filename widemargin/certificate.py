"""The certificate: how close an answer is to the optimum, from a gradient computed afresh, outside any solver.

violation      largest KKT violation (problems/dual.py); the level given by the model takes part, so a wrong bias shows
gap            (primal - dual) / max(|primal|, |dual|, rounding), the primal at the best scaling (problems/primal.py);
               no feasible point can be better than the dual value by more than this
infeasibility  how far beta leaves its box or its groups' sums, relative to the size of beta
drift          largest difference between the solver's running function and the fresh one

A solver's own word is never used: only beta, the kernel and the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.gram.fresh import fresh_function
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.problems.dual import SignedDual
from widemargin.problems.primal import best_primal
from widemargin.solvers.optimality import levels_of, scan_groups, violation_of
from widemargin.solvers.solution import Solution, Status
from widemargin.threads import single_threaded_blas

FEASIBILITY = 1e-9  # relative: multipliers of size one may leave box and sums by rounding only
ROUNDING_MASS = 1e-12  # of the sum of the sizes of all terms: below it primal and dual are zero to rounding
NEGATIVE_SHARE = 1e-3  # of tol times sum |b|, which bounds the gap: a b'Kb below minus this is not rounding
SAME = 1e-9  # relative: a violation this close to tol meets it; both were rounded


@dataclass(frozen=True)
class Certificate:
    """How close an answer is to the optimum; `print` it to see a small table.

    Attributes
    ----------
    primal, dual : float
        Values of the primal problem (minimised) and of the dual (maximised); primal >= optimum >= dual.
    gap : float
        Relative difference of the two.
    violation, tol : float
        Largest KKT violation (after fits with float32 rows, the most that it can be), and what was asked for.
    infeasibility, drift : float
    criterion : {"kkt", "gap", "objective"}
        What `tol` was about.
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
    drift: float = float("nan")
    criterion: str = "kkt"
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
        """Whether the answer is feasible and as close to the optimum as was asked for; of several parts, every one."""
        if self.parts:
            return all(part.holds for part in self.parts)
        if not self.infeasibility <= FEASIBILITY or self.status is Status.INDEFINITE:
            return False
        if self.criterion == "gap":
            return np.isfinite(self.primal) and abs(self.primal - self.dual) <= self.tol * (abs(self.primal) + 1.0) * (
                1.0 + SAME
            )
        if self.criterion == "objective":
            return self.status is Status.OPTIMAL
        return self.violation <= self.tol * (1.0 + SAME)

    def __str__(self) -> str:
        rows = [
            ("certificate", "holds" if self.holds else "DOES NOT HOLD"),
            ("largest KKT violation", f"{self.violation:.3e}   (tol {self.tol:.1e}, criterion {self.criterion})"),
            ("relative gap", f"{self.gap:.3e}"),
            ("primal objective", f"{self.primal:.10g}"),
            ("dual objective", f"{self.dual:.10g}"),
            ("infeasibility", f"{self.infeasibility:.1e}"),
            ("gradient drift", f"{self.drift:.1e}"),
            ("support vectors", f"{self.n_support} ({self.n_free} free)"),
            ("steps / kernel rows", f"{self.iterations} / {self.rows_computed}"),
            ("seconds", f"{self.seconds:.3g}"),
        ]
        if self.status is not None and self.status is not Status.OPTIMAL:
            rows.append(("status", self.status.value))
        return "\n".join(f"{name:<22} {value}" for name, value in rows)


def certify_function(
    dual: SignedDual,
    beta: NDArray[np.float64],
    function: NDArray[np.float64],
    tol: float,
    *,
    level: NDArray[np.float64] | None = None,
    criterion: str = "kkt",
    solution: Solution | None = None,
    slack: float = 0.0,
    error: float = 0.0,
) -> Certificate:
    """Certificate of beta given its fresh function F = K b (per sample).

    level : the model's own levels; None takes the best ones.
    slack : relative distance from a bound that still counts as on it, for multipliers that other software rounded.
    error : bound on errors of the function; the violation reported is then the largest that it can be.
    """
    F = dual.per_variable(function)
    box = (dual.shift, dual.lo, dual.hi, dual.ridge, dual.kink)
    starts, groups = dual.group_starts, dual.n_groups
    table, lower, infeasibility, mass = measure(F, beta, *box, dual.start, starts, groups, slack)
    violation = violation_of(table, groups) + 2.0 * error
    if level is None:
        level = levels_of(table, groups)
    elif groups:
        from_level = max(float((table[:, 1] - level).max()), float((level - table[:, 0]).max()))
        violation = max(violation, from_level + error)
    coefficients = dual.per_sample(beta)
    squared_length = float(coefficients @ function)
    if squared_length < 0.0 and squared_length < -max(
        ROUNDING_MASS * mass, NEGATIVE_SHARE * tol * float(np.abs(coefficients).sum())
    ):  # no vector of any feature space: there is no primal problem
        primal = float("inf")
    else:
        primal, _ = best_primal(dual, F, max(squared_length, 0.0), level, lower)
    facts: dict[str, Any] = {}
    if solution is not None:
        facts = {"drift": float(np.abs(solution.function - function).max(initial=0.0)), **price(solution)}
    return Certificate(
        primal=primal,
        dual=lower,
        gap=relative_gap(primal, lower, mass),
        violation=violation,
        infeasibility=infeasibility,
        tol=tol,
        criterion=criterion,
        n_support=int(np.count_nonzero(coefficients)),
        n_free=int(table[:, 3].sum()),
        level=tuple(level.tolist()),
        **facts,
    )


def relative_gap(primal: float, dual: float, mass: float) -> float:
    """Difference of the objectives over the larger of them; `mass`, the sum of the sizes of all terms, sets a floor."""
    size = max(abs(primal), abs(dual), ROUNDING_MASS * mass)
    return 0.0 if primal == dual else (primal - dual) / size if size < np.inf else float("inf")


def price(solution: Solution) -> dict[str, Any]:
    """What a certificate says about how an answer was found."""
    return {name: getattr(solution, name) for name in ("status", "iterations", "rows_computed", "seconds")}


def holds(
    dual: SignedDual, beta: NDArray[np.float64], function: NDArray[np.float64], tol: float, criterion: str
) -> bool:
    """Whether `certify_function` would hold: for a solver that asks again and again, without the primal if it can."""
    if criterion != "kkt":
        return certify_function(dual, beta, function, tol, criterion=criterion).holds
    box = (dual.shift, dual.lo, dual.hi, dual.ridge, dual.kink)
    F, groups = dual.per_variable(function), dual.n_groups
    table, _, infeasibility, _ = measure(F, beta, *box, dual.start, dual.group_starts, groups, 0.0)
    return bool(violation_of(table, groups) <= tol * (1.0 + SAME) and infeasibility <= FEASIBILITY)


def certify(
    dual: SignedDual,
    kernel: Kernel,
    X: Any,
    beta: NDArray[np.float64],
    tol: float = 1e-3,
    *,
    level: NDArray[np.float64] | None = None,
    offset: float = 0.0,
    slack: float = 0.0,
    n_threads: int = 1,
) -> Certificate:
    """Certificate of any multipliers beta of a signed dual on raw data X, computed from nothing else.

    offset : added to F = K b; the bias of a machine without groups, whose kernel is K plus a constant.
    """
    samples = X if isinstance(X, Samples) else kernel.prepare(X, np.float64)
    coefficients = dual.per_sample(beta)
    support = np.flatnonzero(coefficients)
    with single_threaded_blas():
        function = fresh_function(kernel, samples, samples.take(support), coefficients[support], np.float64, n_threads)
    return certify_function(dual, beta, function + offset, tol, level=level, slack=slack)


def combine(certificates: Sequence[Certificate]) -> Certificate:
    """One certificate for the problems of a many-class machine: sums of objectives and costs, worst of the rest."""
    if len(certificates) == 1:
        return certificates[0]
    primal = sum(c.primal for c in certificates)
    dual = sum(c.dual for c in certificates)
    worst_status = next((c.status for c in certificates if c.status is not Status.OPTIMAL), certificates[0].status)
    return replace(
        certificates[0],
        primal=primal,
        dual=dual,
        gap=max(c.gap for c in certificates),
        violation=max(c.violation for c in certificates),
        infeasibility=max(c.infeasibility for c in certificates),
        drift=max(c.drift for c in certificates),
        status=worst_status,
        n_support=sum(c.n_support for c in certificates),
        n_free=sum(c.n_free for c in certificates),
        iterations=sum(c.iterations for c in certificates),
        rows_computed=sum(c.rows_computed for c in certificates),
        seconds=sum(c.seconds for c in certificates),
        level=(),
        parts=tuple(certificates),
    )


@jit
def measure(F, beta, shift, lo, hi, ridge, kink, start, starts, n_groups, slack):
    """Thresholds of the groups, value of the (maximised) dual, infeasibility, and the sum of the sizes of the dual's
    terms.

    Infeasibility is the largest excess over the box relative to the largest multiplier, or the largest change of a
    group's sum relative to the sum of all multipliers' sizes.
    """
    n = beta.shape[0]
    f = np.empty(n, F.dtype)
    smooth = 0.0
    largest = 1e-300
    total = 1e-300
    excess = 0.0
    mass = 0.0
    finite = True
    for t in range(n):
        b = beta[t]
        f[t] = F[t] + ridge[t] * b + shift[t]
        smooth += 0.5 * b * (F[t] + ridge[t] * b) + shift[t] * b + kink[t] * abs(b)
        mass += abs(b) * (abs(F[t]) + abs(shift[t]) + kink[t])
        finite = finite and abs(b) < np.inf
        if abs(b) > largest:
            largest = abs(b)
        total += abs(b)
        beyond = b - hi[t] if b > hi[t] else lo[t] - b
        if beyond > excess:
            excess = beyond
    worst = excess / largest
    for g in range(n_groups):
        change = 0.0
        for t in range(starts[g], starts[g + 1]):
            change += beta[t] - start[t]
        share = abs(change) / total
        if share > worst:
            worst = share
    table = scan_groups(f, beta, lo, hi, kink, starts, n_groups, slack)
    return table, -smooth, worst if finite else np.inf, mass
