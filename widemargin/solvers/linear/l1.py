"""Sparse weights: coordinate descent on the l1-penalised squared hinge, with a duality gap.

Solves      min  P(w) = sum_j |w_j| + sum_i C_i max(0, 1 - y_i w'x_i)^2          (the constant column is penalised too)
dual        max  sum_i a_i - a_i^2 / (4 C_i),    a >= 0,    |sum_i a_i y_i x_ij| <= 1 for every feature j
Given       rows, signs y, C of each sample, a budget
Returns     weights, and how it ended
step        the quadratic model of one weight, minimised with its |w_j|, and halved until the objective falls enough
Newton      now and then a step for all nonzero weights together, signs held: a weight that would cross zero stops
            there, or all stop with the first that does. Taken only if the objective falls. Coordinate steps find the
            support, Newton steps solve on it.
gap         a_i = 2 C_i max(0, 1 - y_i w'x_i) scaled by the best s that makes it feasible: the gradient the passes need
            anyway gives the bound
shrinking   a zero weight whose gradient lies inside [-1, 1] by more than the last pass's largest violation is left out

See         Yuan, Chang, Hsieh & Lin (2010), JMLR 11, section 4, for the step; Fercoq, Gramfort & Salmon (2015) for
            the gap.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from widemargin._jit import jit
from widemargin.linalg.rows import DenseRows, SparseRows
from widemargin.monitor.interrupt import StopRequested
from widemargin.monitor.status import Status
from widemargin.problems.linear import Budget, Decide, PassesAnswer, Vector
from widemargin.solvers.linear.coordinate import NEXT, compact, draw
from widemargin.solvers.linear.newton import PRIMAL_SIDE

ENOUGH = 0.01  # share of the predicted decrease that a step must bring
HALVINGS = 30
NEWTON_HALVINGS = 8
NEWTON_SHARE = 5.0  # work of Newton steps, as a multiple of the work of the passes
PASS_COST = 6.0  # operations per entry of a pass
LEAST_CREDIT = 0.1  # of a whole pass: late passes over few weights still earn Newton steps
MOST_WEIGHTS = 1500  # nonzero weights up to which they are solved for together
RIDGE = 1e-10  # relative: features may be copies of each other
CURVATURE_FLOOR = 1e-12  # of a feature without active samples


@jit
def run_pass(indptr, indices, values, cost, slack, w, order, active, threshold, shrunk, state):
    """Visit the weights in random order; slack_i = 1 - y_i w'x_i is kept up to date. Returns the largest violation."""
    worst = 0.0
    for place in range(active):
        state, jump = draw(state, active - place)
        order[place], order[place + jump] = order[place + jump], order[place]
        j = order[place]
        start, end = indptr[j], indptr[j + 1]
        g = 0.0
        h = 0.0
        before = 0.0
        for k in range(start, end):
            s = slack[indices[k]]
            if s > 0.0:
                c = cost[indices[k]]
                g -= 2.0 * c * values[k] * s
                h += 2.0 * c * values[k] * values[k]
                before += c * s * s
        h = max(h, CURVATURE_FLOOR)
        old = w[j]
        if old == 0.0:
            violation = max(abs(g) - 1.0, 0.0)
            if abs(g) < 1.0 - threshold:
                shrunk[j] = True
                continue
        else:
            violation = abs(g + 1.0 if old > 0.0 else g - 1.0)
        worst = max(worst, violation)
        if g + 1.0 <= h * old:
            step = -(g + 1.0) / h
        elif g - 1.0 >= h * old:
            step = -(g - 1.0) / h
        else:
            step = -old
        if step == 0.0:
            continue
        predicted = g * step + abs(old + step) - abs(old)
        for _ in range(HALVINGS):
            after = 0.0
            for k in range(start, end):
                s = slack[indices[k]] - step * values[k]
                if s > 0.0:
                    after += cost[indices[k]] * s * s
            if abs(old + step) - abs(old) + after - before <= ENOUGH * predicted:
                break
            step *= 0.5
            predicted *= 0.5
        else:
            continue
        w[j] = old + step
        for k in range(start, end):
            slack[indices[k]] -= step * values[k]
    return worst, state


@jit
def bounds(indptr, indices, values, cost, slack, w):
    """Primal value, and dual value at the best feasible scaling of the multipliers."""
    largest = 0.0
    norm1 = 0.0
    for j in range(w.shape[0]):
        g = 0.0
        for k in range(indptr[j], indptr[j + 1]):
            i = indices[k]
            g += 2.0 * cost[i] * max(slack[i], 0.0) * values[k]
        largest = max(largest, abs(g))
        norm1 += abs(w[j])
    losses = 0.0
    total = 0.0
    for i in range(slack.shape[0]):
        s = max(slack[i], 0.0)
        losses += cost[i] * s * s
        total += 2.0 * cost[i] * s
    # sum a^2 / (4 C) = losses; s total - s^2 losses is largest at total / (2 losses)
    scale = total / (2.0 * losses) if losses > 0.0 else 0.0
    if largest * scale > 1.0:
        scale = 1.0 / largest
    return losses + norm1, scale * total - scale * scale * losses


def newton_on_support(
    rows: DenseRows | SparseRows, columns: sp.csc_array, label: Vector, cost: Vector, slack: Vector, w: Vector
) -> Vector | None:
    """A better w with the same signs or zeros, by a Newton step on the nonzero weights; None if there is none."""
    support, near = np.flatnonzero(w), np.flatnonzero(slack > 0.0)
    if rows.d <= PRIMAL_SIDE:
        gram = np.zeros((rows.d + 1, rows.d + 1))
        rows.add_gram(near, 2.0 * cost[near], gram)
        H = np.tril(gram)[np.ix_(support, support)]  # the support is sorted, so the lower triangle stays the lower one
    else:
        Z = columns[:, support].tocsr()[near]
        H = (Z.T @ Z.multiply((2.0 * cost[near])[:, None]).tocsr()).toarray()
    pull = np.zeros(rows.d + 1)
    rows.add_transposed(near, (2.0 * cost * slack * label)[near], pull)
    np.einsum("ii->i", H)[:] += RIDGE * max(float(H.diagonal().max()), CURVATURE_FLOOR)
    sign = np.sign(w[support])
    factor, info = lapack.dpotrf(H, lower=1)
    if info != 0:
        return None
    step = lapack.dpotrs(factor, pull[support] - sign, lower=1)[0]
    value = _primal(cost, slack, w)
    old = w[support]
    crossing = np.where(step * sign < 0.0, -old / np.where(step == 0.0, 1.0, step), np.inf)  # where a weight is zero
    first = min(1.0, float(crossing.min()))
    for length in (1.0, *(first * 0.5**k for k in range(NEWTON_HALVINGS))):
        moved = w.copy()
        moved[support] = np.where(length < crossing, old + length * step, 0.0)
        if _primal(cost, slack - label * rows.times(moved - w), moved) < value:
            return moved
    return None


def newton_cost(row_lengths: Vector, slack: Vector, w: Vector) -> float:
    """Operations of a Newton step: the Gram matrix of the support, its share of each row, and its factor."""
    size = int(np.count_nonzero(w))
    if not 0 < size <= MOST_WEIGHTS:
        return np.inf
    entries = row_lengths[slack > 0.0] * (size / len(w))
    return float((entries * entries).sum()) + size**3 / 3.0


@jit
def _primal(cost, slack, w):
    """Value of the objective for weights with these slacks."""
    total = 0.0
    for i in range(slack.shape[0]):
        s = max(slack[i], 0.0)
        total += cost[i] * s * s
    for j in range(w.shape[0]):
        total += abs(w[j])
    return total


def solve_l1(
    rows: DenseRows | SparseRows, sign: Vector, bound: Vector, budget: Budget, decide: Decide, seed: int = 0
) -> PassesAnswer:
    """Passes over the weights until `decide` ends them or the budget is used up; the point is (w,).

    decide : asked when the relative gap of the budget is met, and again whenever it has shrunk by NEXT
    """
    columns = _signed_columns(rows, sign)
    data = (columns.indptr.astype(np.int64), columns.indices.astype(np.int64), columns.data, bound)
    d = rows.d + 1
    w, slack = np.zeros(d), np.ones(rows.n)
    order, shrunk = np.arange(d), np.zeros(d, bool)
    state = np.uint64(88172645463325252 ^ (seed & 0xFFFFFFFF))
    active, threshold, passes, next_check, first = d, np.inf, 0, 1, np.inf
    status: Status | None = budget.ended(0)
    primal, lower = bounds(*data, slack, w)
    worst, credit, goal = np.inf, 0.0, budget.gap
    row_lengths = np.bincount(columns.indices, minlength=rows.n).astype(np.float64)
    while status is None:
        worst, state = run_pass(*data, slack, w, order, active, threshold, shrunk, state)
        state = np.uint64(state)
        passes += 1
        credit += NEWTON_SHARE * PASS_COST * len(columns.data) * max(active / d, LEAST_CREDIT)
        active = compact(order, active, shrunk)
        status = budget.ended(passes)
        first = worst if passes == 1 else first
        if passes >= next_check or status is not None:
            slack = 1.0 - rows.times(w) * sign  # afresh: what was added up drifts
            primal, lower = bounds(*data, slack, w)
            try:
                budget.report((primal - lower) / primal, primal, passes, w)
            except StopRequested:
                status = Status.STOPPED
            next_check = passes + max(1, passes // 10)
            if primal - lower <= goal * primal:
                status = decide(w) or status
                goal = NEXT * (primal - lower) / primal
            while status is None and newton_cost(row_lengths, slack, w) <= credit:
                credit -= newton_cost(row_lengths, slack, w)
                better = newton_on_support(rows, columns, sign, bound, slack, w)
                if better is None:
                    break
                before, w = _primal(bound, slack, w), better
                slack = 1.0 - rows.times(w) * sign
                if before - _primal(bound, slack, w) <= ENOUGH * budget.gap * before:
                    break
        threshold = worst / max(active, 1)
        if active < d and worst <= max(0.1 * budget.gap, 1e-9) * max(first, 1.0):
            active, threshold, next_check = d, np.inf, passes + 1
            order, shrunk[:] = np.arange(d), False
    return PassesAnswer((w,), status, passes)


def _signed_columns(rows: DenseRows | SparseRows, sign: Vector) -> sp.csc_array:
    """y_i x_i by columns, the constant column last."""
    if isinstance(rows, DenseRows):
        signed = sp.csr_array(rows.X * sign[:, None])
    else:
        values = rows.values * np.repeat(sign, np.diff(rows.indptr))
        signed = sp.csr_array((values, rows.indices.view(np.int32), rows.indptr), shape=(rows.n, rows.d))
    return sp.csc_array(sp.hstack([signed, sp.csr_array(rows.column * sign[:, None])], format="csc"))
