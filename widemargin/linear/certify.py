"""Certificate of a linear machine: weights and multipliers together, each value computed afresh from the data.

    primal      1/2 |w|^2 + sum_i loss_i(w'x_i + bias)             at the weights the model predicts with
    dual        -(1/2 |X'b|^2 + 1/2 b'Db + c'b + e'|b|)            at the multipliers, which must be feasible
    violation   of the optimality conditions of b at the margins of w
    drift       largest |w - X'b|: zero at the optimum

X w and X'b are taken over from a solver only where they were its last products with the data (problem.LinearAnswer).
Any feasible b bounds the optimum from below, so primal - dual is a bound on the distance whatever the solver did.
"""

from __future__ import annotations

import numpy as np

from widemargin._jit import REASSOCIATE, jit
from widemargin.certificate import Certificate, measure, relative_gap
from widemargin.linear.problem import LinearAnswer, LinearProblem
from widemargin.solvers.optimality import violation_of


@jit(fastmath=REASSOCIATE)
def sums(u, beta, shift, kink, lo, hi, ridge):
    """Sum of the losses at u, and of c b + e |b| + D b^2 / 2."""
    losses = 0.0
    linear = 0.0
    for i in range(u.shape[0]):
        z = -(u[i] + shift[i])
        excess = abs(z) - kink[i]
        end = hi[i] if z > 0.0 else -lo[i]  # zero on the side where nothing is charged
        if excess > 0.0 and end > 0.0:
            losses += 0.5 * excess * excess / ridge[i] if ridge[i] > 0.0 else excess * end
        linear += shift[i] * beta[i] + kink[i] * abs(beta[i]) + 0.5 * ridge[i] * beta[i] * beta[i]
    return losses, linear


def certify_linear(problem: LinearProblem, answer: LinearAnswer, tol: float, seconds: float) -> Certificate:
    """Certificate of the pair of weights and multipliers of an answer."""
    rows, dual, w, beta = problem.rows, problem.dual, answer.weights, answer.beta
    u = rows.times(w) if answer.margins is None else answer.margins
    support = np.flatnonzero(beta)
    total = answer.total
    if total is None:
        total = np.zeros(rows.d + 1)
        rows.add_transposed(support, beta[support], total)
    losses, linear = sums(u, beta, *problem.box, dual.ridge)
    last = -1 if problem.free_bias else len(w)  # an unpenalised bias is no part of |w|
    primal = losses + 0.5 * float(w[:last] @ w[:last])
    lower = -linear - 0.5 * float(total[:last] @ total[:last])
    box = (dual.shift, dual.lo, dual.hi, dual.ridge, dual.kink)
    table, _, infeasibility, mass = measure(u, beta, *box, dual.start, dual.group_starts, 0, 0.0)
    if problem.free_bias:
        infeasibility = max(infeasibility, abs(float(beta.sum())) / max(float(np.abs(beta).sum()), 1e-300))
    return Certificate(
        primal=primal,
        dual=lower,
        gap=relative_gap(primal, lower, mass),
        violation=violation_of(table, 0),
        infeasibility=infeasibility,
        tol=tol,
        drift=float(np.abs(w[:last] - total[:last]).max(initial=0.0)),
        criterion="gap",
        status=answer.status,
        n_support=len(support),
        n_free=int(table[:, 3].sum()),
        iterations=answer.iterations,
        seconds=seconds,
    )
