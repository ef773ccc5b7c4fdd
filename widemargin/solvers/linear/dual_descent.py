"""Dual coordinate descent with shrinking: the solver for text, where features outnumber samples.

Solves      the signed dual without equality constraint (bias penalised or absent), one multiplier at a time:
            b_i <- clip( soft( b_i - f_i / Q_i, e / Q_i ), lo, hi ),     with w = X'b kept up to date,
            f_i = w'x_i + c_i + D_i b_i,     Q_i = |x_i|^2 + D_i
Given       problem, a run; `rival`, the nanoseconds another method would take from given multipliers
Returns     LinearAnswer; status OWN_RULE means that it ended because of the rival
near        the gap is a sum of one complementarity term per sample (responses.py). Samples whose terms are so small
optimal     that together they are at most half of the allowed gap are skipped for a while: all other samples are
            visited several times before the next pass over all
gap         each visit computes its sample's loss and complementarity term; their sums over a pass estimate the
            gap at no cost. It shows when an exact gap is worth a pass, and how fast the gap falls.
memory      all numbers of a sample are in one cache line, a *record*; record and row of the next visits are fetched
            ahead.

See         Hsieh et al. (2008), ICML, algorithm 3; Ho & Lin (2012), JMLR 13, for regression; descent.py for the loop.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from widemargin._jit import CONTRACT, INTERPRETED, jit
from widemargin.costs import COSTS
from widemargin.linalg.design import ONE, TWO, Index, SparseDesign
from widemargin.monitor.status import Status
from widemargin.problems.linear import LinearAnswer, LinearProblem, LinearRun, Vector
from widemargin.solvers.linear import descent
from widemargin.solvers.linear.responses import respond, smoothed_losses
from widemargin.solvers.linear.tuning import DEFAULT, LinearTuning

BETA, LINEAR_TERM, EPSILON, LOWER, UPPER, DIAGONAL, INVERSE = range(7)  # places in a record
RECORD = 8  # floats: a cache line
FETCH_AHEAD = 4  # visits by which a row is prefetched: about the latency of memory over the cost of a visit
LONGEST = 64  # entries of a row prefetched; the hardware prefetcher fetches the rest of longer rows
TINY = float(np.finfo(float).tiny)


@intrinsic
def _fetch(typing_context, array, position):
    def codegen(context, builder, signature, arguments):
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, arguments[0])
        pointer = builder.bitcast(builder.gep(view.data, [arguments[1]]), ir.PointerType(ir.IntType(8)))
        word = ir.IntType(32)
        name = "llvm.prefetch.p0" if getattr(pointer.type, "is_opaque", False) else "llvm.prefetch.p0i8"
        function_type = ir.FunctionType(ir.VoidType(), [pointer.type, word, word, word])
        function = builder.module.globals.get(name) or ir.Function(builder.module, function_type, name)
        builder.call(function, [pointer, ir.Constant(word, 0), ir.Constant(word, 3), ir.Constant(word, 1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


fetch = (lambda array, position: None) if INTERPRETED else _fetch


@jit
def loss_at(z, epsilon, lower, upper, diagonal):
    """Loss of one sample at -z = u + c."""
    excess = max(abs(z) - epsilon, 0.0)
    end = upper if z > 0.0 else -lower  # zero on the side of a class where nothing is charged
    slope = 0.5 * excess / diagonal if diagonal > 0.0 else end
    return excess * slope if end > 0.0 else 0.0


@jit(fastmath=CONTRACT)
def visit_samples(csr, records, w, visits, marks, threshold, level):
    """Visit the samples in turn; marks those that are NEAR_OPTIMAL (complementarity term up to `level`) or SHRUNK.

    Returns the largest violation, and sums over the pass as met on the way: of the losses, of those of the samples
    shrunk now, of the complementarity terms.
    """
    indptr, indices, values, column = csr
    last = w.shape[0] - 1
    bias = w[last]
    final = visits.shape[0] - 1
    worst = losses = left_out = comp = 0.0
    for s in range(visits.shape[0]):
        soon = visits[min(s + 2 * FETCH_AHEAD, final)]
        fetch(records, soon * RECORD)
        fetch(indptr, soon)
        soon = visits[min(s + FETCH_AHEAD, final)]  # its index has been prefetched by now
        for line in range(indptr[soon], min(indptr[soon + 1], indptr[soon] + LONGEST), 8):
            fetch(values, line)
            fetch(indices, line)
        i = visits[s]
        start, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        even, odd = bias * column, 0.0
        for k in range(start + ONE, end, TWO):
            even += values[k - ONE] * w[indices[k - ONE]]
            odd += values[k] * w[indices[k]]
        if (end - start) & ONE:
            even += values[end - ONE] * w[indices[end - ONE]]
        b, e, diagonal = records[i, BETA], records[i, EPSILON], records[i, DIAGONAL]
        lower, upper = records[i, LOWER], records[i, UPPER]
        z = -(even + odd + records[i, LINEAR_TERM])
        f = diagonal * b - z
        gain = -np.inf  # decrease of the objective along the better of the two open directions
        if b < upper:
            gain = -(f + e if b >= 0.0 else f - e)
        if b > lower:
            gain = max(gain, f + e if b > 0.0 else f - e)
        loss = loss_at(z, e, lower, upper, diagonal)
        losses += loss
        if gain < -threshold:  # its complementarity term is zero
            marks[i] = descent.SHRUNK
            left_out += loss
            continue
        worst = max(worst, gain)
        term = loss + e * abs(b) - z * b + 0.5 * diagonal * b * b
        comp += term
        if term <= level:
            marks[i] = descent.NEAR_OPTIMAL
        if gain > descent.NO_STEP:
            inverse = records[i, INVERSE]
            t = b - f * inverse
            if e > 0.0:
                k_e = e * inverse
                t = t - k_e if t > k_e else (t + k_e if t < -k_e else 0.0)
            t = min(max(t, lower), upper)
            records[i, BETA] = t
            change = t - b
            for k in range(start, end):
                w[indices[k]] += change * values[k]
            bias += change * column
    w[last] = bias
    return worst, losses, left_out, comp


def records_of(problem: LinearProblem, rows: SparseDesign) -> Vector:
    """Return one cache-line-aligned record per sample, with multipliers zero."""
    room, dual = np.zeros((rows.n + 1) * RECORD), problem.dual
    skip = -(room.ctypes.data // room.itemsize) % RECORD
    records = room[skip : skip + rows.n * RECORD].reshape(rows.n, RECORD)
    curvature = np.maximum(rows.squared_norms + rows.column**2 + dual.diagonal, descent.CURVATURE_FLOOR)
    records[:, LINEAR_TERM], records[:, EPSILON], records[:, DIAGONAL] = dual.linear_term, dual.epsilon, dual.diagonal
    records[:, LOWER], records[:, UPPER], records[:, INVERSE] = dual.lower, dual.upper, 1.0 / curvature
    return records


class DualDescent(descent.CoordinateDescent):
    """Records and weights of the method, and estimates of its speed.

    Attributes
    ----------
    frozen : losses of the samples left out
    met : relative gap as met on the way of the last pass; ratio : of the gap at its end
    work : in passes over all samples; looked : passes and gap met when the speed was last estimated
    """

    estimates = True

    def __init__(
        self, problem: LinearProblem, rival: Callable[[Vector], float], tuning: LinearTuning, beta: Vector | None
    ) -> None:
        self.problem, self.rival, self.tuning = problem, rival, tuning
        self.rows = problem.rows.as_sparse()
        self.records, self.w = records_of(problem, self.rows), np.zeros(self.rows.d + 1)
        self.frozen, self.met, self.ratio, self.work = 0.0, np.inf, tuning.first_ratio, 0.0
        self.looked = 0, np.inf
        if beta is not None:
            self.records[:, BETA] = beta
            self.refresh()

    @property
    def beta(self) -> Vector:
        return self.records[:, BETA]

    def visit(self, order: descent.VisitOrder, threshold: float, goal: float) -> float:
        rows, n_active = self.rows, len(order.active)
        if n_active == order.n:
            self.frozen = 0.0
        large = rows.entries * 12 > self.tuning.cache
        visits = descent.arrange(order.active, descent.NEIGHBOURS if large else 1, order.state)
        worst, losses, left_out, terms = self._pass(visits, order, threshold, self._near(order, goal))
        self.primal = losses + self.frozen + 0.5 * float(self.w @ self.w)
        self.frozen += left_out
        self.met = terms / max(self.primal, TINY)
        self.gap = self.ratio * self.met
        return worst

    def _pass(
        self, visits: Index, order: descent.VisitOrder, threshold: float, level: float
    ) -> tuple[float, float, float, float]:
        self.work += len(visits) / order.n
        return visit_samples(self.rows.csr, self.records, self.w, visits, order.marks, threshold, level)

    def _near(self, order: descent.VisitOrder, goal: float) -> float:
        """Return the complementarity term up to which a sample is near-optimal."""
        return self.tuning.near_share * goal * self.primal / max(len(order.active), 1)

    def measure(self) -> LinearAnswer:
        problem, dual, u, b = self.problem, self.problem.dual, self.rows.times(self.w), self.beta.copy()
        half = 0.5 * float(self.w @ self.w)
        self.primal = respond(smoothed_losses(dual, np.zeros_like(b), problem.rate), u, problem.squared)[1] + half
        terms = dual.linear_term @ b + dual.epsilon @ np.abs(b) + 0.5 * (dual.diagonal @ (b * b))
        self.gap = (self.primal + float(terms) + half) / max(self.primal, TINY)
        self.ratio = min(self.gap / max(self.met, TINY), 1.0)
        return LinearAnswer(self.w, b, u, gap=self.gap)

    def refresh(self) -> None:
        self.w[:] = 0.0
        self.rows.add_transposed(np.arange(self.rows.n), self.beta.copy(), self.w)

    def is_settled(self, worst: float, tol: float) -> bool:
        hidden = self.gap > self.met  # part of the gap is in the samples left out
        return hidden or worst <= descent.NO_STEP * self.problem.scale

    def improve(self, order: descent.VisitOrder, goal: float, passes: int) -> Status | None:
        """End if the rival is faster; else make extra visits to the samples that are not near-optimal."""
        tuning, (last, seen) = self.tuning, self.looked
        if passes >= last + max(2, last // 2):
            rate = np.log(seen / self.met) / (passes - last) if 0.0 < self.met < seen < np.inf else 0.0
            passes_left = np.log(max(self.gap / goal, 1.0)) / rate if rate > 0.0 else np.inf
            cost_left = passes_left * (len(order.active) / order.n) * self.rows.entries * COSTS.linear_entry
            self.looked = passes, self.met
            if self.work > tuning.believed and cost_left > self.rival(self.beta.copy()):
                return Status.OWN_RULE
        spent, level, n_active = 0, self._near(order, goal), len(order.active)
        chosen = descent.select(order.active, order.marks, descent.ACTIVE)
        while 0 < len(chosen) <= tuning.mostly_near * n_active and spent < tuning.extra_work * n_active:
            self._pass(descent.arrange(chosen, 1, order.state), order, np.inf, level)
            spent += len(chosen)
            chosen = descent.select(chosen, order.marks, descent.ACTIVE)
        return None


def no_rival(beta: Vector) -> float:
    """Return infinity: there is no other method."""
    return np.inf


def solve_coordinates(
    problem: LinearProblem,
    run: LinearRun,
    rival: Callable[[Vector], float] = no_rival,
    tuning: LinearTuning = DEFAULT,
    beta: Vector | None = None,
) -> LinearAnswer:
    """Make passes until the relative gap is met, the run ends, or the rival would be faster; return a LinearAnswer.

    beta : multipliers to start from; None means zero
    """
    return descent.run_passes(DualDescent(problem, rival, tuning, beta), problem.rows.n, run)
