"""Claims of a certificate beside what is true: which claim is false, and by how much.

    holds                 violation <= tol (stopping "kkt", and every stopping for kernels not known to be valid), or
                          relative gap <= tol
    violation, gap        bounds from above
    primal, dual          primal >= optimum >= dual, for kernels known to be valid
    rounding              at least the error of the function F that went in, where that function is at hand

A claim is called false only beyond the oracle's own error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.fuzz.kernel_sums import Vector
from tests.fuzz.linear_oracle import LinearProblem
from tests.fuzz.oracles import Problem
from widemargin.monitor.status import Status


@dataclass
class Verdict:
    """What came out for one certificate.

    false : the certificate holds and its promise does not; with claimed and true value
    wrong : a printed bound is on the wrong side, whether the certificate holds or not
    refused : it does not hold although the promise is true; never for a kernel seen to be indefinite
    undecided : the oracle's own error leaves the promise open
    margin : stated error bound over true error of F, where both are known
    """

    false: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    refused: bool = False
    undecided: bool = False
    margin: float = np.inf
    excess: float = 0.0  # true value over tol, of a false certificate


def judge(problem: Problem, certificate: Any, function: Vector | None = None) -> Verdict:
    """Check one certificate of a kernel machine; `function` is the F it was made from, if at hand."""
    verdict, tol = Verdict(), certificate.tol
    low, high = problem.violation(tol)
    by_gap = certificate.criterion != "kkt" and problem.kernel.is_psd
    if certificate.violation < low * (1.0 - 1e-15):
        verdict.wrong.append(f"violation stated {certificate.violation:.17g}, true {low:.17g}")
    promise = (low, high)
    if problem.kernel.is_psd:
        primal, dual, gap = problem.objectives(tol)
        if by_gap:
            promise = gap
        if certificate.gap < gap[0]:
            verdict.wrong.append(f"gap stated {certificate.gap:.17g}, true {gap[0]:.17g}")
        if certificate.dual > primal[1]:
            verdict.wrong.append(f"dual stated {certificate.dual:.17g}, above the primal {primal[1]:.17g}")
        if certificate.primal < dual[0]:
            verdict.wrong.append(f"primal stated {certificate.primal:.17g}, below the dual {dual[0]:.17g}")
    _compare(verdict, certificate, promise, "gap" if by_gap else "violation")
    rounding = getattr(certificate, "rounding", None)
    if function is not None and rounding is not None and np.isfinite(function).all():
        errors = np.abs(function - (problem.F - problem.offset)).astype(np.float64) - problem.error.astype(np.float64)
        worst = float(errors.max(initial=0.0))
        verdict.margin = float(rounding) / worst if worst > 0.0 else np.inf
        if verdict.margin < 1.0:
            verdict.wrong.append(f"rounding stated {rounding:.3g}, true {worst:.3g}")
    return verdict


def judge_linear(problem: LinearProblem, certificate: Any) -> Verdict:
    """Check one certificate of a linear machine, whose tol is about the relative gap."""
    verdict = Verdict()
    value, error = problem.primal(problem.weights)
    best = problem.best_known()
    if not np.isfinite(value + error + best):
        verdict.undecided = True
        return verdict
    if certificate.dual > best:
        verdict.wrong.append(f"dual stated {certificate.dual:.17g}, above a primal {best:.17g}")
    if certificate.primal < value - error:
        verdict.wrong.append(f"primal stated {certificate.primal:.17g}, true {value:.17g}")
    size = abs(value) + error
    distance = (value - error - best) / size if size > 0.0 else 0.0
    _compare(verdict, certificate, (distance, np.inf), "distance from the optimum")
    verdict.undecided = False  # a distance that is not refuted is all that can be had
    return verdict


def _compare(verdict: Verdict, certificate: Any, promise: tuple[float, float], what: str) -> None:
    """The promise of `holds` beside its true value."""
    low, high = promise
    stated = certificate.violation if what == "violation" else certificate.gap
    if certificate.holds and stated > certificate.tol:
        verdict.excess = stated / certificate.tol
        verdict.false.append(f"holds although it states itself {stated:.6g} = {verdict.excess:.7g} tol")
    if certificate.holds and low > certificate.tol:
        verdict.excess = max(verdict.excess, low / certificate.tol)
        verdict.false.append(f"holds with {what} {stated:.6g}, true {low:.6g} = {low / certificate.tol:.7g} tol")
    if not certificate.holds and high <= certificate.tol and certificate.status is not Status.INDEFINITE:
        verdict.refused = True
    verdict.undecided = low <= certificate.tol < high
