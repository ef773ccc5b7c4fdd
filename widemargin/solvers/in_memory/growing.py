"""The block of a problem in memory: the whole problem, or a block that grows by the worst violators.

The type of the store determines which of the two applies:

FullStore    all variables, from the start; the code for growing blocks is not compiled for it
RowStore     begins with the support vectors that have a row, and grows slowly, since each variable needs a row
WarmStore    begins empty, at a point near the answer, and doubles: most variables stay as they are
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.gram.row_store import FullStore, WarmStore, evaluate_rows, gather_square, has_type
from widemargin.problems.optimality import gradient_and_value, scan_groups, slopes, violation_of
from widemargin.solvers.in_memory.violators import extreme_slopes, take_worst

NEW = 24  # variables that get a row in a round: more would include useless rows, fewer take more rounds
GROWTH = 1.0  # of the block in a round, if that is more and all rows are in memory
FIRST_CAPACITY = 256  # initial capacity of the block in variables; doubled when it is full


class ActiveBlock(NamedTuple):
    """The active variables and their kernel matrix.

    active : their numbers; each has a row
    K : kernel matrix, with room for more
    rise, fall : slopes minus K b of all other variables, constant while these are inactive; infinite
        where a direction is closed, and for active variables
    growth : share of its variables that may be added in a round
    """

    active: NDArray[np.int64]
    K: NDArray
    rise: NDArray[np.float64]
    fall: NDArray[np.float64]
    growth: float


def begin_block(store, terms, beta):
    """Return the initial block."""
    return _begin_of(store)(store, terms, beta)


def evaluate_and_choose(store, terms, beta, Kb, block, tol, table):
    """Fill `table` with the thresholds (`scan_groups`); returns the variables to get a row, and the dual value.

    For a growing block, columns 2 and 3 (sum and number of free slopes) and the value are computed only if the problem
    is solved.
    """
    choose = _evaluate_whole if has_type(store, FullStore) else _evaluate_growing
    return choose(store, terms, beta, Kb, block, tol, table)


def add_to_block(store, terms, block, new):
    """Return the block with the new variables added and their rows evaluated."""
    return (_unchanged_block if has_type(store, FullStore) else _enlarged_block)(store, terms, block, new)


@overload(begin_block)
def _choose_begin(store, terms, beta):
    return _begin_of(store)


def _begin_of(store):
    """Return the function that makes the initial block for this type of store."""
    if has_type(store, FullStore):
        return _whole_block
    return _empty_block if has_type(store, WarmStore) else _growing_block


@overload(evaluate_and_choose)
def _choose_evaluate(store, terms, beta, Kb, block, tol, table):
    return _evaluate_whole if has_type(store, FullStore) else _evaluate_growing


@overload(add_to_block)
def _choose_add(store, terms, block, new):
    return _unchanged_block if has_type(store, FullStore) else _enlarged_block


def _whole_block(store, terms, beta):
    nothing = np.empty(0)
    return ActiveBlock(store.slot, store.fast, nothing, nothing, 0.0)


def _evaluate_whole(store, terms, beta, Kb, block, tol, table):
    value = scan_point(terms, beta, Kb, table)
    return np.empty(0, np.int64), value


def _unchanged_block(store, terms, block, new):
    return block


def _growing_block(store, terms, beta):
    is_active = np.empty(beta.shape[0], np.bool_)
    for t in range(beta.shape[0]):
        is_active[t] = store.slot[t] >= 0 and beta[t] != 0.0  # others with a row are added when they violate
    return block_with(store, terms, beta, is_active, 0.0)


def _empty_block(store, terms, beta):
    return block_with(store, terms, beta, np.zeros(beta.shape[0], np.bool_), GROWTH)


@jit(inner=True)
def block_with(store, terms, beta, is_active, growth):
    """Return the block of some variables."""
    n = beta.shape[0]
    active = np.empty(n, np.int64)
    rise, fall = np.empty(n), np.empty(n)
    q = 0
    for t in range(n):
        rise[t], fall[t] = np.inf, -np.inf
        if is_active[t]:
            active[q] = t
            q += 1
        else:
            up, down = slopes(terms.diagonal[t] * beta[t] + terms.linear_term[t], beta[t], terms.epsilon[t])
            if beta[t] < terms.upper[t]:
                rise[t] = up
            if beta[t] > terms.lower[t]:
                fall[t] = down
    capacity = max(FIRST_CAPACITY, q)
    K = np.empty((capacity, capacity), store.fast.dtype)
    gather_square(store.fast, store.slot, active[:q], np.int64(0), K)
    return ActiveBlock(active[:q], K, rise, fall, growth)


def _evaluate_growing(store, terms, beta, Kb, block, tol, table):
    n_groups = table.shape[0]
    for g in range(n_groups):
        first, last = terms.starts[g], terms.starts[g + 1]
        table[g, 0], table[g, 1], table[g, 2] = extreme_slopes(Kb, block.rise, block.fall, first, last)
        table[g, 3] = 0.0
    widen_by_active(terms, beta, Kb, block.active, table)
    violation = violation_of(table, n_groups)
    if violation <= tol or not violation < np.inf:
        value = scan_point(terms, beta, Kb, table)
        return np.empty(0, np.int64), value
    new = np.empty(max(NEW, int(block.growth * block.active.shape[0])), np.int64)
    count = np.int64(0)  # a plain 0 is a type of its own to Numba, which would compile `take_worst` twice
    room = new.shape[0] // (2 * n_groups)
    for g in range(n_groups):
        if abs(table[g, 0]) < np.inf and abs(table[g, 1]) < np.inf:  # else this group cannot move
            group, midpoint = (terms.starts[g], terms.starts[g + 1]), 0.5 * (table[g, 0] + table[g, 1])
            count = take_worst(Kb, (block.rise, block.fall), group, midpoint, new, count, room)
    return new[:count], np.nan


def _enlarged_block(store, terms, block, new):
    if new.shape[0] == 0:
        return block
    old, K = block.active.shape[0], block.K
    q = old + new.shape[0]
    active, missing = np.empty(q, np.int64), np.empty(new.shape[0], np.int64)
    count = 0
    for k in range(old):
        active[k] = block.active[k]
    for k in range(new.shape[0]):
        t = active[old + k] = new[k]
        block.rise[t], block.fall[t] = np.inf, -np.inf
        if store.slot[t] < 0:
            missing[count] = t
            count += 1
    evaluate_rows(store, missing[:count])
    gathered = np.int64(old)
    if terms.starts.shape[0] > 2:  # groups must lie together in the block
        sort_numbers(active, store.slot.shape[0])
        gathered = np.int64(0)
    if q > K.shape[0]:
        capacity = min(store.slot.shape[0], 2 * q)
        K = np.empty((capacity, capacity), K.dtype)
        gathered = np.int64(0)
    gather_square(store.fast, store.slot, active, gathered, K)
    return ActiveBlock(active, K, block.rise, block.fall, block.growth)


@jit(inner=True)
def sort_numbers(numbers, n):
    """Sort different numbers below n in place."""
    is_there = np.zeros(n, np.bool_)
    for t in numbers:
        is_there[t] = True
    k = 0
    for t in range(n):
        if is_there[t]:
            numbers[k] = t
            k += 1


@jit(inner=True)
def scan_point(terms, beta, Kb, table):
    """Fill `table` with the thresholds of all variables; returns the value of the dual."""
    f = np.empty(beta.shape[0])
    value = gradient_and_value(Kb, beta, terms.linear_term, terms.diagonal, terms.epsilon, f)
    found = scan_groups(f, beta, terms.lower, terms.upper, terms.epsilon, terms.starts, table.shape[0])
    for g in range(table.shape[0]):  # slice assignment would compile an error message that cannot occur: 3 s
        for k in range(4):
            table[g, k] = found[g, k]
    return value


@jit(inner=True)
def widen_by_active(terms, beta, Kb, active, table):
    """Widen the lowest and highest slopes of each group by those of the active variables."""
    for t in active:
        g = 0
        while t >= terms.starts[g + 1]:
            g += 1
        f = Kb[t] + terms.diagonal[t] * beta[t] + terms.linear_term[t]
        up, down = slopes(f, beta[t], terms.epsilon[t])
        if beta[t] < terms.upper[t] and up < table[g, 0]:
            table[g, 0] = up
        if beta[t] > terms.lower[t] and down > table[g, 1]:
            table[g, 1] = down
