"""Sub-problems on a working set of variables, for chunking and decomposition.

The variables outside keep their values, and the gradient contains their contribution: the sub-problem is the same
problem on fewer variables, started from their values. It is solved by

    conjugate-gradient   projected conjugate gradient (conjugate_gradient.py), as in Platt's comparison
    clarabel, cvxopt     a generic package (qp.py), as in the text books
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual
from widemargin.solvers.reference.conjugate_gradient import minimise
from widemargin.solvers.reference.passes import PASS, Passes, Run
from widemargin.solvers.reference.qp import solve_programme
from widemargin.solvers.reference.working_set import Index, move, repair_sum, slopes_of, working_set

Inner = Literal["conjugate-gradient", "clarabel", "cvxopt"]
FIRST_THRESHOLD = 3e-10  # smallest relative improvement of a conjugate gradient step (Platt 1998, section 3)
NEXT_THRESHOLD = 1.0 / 3.0  # factor after a sub-problem that left its non-bound points too far apart (the same)
LOWEST_THRESHOLD = float(np.finfo(float).eps)  # smaller improvements are rounding


def solve_in_rounds(run: Run, inner: str, choose: Callable[[], Index]) -> Passes:
    """Solve the sub-problems on the working sets that `choose` returns, with Platt's schedule of thresholds."""
    threshold = FIRST_THRESHOLD
    while True:
        steps = solve_sub_problem(run, choose(), inner, threshold)
        if steps:
            run.iterations += steps
            if spread_of_thresholds(run) > run.tol:
                threshold = max(LOWEST_THRESHOLD, NEXT_THRESHOLD * threshold)
            yield PASS
        elif inner != "conjugate-gradient" or threshold <= LOWEST_THRESHOLD:
            return Status.STALLED
        else:
            threshold = LOWEST_THRESHOLD


def solve_sub_problem(run: Run, index: Index, inner: str, threshold: float) -> int:
    """Optimise some variables and update F; return the number of steps, 0 if nothing moved."""
    dual = run.dual
    at = working_set(run, index)
    Q = at.K.astype(np.float64)
    Q[np.diag_indices(len(Q))] += at.diagonal
    before = at.beta.copy()
    if inner == "conjugate-gradient":
        steps = minimise(at._replace(K=Q), run, threshold)
        beta = at.beta
    else:
        part = SignedDual(
            at.f - Q @ before, at.lower, at.upper, before, epsilon=at.epsilon, group=at.group, n_groups=dual.n_groups
        )
        beta, steps = solve_programme(part, Q, inner)
    for g in range(dual.n_groups):  # rounding in the sums would add up over many sub-problems
        own, inside = at.group == g, slice(*dual.group_starts[g : g + 2])
        rest = float(dual.start[inside].sum() - run.beta[inside].sum()) + float(before[own].sum())
        beta[own] = repair_sum(beta[own], at.lower[own], at.upper[own], at.epsilon[own], rest)
    if np.array_equal(beta, before):
        return 0
    move(run, index, beta)
    return max(1, steps)


def spread_of_thresholds(run: Run) -> float:
    """Return the largest difference between the thresholds given by the non-bound points of a group."""
    free, dual = run.free(), run.dual
    proposed = run.gradient() + dual.epsilon * np.sign(run.beta)
    if dual.n_groups == 0:
        return 2.0 * float(np.abs(proposed[free]).max(initial=0.0))
    parts = [proposed[free & (dual.group == g)] for g in range(dual.n_groups)]
    return max(float(np.ptp(part)) if len(part) else 0.0 for part in parts)


def worst_violators(run: Run, count: int, left_out: NDArray[np.bool_] | None = None) -> Index:
    """Return the worst violators outside `left_out`: of every group half from either side."""
    dual, table = run.dual, run.table()
    rise, fall = slopes_of(run.beta, run.gradient(), dual.terms)
    if left_out is not None:
        rise[left_out], fall[left_out] = np.inf, -np.inf
    groups = max(1, dual.n_groups)
    room = max(2, count // groups)
    chosen = [np.empty(0, np.int64)]
    for g in range(groups):
        threshold = 0.5 * (table[g, 0] + table[g, 1]) if dual.n_groups else 0.0
        if not np.isfinite(threshold):
            continue
        first, last = dual.group_starts[g : g + 2]
        up = first + np.flatnonzero(rise[first:last] < threshold)
        down = first + np.flatnonzero(fall[first:last] > threshold)
        n_up = min(len(up), max(room // 2, room - len(down)))
        n_down = min(len(down), room - n_up)
        chosen.append(up[np.argsort(rise[up], kind="stable")[:n_up]])
        chosen.append(down[np.argsort(-fall[down], kind="stable")[:n_down]])
    return np.concatenate(chosen)
