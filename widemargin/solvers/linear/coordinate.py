"""Dual coordinate descent with shrinking: the solver for text, where features outnumber samples.

Solves      the signed dual without equality constraint (bias penalised or absent), one multiplier at a time:
            b_i <- clip( soft( b_i - f_i / Q_i, e / Q_i ), lo, hi ),     with w = X'b kept up to date,
            f_i = w'x_i + c_i + D_i b_i,     Q_i = |x_i|^2 + D_i
Given       problem, a budget; `rival`, the seconds another method would take from given multipliers
Returns     LinearAnswer; status OWN_RULE means that it ended because of the rival or `max_passes`
shrinking   a multiplier at a bound (or in its kink) whose slope points outwards by more than the largest violation of
            the last pass is left out, until the gap turns out to be larger than the others account for
calm        the gap is the sum of one complementarity term per sample (responses.py). Samples whose terms are so small
            that all of that size together make half of the gap allowed are left alone for a while: the few others are
            visited by themselves several times before the next pass looks at all again
gap         each visit sees its sample's loss and complementarity term; their sums over a pass are an estimate of the
            gap that costs nothing. It says when computing the gap properly is worth a pass, and how fast it falls.
memory      all numbers of a sample stand in one cache line, a *record*; record and row of the next visits are fetched
            ahead. Where the data exceed the cache and rows are short, visits are random among a few random blocks of
            neighbouring rows, so that a fetched page is used more than once.

See         Hsieh et al. (2008), ICML, algorithm 3; Ho & Lin (2012), JMLR 13, for regression.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from widemargin._jit import CONTRACT, INTERPRETED, jit
from widemargin.linalg.rows import ONE, TWO, SparseRows, products
from widemargin.monitor.interrupt import status_of
from widemargin.monitor.status import Status
from widemargin.problems.linear import Accept, Budget, LinearAnswer, LinearProblem, Point, Undecidable, Vector

BETA, SHIFT, KINK, LO, HI, RIDGE, INVERSE = range(7)  # places in a record
RECORD = 8  # floats: a cache line
LOUD, CALM, SHRUNK = range(3)  # marks of a sample
CALM_SHARE = 0.5  # of the gap allowed: what calm samples may have together
LOUD_WORK = 0.3  # of a pass that is spent on loud samples alone before all are looked at again
FEW_LOUD = 0.5  # share of the samples: if there are more loud ones, all are visited
AHEAD = 4  # visits ahead of which a row is fetched: about the latency of memory over the cost of a visit
LONGEST = 64  # entries of a row fetched ahead; the processor notices itself that longer ones go on
SHORT_ROW = 32  # entries: rows shorter than this waste most of a page when visited alone
CACHE = 24_000_000  # bytes of data up to which a random visit costs no page
BLOCK = 16  # neighbouring rows visited near each other
MIXED = 16  # blocks among which the order is random: sorted data would be visited class by class otherwise
CURVATURE_FLOOR = 1e-12  # an empty row without diagonal has none
SETTLED = 60.0  # passes' worth of work after which the rate of the gap can be believed
NEARLY = 1.0 / 3.0  # gap at the end of a pass over its estimate on the way, which is mostly that of its beginning
ENTRY = 1.6e-9  # seconds a pass takes for each entry of the data
TINY = float(np.finfo(float).tiny)
NEXT = 0.2  # how much smaller the gap must be before a further condition is looked at again
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
def shuffle(visits, start, end, state):
    """Random order of visits[start:end]; returns the state of the generator."""
    for k in range(start, end):
        state, jump = draw(state, end - k)
        visits[k], visits[k + jump] = visits[k + jump], visits[k]
    return state


@jit
def arrange(order, active, block, visits, state):
    """Fill visits[:active] from order[:active]: in random order, or MIXED random blocks at a time in random order."""
    if block == 1:
        for k in range(active):
            visits[k] = order[k]
        return shuffle(visits, 0, active, state)
    n_blocks = (active + block - 1) // block
    blocks = np.arange(n_blocks)
    state = shuffle(blocks, 0, n_blocks, state)
    place = first = 0
    for s in range(n_blocks):
        start = blocks[s] * block
        for k in range(start, min(start + block, active)):
            visits[place] = order[k]
            place += 1
        if s % MIXED == MIXED - 1 or s == n_blocks - 1:
            state = shuffle(visits, first, place, state)
            first = place
    return state


@jit
def select(order, count, marks, highest, out):
    """Those of order[:count] whose mark is at most `highest`, in the same order; returns how many there are."""
    kept = 0
    for s in range(count):
        if marks[order[s]] <= highest:
            out[kept] = order[s]
            kept += 1
    return kept


@jit
def compact(order, active, shrunk):
    """Leave out the shrunk samples, keeping the order of the others; returns how many are left."""
    return select(order, active, shrunk, 0, order)


@jit
def loss_at(z, epsilon, lower, upper, diagonal):
    """Loss of one sample at -z = u + c."""
    excess = max(abs(z) - epsilon, 0.0)
    end = upper if z > 0.0 else -lower  # zero on the side of a class where nothing is charged
    slope = 0.5 * excess / diagonal if diagonal > 0.0 else end
    return excess * slope if end > 0.0 else 0.0


@jit(fastmath=CONTRACT)
def run_pass(indptr, indices, values, column, records, w, visits, threshold, level, marks):
    """Visit the samples in turn and mark those that are CALM (complementarity term up to `level`) or SHRUNK.

    Returns the largest violation, sums over the pass as met on the way (of the losses, of those of the samples shrunk
    now, of the complementarity terms), and how many are calm.
    """
    last = w.shape[0] - 1
    bias = w[last]
    final = visits.shape[0] - 1
    worst = losses = left_out = comp = 0.0
    n_calm = 0
    for s in range(visits.shape[0]):
        soon = visits[min(s + 2 * AHEAD, final)]
        fetch(records, soon * RECORD)
        fetch(indptr, soon)
        soon = indptr[visits[min(s + AHEAD, final)]]  # its place is there by now
        fetch(indices, soon)
        fetch(indices, soon + 16)
        fetch(values, soon)
        fetch(values, soon + 8)
        fetch(values, soon + 16)
        for line in range(soon + 24, min(indptr[visits[min(s + AHEAD, final)] + 1], soon + LONGEST), 8):
            fetch(values, line)
            fetch(indices, line + 8)
        i = visits[s]
        start, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        k, pairs = start, end - ((end - start) & ONE)
        even, odd = bias * column, 0.0
        while k < pairs:
            even += values[k] * w[indices[k]]
            odd += values[k + ONE] * w[indices[k + ONE]]
            k += TWO
        if k < end:
            even += values[k] * w[indices[k]]
        b, e, lower, upper, diagonal = (
            records[i, BETA],
            records[i, KINK],
            records[i, LO],
            records[i, HI],
            records[i, RIDGE],
        )
        z = -(even + odd + records[i, SHIFT])
        f = diagonal * b - z
        gain = -np.inf  # by how much the objective falls along the better of the two ways open to b
        if b < upper:
            gain = -(f + e if b >= 0.0 else f - e)
        if b > lower:
            gain = max(gain, f + e if b > 0.0 else f - e)
        loss = loss_at(z, e, lower, upper, diagonal)
        losses += loss
        if gain < -threshold:  # its complementarity term is zero
            marks[i] = SHRUNK
            left_out += loss
            continue
        worst = max(worst, gain)
        term = loss + e * abs(b) - z * b + 0.5 * diagonal * b * b
        comp += term
        if term <= level:
            marks[i] = CALM
            n_calm += 1
        if gain > NO_STEP:
            inverse = records[i, INVERSE]
            t = b - f * inverse
            if e > 0.0:
                k_e = e * inverse
                t = t - k_e if t > k_e else (t + k_e if t < -k_e else 0.0)
            t = min(max(t, lower), upper)
            records[i, BETA] = t
            change = t - b
            k = start
            while k < end:
                w[indices[k]] += change * values[k]
                k += ONE
            bias += change * column
    w[last] = bias
    return worst, losses, left_out, comp, n_calm


@jit(fastmath=CONTRACT)
def objectives(indptr, indices, values, column, records, w, u):
    """Primal value at w and value of the maximised dual at beta, w = X'b; fills u = X w."""
    losses = lower = 0.0
    products(indptr, indices, values, w, column * w[-1], u)
    for i in range(u.shape[0]):
        b, linear_term, epsilon, diagonal = records[i, BETA], records[i, SHIFT], records[i, KINK], records[i, RIDGE]
        losses += loss_at(-(u[i] + linear_term), epsilon, records[i, LO], records[i, HI], diagonal)
        lower -= linear_term * b + epsilon * abs(b) + 0.5 * diagonal * b * b
    norm2 = 0.0
    for j in range(w.shape[0]):
        norm2 += w[j] * w[j]
    return losses + 0.5 * norm2, lower - 0.5 * norm2


def _records(problem: LinearProblem, rows: SparseRows) -> Vector:
    """One line per sample, at the beginning of a cache line; multipliers zero."""
    room = np.empty((rows.n + 1) * RECORD)
    skip = -(room.ctypes.data // room.itemsize) % RECORD
    records = room[skip : skip + rows.n * RECORD].reshape(rows.n, RECORD)
    dual = problem.dual
    fill_records(records, dual.linear_term, *problem.box[1:], dual.diagonal, rows.squared_norms(), rows.column**2)
    return records


@jit
def fill_records(records, linear_term, epsilon, lower, upper, diagonal, squared_norms, constant):
    """All but the multipliers from the problem."""
    for i in range(records.shape[0]):
        records[i, BETA], records[i, SHIFT], records[i, KINK] = 0.0, linear_term[i], epsilon[i]
        records[i, LO], records[i, HI], records[i, RIDGE] = lower[i], upper[i], diagonal[i]
        records[i, INVERSE] = 1.0 / max(squared_norms[i] + constant + diagonal[i], CURVATURE_FLOOR)


def solve_coordinates(
    problem: LinearProblem,
    budget: Budget,
    *,
    seed: int = 0,
    max_passes: int | None = None,
    rival: Callable[[LinearProblem, Vector], float] | None = None,
    accept: Accept | None = None,
) -> LinearAnswer:
    """Passes until the relative gap is met, the budget or `max_passes` is used up, or the rival would be faster.

    accept : a further condition, looked at when the gap of the budget is met and again whenever it has shrunk by NEXT;
        Undecidable ends the run
    """
    rows = problem.rows.as_sparse()
    n = rows.n
    large = rows.entries * 12 > CACHE and rows.entries < SHORT_ROW * n
    records, data = _records(problem, rows), (rows.indptr, rows.indices, rows.values, rows.column)
    w, u = np.zeros(rows.d + 1), np.empty(n)
    order, visits, loud, marks = np.arange(n), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.uint8)
    state = np.uint64(88172645463325252 ^ (seed * 2654435761 & 0xFFFFFFFF))
    active, threshold, level, passes, work, frozen = n, np.inf, 0.0, 0, 0.0, 0.0
    gap, goal, ratio, next_look, looked, seen = np.inf, budget.gap, NEARLY, 4, 0, np.inf
    status: Status | None = None
    try:
        while status is None:
            state = np.uint64(arrange(order, active, BLOCK if large else 1, visits, state))
            marks[:] = LOUD
            found = run_pass(*data, records, w, visits[:active], threshold, level, marks)
            worst, losses, left_out, comp, n_calm = found
            primal = losses + frozen + 0.5 * float(w @ w)
            estimate, hidden = comp / max(primal, TINY), False
            passes += 1
            work += active / n
            frozen += left_out
            if threshold < np.inf:
                active = select(order, active, marks, CALM, order)
            status = budget.ended(passes)
            if status is None and max_passes is not None and passes >= max_passes:
                status = Status.OWN_RULE
            if ratio * estimate <= goal or status is not None:
                primal, lower = objectives(*data, records, w, u)
                gap = (primal - lower) / max(primal, TINY)
                if gap <= goal:
                    if accept is None or accept(Point(w, records[:, BETA].copy(), u)):
                        status = Status.OPTIMAL
                        break
                    goal = NEXT * gap
                    w[:] = 0.0  # X'b afresh: what was added up has drifted
                    rows.add_transposed(np.arange(n), records[:, BETA].copy(), w)
                hidden = gap > estimate  # some of it is with the samples left out
                ratio = min(gap / max(estimate, TINY), 1.0)
            budget.report(ratio * estimate, primal, passes, w, records[:, BETA])
            if passes >= next_look:
                rate = np.log(seen / estimate) / (passes - looked) if estimate < seen < np.inf else 0.0
                passes_left = np.log(ratio * estimate / goal) / rate if rate > 0.0 else np.inf  # as it looks
                seconds_left = passes_left * (active / n) * rows.entries * ENTRY
                if rival is not None and status is None and work > SETTLED:
                    status = Status.OWN_RULE if seconds_left > rival(problem, records[:, BETA]) else None
                next_look, looked, seen = passes + max(2, passes // 2), passes, estimate
            threshold = worst if worst > 0.0 else np.inf
            if status is not None:
                break
            if active < n and (active == 0 or hidden or worst <= NO_STEP * problem.scale):
                active, threshold, frozen, order = n, np.inf, 0.0, np.arange(n)
                continue
            level = CALM_SHARE * goal * primal / active
            spent, n_loud = 0, active - n_calm
            if n_loud <= FEW_LOUD * active:
                select(order, active, marks, LOUD, loud)
            while 0 < n_loud <= FEW_LOUD * active and spent < LOUD_WORK * active:
                state = np.uint64(arrange(loud, n_loud, 1, visits, state))
                run_pass(*data, records, w, visits[:n_loud], np.inf, level, marks)
                spent += n_loud
                n_loud = select(loud, n_loud, marks, LOUD, loud)
            work += spent / n
    except KeyboardInterrupt as interrupt:  # multipliers are feasible at any moment: what there is can be certified
        status = status_of(interrupt)
    except Undecidable:
        status = Status.UNDECIDED
    fresh = u if status in (Status.OPTIMAL, Status.UNDECIDED) else None
    return LinearAnswer(w, records[:, BETA].copy(), status, passes, gap, margins=fresh)
