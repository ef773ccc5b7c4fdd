"""Sparse weights: coordinate descent on the l1-penalised squared hinge, with a duality gap.

Solves      min  P(w) = sum_j |w_j| + sum_i C_i max(0, 1 - y_i w'x_i)^2          (the constant column is penalised too)
dual        max  sum_i a_i - a_i^2 / (4 C_i),    a >= 0,    |sum_i a_i y_i x_ij| <= 1 for every feature j
Given       rows, signs y, C of each sample, a run
Returns     LinearAnswer with the multipliers a as beta
step        the quadratic model of one weight, minimised with its |w_j|, and halved until the objective falls enough
Newton      now and then a step for all nonzero weights together, signs held: a weight that would cross zero stops
            there, or all stop with the first that does. Taken only if the objective falls. Coordinate steps find the
            support, Newton steps solve on it.
gap         a_i = 2 C_i max(0, 1 - y_i w'x_i) scaled by the best s that makes it feasible: the gradient the passes need
            anyway gives the bound
shrinking   a zero weight whose gradient lies inside [-1, 1] by more than the last pass's largest violation, divided by
            the number of weights visited, is left out

See         Yuan, Chang, Hsieh & Lin (2010), JMLR 11, section 4, for the step; Fercoq, Gramfort & Salmon (2015) for
            the gap; descent.py for the loop.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lapack

from widemargin._jit import jit
from widemargin.linalg.arrays import Index
from widemargin.linalg.design import CHUNK, Csr, DenseDesign, Design, listed_entries
from widemargin.problems.linear import LinearAnswer, LinearRun, Vector
from widemargin.solvers.linear import descent
from widemargin.solvers.linear.tuning import DEFAULT

ENOUGH = 0.01  # share of the predicted decrease that a step must achieve
STEP_HALVINGS = 30
NEWTON_HALVINGS = 8
CREDIT = 30.0  # operations of Newton steps per entry of a pass: five times those of the pass
LEAST_CREDIT = 0.1  # of a whole pass: late passes over few weights still allow Newton steps
RIDGE = 1e-10  # relative: features may be copies of each other


@jit
def visit_weights(columns, cost, slack, w, visits, marks, threshold):
    """Visit the weights in turn; slack_i = 1 - y_i w'x_i is kept up to date. Returns the largest violation."""
    indptr, indices, values, _ = columns
    worst = 0.0
    for j in visits:
        start, end = indptr[j], indptr[j + 1]
        g = h = before = 0.0
        for k in range(start, end):
            s = slack[indices[k]]
            if s > 0.0:
                c = cost[indices[k]]
                g -= 2.0 * c * values[k] * s
                h += 2.0 * c * values[k] * values[k]
                before += c * s * s
        h = max(h, descent.CURVATURE_FLOOR)
        old = w[j]
        if old == 0.0:
            violation = max(abs(g) - 1.0, 0.0)
            if abs(g) < 1.0 - threshold:
                marks[j] = descent.SHRUNK
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
        for _ in range(STEP_HALVINGS):
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
    return worst


def signed_columns(rows: Design, sign: Vector) -> sp.csc_array:
    """Return y_i x_i by columns, the constant column last; of dense rows with one copy of the data, and the indices."""
    if isinstance(rows, DenseDesign):
        columns = np.empty((rows.d + 1, rows.n))
        np.multiply(rows.X.T, sign, out=columns[:-1])
        columns[-1] = rows.column * sign
        step = max(1, CHUNK // rows.n)
        return listed_entries(columns, [slice(j, min(j + step, rows.d + 1)) for j in range(0, rows.d + 1, step)]).T
    constant = sp.csr_array(np.full((rows.n, 1), rows.column))
    return sp.csc_array(sp.hstack([rows.X, constant]).multiply(sign[:, None]))


class L1Descent(descent.CoordinateDescent):
    """Weights and slacks of the method.

    Attributes
    ----------
    columns : y_i x_i by columns, the constant column last; csr : the same for compiled code, column by column
    slack : 1 - y_i w'x_i
    row_lengths : entries of each row
    credit : operations that Newton steps may take
    largest : the largest violation met
    """

    def __init__(self, rows: Design, sign: Vector, cost: Vector) -> None:
        self.rows, self.sign, self.cost = rows, sign, cost
        self.columns = signed_columns(rows, sign)
        indptr = self.columns.indptr.astype(np.int64)
        indices = self.columns.indices.astype(np.int32, copy=False).view(np.uint32)
        self.csr = Csr(indptr, indices, self.columns.data, 0.0)
        self.row_lengths = rows.terms() + 1.0
        self.w, self.slack = np.zeros(rows.d + 1), np.ones(rows.n)
        self.credit = self.largest = 0.0

    def visit(self, order: descent.VisitOrder, threshold: float, goal: float) -> float:
        order.active = visits = descent.arrange(order.active, 1, order.state)
        threshold /= len(visits)
        worst = visit_weights(self.csr, self.cost, self.slack, self.w, visits, order.marks, threshold)
        self.credit += CREDIT * self.columns.nnz * max(len(visits) / order.n, LEAST_CREDIT)
        self.largest = max(self.largest, worst)
        return worst

    def measure(self) -> LinearAnswer:
        self.refresh()
        s = np.maximum(self.slack, 0.0)
        a = 2.0 * self.cost * s
        steepest = float(np.abs(self.columns.T @ a).max())
        losses, total = float(self.cost @ (s * s)), float(a.sum())
        # sum a^2 / (4 C) = losses; s total - s^2 losses is largest at total / (2 losses)
        scale = min(total / (2.0 * losses), 1.0 / max(steepest, descent.CURVATURE_FLOOR)) if losses > 0.0 else 0.0
        self.primal = losses + float(np.abs(self.w).sum())
        self.gap = (self.primal - scale * total + scale * scale * losses) / self.primal
        return LinearAnswer(self.w, a, gap=self.gap)

    def refresh(self) -> None:
        self.slack = 1.0 - self.columns @ self.w

    def is_settled(self, worst: float, tol: float) -> bool:
        return worst <= max(0.1 * tol, 1e-9) * max(self.largest, 1.0)

    def improve(self, order: descent.VisitOrder, goal: float, passes: int) -> None:
        """Make Newton steps as long as they help and their work does not exceed the credit."""
        value = self._objective(self.slack, self.w)
        while self._newton_cost() <= self.credit:
            self.credit -= self._newton_cost()
            before = value
            value = self._newton_step(value)
            if before - value <= ENOUGH * goal * before:
                break

    def _newton_cost(self) -> float:
        """Return the operations of a Newton step: Gram matrix of the support, its share of each row, and its factor."""
        size = int(np.count_nonzero(self.w))
        if not 0 < size <= DEFAULT.most_features:
            return np.inf
        entries = self.row_lengths[self.slack > 0.0] * (size / len(self.w))
        return float(entries @ entries) + size**3 / 3.0

    def _newton_step(self, value: float) -> float:
        """Try a Newton step on the nonzero weights, with the same signs or zeros; returns the objective, now lower."""
        rows, w = self.rows, self.w
        support, near = np.flatnonzero(w), np.flatnonzero(self.slack > 0.0)
        weight = 2.0 * self.cost[near]
        H = self._hessian(near, support, weight)
        pull = np.zeros(len(w))
        rows.add_transposed(near, weight * (self.slack * self.sign)[near], pull)
        np.einsum("ii->i", H)[:] += RIDGE * max(float(H.diagonal().max()), descent.CURVATURE_FLOOR)
        sign = np.sign(w[support])
        factor, info = lapack.dpotrf(H, lower=1)
        if info != 0:
            return value
        step = lapack.dpotrs(factor, pull[support] - sign, lower=1)[0]
        old = w[support]
        crossing = np.where(step * sign < 0.0, -old / np.where(step == 0.0, 1.0, step), np.inf)  # where a weight is 0
        first = min(1.0, float(crossing.min()))
        for length in (1.0, *(first * 0.5**k for k in range(NEWTON_HALVINGS))):
            moved = w.copy()
            moved[support] = np.where(length < crossing, old + length * step, 0.0)
            slack = 1.0 - self.columns @ moved
            lower = self._objective(slack, moved)
            if lower < value:
                self.w, self.slack = moved, slack
                return lower
        return value

    def _hessian(self, near: Index, support: Index, weight: Vector) -> NDArray[np.float64]:
        """Return Z' diag(weight) Z of some samples and the weights of the support, at least its lower triangle."""
        rows = self.rows
        if not sp.issparse(rows.X):
            features = support[support < rows.d]
            Z = np.full((len(near), len(support)), rows.column)
            Z[:, : len(features)] = rows.X[np.ix_(near, features)]
            return Z.T @ (weight[:, None] * Z)
        if rows.d > DEFAULT.most_features:
            few = self.columns[:, support].tocsr()[near]
            return (few.T @ few.multiply(weight[:, None]).tocsr()).toarray()
        gram = np.zeros((len(self.w), len(self.w)))
        rows.add_gram(near, weight, gram)
        return np.tril(gram)[np.ix_(support, support)]  # the support is sorted, so the lower triangle is preserved

    def _objective(self, slack: Vector, w: Vector) -> float:
        s = np.maximum(slack, 0.0)
        return float(self.cost @ (s * s)) + float(np.abs(w).sum())


def solve_l1(rows: Design, sign: Vector, cost: Vector, run: LinearRun) -> LinearAnswer:
    """Make passes over the weights until the relative gap is met or the run ends; return a LinearAnswer."""
    method = L1Descent(rows, sign, cost)
    if run.start is not None:
        method.w = run.start.weights.copy()
        method.refresh()
    return descent.run_passes(method, rows.d + 1, run)
