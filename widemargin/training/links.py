"""Solve and certify the problems of a path on one full matrix, each started at the answer before it, compiled.

Solves   signed duals with groups and finite boxes, one variable per sample, that share a kernel matrix
Given    the matrix and its errors, the problems one under the other (Links), the point at which the first one starts
Returns  how many problems are solved and proven, and their answers as arrays (Answers); the point reached, in place
Link     the answer before it, moved into the box (problems/warm_start.py) -> rounds (rounds.py) on a block that grows
         by the worst violators, or on all variables where many take part -> certificate from K b carried along with a
         bound on its error. Where pair steps have cost more than a Newton step would, the caller makes one.
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
from widemargin.problems.warm_start import MOSTLY_BOUNDED, count_bounded, nearest_feasible
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
            n_rows = begin_link(store, errors, terms, links.ratios[p], point, before, moved)
            if n_rows < 0:
                return p, BLOCKED
        else:
            n_rows = 0
            for t in range(before.shape[0]):
                before[t] = point.Kb[t]
        takes_many, n_free = look_around(terms, point.beta, point.Kb, table)
        patience = limits.patience if p == first else limits.worth
        work = int(patience * (limits.newton_step + limits.newton_cube * n_free * n_free * n_free))
        most = int(limits.most_steps - answers.counts[p, 0])
        rule = Rule(limits.aim, limits.aim, most, most, work)
        progress = Progress(counts, reached, table, moved)
        if takes_many:
            solve_rounds(store, terms, point.beta, point.Kb, rule, keys, progress)
        else:
            warm = WarmStore(store.rows, store.slot, store.diag, store.fast)
            solve_rounds(warm, terms, point.beta, point.Kb, rule, keys, progress)
        add_error(errors, before, moved, n_rows + counts[ROWS], point.error)
        answers.counts[p, 0] += counts[STEPS]
        answers.counts[p, 1] += counts[ROUNDS]
        if not reached[VIOLATION] <= limits.aim or reached[CURVATURE] < 0.0:
            is_cut = counts[WORK] >= work and counts[STEPS] < most and reached[VIOLATION] < np.inf
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
def begin_link(store, errors, terms, ratio, point, before, moved):
    """Move the point, the answer to a neighbouring problem, into the box; K b follows by the rows of what moved.

    before : filled with K b before rows are added; moved : with the sizes of the changes
    Returns the number of rows, or -1 if the sums of the groups cannot be restored.
    """
    n = point.beta.shape[0]
    bounded, free = count_bounded(point.beta, ratio, terms.lower, terms.upper)
    scale = ratio if bounded > MOSTLY_BOUNDED * free and 0.0 < ratio < np.inf else 1.0
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
