"""Solve and certify the problems of a path on one full matrix, each started at the answer before it, compiled.

Solves   signed duals with groups and finite boxes, one variable per sample, that share a kernel matrix
Given    the matrix and its errors, the problems one under the other (Links), the point at which the first one starts
Returns  how many problems are solved and proven, and their answers as arrays (Answers); the point reached, in place
Link     the answer before it, moved into the box (problems/warm_start.py) -> rounds (rounds.py) on a block that grows
         by the worst violators, or on all variables where many take part; where pair steps have cost more than that
         would, an active set if few variables are free (active_set.py), otherwise a Newton step, which the caller
         makes -> certificate from K b carried along with a bound on its error
Why      hundreds of problems of a search take tenths of a millisecond each, less than Python would add to them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.certificate.bounds import FEASIBILITY
from widemargin.certificate.certificate import FACTS
from widemargin.certificate.in_memory import certify_known
from widemargin.gram.row_store import WarmStore
from widemargin.kernels.errors import SECOND_ORDER, UNIT
from widemargin.linalg.arrays import Vector
from widemargin.linalg.row_sums import add_weighted_rows
from widemargin.problems.dual import Terms
from widemargin.problems.optimality import slopes
from widemargin.problems.warm_start import SAME, nearest_feasible
from widemargin.solvers.in_memory.active_set import active_set_rounds
from widemargin.solvers.in_memory.nearby import look_around
from widemargin.solvers.in_memory.rounds import (
    CURVATURE,
    ROUNDS,
    ROWS,
    STEPS,
    VIOLATION,
    WORK,
    Progress,
    Rule,
    solve_rounds,
)

GAP_BOUND, INFEASIBILITY = FACTS.index("violation"), FACTS.index("infeasibility")

# The active set takes over from pair steps where it is cheap; its cost, in units of work (rounds.WORK), is that of the
# factor and some passes over it.
FEW_FREE = 400.0  # free variables up to which it is tried; LAPACK factorises larger matrices faster
MOST_CHOSEN = 600  # variables of its block
ACTIVE_SET, ACTIVE_SET_SQUARE, ACTIVE_SET_CUBE = 3e4, 5.0, 0.1  # cost: and per square and cube of the free variables

# How a call ended: all links proven; pair steps are slower than a Newton step; other failures; no way into the box.
SOLVED, SLOW, UNSOLVED, BLOCKED = range(4)


class Links(NamedTuple):
    """Problems of a path: row p of each array has the terms of problem p; groups are the same in all.

    ratios : C of each problem over that of the one before it
    """

    linear_term: Vector
    lower: Vector
    upper: Vector
    diagonal: Vector
    epsilon: Vector
    start: Vector
    starts: NDArray[np.int64]
    n_groups: int
    ratios: Vector


class Limits(NamedTuple):
    """When a link is solved, and when steps are too many.

    tol, aim : violation to prove, and to reach by steps
    most_steps : of one link
    patience, worth : Newton steps that pair steps may cost before a call ends, in the first link and in all others
    newton_step, newton_cube : cost of a Newton step, of which a part grows with the cube of the free variables, in
        units of work (rounds.WORK)
    """

    tol: float
    aim: float
    most_steps: int
    patience: float
    worth: float
    newton_step: float
    newton_cube: float


class Answers(NamedTuple):
    """Answers to the problems of a path, one per row.

    beta, Kb, thresholds : as of a Solution
    facts : of the certificate (FACTS)
    counts : steps and rounds
    """

    beta: Vector
    Kb: Vector
    thresholds: Vector
    facts: Vector
    counts: NDArray[np.int64]


@jit
def follow_links(store, errors, links, limits, keys, point, first, is_begun, answers):
    """Solve the links from `first` on; return the number of the first one that is not solved, and how it ended.

    point : the answer to the link before, or, if `is_begun`, a feasible point of the first link, with K b and the bound
        on its error; replaced by the point reached
    """
    n_groups, n_links = links.n_groups, links.lower.shape[0]
    counts, reached, table = np.zeros(4, np.int64), np.zeros(3), np.empty((n_groups, 4))
    moved, before, largest_diagonal = np.empty(point.beta.shape[0]), np.empty(point.beta.shape[0]), 0.0
    for t in range(store.diag.shape[0]):
        largest_diagonal = max(largest_diagonal, store.diag[t])
    for p in range(first, n_links):
        terms = Terms(
            links.linear_term[p], links.lower[p], links.upper[p], links.diagonal[p], links.epsilon[p], links.start[p],
            links.starts, n_groups,
        )  # fmt: skip
        counts[STEPS] = counts[ROUNDS] = counts[ROWS] = counts[WORK] = 0
        reached[VIOLATION] = reached[CURVATURE] = 0.0
        for t in range(moved.shape[0]):
            moved[t] = 0.0
        if p > first or not is_begun:
            n_rows = begin_link(store, errors, terms, links.ratios[p], limits.tol, point, before, moved)
            if n_rows < 0:
                return p, BLOCKED
        else:
            n_rows = 0
            for t in range(before.shape[0]):
                before[t] = point.Kb[t]
        takes_many, n_free = look_around(terms, point.beta, point.Kb, table)
        patience = limits.patience if p == first else limits.worth
        most = int(limits.most_steps - answers.counts[p, 0])
        progress = Progress(counts, reached, table, moved)
        while True:
            are_few = n_free <= FEW_FREE
            if are_few:
                cost = n_free * n_free * (ACTIVE_SET_SQUARE + ACTIVE_SET_CUBE * n_free) + ACTIVE_SET
            else:
                cost = limits.newton_step + limits.newton_cube * n_free * n_free * n_free
            work = int(counts[WORK] + patience * cost)
            rule = Rule(limits.aim, limits.aim, most, most, work)
            if takes_many:
                solve_rounds(store, terms, point.beta, point.Kb, rule, keys, progress)
            else:
                warm = WarmStore(store.rows, store.slot, store.diag, store.fast)
                solve_rounds(warm, terms, point.beta, point.Kb, rule, keys, progress)
            is_cut = counts[WORK] >= work and counts[STEPS] < most and limits.aim < reached[VIOLATION] < np.inf
            if not is_cut or not are_few:
                break
            if active_set_rounds(store, terms, point.beta, point.Kb, limits.aim, MOST_CHOSEN, progress):
                break
            patience *= 2.0
            answers.counts[p, 1] += counts[ROUNDS]
            counts[ROUNDS] = 0  # of which each call may take some
            _, n_free = look_around(terms, point.beta, point.Kb, table)
        add_error(errors, before, moved, n_rows + counts[ROWS], point.error)
        answers.counts[p, 0] += counts[STEPS]
        answers.counts[p, 1] += counts[ROUNDS]
        if not reached[VIOLATION] <= limits.aim or reached[CURVATURE] < 0.0:
            return p, SLOW if is_cut else UNSOLVED
        threshold = certify_known(terms, point, largest_diagonal, answers.facts[p])
        if not (answers.facts[p, GAP_BOUND] <= limits.tol and answers.facts[p, INFEASIBILITY] <= FEASIBILITY):
            return p, UNSOLVED
        for g in range(n_groups):
            answers.thresholds[p, g] = threshold[g]
        for t in range(point.beta.shape[0]):
            answers.beta[p, t], answers.Kb[p, t] = point.beta[t], point.Kb[t]
    return n_links, SOLVED


@jit(inner=True)
def begin_link(store, errors, terms, ratio, tol, point, before, moved):
    """Move the point, the answer to a neighbouring problem, into the box; K b follows by the rows of what moved.

    before : filled with K b before rows are added; moved : with the sizes of the changes
    Returns the number of rows, or -1 if the sums of the groups cannot be restored.
    """
    n = point.beta.shape[0]
    scale = better_scale(terms, point, ratio, tol)
    sums, start = np.zeros(terms.n_groups), np.empty(n)
    for g in range(terms.n_groups):
        for t in range(terms.starts[g], terms.starts[g + 1]):
            sums[g] += terms.start[t]
    if not nearest_feasible(point.beta, scale, terms.lower, terms.upper, sums, terms.starts, start):
        return -1
    if scale != 1.0:  # every product is rounded once, of K b and of the multipliers
        sizes = 0.0
        for t in range(n):
            point.beta[t] *= scale
            sizes += abs(point.beta[t]) * errors.size[t]
        for t in range(n):
            point.Kb[t] *= scale
            rounding = UNIT * (abs(point.Kb[t]) + errors.size[t] * sizes)
            point.error[t] = SECOND_ORDER * (scale * point.error[t] + rounding)
    slots, changes = np.empty(n, np.int64), np.empty(n)
    count = 0
    for t in range(n):
        before[t] = point.Kb[t]
        if start[t] != point.beta[t]:
            slots[count], changes[count] = store.slot[t], start[t] - point.beta[t]
            moved[t] += abs(changes[count])
            point.beta[t] = start[t]
            count += 1
    add_weighted_rows(store.rows, np.int64(0), slots[:count], changes[:count], point.Kb)
    return count


@jit(inner=True)
def better_scale(terms, point, ratio, tol):
    """Return the factor on all multipliers, 1 or the ratio of C, from which fewer steps are to be expected.

    It is the ratio if that lowers the dual, and either few multipliers are free or it puts fewer in the wrong place:
    without a factor, those at their bounds; with it, those whose slopes are then not on the right side of the mean
    slope of the free ones.
    """
    if not 0.0 < ratio < np.inf or ratio == 1.0:
        return 1.0
    bounded = wrong = n_free = 0
    curvature = linear = 0.0
    for g in range(terms.n_groups):
        total, free = 0.0, 0
        for turn in range(2):
            threshold = total / max(1, free)
            for t in range(terms.starts[g], terms.starts[g + 1]):
                b, lower, upper = ratio * point.beta[t], terms.lower[t], terms.upper[t]
                smooth = ratio * point.Kb[t] + terms.diagonal[t] * b
                rise, fall = slopes(smooth + terms.linear_term[t], b, terms.epsilon[t])
                can_rise, can_fall = upper - b > SAME * abs(upper), b - lower > SAME * abs(lower)
                if turn == 0:
                    curvature += b * smooth
                    linear += b * terms.linear_term[t] + terms.epsilon[t] * abs(b)
                    if b != 0.0 and can_rise and can_fall:
                        total += rise
                        free += 1
                        n_free += 1
                else:
                    bounded += 1 if b != 0.0 and not (can_rise and can_fall) else 0
                    wrong += 1 if (can_rise and rise < threshold - tol) or (can_fall and fall > threshold + tol) else 0
    is_lower = 0.5 * curvature * (1.0 - 1.0 / (ratio * ratio)) + linear * (1.0 - 1.0 / ratio) < 0.0
    return ratio if is_lower and (n_free <= FEW_FREE or wrong < bounded) else 1.0


@jit(inner=True)
def add_error(errors, before, moved, n_rows, error):
    """Add to the bound on the error of K b what rows with changes of sizes `moved` have added (`Scores.error_after`).

    before : K b without these rows
    """
    if n_rows == 0:
        return
    n, n_terms = moved.shape[0], errors.left.shape[1]
    sums, sizes = np.zeros(n_terms), 0.0
    for t in range(n):
        if moved[t] > 0.0:
            sizes += moved[t] * errors.size[t]
            for q in range(n_terms):
                sums[q] += moved[t] * errors.right[t, q]
    roundings = (n_rows + 5) * UNIT
    share = roundings / (1.0 - roundings) if roundings < 0.5 else np.inf
    for t in range(n):
        own = share * (abs(before[t]) + error[t] + errors.size[t] * sizes)
        for q in range(n_terms):
            own += errors.left[t, q] * sums[q]
        error[t] = error[t] + SECOND_ORDER * own if own == own else np.inf
