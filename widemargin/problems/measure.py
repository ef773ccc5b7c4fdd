"""Objective, gap, violation and margin of a point of a dual, for histories and progress bars: computed, not proven.

objective    the minimised dual (problems/dual.py)
gap          (primal - dual) / max(|primal|, |dual|), the primal at the best scaling found
violation    largest violation of the optimality conditions
margin       smallest y_i (F_i - r) / |w|: the geometric margin of a classifier, nan for other machines
"""

from __future__ import annotations

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
    norm2 = float(dual.per_sample(beta) @ Kb)
    primal, _ = best_primal(dual, dual.per_variable(Kb), norm2, threshold)
    objective = dual.objective(beta, Kb)
    size = max(abs(primal), abs(objective), np.finfo(float).tiny)
    margin = np.nan
    if np.all(np.abs(dual.linear_term) == 1.0) and not np.any(dual.epsilon) and dual.row is None and norm2 > 0.0:
        output = Kb - (threshold[0] if dual.n_groups else 0.0)
        margin = float((-dual.linear_term * output).min() / np.sqrt(norm2))
    return {
        "objective": objective,
        "gap": (primal + objective) / size if np.isfinite(primal) else np.inf,
        "violation": violation_of(table, dual.n_groups),
        "margin": margin,
    }
