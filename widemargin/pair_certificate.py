"""The certificate of a pair of classes, in one compiled call.

A machine for 26 classes has 325 pairs, each solved in less than a millisecond, and the general way to a certificate
(gram/source.py, certificate.py) took a quarter of that in Python: 0.08 of 0.67 s on letter. Here it is for the plain
case: all rows are at hand, and what the kernel proves about their rounding, or the error measured on some samples, is
enough to be certain of the outcome. Everything else is left to the general way.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.certificate import Certificate, measure, price, relative_gap
from widemargin.gram.accumulate import add_weighted_rows
from widemargin.gram.pair import PairGram
from widemargin.problems.dual import SignedDual
from widemargin.problems.primal import soft_primal
from widemargin.solvers.optimality import compiled_levels_of, violation_of
from widemargin.solvers.solution import Solution
from widemargin.stopping import Stopping

NUMBERS = 10  # that `weigh` returns


def certify_pair(
    dual: SignedDual,
    gram: PairGram,
    solution: Solution,
    stopping: Stopping,
    measured_error: Callable[[NDArray], float],
) -> tuple[Certificate, NDArray[np.float64]] | None:
    """The certificate and the function F = K b summed afresh from the rows; None where the outcome is not certain.

    measured_error : how large errors of F are, asked for where what the kernel proves about its rows is not enough
    """
    if dual.row is not None or dual.sign is not None or dual.n_groups == 0 or stopping.criterion != "kkt":
        return None
    function, numbers = np.empty(len(dual)), np.empty(NUMBERS)
    level = weigh(
        gram.rows, gram.slot, solution.beta, solution.function, dual.shift, dual.lo, dual.hi, dual.ridge, dual.kink,
        dual.start, dual.group_starts, function, numbers,
    )  # fmt: skip
    n_support, size_of_beta, squared_length, drift, violation, n_free, lower, infeasibility, mass, primal = (
        numbers.tolist()
    )
    if n_support < 0 or not violation <= stopping.tol or squared_length < 0.0 or not primal < np.inf:
        return None
    error = gram.rounding * size_of_beta
    if violation + 2.0 * error > stopping.tol:
        error = measured_error(function)
    violation += 2.0 * error
    if not violation <= stopping.tol:
        return None
    certificate = Certificate(
        primal=primal,
        dual=lower,
        gap=relative_gap(primal, lower, mass),
        violation=violation,
        infeasibility=infeasibility,
        tol=stopping.tol,
        drift=drift,
        n_support=int(n_support),
        n_free=int(n_free),
        level=tuple(level.tolist()),
        **price(solution),
    )
    return certificate, function


@jit
def weigh(rows, slot, beta, running, shift, lo, hi, ridge, kink, start, starts, F, numbers):
    """F = K b from the rows of the support vectors, the levels of the groups, and what the certificate says about them.

    numbers : number of support vectors (-1 where a row is missing), sum |b|, b'Kb, the largest difference between F
        and the solver's, violation, number of free variables, dual value, infeasibility, mass, and primal value
        (infinite where only the general way can tell)
    """
    n = beta.shape[0]
    n_groups = starts.shape[0] - 1
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
    table, lower, infeasibility, mass = measure(F, beta, shift, lo, hi, ridge, kink, start, starts, n_groups, 0.0)
    level = compiled_levels_of(table, n_groups)
    primal, _ = soft_primal(F, squared, lower, level, shift, lo, hi, ridge, kink, start, starts, n_groups)
    numbers[0] = -1.0 if missing else count
    numbers[1], numbers[2], numbers[3], numbers[4] = size, squared, drift, violation_of(table, n_groups)
    numbers[5] = 0.0
    for g in range(n_groups):
        numbers[5] += table[g, 3]
    numbers[6], numbers[7], numbers[8], numbers[9] = lower, infeasibility, mass, primal
    return level
