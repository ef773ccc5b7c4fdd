"""A block that grows: rows are evaluated for the worst violators, and every variable that has a row stays in the block.

Solves   the signed dual with groups of two classes, on rows evaluated on demand (gram/pair.py)
Given    box and terms of the dual, a start and its function F
Returns  beta and F changed in place; steps, rounds, thresholds of the groups, lowest curvature
Round    look for the worst violators without a row -> their rows -> pair steps on the block of all variables with rows
         -> F += K (change of beta) in float64
Why      the machines of many classes are hundreds of small problems with few support vectors each. Whole kernel
         matrices of pairs cost more than solving them, and a general solver costs more in Python than in work: here a
         problem is one compiled call, or one per round where the kernel has no rows in compiled code.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import REASSOCIATE, jit
from widemargin.gram.pair import PairGram, can_fill, evaluate, gather_square
from widemargin.linalg.row_sums import add_weighted_rows
from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import scan_groups, violation_of
from widemargin.solvers.packed import key_limits, larger
from widemargin.solvers.pair_steps import solve_pairs

NEW = 24  # variables that get a row in a round: more are evaluated in vain, fewer take more rounds
NEW_FROM_PYTHON = 96  # the same where rows come from Kernel.block, which is quicker per row the more there are
INNER_SHARE = 0.1  # of the violation: how far the block is solved before new variables are asked for
ROUNDS = 200  # what has not ended by then goes on in the general block solver
FIRST_CAPACITY = 256  # variables the block has room for at first; doubled when it is full
BINS = 64  # of the histogram that finds the worst violators without sorting


def solve_growing(
    dual: SignedDual, gram: PairGram, beta: NDArray, function: NDArray, tol: float, max_steps: int
) -> tuple[int, int, NDArray, float]:
    """See the module's header: (steps, rounds, thresholds of the groups as of `scan_groups`, lowest curvature)."""
    compiled = can_fill(gram.source)
    fresh = np.empty(NEW if compiled else NEW_FROM_PYTHON, np.int64)
    counts = np.zeros(3, np.int64)  # steps, rounds, new variables that wait for a row
    reached = np.zeros(2)  # violation, lowest curvature
    table = np.empty((dual.n_groups, 4))
    position, limits = key_limits(len(dual), gram.dtype)
    while True:
        grow(
            gram.source, *gram.parts, gram.diag, function, beta, dual.lower, dual.upper, dual.epsilon,
            dual.diagonal, dual.linear_term,
            dual.group_starts, tol, max_steps, position, limits, fresh, counts, reached, table,
        )  # fmt: skip
        if not counts[2]:
            break
        gram.need(np.sort(fresh[: counts[2]]))
    gram.rows_computed = int(gram.used[0])
    return int(counts[0]), int(counts[1]), table, float(reached[1])


@jit
def grow(
    source, rows, slot, used, first, second, first_known, second_known, diag, F, beta, lower, upper, epsilon,
    diagonal, linear_term,
    starts, tol, max_steps, position, limits, fresh, counts, reached, table,
):  # fmt: skip
    """Rounds until the problem is solved, or until rows are needed that only Python can evaluate."""
    n = beta.shape[0]
    n_groups = starts.shape[0] - 1
    active = np.empty(n, np.int64)
    q = 0
    for t in range(n):
        if slot[t] >= 0:
            active[q] = t
            q += 1
    capacity = max(FIRST_CAPACITY, q)
    K = np.empty((capacity, capacity), rows.dtype)
    gathered = 0
    middles = np.empty(n_groups)
    rise = np.empty(n)
    fall = np.empty(n)
    slopes_outside(beta, lower, upper, epsilon, diagonal, linear_term, slot, rise, fall)
    counts[2] = 0
    waited = counts[1] > 0
    while True:
        violation, count = look(
            F,
            beta,
            lower,
            upper,
            epsilon,
            diagonal,
            linear_term,
            starts,
            active[:q],
            rise,
            fall,
            tol,
            middles,
            fresh,
            table,
        )
        if not waited:
            reached[0] = violation
            if violation <= tol or not np.isfinite(violation) or counts[0] >= max_steps or counts[1] >= ROUNDS:
                return
            counts[1] += 1
            if count > 0:
                if not can_fill(source):
                    counts[2] = count
                    return
                evaluate(source, rows, slot, used, first, second, first_known, second_known, fresh[:count])
                for k in range(count):
                    active[q + k] = fresh[k]
                    rise[fresh[k]] = np.inf
                    fall[fresh[k]] = -np.inf
                q += count
                if n_groups > 1:  # groups must lie together in the block
                    sort_active(active, slot)
                    gathered = 0
        else:  # the rows asked for are there now
            count = q
            waited = False
        if q > capacity:
            capacity = min(n, 2 * q)
            K = np.empty((capacity, capacity), rows.dtype)
            gathered = 0
        gather_square(rows, slot, active[:q], gathered, K)
        gathered = q
        inner_tol = max(0.5 * tol, INNER_SHARE * reached[0]) if count > 0 else 0.5 * tol
        taken, lowest, finite = improve(
            K, rows, slot, active[:q], middles, diag, F, beta, lower, upper, epsilon, diagonal, linear_term,
            starts, inner_tol,
            max_steps - counts[0], position, limits,
        )  # fmt: skip
        reached[1] = min(reached[1], lowest)
        counts[0] += taken
        if not finite or (taken == 0 and count == 0):
            return


@jit
def sort_active(active, slot):
    """All variables with a row, in order."""
    q = 0
    for t in range(slot.shape[0]):
        if slot[t] >= 0:
            active[q] = t
            q += 1


@jit
def improve(
    K, rows, slot, active, middles, diag, F, beta, lower, upper, epsilon, diagonal, linear_term, starts, tol,
    max_steps, position, limits,
):  # fmt: skip
    """Solve the block K of the active variables and carry the change into F.

    Returns the number of steps, the lowest curvature, and False for a step without end, which is not taken.
    """
    q = active.shape[0]
    n_groups = starts.shape[0] - 1
    f = np.empty(q, K.dtype)
    total_diagonal = np.empty(q, K.dtype)
    inner = np.empty((5, q))  # beta, lower, upper, epsilon and diagonal of the block
    inner_starts = np.zeros(n_groups + 1, np.int64)
    g = 0
    for k in range(q):
        t = active[k]
        if n_groups > 1:
            while t >= starts[g + 1]:
                g += 1
                inner_starts[g] = k
        f[k] = F[t] + diagonal[t] * beta[t] + linear_term[t] - middles[g]
        total_diagonal[k] = diag[t] + diagonal[t]
        inner[0, k], inner[1, k], inner[2, k], inner[3, k], inner[4, k] = (
            beta[t],
            lower[t],
            upper[t],
            epsilon[t],
            diagonal[t],
        )
    for later in range(g + 1, n_groups + 1):
        inner_starts[later] = q
    steps, _, lowest = solve_pairs(
        K,
        f,
        inner[0],
        inner[1],
        inner[2],
        inner[3],
        inner[4],
        total_diagonal,
        inner_starts,
        tol,
        max_steps,
        position,
        limits,
    )
    moved = np.empty(q, np.int64)
    change = np.empty(q)
    count = 0
    for k in range(q):
        if not np.isfinite(inner[0, k]):  # the general solver will name the cause
            return 0, lowest, False
        if inner[0, k] != beta[active[k]]:
            moved[count] = slot[active[k]]
            change[count] = inner[0, k] - beta[active[k]]
            count += 1
    for k in range(q):
        beta[active[k]] = inner[0, k]
    add_weighted_rows(rows, 0, moved[:count], change[:count], F)
    return steps, lowest, True


@jit
def slopes_outside(beta, lower, upper, epsilon, diagonal, linear_term, slot, rise, fall):
    """Slopes of the variables without a row, less F: their beta stays what it is, so that only F changes.

    Infinite where a direction is closed, and for variables with a row.
    """
    for t in range(beta.shape[0]):
        rise[t] = np.inf
        fall[t] = -np.inf
        if slot[t] >= 0:
            continue
        b = beta[t]
        base = diagonal[t] * b + linear_term[t]
        if b < upper[t]:
            rise[t] = base + epsilon[t] if b >= 0.0 else base - epsilon[t]
        if b > lower[t]:
            fall[t] = base + epsilon[t] if b > 0.0 else base - epsilon[t]


@jit(fastmath=REASSOCIATE)
def extreme_slopes(F, rise, fall, first, last):
    """Lowest F + rise and highest F + fall on first:last; the third number is not 0 if an F is not finite."""
    F, rise, fall = F[first:last], rise[first:last], fall[first:last]
    lowest = highest = -np.inf
    finite = 0.0
    for t in range(last - first):
        lowest = larger(lowest, -(F[t] + rise[t]))
        highest = larger(highest, F[t] + fall[t])
        finite += F[t] - F[t]
    return -lowest, highest, finite


@jit
def look(F, beta, lower, upper, epsilon, diagonal, linear_term, starts, active, rise, fall, tol, middles, fresh, table):
    """The violation, the thresholds of each group and the middle between them, and the worst violators without a row.

    The latter go to `fresh`, as many as it has room for; their number is returned beside the violation. `rise` and
    `fall` come from `slopes_outside`. Columns 2 and 3 of `table` are filled only where the problem is solved.
    """
    n = F.shape[0]
    n_groups = starts.shape[0] - 1
    for g in range(n_groups):
        table[g, 0], table[g, 1], table[g, 2] = extreme_slopes(F, rise, fall, starts[g], starts[g + 1])
        table[g, 3] = 0.0
    g = 0
    for t in active:
        while t >= starts[g + 1]:
            g += 1
        b = beta[t]
        f = F[t] + diagonal[t] * b + linear_term[t]
        up = f + epsilon[t] if b >= 0.0 else f - epsilon[t]
        down = f + epsilon[t] if b > 0.0 else f - epsilon[t]
        if b < upper[t] and up < table[g, 0]:
            table[g, 0] = up
        if b > lower[t] and down > table[g, 1]:
            table[g, 1] = down
    violation = violation_of(table, n_groups)
    count = np.int64(0)  # a plain 0 is a type of its own to Numba, which would compile `take_worst` twice
    if violation <= tol or not np.isfinite(violation):
        f = np.empty(n)
        for t in range(n):
            f[t] = F[t] + diagonal[t] * beta[t] + linear_term[t]
        scanned = scan_groups(f, beta, lower, upper, epsilon, starts, n_groups, 0.0)
        for g in range(n_groups):  # assigning slices would compile the message of an error that cannot come: 3 s
            for k in range(4):
                table[g, k] = scanned[g, k]
        return violation_of(table, n_groups), count
    number = np.empty((2, n), np.int64)  # violators that would rise, and those that would fall, ...
    amount = np.empty((2, n))  # ... and by how much they violate
    room = fresh.shape[0] // (2 * n_groups)
    for g in range(n_groups):
        middles[g] = 0.0
        if not np.isfinite(table[g, 0]) or not np.isfinite(table[g, 1]):
            continue  # nothing can rise, or nothing can fall: this group cannot move
        middle = middles[g] = 0.5 * (table[g, 0] + table[g, 1])
        rising = falling = 0
        for t in range(starts[g], starts[g + 1]):
            if F[t] + rise[t] < middle:
                number[0, rising] = t
                amount[0, rising] = middle - (F[t] + rise[t])
                rising += 1
            elif F[t] + fall[t] > middle:
                number[1, falling] = t
                amount[1, falling] = F[t] + fall[t] - middle
                falling += 1
        count = take_worst(number[0, :rising], amount[0, :rising], room, fresh, count)
        count = take_worst(number[1, :falling], amount[1, :falling], room, fresh, count)
    return violation, count


@jit
def take_worst(number, amount, room, fresh, count):
    """Write the numbers of the `room` largest amounts to fresh[count:]; among equals, evenly spread ones."""
    n = number.shape[0]
    if n <= room:
        for k in range(n):
            fresh[count + k] = number[k]
        return count + n
    largest = 0.0
    for k in range(n):
        largest = max(largest, amount[k])
    histogram = np.zeros(BINS + 1, np.int64)
    scale = BINS / largest
    for k in range(n):
        histogram[int(amount[k] * scale)] += 1
    edge = BINS
    above = 0
    while edge > 0 and above + histogram[edge] <= room:
        above += histogram[edge]
        edge -= 1
    wanted = min(room - above, histogram[edge])
    seen = taken = 0
    for k in range(n):
        place = int(amount[k] * scale)
        if place > edge:
            fresh[count] = number[k]
            count += 1
        elif place == edge:
            seen += 1
            if taken < wanted and 2 * seen * wanted >= (2 * taken + 1) * histogram[edge]:
                fresh[count] = number[k]
                count += 1
                taken += 1
    return count
