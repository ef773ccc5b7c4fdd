"""Proofs about the answer of a linear solver, and the statuses that follow from them.

A proof is a certificate without tolerance, status and costs. The proofs of linear.py and linear_joint.py write the gap
as a sum of terms that are not negative, so that nothing cancels:

    P(w) - D(b) = 1/2 |w - X'b|^2 + sum_i comp_i
    primal  >=  P(w)  >=  optimum  >=  D(b)  >=  dual,       gap >= (P - D) / max(|P|, |D|)

P is bounded from its losses at both ends of the interval of each margin, D as the lower bound on P less the gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from widemargin.certificate.certificate import Certificate
from widemargin.certificate.linear_rounding import SUMS, gamma
from widemargin.kernels.errors import UNIT
from widemargin.monitor.status import Status
from widemargin.problems.linear import LinearAnswer, Vector

SCALING = 4.0 * UNIT  # covers gamma_3, the roundings in C_i and D_i
SETTLED = 0.01  # share of tol: a closer answer that is not proven is limited by rounding, not by the solver
LEAST_RATE = 2.0**-1000  # of C_i: far below, products of subnormal numbers have no relative accuracy
FEW_ROUNDINGS = 16  # roundings of a term of an objective, without those of the sum

NOTHING = Certificate(
    primal=math.inf,
    dual=-math.inf,
    gap=math.inf,
    violation=math.inf,
    infeasibility=0.0,
    tol=math.nan,
    computed=math.inf,
    rounding=math.inf,
    drift=math.inf,
    criterion="gap",
)


class TermSums(NamedTuple):
    """Sums over the samples.

    lower, losses, upper : the losses: lower bound, computed, upper bound
    comp, proven : the terms of the gap: computed, upper bound
    violation, rounding : largest bounds on the violation of an optimality condition, and on the error of a margin
    n_support, n_free : multipliers that are not zero, and those inside their box
    """

    lower: float
    losses: float
    upper: float
    comp: float
    proven: float
    violation: float
    rounding: float
    n_support: int
    n_free: int


def proof_of(sums: TermSums, weights: Vector, residual: Vector, half: float, floor: float, n_terms: int) -> Certificate:
    """Bounds on objective and gap from their terms.

    weights, residual : the penalised weights, and w - X'b as computed
    half : upper bound on 1/2 |w - X'b|^2
    floor : bound on what underflow takes from an objective
    n_terms : of the longest sum
    """
    square, rest = float(weights @ weights), float(gamma(n_terms + FEW_ROUNDINGS))
    primal = (sums.upper + 0.5 * square) * (1.0 + rest) + floor
    least = (sums.lower + 0.5 * square) * (1.0 - rest) - floor
    distance = (half + sums.proven) * SUMS + floor
    if not (distance < math.inf and primal < math.inf):
        return NOTHING
    value, difference = sums.losses + 0.5 * square, 0.5 * float(residual @ residual) + sums.comp
    dual = least - distance
    return replace(
        NOTHING,
        primal=primal,
        dual=dual - 2.0 * UNIT * abs(dual),
        objective=value - difference,
        gap=0.0 if distance == 0.0 else min(distance / least * (1.0 + SCALING), 2.0) if least > 0.0 else 2.0,
        computed=difference / value if value > 0.0 else (math.inf if difference else 0.0),
        violation=sums.violation,
        rounding=sums.rounding,
        drift=float(np.abs(residual).max(initial=0.0)),
        n_support=int(sums.n_support),
        n_free=int(sums.n_free),
    )


def is_undecidable(proof: Certificate, tol: float) -> bool:
    """Whether rounding, not the solver, prevents a proof of the tolerance.

    The terms of the gap are r f or r^2 f, to which a margin's error E adds at most f E or f (2 r E + E^2): with c the
    computed gap and q what is left of the bound at c = 0, the bound is at most (sqrt(c) + sqrt(q))^2.
    """
    if not proof.computed <= tol < proof.gap:
        return False
    return proof.computed <= SETTLED * tol or (math.sqrt(proof.gap) - math.sqrt(max(proof.computed, 0.0))) ** 2 > tol


class Judge:
    """Decides for a solver whether an answer is proven to meet the tolerance; keeps the proof of the last answer.

    prove : returns the proof of an answer
    """

    def __init__(self, prove: Callable[[LinearAnswer], Certificate], tol: float) -> None:
        self.prove, self.tol = prove, tol
        self.answer: LinearAnswer | None = None
        self.proof = NOTHING

    def __call__(self, answer: LinearAnswer) -> Status | None:
        """Return OPTIMAL, UNDECIDED if rounding prevents a proof, or None if the solver should continue."""
        self.answer, self.proof = answer, self.prove(answer)
        if self.proof.gap <= self.tol:
            return Status.OPTIMAL
        return Status.UNDECIDED if is_undecidable(self.proof, self.tol) else None

    def certificate(self, answer: LinearAnswer, seconds: float) -> Certificate:
        """Certificate of the answer that a solver returned."""
        proof = self.proof if answer is self.answer else self.prove(answer)
        status = final_status(answer.status, proof.gap <= self.tol, proof.computed <= self.tol)
        return replace(proof, tol=self.tol, status=status, iterations=answer.iterations, seconds=seconds)


def final_status(status: Status, proven: bool, met: bool) -> Status:
    """Return the status of a fit from the proof of its answer and whether the computed gap meets the tolerance."""
    if status.on_request:
        return status
    if proven:
        return Status.OPTIMAL
    if status in (Status.OPTIMAL, Status.STALLED, Status.UNDECIDED):
        return Status.UNDECIDED if met else Status.STALLED
    return status
