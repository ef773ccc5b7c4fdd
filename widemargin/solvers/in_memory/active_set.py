"""An active-set method for the few free variables and worst violators of a problem in memory, compiled.

Solves   the signed dual with groups, one variable per sample, all rows in memory
Given    a full store, the terms of the dual, beta and K b
Returns  whether the violation has reached tol; beta and K b changed in place, Progress as of rounds.py
Round    the free variables and the worst violators are the block, whose problem is solved by a primal active set: with
         the factor L L' = K_FF + D + delta I of the free variables F of the block, move to the minimum on F with the
         sums of the groups kept, or to the first bound on the way, where a variable leaves F; at a minimum the worst
         violators of each group enter F. Then K b follows by the rows of what moved, and the next block is chosen.
Why      with large C a path takes tens of thousands of pair steps from one C to the next, though a few dozen variables
         are free and as many reach or leave a bound.
See      Scheinberg (2006), JMLR 7; linalg/growing_factor.py for the factor
"""

from __future__ import annotations

import numpy as np

from widemargin._jit import jit
from widemargin.gram.row_store import gather_square
from widemargin.linalg.growing_factor import append, eliminate, remove, solve_factored
from widemargin.linalg.row_sums import add_weighted_rows
from widemargin.problems.optimality import FREE, HIGHEST, LOWEST, is_free, slopes, violation_of
from widemargin.solvers.in_memory.growing import scan_point
from widemargin.solvers.in_memory.rounds import OBJECTIVE, ROWS, STEPS, VIOLATION

REGULARISATION = 1e-10  # of the largest diagonal; K_FF is often singular
MOST_ROUNDS = 20
PATIENCE = 3  # rounds in which the violation must be halved
TAKES_PART = 0.02  # of the violation: variables that violate by more are in the block
BLOCK_SHARE = 0.1  # of the violation to which a block is solved
SAME_ROOM = 1e-14  # of a change: a multiplier off its bound by the rounding of its last change is at the bound
MOST_FREE = 450  # variables of F: beyond, steps take longer than the caller's
MOST_PER_FREE = 3.0  # variables of a block for each free one, ...
FEW = 60  # ... beyond this number: pair steps are better where many go from bound to bound
MOST_CHANGES = 2  # of the free variables in a round, for each variable of the block, ...
LEAST_CHANGES = 100  # ... beyond this number


@jit
def active_set_rounds(store, terms, beta, Kb, tol, most, progress):
    """Rounds until the violation is at most tol, or falls slowly; see the module's header.

    most : variables of a block
    """
    table, before = progress.thresholds, np.inf
    middle = np.zeros(terms.n_groups)
    chosen = np.empty(most, np.int64)
    for turn in range(MOST_ROUNDS):
        progress.reached[OBJECTIVE] = scan_point(terms, beta, Kb, table)
        violation = progress.reached[VIOLATION] = violation_of(table, terms.n_groups)
        if violation <= tol:
            return True
        if not violation < np.inf or (turn % PATIENCE == 0 and violation > 0.5 * before):
            return False
        if turn % PATIENCE == 0:
            before = violation
        for g in range(terms.n_groups):
            lowest, highest = table[g, LOWEST], table[g, HIGHEST]
            middle[g] = 0.5 * (lowest + highest) if abs(lowest) < np.inf and abs(highest) < np.inf else 0.0
        count = choose(terms, beta, Kb, middle, max(0.25 * tol, TAKES_PART * violation), chosen)
        n_free = 0.0
        for g in range(terms.n_groups):
            n_free += table[g, FREE]
        if count < 2 or count > MOST_PER_FREE * n_free + FEW:
            return False
        aim = max(0.5 * tol, BLOCK_SHARE * violation)
        if not solve_chosen(store, terms, beta, Kb, chosen[:count], middle, aim, progress):
            return False
    return False


@jit(inner=True)
def choose(terms, beta, Kb, middle, least, chosen):
    """Fill `chosen` with the free variables and the violators by more than `least`, a larger one if room is short.

    Returns their number, 0 if there are more free variables than room.
    """
    while True:
        count = free = 0
        for g in range(terms.n_groups):
            for t in range(terms.starts[g], terms.starts[g + 1]):
                b = beta[t]
                f = Kb[t] + terms.diagonal[t] * b + terms.linear_term[t] - middle[g]
                rise, fall = slopes(f, b, terms.epsilon[t])
                takes = is_free(b, terms.lower[t], terms.upper[t], terms.epsilon[t])
                free += 1 if takes else 0
                takes |= (b < terms.upper[t] and rise < -least) or (b > terms.lower[t] and fall > least)
                if takes:
                    if count < chosen.shape[0]:
                        chosen[count] = t
                    count += 1
        if count <= chosen.shape[0]:
            return count
        if free > chosen.shape[0]:
            return 0
        least *= 2.0


@jit(inner=True)
def solve_chosen(store, terms, beta, Kb, chosen, middle, tol, progress):
    """Solve the problem of the chosen variables, all others fixed; return whether anything moved."""
    q, n_groups = chosen.shape[0], terms.n_groups
    K = np.empty((q, q), store.rows.dtype)
    gather_square(store.rows, store.slot, chosen, np.int64(0), K)
    values, group = np.empty((7, q)), np.empty(q, np.int64)
    g = 0
    for k in range(q):
        t = chosen[k]
        while t >= terms.starts[g + 1]:
            g += 1
        group[k] = g
        b = beta[t]
        values[0, k], values[1, k], values[2, k], values[3, k] = b, terms.lower[t], terms.upper[t], terms.epsilon[t]
        values[4, k] = Kb[t] + terms.diagonal[t] * b + terms.linear_term[t] - middle[g]
        values[5, k], values[6, k] = terms.diagonal[t], K[k, k] + terms.diagonal[t]
    steps = active_set(K, values, group, n_groups, tol)
    progress.counts[STEPS] += steps
    slots, changes, moved = np.empty(q, np.int64), np.empty(q), 0
    for k in range(q):
        t = chosen[k]
        if not abs(values[0, k]) < np.inf:
            return False
        if values[0, k] != beta[t]:
            slots[moved], changes[moved] = store.slot[t], values[0, k] - beta[t]
            moved += 1
    for k in range(q):
        t = chosen[k]
        progress.moved[t] += abs(values[0, k] - beta[t])
        beta[t] = values[0, k]
    add_weighted_rows(store.rows, np.int64(0), slots[:moved], changes[:moved], Kb)
    progress.counts[ROWS] += moved
    return moved > 0


@jit
def active_set(K, values, group, n_groups, tol):
    """Solve the problem of a block in place; return the number of changes of the free variables.

    values : rows with beta, lower, upper, epsilon, gradient, D, and the diagonal of K + D
    """
    beta, lower, upper, epsilon, f = values[0], values[1], values[2], values[3], values[4]
    D, diagonal = values[5], values[6]
    q = beta.shape[0]
    free, is_in = np.empty(q, np.int64), np.zeros(q, np.bool_)
    sign = np.zeros(q)  # of the part of the segment where epsilon > 0 that a variable of F is in
    L = np.empty((q, q))
    largest = 1e-30
    for k in range(q):
        largest = max(largest, diagonal[k])
    delta = REGULARISATION * largest
    m = 0
    for k in range(q):
        if is_free(beta[k], lower[k], upper[k], epsilon[k]):
            sign[k] = 1.0 if beta[k] > 0.0 else -1.0
            m = append(K, D, delta, L, free, m, k)
            is_in[k] = True
    direction, steps = np.empty((1 + n_groups, q)), 0
    while steps < MOST_CHANGES * q + LEAST_CHANGES and m <= MOST_FREE:
        blocked = True
        while blocked and m > 0:  # to the minimum on F
            steps += 1
            if not minimum_on(L, f, epsilon, sign, group, n_groups, free, m, direction):
                return steps
            d = direction[0]
            length, first = 1.0, -1
            for a in range(m):
                k = free[a]
                low, high = segment(lower[k], upper[k], epsilon[k], sign[k])
                room = high - beta[k] if d[a] > 0.0 else low - beta[k]
                if abs(room) < length * abs(d[a]):
                    length, first = room / d[a], a
            for a in range(m):
                d[a] *= length
            move(K, D, beta, f, free, d, m)
            for a in range(m):  # several may reach their bound at once
                k = free[a]
                low, high = segment(lower[k], upper[k], epsilon[k], sign[k])
                rounding = SAME_ROOM * abs(d[a])
                if beta[k] >= high - rounding or (a == first and d[a] > 0.0):
                    beta[k] = high
                elif beta[k] <= low + rounding or a == first:
                    beta[k] = low
            blocked = first >= 0
            if blocked:
                is_in[free[first]] = False
                m = remove(L, free, m, first)
        entered = 0
        for g in range(n_groups):
            riser = faller = -1
            lowest, highest = np.inf, -np.inf
            for k in range(q):
                if group[k] == g:
                    rise, fall = slopes(f[k], beta[k], epsilon[k])
                    if beta[k] < upper[k] and rise < lowest:
                        lowest, riser = rise, k
                    if beta[k] > lower[k] and fall > highest:
                        highest, faller = fall, k
            if highest - lowest > tol:
                for side in range(2):
                    k = riser if side == 0 else faller
                    if not is_in[k]:
                        sign[k] = 1.0 if beta[k] > 0.0 or (beta[k] == 0.0 and side == 0) else -1.0
                        m = append(K, D, delta, L, free, m, k)
                        is_in[k] = True
                        entered += 1
        if entered == 0:
            return steps
    return steps


@jit(inner=True)
def segment(lower, upper, epsilon, sign):
    """Return the ends of the part of a box in which the slope of a variable is linear."""
    if epsilon > 0.0:
        if sign > 0.0:
            lower = max(lower, 0.0)
        else:
            upper = min(upper, 0.0)
    return lower, upper


@jit
def minimum_on(L, f, epsilon, sign, group, n_groups, free, m, direction):
    """Fill direction[0] with the way to the minimum on F; return whether there is one.

    direction[1 + g] : M^-1 times the indicator of group g
    """
    for r in range(1 + n_groups):
        x = direction[r]
        for a in range(m):
            k = free[a]
            if r == 0:
                x[a] = -(f[k] + sign[k] * epsilon[k])
            else:
                x[a] = 1.0 if group[k] == r - 1 else 0.0
    for r in range(1, 1 + n_groups, 2):  # right-hand sides in twos
        solve_factored(L, m, direction[r - 1], direction[r])
    if n_groups % 2 == 0:
        solve_factored(L, m, direction[n_groups], np.zeros(m))
    d = direction[0]
    for _ in range(2):  # the second turn removes rounding errors of sums that cancel
        S, b = np.zeros((n_groups, n_groups)), np.zeros(n_groups)
        for a in range(m):
            g = group[free[a]]
            b[g] += d[a]
            for r in range(n_groups):
                S[g, r] += direction[1 + r, a]
        for g in range(n_groups):
            if S[g, g] == 0.0:
                S[g, g] = 1.0
        eliminate(S, b)
        for r in range(n_groups):
            x, factor = direction[1 + r], b[r]
            for a in range(m):
                d[a] -= factor * x[a]
    total = 0.0
    for a in range(m):
        total += abs(d[a])
    return total < np.inf


@jit(inner=True)
def move(K, D, beta, f, free, change, m):
    """Move the variables of F, and the gradient of the block with them."""
    for a in range(m):
        k = free[a]
        beta[k] += change[a]
        f[k] += change[a] * D[k]
    add_weighted_rows(K, np.int64(0), free[:m], change[:m], f)
