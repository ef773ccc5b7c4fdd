"""One joint model for many classes, by a dual method that solves one sample's multipliers at a time.

Solves      min  1/2 sum_k |w_k|^2 + sum_i C_i max_k ( [k != y_i] + (w_k - w_y_i)'x_i )
dual        min  1/2 sum_k |w_k|^2 + sum_i sum_{k != y_i} a_ik,     w_k = sum_i a_ik x_i,
            sum_k a_ik = 0,   a_ik <= C_i for k = y_i,   a_ik <= 0 otherwise
Given       rows, class numbers, C of each sample, a run
Returns     LinearAnswer; weights have one column per class, multipliers one row per sample
step        for sample i the quadratic programme in its a_ik is solved exactly: with G_k = w_k'x_i + [k != y_i] and
            A = |x_i|^2, a_ik = min(cap_k, a_ik + (t - G_k) / A), t such that they sum to zero

See         Crammer & Singer (2001), JMLR 2; Keerthi, Sundararajan, Chang, Hsieh & Lin (2008), KDD, for the method;
            descent.py for the loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.linalg.design import Design
from widemargin.problems.linear import LinearAnswer, LinearRun, Vector
from widemargin.solvers.linear import descent


class LabelledSamples(NamedTuple):
    """Class number, C and |x|^2 of each sample."""

    labels: NDArray[np.int64]
    cost: Vector
    curvature: Vector


@jit
def balance(level, A, cap):
    """t with sum_k min(cap_k, (t - level_k) / A) = 0: classes are capped where t exceeds level_k + A cap_k."""
    kinks = np.sort(level + A * cap)[::-1]
    total, n_open = kinks[0] - A * cap.sum(), 1
    while n_open < kinks.shape[0] and total < n_open * kinks[n_open]:
        total += kinks[n_open]
        n_open += 1
    return total / n_open


@jit
def visit_all_classes(csr, samples, W, alpha, visits, marks, threshold):
    """Visit the samples in turn; returns the largest violation of the optimality conditions."""
    indptr, indices, values, column = csr
    labels, cost, A = samples
    K = W.shape[1]
    last = W.shape[0] - 1
    G, cap, level = np.empty(K), np.empty(K), np.empty(K)
    worst = 0.0
    for i in visits:
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
        if at_rest:  # only the sample's own class can rise: optimal if no other class exceeds it
            other = -np.inf
            for k in range(K):
                if k != own:
                    other = max(other, G[k])
            if other - G[own] < -threshold:
                marks[i] = descent.SHRUNK
                continue
        worst = max(worst, highest - lowest)
        if highest - lowest <= descent.NO_STEP:
            continue
        for k in range(K):
            level[k] = G[k] - A[i] * a[k]
        t = balance(level, A[i], cap)
        for k in range(K):
            G[k] = min(cap[k], (t - level[k]) / A[i]) - a[k]  # from here on the change
            a[k] += G[k]
        for m in range(indptr[i], indptr[i + 1]):
            value, line = values[m], W[indices[m]]
            for k in range(K):
                line[k] += value * G[k]
        for k in range(K):
            W[last, k] += column * G[k]
    return worst


class JointDescent(descent.CoordinateDescent):
    """Weights W = X'a and multipliers a."""

    wait = (2, 3)

    def __init__(self, rows: Design, labels: NDArray[np.int64], n_classes: int, cost: Vector) -> None:
        self.rows = rows.as_sparse()
        curvature = np.maximum(self.rows.squared_norms + rows.column**2, descent.CURVATURE_FLOOR)
        self.samples = LabelledSamples(labels, cost, curvature)
        self.w, self.alpha = np.zeros((rows.d + 1, n_classes)), np.zeros((rows.n, n_classes))

    def visit(self, order: descent.VisitOrder, threshold: float, goal: float) -> float:
        order.active = visits = descent.arrange(order.active, 1, order.state)
        return visit_all_classes(self.rows.csr, self.samples, self.w, self.alpha, visits, order.marks, threshold)

    def measure(self) -> LinearAnswer:
        own = np.arange(self.rows.n), self.samples.labels
        G = self.rows.X @ self.w[:-1] + self.rows.column * self.w[-1] + 1.0
        G[own] -= 1.0
        half = 0.5 * float(np.vdot(self.w, self.w))
        self.primal = float(self.samples.cost @ (G.max(axis=1) - G[own])) + half
        lower = float(self.alpha[own].sum() - self.alpha.sum()) - half
        self.gap = (self.primal - lower) / self.primal
        return LinearAnswer(self.w, self.alpha, gap=self.gap)

    def is_settled(self, worst: float, tol: float) -> bool:
        return worst <= max(1e-9, tol)


def solve_crammer_singer(
    rows: Design, labels: NDArray[np.int64], n_classes: int, cost: Vector, run: LinearRun
) -> LinearAnswer:
    """Make passes over the samples until the relative gap is met or the run ends; return a LinearAnswer."""
    method = JointDescent(rows, labels, n_classes, cost)
    if run.start is not None and run.start.beta.size:
        method.alpha, method.w = run.start.beta.copy(), run.start.weights.copy()
    return descent.run_passes(method, rows.n, run)
