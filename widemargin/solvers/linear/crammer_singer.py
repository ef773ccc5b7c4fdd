"""One joint machine for many classes, by a dual method that solves one sample's multipliers at a time.

Solves      min  1/2 sum_k |w_k|^2 + sum_i C_i max_k ( [k != y_i] + (w_k - w_y_i)'x_i )
dual        min  1/2 sum_k |w_k|^2 + sum_i sum_{k != y_i} a_ik,     w_k = sum_i a_ik x_i,
            sum_k a_ik = 0,   a_ik <= C_i for k = y_i,   a_ik <= 0 otherwise
Given       rows, class numbers, C of each sample, a budget
Returns     weights, one column per class, multipliers, and how it ended
step        for sample i the quadratic programme in its a_ik is solved exactly: with G_k = w_k'x_i + [k != y_i] and
            A = |x_i|^2, a_ik = min(cap_k, a_ik + (t - G_k) / A), t such that they sum to zero

See         Crammer & Singer (2001), JMLR 2; Keerthi, Sundararajan, Chang, Hsieh & Lin (2008), KDD, for the method.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.linalg.rows import DenseRows, SparseRows
from widemargin.monitor.interrupt import StopRequested
from widemargin.monitor.status import Status
from widemargin.problems.linear import Budget, Decide, PassesAnswer, Vector
from widemargin.solvers.linear.coordinate import NEXT, compact, draw

CURVATURE_FLOOR = 1e-12  # of an empty row


@jit
def balance(level, A, cap):
    """t with sum_k min(cap_k, (t - level_k) / A) = 0: the sorted kinks level_k + A cap_k are passed one by one."""
    kinks = np.sort(level + A * cap)
    K = level.shape[0]
    t = kinks[0]
    for r in range(K):
        # between two kinks the sum is linear: capped classes give cap, the others (t - level) / A
        capped = 0.0
        open_levels = 0.0
        n_open = 0
        for k in range(K):
            if level[k] + A * cap[k] <= kinks[r]:
                capped += cap[k]
            else:
                open_levels += level[k]
                n_open += 1
        below = 0.0
        for k in range(K):
            below += min(cap[k], (kinks[r] - level[k]) / A)
        if below > 0.0:
            break
        t = kinks[r]
        if n_open == 0:
            break
        t = max(kinks[r], (open_levels - A * capped) / n_open)
        if r + 1 < K and t <= kinks[r + 1]:
            break
    else:
        return t
    if below > 0.0:  # the root lies below the first kink: all classes open
        return level.sum() / K
    return t


@jit
def run_pass(indptr, indices, values, column, labels, cost, A, W, alpha, order, active, threshold, shrunk, state):
    """Visit the samples in random order; returns the largest violation of the optimality conditions."""
    K = W.shape[1]
    last = W.shape[0] - 1
    G = np.empty(K)
    cap = np.empty(K)
    level = np.empty(K)
    worst = 0.0
    for place in range(active):
        state, jump = draw(state, active - place)
        order[place], order[place + jump] = order[place + jump], order[place]
        i = order[place]
        own = labels[i]
        a = alpha[i]
        for k in range(K):
            G[k] = 1.0 + column * W[last, k]
            cap[k] = 0.0
        G[own] -= 1.0
        cap[own] = cost[i]
        for m in range(indptr[i], indptr[i + 1]):
            value, line = values[m], W[indices[m]]
            for k in range(K):
                G[k] += value * line[k]
        highest, lowest = -np.inf, np.inf
        at_rest = True
        for k in range(K):
            highest = max(highest, G[k])
            if a[k] < cap[k]:
                lowest = min(lowest, G[k])
            at_rest = at_rest and a[k] == 0.0
        if at_rest:  # only the own class can rise: the sample is content if no other class reaches it
            other = -np.inf
            for k in range(K):
                if k != own:
                    other = max(other, G[k])
            if other - G[own] < -threshold:
                shrunk[i] = True
                continue
        worst = max(worst, highest - lowest)
        if highest - lowest <= 1e-12:
            continue
        for k in range(K):
            level[k] = G[k] - A[i] * a[k]
        t = balance(level, A[i], cap)
        for k in range(K):
            G[k] = min(cap[k], (t - level[k]) / A[i]) - a[k]  # now the change
            a[k] += G[k]
        for m in range(indptr[i], indptr[i + 1]):
            value, line = values[m], W[indices[m]]
            for k in range(K):
                line[k] += value * G[k]
        for k in range(K):
            W[last, k] += column * G[k]
    return worst, state


@jit
def objectives(indptr, indices, values, column, labels, cost, W, alpha):
    """Primal value at W and value of the maximised dual at alpha, W = X'alpha."""
    K = W.shape[1]
    last = W.shape[0] - 1
    losses = 0.0
    linear = 0.0
    G = np.empty(K)
    for i in range(labels.shape[0]):
        for k in range(K):
            G[k] = column * W[last, k] + (k != labels[i])
            if k != labels[i]:
                linear += alpha[i, k]
        for m in range(indptr[i], indptr[i + 1]):
            for k in range(K):
                G[k] += values[m] * W[indices[m], k]
        losses += cost[i] * (G.max() - G[labels[i]])
    norm2 = 0.0
    for j in range(W.shape[0]):
        for k in range(K):
            norm2 += W[j, k] * W[j, k]
    return losses + 0.5 * norm2, -linear - 0.5 * norm2


def solve_crammer_singer(
    rows: DenseRows | SparseRows,
    labels: NDArray[np.int64],
    n_classes: int,
    bound: Vector,
    budget: Budget,
    decide: Decide,
    seed: int = 0,
) -> PassesAnswer:
    """Passes over the samples until `decide` ends them or the budget is used up; the point is (W, alpha).

    decide : asked when the relative gap of the budget is met, and again whenever it has shrunk by NEXT
    """
    sparse = rows.as_sparse()
    n = sparse.n
    A = np.maximum(sparse.squared_norms() + sparse.column**2, CURVATURE_FLOOR)
    data = (sparse.indptr, sparse.indices, sparse.values, sparse.column, labels, bound)
    W, alpha = np.zeros((sparse.d + 1, n_classes)), np.zeros((n, n_classes))
    order, shrunk = np.arange(n), np.zeros(n, bool)
    state = np.uint64(88172645463325252 ^ (seed & 0xFFFFFFFF))
    active, threshold, passes, next_check, worst = n, np.inf, 0, 2, np.inf
    status: Status | None = budget.ended(0)
    primal, lower = objectives(*data, W, alpha)
    goal = budget.gap
    while status is None:
        worst, state = run_pass(*data, A, W, alpha, order, active, threshold, shrunk, state)
        state = np.uint64(state)
        passes += 1
        active = compact(order, active, shrunk)
        status = budget.ended(passes)
        if passes >= next_check or status is not None:
            primal, lower = objectives(*data, W, alpha)
            try:
                budget.report((primal - lower) / primal, primal, passes, W)
            except StopRequested:
                status = Status.STOPPED
            if primal - lower <= goal * primal:
                status = decide(W, alpha) or status
                goal = NEXT * (primal - lower) / primal
            next_check = passes + max(2, passes // 3)
        threshold = worst if worst > 0.0 else np.inf
        if active < n and (active == 0 or worst <= max(1e-9, budget.gap)):
            active, threshold, next_check = n, np.inf, passes + 1
            order, shrunk[:] = np.arange(n), False
    return PassesAnswer((W, alpha), status, passes)
