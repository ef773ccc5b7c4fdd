"""Dual coordinate descent with shrinking: the solver for text, where features outnumber samples.

Solves      the signed dual without equality constraint (bias penalised or absent), one multiplier at a time:
            b_i <- clip( soft( b_i - f_i / Q_i, e / Q_i ), lo, hi ),     with w = X'b kept up to date,
            f_i = w'x_i + c_i + D_i b_i,     Q_i = |x_i|^2 + D_i
Given       problem, a budget; `patience` passes predicted to be left at which another method should take over
Returns     LinearAnswer; status OWN_RULE means that it ended because of `patience` or `max_passes`
shrinking   a multiplier at a bound (or in its kink) whose slope points outwards by more than the largest violation of
            the last pass is left out until the others are done
order       random within each pass. Rows are far apart in memory, so the rows of the next visits are fetched ahead;
            short rows are moved into random order once instead and visited in blocks.

See         Hsieh et al. (2008), ICML, algorithm 3; Ho & Lin (2012), JMLR 13, for regression.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from widemargin._jit import INTERPRETED, jit
from widemargin.interrupt import status_of
from widemargin.linear.problem import Budget, LinearAnswer, LinearProblem, Vector
from widemargin.solvers.solution import Status

AHEAD = 4  # visits ahead of which a row is fetched: about the latency of memory over the cost of a visit
SHORT_ROW = 32  # entries: rows shorter than this, if many, are put into random order in memory
BLOCK = 16  # neighbouring rows visited together once rows are in random order
MANY_ROWS = 5000
CURVATURE_FLOOR = 1e-12  # an empty row without ridge has none
SETTLED = 60.0  # passes' worth of work after which the rate of the gap can be believed
NEARLY = 3.0  # the gap met on the way through a pass is that of its beginning: at the end it is smaller by about this
NO_STEP = 1e-12  # slopes below this move nothing worth the write


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
def draw(state, below):
    """Next state of a xorshift generator, and a number in [0, below)."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state, np.int64(((state >> np.uint64(32)) * np.uint64(below)) >> np.uint64(32))


@jit
def arrange(order, active, block, visits, state):
    """Fill visits[:active] from order[:active]: shuffled, or in whole blocks that are shuffled within.

    `order` is shuffled only within blocks, so that neighbours in memory stay neighbours.
    """
    n_blocks = (active + block - 1) // block
    blocks = np.arange(n_blocks)
    place = 0
    for s in range(n_blocks):
        state, jump = draw(state, n_blocks - s)
        blocks[s], blocks[s + jump] = blocks[s + jump], blocks[s]
        start = blocks[s] * block
        end = min(start + block, active)
        for k in range(start, end):
            if block > 1:
                state, jump = draw(state, end - k)
                order[k], order[k + jump] = order[k + jump], order[k]
            visits[place] = order[k]
            place += 1
    return state


@jit
def compact(order, active, shrunk):
    """Leave out the shrunk samples, keeping the order of the others; returns how many are left."""
    kept = 0
    for s in range(active):
        if not shrunk[order[s]]:
            order[kept] = order[s]
            kept += 1
    return kept


@jit
def run_pass(indptr, indices, values, column, shift, kink, lo, hi, ridge, inverse, w, beta, visits, threshold, shrunk):
    """Visit the samples in turn and mark those to be shrunk.

    Returns the largest violation, and sums of the losses and of the complementarity terms as met on the way: a free
    estimate of primal and gap, which tells when computing them properly is worth a pass.
    """
    last = w.shape[0] - 1
    bias = w[last]
    worst = 0.0
    losses = 0.0
    comp = 0.0
    for s in range(visits.shape[0]):
        if s + AHEAD < visits.shape[0]:
            next_start = indptr[visits[s + AHEAD]]
            fetch(indices, next_start)
            fetch(values, next_start)
            fetch(values, next_start + 8)
        i = visits[s]
        start, end = indptr[i], indptr[i + 1]
        even, odd = bias * column, 0.0
        k = start
        while k + 1 < end:
            even += values[k] * w[indices[k]]
            odd += values[k + 1] * w[indices[k + 1]]
            k += 2
        if k < end:
            even += values[k] * w[indices[k]]
        b, e = beta[i], kink[i]
        z = -(even + odd + shift[i])
        f = ridge[i] * b - z
        gain = -np.inf  # by how much the objective falls along the better of the two ways open to b
        if b < hi[i]:
            gain = -(f + e if b >= 0.0 else f - e)
        if b > lo[i]:
            gain = max(gain, f + e if b > 0.0 else f - e)
        if gain < -threshold:
            shrunk[i] = True
            continue
        worst = max(worst, gain)
        excess, upper = abs(z) - e, hi[i] if z > 0.0 else -lo[i]
        if excess > 0.0 and upper > 0.0:
            loss = excess * upper if ridge[i] == 0.0 else 0.5 * excess * excess / ridge[i]
            losses += loss
            comp += loss
        comp += e * abs(b) - z * b + 0.5 * ridge[i] * b * b
        if gain > NO_STEP:
            t = b - f * inverse[i]
            if e > 0.0:
                k_e = e * inverse[i]
                t = t - k_e if t > k_e else (t + k_e if t < -k_e else 0.0)
            t = min(max(t, lo[i]), hi[i])
            beta[i] = t
            change = t - b
            for k in range(start, end):
                w[indices[k]] += change * values[k]
            bias += change * column
    w[last] = bias
    return worst, losses, comp


@jit
def objectives(indptr, indices, values, column, shift, kink, lo, hi, ridge, w, beta):
    """Primal value at w and value of the maximised dual at beta, w = X'b."""
    losses = 0.0
    lower = 0.0
    for i in range(beta.shape[0]):
        k, end = indptr[i], indptr[i + 1]
        even, odd = column * w[-1], 0.0
        while k + 1 < end:
            even += values[k] * w[indices[k]]
            odd += values[k + 1] * w[indices[k + 1]]
            k += 2
        if k < end:
            even += values[k] * w[indices[k]]
        z = -(even + odd + shift[i])
        end = hi[i] if z > 0.0 else -lo[i]  # zero on the side of a class where nothing is charged
        if abs(z) > kink[i] and end > 0.0:
            excess = abs(z) - kink[i]
            losses += excess * end if ridge[i] == 0.0 else 0.5 * excess * excess / ridge[i]
        b = beta[i]
        lower -= shift[i] * b + kink[i] * abs(b) + 0.5 * ridge[i] * b * b
    norm2 = 0.0
    for j in range(w.shape[0]):
        norm2 += w[j] * w[j]
    return losses + 0.5 * norm2, lower - 0.5 * norm2


def solve_coordinates(
    problem: LinearProblem, budget: Budget, *, seed: int = 0, max_passes: int | None = None, patience: float = np.inf
) -> LinearAnswer:
    """Passes until the relative gap is met, the budget or `max_passes` is used up, or `patience` is exceeded."""
    rows, dual = problem.rows.as_sparse(), problem.dual
    n = rows.n
    permutation = None
    if rows.entries < SHORT_ROW * n and n >= MANY_ROWS:
        permutation = np.random.default_rng(seed).permutation(n)
        rows = rows.take(permutation)
    box = [v if permutation is None else v[permutation] for v in (dual.shift, dual.kink, dual.lo, dual.hi, dual.ridge)]
    inverse = 1.0 / np.maximum(rows.squared_norms() + rows.column**2 + box[4], CURVATURE_FLOOR)
    data = (rows.indptr, rows.indices, rows.values, rows.column)
    w, beta = np.zeros(rows.d + 1), np.zeros(n)
    order, visits, shrunk = np.arange(n), np.empty(n, np.int64), np.zeros(n, bool)
    state = np.uint64(88172645463325252 ^ (seed * 2654435761 & 0xFFFFFFFF))
    active, threshold, passes, work = n, np.inf, 0, 0.0
    next_check = 4
    gap, gap_at, last = np.inf, 0, np.inf
    status: Status | None = None
    try:
        while status is None:
            state = np.uint64(arrange(order, active, 1 if permutation is None else BLOCK, visits, state))
            worst, losses, comp = run_pass(*data, *box, inverse, w, beta, visits[:active], threshold, shrunk)
            passes += 1
            work += active / n
            active = compact(order, active, shrunk)
            status = budget.ended(passes)
            if status is None and max_passes is not None and passes >= max_passes:
                status = Status.OWN_RULE
            near = comp <= NEARLY * budget.gap * (losses + 0.5 * float(w @ w))
            if near or passes >= next_check or status is not None:
                primal, lower = objectives(*data, *box, w, beta)
                last, gap = gap, (primal - lower) / max(primal, np.finfo(float).tiny)
                work += 0.3
                budget.report(gap, primal, passes, w, beta)
                if gap <= budget.gap:
                    status = Status.OPTIMAL
                    break
                rate = np.log(last / gap) / (passes - gap_at) if gap < last < np.inf else 0.0
                left = np.log(gap / budget.gap) / rate if rate > 0.0 else np.inf  # passes, as far as can be seen
                if not near and work > SETTLED and left * active / n > patience and status is None:
                    status = Status.OWN_RULE
                gap_at = passes
                next_check = passes + max(2, passes // 2)
            threshold = worst if worst > 0.0 else np.inf
            if active < n and (active == 0 or worst <= max(1e-9, budget.gap) * problem.scale):
                active, threshold, next_check = n, np.inf, passes + 1
                order, shrunk[:] = np.arange(n), False
    except KeyboardInterrupt as interrupt:  # multipliers are feasible at any moment: what there is can be certified
        status = status_of(interrupt)
    if permutation is not None:
        unshuffled: Vector = np.empty(n)
        unshuffled[permutation] = beta
        beta = unshuffled
    return LinearAnswer(w, beta, status, passes, gap)
