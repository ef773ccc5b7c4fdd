"""Certificate of a linear machine: bounds on its objective and its gap that hold with all rounding counted.

For weights w, margins u = X w + bias, multipliers b in their box (summing to zero where the bias is not penalised) and
z = -(u + c), the difference of the primal at w and the dual at b is a sum of terms that are not negative:

    P(w) - D(b) = 1/2 |w - X'b|^2 + sum_i comp_i,        comp_i = loss_i(u_i) - z_i b_i + D_i b_i^2 / 2 + e_i |b_i|

so nothing cancels, whatever C. With p = z - e, q = z + e, and for b >= 0 (b < 0 is the mirror image):
    linear loss     p >= 0:  p (hi - b)              p < 0:  -p b + q- (-lo)                      q- = max(-q, 0)
    squared loss    p >= 0:  (p - D b)^2 / (2 D)     p < 0:  -p b + D b^2 / 2 + q-^2 / (2 D)

Rounding    z lies within E of the computed value, E_i = error of u_i (linear_rounding.py) + 4 u (|z| + e). Losses are
            convex with their minimum at zero, each factor above is monotone in z on its side: upper bounds are taken at
            the end of [z - E, z + E] where the factor is largest, and the larger of the two sides counts.
            |w - X'b| is at most |w - v~| + |X'b - v~|, v~ the computed product.
Data        C_i = C * weight * class weight and D_i = 1 / (2 C_i) are rounded up to three times. Losses grow by at most
            SCALING of themselves; b is shrunk by as much, so that it lies in the true box.
Underflow   of a product: at most TINY a term. Squares are divided by D before they are made, so that this stays true.
Sum         of b, exact by math.fsum. Where it has to be zero, the multipliers of the heavier sign are shrunk by the
            share that is too much, which keeps them in the box.
Shrinking   b_i by a share k_i moves X'b by at most sum_i k_i |b_i| |x_i| and raises comp_i by at most
            k_i |b_i| (|z_i| + e_i).
Bias        the model predicts with the rounded product of constant column and weight: that is the one certified.

    primal  >=  P(w)  >=  optimum  >=  D(b)  >=  dual,       gap >= (P - D) / max(|P|, |D|)

First from norms of the rows; if that does not prove the tolerance though the computed gap meets it, from |X| |w| and
|X|' |b|. What is then still open is Status.UNDECIDED.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin._jit import jit
from widemargin.certificate import Certificate
from widemargin.certificate.linear_rounding import (
    SUMS,
    TINY,
    UNIT,
    gamma,
    norm_bound,
    row_norms,
    times_error,
    transposed_error,
    transposed_sizes,
)
from widemargin.monitor.status import Status
from widemargin.problems.linear import LinearAnswer, LinearProblem, PassesAnswer, Undecidable, Vector

SCALING = 4.0 * UNIT  # covers gamma_3, the roundings in C_i and D_i
SETTLED = 0.01  # of tol: an answer this close that is not proven is limited by rounding, not by the solver
LEAST_RATE = 2.0**-1000  # of C_i: far below, products of numbers that are not normal have no relative accuracy
FEW_ROUNDINGS = 16  # of a term of an objective besides those of its sum
ASKED_TO_END = (Status.INTERRUPTED, Status.STOPPED)


@dataclass(frozen=True)
class Proof:
    """What is proven about a pair of weights and multipliers.

    objective, computed : the dual value and the relative gap without the rounding counted in their bounds
    """

    primal: float
    dual: float
    objective: float
    gap: float
    computed: float
    violation: float
    rounding: float
    drift: float
    n_support: int
    n_free: int


NOTHING = Proof(math.inf, -math.inf, math.nan, math.inf, math.inf, math.inf, math.inf, math.inf, 0, 0)


@jit
def loss_of(above, below, lower, upper, diagonal):
    """Loss where z exceeds e by `above`, or lies below -e by `below`; zero on a side where nothing is charged."""
    largest = 0.0
    if above > 0.0 and upper > 0.0:
        largest = above * (above / (2.0 * diagonal)) if diagonal > 0.0 else above * upper
    if below > 0.0 and lower < 0.0:
        largest = max(largest, below * (below / (2.0 * diagonal)) if diagonal > 0.0 else -below * lower)
    return largest


@jit
def excess_of(b, above, under, below, lower, upper, diagonal):
    """Upper bound on comp for b >= 0 and all z with  -under <= z - e <= above,  -z - e <= below; see the header."""
    beyond = within = 0.0
    if above >= 0.0 and upper > 0.0:
        if diagonal > 0.0:
            pull = diagonal * b
            off = max(above - pull, pull + min(under, 0.0))  # -under is at least zero on this side
            off += 8.0 * UNIT * (pull + above + abs(under))  # D_i, its product and the difference
            beyond = off * (off / (2.0 * diagonal))
        else:
            beyond = above * (upper - b)
    if under > 0.0:
        within = under * b + 0.5 * diagonal * b * b + loss_of(0.0, below, lower, upper, diagonal)
    return max(beyond, within)


@jit
def sum_terms(u, error, beta, linear_term, epsilon, lower, upper, diagonal, shrink_above, shrink_below):
    """Sums over the samples that objectives and gap are made of.

    Returns losses (lower bound, computed, upper bound), comp (computed, upper bound), what shrinking adds to it, the
    bound on the violation, the number of free multipliers and the largest E.
    """
    least = losses = most = comp = proven = extra = violation = largest = 0.0
    n_free = 0
    for i in range(u.shape[0]):
        b, e, D = beta[i], epsilon[i], diagonal[i]
        z = -(u[i] + linear_term[i])
        E = (error[i] + 4.0 * UNIT * (abs(z) + e)) * SUMS
        if not np.isfinite(E):  # comparisons with NaN would lose it
            return np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.inf, 0, np.inf
        largest = max(largest, E)
        high, low = z + E, z - E
        least += loss_of(low - e, -high - e, lower[i], upper[i], D)
        losses += loss_of(z - e, -z - e, lower[i], upper[i], D)
        top = loss_of(high - e, -low - e, lower[i], upper[i], D)
        most += top
        if b >= 0.0:
            comp += excess_of(b, z - e, e - z, -z - e, lower[i], upper[i], D)
            proven += excess_of(b, high - e, e - low, -low - e, lower[i], upper[i], D)
        else:
            comp += excess_of(-b, -z - e, z + e, z - e, -upper[i], -lower[i], D)
            proven += excess_of(-b, -low - e, high + e, high - e, -upper[i], -lower[i], D)
        shrink = shrink_above if b > 0.0 else shrink_below
        extra += SCALING * (top + 0.5 * D * b * b) + shrink * abs(b) * (abs(z) + E + e)
        f = D * b - z
        doubt = E + 4.0 * UNIT * (D * abs(b) + abs(z))
        if b < upper[i]:
            violation = max(violation, doubt - (f + e if b >= 0.0 else f - e))
        if b > lower[i]:
            violation = max(violation, doubt + (f + e if b > 0.0 else f - e))
        n_free += lower[i] < b < upper[i] and (b != 0.0 or e == 0.0)
    return least, losses, most, comp, proven, extra, violation, n_free, largest


def prove(
    problem: LinearProblem,
    w: Vector,
    beta: Vector,
    margins: Vector | None = None,
    total: Vector | None = None,
    *,
    fine: bool = False,
) -> Proof:
    """Bounds for weights and multipliers; margins = X w and total = X'b where they were just computed from the data."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite proves nothing
        return _prove(problem, w, beta, margins, total, fine)


def _prove(
    problem: LinearProblem, w: Vector, beta: Vector, margins: Vector | None, total: Vector | None, fine: bool
) -> Proof:
    rows, dual = problem.rows, problem.dual
    if not (np.isfinite(w).all() and np.isfinite(beta).all() and problem.rate.min() >= LEAST_RATE):
        return NOTHING
    inside = np.clip(beta, dual.lower, dual.upper)
    if (inside != beta).any():
        beta, total = inside, None
    support = np.flatnonzero(beta)
    active = beta[support]
    if total is None:
        total = np.zeros(rows.d + 1)
        rows.add_transposed(support, active, total)
    u = rows.times(w) if margins is None else margins
    share, too_much = 0.0, math.fsum(active) if problem.free_bias else 0.0
    if too_much != 0.0:
        heavier = active > 0.0 if too_much > 0.0 else active < 0.0
        share = abs(too_much) / float(np.abs(active[heavier]).sum()) * SUMS
    shrink = SCALING + (share if too_much > 0.0 else 0.0), SCALING + (share if too_much < 0.0 else 0.0)
    sums = sum_terms(u, times_error(rows, w, fine), beta, *problem.box, dual.diagonal, *shrink)
    lower, losses, upper, comp, proven, extra, violation, n_free, largest = sums

    last = rows.d if problem.free_bias or rows.column == 0.0 else rows.d + 1  # weights that are penalised
    lost = 2.0 * UNIT * abs(float(w[-1])) + TINY / rows.column if last > rows.d else 0.0  # the bias, rounded
    residual, square = w[:last] - total[:last], float(w[:last] @ w[:last])
    half = _half_square(problem, residual, support, active, max(shrink), lost, fine)
    some = bool(len(support) or w[:last].any() or upper > 0.0)  # else all is zero exactly
    floor = (rows.n + rows.d + FEW_ROUNDINGS) * 4.0 * TINY + lost * (abs(float(w[-1])) + lost) if some else 0.0
    rest = float(gamma(max(rows.n, rows.d) + FEW_ROUNDINGS))
    primal = (upper + 0.5 * square) * (1.0 + rest) + floor
    least = (lower + 0.5 * square) * (1.0 - rest) - floor
    distance = (half + proven + extra) * SUMS + floor
    if not distance < math.inf or not primal < math.inf:
        return NOTHING
    value, difference = losses + 0.5 * square, 0.5 * float(residual @ residual) + comp
    computed = difference / value if value > 0.0 else (math.inf if difference else 0.0)
    gap = 0.0 if distance == 0.0 else min(distance / least * (1.0 + 4.0 * UNIT), 2.0) if least > 0.0 else 2.0
    dual_value = least - distance
    return Proof(
        primal=primal,
        dual=dual_value - 2.0 * UNIT * abs(dual_value),
        objective=value - difference,
        gap=gap,
        computed=computed,
        violation=violation,
        rounding=largest,
        drift=float(np.abs(residual).max(initial=0.0)),
        n_support=len(support),
        n_free=int(n_free),
    )


def _half_square(
    problem: LinearProblem, residual: Vector, support: Any, beta: Vector, shrink: float, lost: float, fine: bool
) -> float:
    """Upper bound on 1/2 |w - X'b|^2, b shrunk by at most `shrink`; residual : w - v~ of the penalised weights."""
    rows, size = problem.rows, np.abs(beta)
    has_bias = len(residual) > rows.d
    if fine:
        each = (float(gamma(len(support) + 2.0)) + shrink) * transposed_sizes(rows, support, beta)
        entries = np.abs(residual) + each[: len(residual)] + len(support) * TINY
        if has_bias:
            entries[-1] += lost
        return 0.5 * float(entries @ entries) * SUMS
    features, bias = transposed_error(rows, support, beta)
    features += shrink * float(size @ row_norms(rows)[support]) * SUMS
    bias += shrink * abs(rows.column) * float(size.sum()) * SUMS + lost
    distance = norm_bound(residual) + features + (bias if has_bias else 0.0)
    return 0.5 * distance * distance * SUMS


def is_undecidable(proof: Proof, tol: float) -> bool:
    """Whether rounding, not the solver, is what keeps a proof from the tolerance.

    The terms of the gap are r f or r^2 f, to which a margin's error E adds at most f E or f (2 r E + E^2): with c the
    computed gap and q what is left of the bound at c = 0, the bound is at most (sqrt(c) + sqrt(q))^2.
    """
    if not proof.computed <= tol < proof.gap:
        return False
    return proof.computed <= SETTLED * tol or (math.sqrt(proof.gap) - math.sqrt(max(proof.computed, 0.0))) ** 2 > tol


class Judge:
    """Asked by the solvers whether an answer is proven to meet the tolerance; keeps the last proof."""

    def __init__(self, problem: LinearProblem, tol: float) -> None:
        self.problem, self.tol = problem, tol
        self.accepted: Proof | None = None

    def prove(self, w: Vector, beta: Vector, margins: Vector | None, total: Vector | None) -> Proof:
        """The coarse proof if it is enough or nothing can help, else the fine one."""
        proof = prove(self.problem, w, beta, margins, total)
        if proof.gap <= self.tol or not proof.computed <= self.tol:
            return proof
        return prove(self.problem, w, beta, margins, total, fine=True)

    def __call__(self, state: Any) -> bool:
        """Whether a state of a solver (w, beta, u and total = X'b or None, fresh from the data) is good enough."""
        proof = self.prove(state.w, state.beta, state.u, state.total)
        if proof.gap <= self.tol:
            self.accepted = proof
            return True
        if is_undecidable(proof, self.tol):
            raise Undecidable
        return False

    def certificate(self, answer: LinearAnswer, seconds: float) -> Certificate:
        """Certificate of the answer a solver came back with."""
        proof = self.accepted
        if proof is None:
            proof = self.prove(answer.weights, answer.beta, answer.margins, answer.total)
        return certificate_of(proof, self.tol, answer.status, answer.iterations, seconds)


class PointJudge:
    """Asked by a solver whether a point is proven to meet the tolerance; keeps the proof of the last point asked about.

    prove : proof of a point, the arguments being those that the solver hands over
    """

    def __init__(self, prove: Callable[..., Proof], tol: float) -> None:
        self.prove, self.tol = prove, tol
        self.proof: Proof | None = None

    def __call__(self, *point: Vector) -> Status | None:
        """OPTIMAL, UNDECIDED if rounding prevents a proof, or None if the solver should go on."""
        self.proof = self.prove(*point)
        if self.proof.gap <= self.tol:
            return Status.OPTIMAL
        return Status.UNDECIDED if is_undecidable(self.proof, self.tol) else None

    def certificate(self, answer: PassesAnswer, seconds: float) -> Certificate:
        """Certificate of the answer a solver came back with."""
        if self.proof is None or answer.status not in (Status.OPTIMAL, Status.UNDECIDED):
            self.proof = self.prove(*answer.point)
        return certificate_of(self.proof, self.tol, answer.status, answer.passes, seconds)


def certificate_of(proof: Proof, tol: float, status: Status, iterations: int, seconds: float) -> Certificate:
    """A proof, how the solver ended and what it cost, as a certificate."""
    return Certificate(
        primal=proof.primal,
        dual=proof.dual,
        objective=proof.objective,
        gap=proof.gap,
        computed=proof.computed,
        violation=proof.violation,
        infeasibility=0.0,  # the dual is that of a point in the box whose sum is right
        tol=tol,
        drift=proof.drift,
        criterion="gap",
        status=final_status(status, proof.gap <= tol, proof.computed <= tol),
        n_support=proof.n_support,
        n_free=proof.n_free,
        iterations=iterations,
        seconds=seconds,
        rounding=proof.rounding,
    )


def final_status(status: Status, proven: bool, met: bool) -> Status:
    """How a fit ended, given what is proven of its answer and whether the computed gap meets the tolerance."""
    if status in ASKED_TO_END:
        return status
    if proven:
        return Status.OPTIMAL
    if status in (Status.OPTIMAL, Status.STALLED, Status.UNDECIDED):
        return Status.UNDECIDED if met else Status.STALLED
    return status


def certify_linear(problem: LinearProblem, answer: LinearAnswer, tol: float, seconds: float) -> Certificate:
    """Certificate of the pair of weights and multipliers of an answer."""
    return Judge(problem, tol).certificate(answer, seconds)
