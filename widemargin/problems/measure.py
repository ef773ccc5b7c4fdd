"""Objective, gap, violation and margin of a point of a dual, for stop rules, histories and progress bars; not proven.

objective    the minimised dual (problems/dual.py)
gap          (primal - dual) / max(|primal|, |dual|), the primal at the best scaling found
violation    largest violation of the optimality conditions
margin       smallest y_i (F_i - r) / |w|: the geometric margin of a classifier, nan for other machines

A hard margin (C = inf) has an infinite primal until some scaling of w separates the classes. Until then histories show
the gap with the box C_t = max |b_i| + 1, of which the point is feasible (Cristianini & Shawe-Taylor 2000, section 7.1).
Stop rules do not use it: on classes that cannot be separated it falls, too, while the multipliers grow without bound.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import scan_groups, thresholds_of, violation_of
from widemargin.problems.primal import best_primal


def measure(dual: SignedDual, beta: NDArray[np.float64], Kb: NDArray[np.float64]) -> dict[str, float]:
    """Return objective, gap, violation and margin of a point."""
    f = dual.gradient(beta, Kb)
    table = scan_groups(f, beta, dual.lower, dual.upper, dual.epsilon, dual.group_starts, dual.n_groups)
    threshold = thresholds_of(table, dual.n_groups)
    gap = relative_gap(dual, beta, Kb, threshold)
    if gap == np.inf and len(dual.hard):
        gap = relative_gap(in_a_box(dual, beta), beta, Kb, threshold)
    norm2 = float(dual.per_sample(beta) @ Kb)
    margin = np.nan
    if np.all(np.abs(dual.linear_term) == 1.0) and not np.any(dual.epsilon) and dual.row is None and norm2 > 0.0:
        output = Kb - (threshold[0] if dual.n_groups else 0.0)
        margin = float((-dual.linear_term * output).min() / np.sqrt(norm2))
    return {
        "objective": dual.objective(beta, Kb),
        "gap": gap,
        "violation": violation_of(table, dual.n_groups),
        "margin": margin,
    }


def relative_gap(
    dual: SignedDual, beta: NDArray[np.float64], Kb: NDArray[np.float64], threshold: NDArray[np.float64]
) -> float:
    """Return the gap of a point at the given thresholds; infinite where a hard margin is violated at every scaling."""
    norm2 = max(0.0, float(dual.per_sample(beta) @ Kb))
    primal, _ = best_primal(dual, dual.per_variable(Kb), norm2, threshold)
    if not np.isfinite(primal):
        return np.inf
    objective = dual.objective(beta, Kb)
    return (primal + objective) / max(abs(primal), abs(objective), np.finfo(float).tiny)


def in_a_box(dual: SignedDual, beta: NDArray[np.float64]) -> SignedDual:
    """Return the problem with the infinite bounds of a hard margin replaced by C_t = max |b_i| + 1."""
    end = float(np.abs(beta).max(initial=0.0)) + 1.0
    lower, upper = np.maximum(dual.lower, -end), np.minimum(dual.upper, end)
    return replace(dual, lower=np.where(dual.hard, lower, dual.lower), upper=np.where(dual.hard, upper, dual.upper))
