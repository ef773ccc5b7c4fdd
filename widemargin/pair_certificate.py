"""The certificate of a pair of classes, in two compiled calls.

A machine for 26 classes has 325 pairs, each solved in less than a millisecond, and the general way to a certificate
(gram/source.py, certificate.py) took a quarter of that in Python: 0.08 of 0.67 s on letter. Here it is for the plain
case: all rows are at hand, and what the kernel proves about their rounding is enough to be certain of the outcome.
Everything else is left to the general way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.certificate import Certificate, measure, price, relative_gap
from widemargin.gram.accumulate import add_weighted_rows
from widemargin.gram.pair import PairGram
from widemargin.problems.dual import SignedDual
from widemargin.problems.primal import best_primal
from widemargin.solvers.optimality import levels_of, violation_of
from widemargin.solvers.solution import Solution
from widemargin.stopping import Stopping


def certify_pair(
    dual: SignedDual, gram: PairGram, solution: Solution, stopping: Stopping, rounding: float
) -> tuple[Certificate, NDArray[np.float64]] | None:
    """The certificate and the function F = K b summed afresh from the rows; None where the outcome is not certain.

    rounding : bound on the error of a value of the rows
    """
    if dual.row is not None or dual.sign is not None or dual.n_groups == 0 or stopping.criterion != "kkt":
        return None
    beta, function, totals = solution.beta, np.empty(len(dual)), np.empty(4)
    table, lower, infeasibility, mass = weigh(
        gram.rows, gram.slot, beta, solution.function, dual.shift, dual.lo, dual.hi, dual.ridge, dual.kink, dual.start,
        dual.group_starts, function, totals,
    )  # fmt: skip
    n_support, size_of_beta, squared_length, drift = totals.tolist()
    violation = violation_of(table, dual.n_groups) + 2.0 * rounding * size_of_beta
    if n_support < 0 or not violation <= stopping.tol or squared_length < 0.0:
        return None
    level = levels_of(table, dual.n_groups)
    primal, _ = best_primal(dual, function, squared_length, level, lower)
    certificate = Certificate(
        primal=primal,
        dual=lower,
        gap=relative_gap(primal, lower, mass),
        violation=violation,
        infeasibility=infeasibility,
        tol=stopping.tol,
        drift=drift,
        n_support=int(n_support),
        n_free=int(table[:, 3].sum()),
        level=tuple(level.tolist()),
        **price(solution),
    )
    return certificate, function


@jit
def weigh(rows, slot, beta, running, shift, lo, hi, ridge, kink, start, starts, F, totals):
    """F = K b from the rows of the support vectors, and what `certificate.measure` says about it.

    totals : number of support vectors (-1 where a row is missing), sum |b|, b'Kb, and the largest difference between F
        and the solver's
    """
    n = beta.shape[0]
    slots = np.empty(n, np.int64)
    weights = np.empty(n)
    count = 0
    size = 0.0
    missing = False
    for t in range(n):
        F[t] = 0.0
        if beta[t] != 0.0:
            missing = missing or slot[t] < 0
            slots[count] = max(0, slot[t])
            weights[count] = beta[t]
            size += abs(beta[t])
            count += 1
    add_weighted_rows(rows, 0, slots[:count], weights[:count], F)
    squared = 0.0
    drift = 0.0
    for t in range(n):
        squared += beta[t] * F[t]
        drift = max(drift, abs(F[t] - running[t]))
    totals[0] = -1.0 if missing else count
    totals[1], totals[2], totals[3] = size, squared, drift
    return measure(F, beta, shift, lo, hi, ridge, kink, start, starts, starts.shape[0] - 1, 0.0)
