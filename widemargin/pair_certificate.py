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
from widemargin.gram.pair import PairGram
from widemargin.kernels.row_sums import add_weighted_rows
from widemargin.problems.dual import SignedDual
from widemargin.problems.primal import soft_primal
from widemargin.solvers.optimality import compiled_levels_of, violation_of
from widemargin.solvers.solution import Solution
from widemargin.stopping import Stopping

NUMBERS = 9  # that `weigh` returns


def certify_pair(
    dual: SignedDual,
    gram: PairGram,
    solution: Solution,
    stopping: Stopping,
    checked: Callable[[NDArray, float, float], tuple[NDArray[np.float64], float] | None],
) -> tuple[Certificate, NDArray[np.float64]] | None:
    """The certificate and the function F = K b summed afresh from the rows; None where the outcome is not certain.

    checked : given F, what the kernel proves about its errors, and the violation at F: an F and a bound on its errors
        that decide the outcome, or None (gram/fresh.py). Asked where the proven bound does not decide it
    """
    if dual.row is not None or dual.sign is not None or dual.n_groups == 0 or stopping.criterion != "kkt":
        return None
    box = (dual.shift, dual.lo, dual.hi, dual.ridge, dual.kink, dual.start, dual.group_starts)
    function, numbers = np.empty(len(dual)), np.empty(NUMBERS)
    n_support, level = weigh_rows(gram.rows, gram.slot, solution.beta, function, solution.function, *box, numbers)
    size_of_beta, squared_length, drift, violation, n_free, lower, infeasibility, mass, primal = numbers.tolist()
    if n_support < 0 or not violation <= stopping.tol or squared_length < 0.0 or not primal < np.inf:
        return None
    error = gram.rounding * size_of_beta
    if violation + 2.0 * error > stopping.tol:
        answer = checked(function, error, violation)
        if answer is None:
            return None
        summed, (function, error) = function, answer
        if function is not summed:
            level = weigh(solution.beta, function, solution.function, *box, numbers)
            _, squared_length, drift, violation, n_free, lower, infeasibility, mass, primal = numbers.tolist()
    violation += 2.0 * error
    if not violation <= stopping.tol or squared_length < 0.0 or not primal < np.inf:
        return None
    certificate = Certificate(
        primal=primal,
        dual=lower,
        gap=relative_gap(primal, lower, mass),
        violation=violation,
        infeasibility=infeasibility,
        tol=stopping.tol,
        drift=drift,
        n_support=n_support,
        n_free=int(n_free),
        level=tuple(level.tolist()),
        **price(solution),
    )
    return certificate, function


@jit
def weigh_rows(rows, slot, beta, F, running, shift, lo, hi, ridge, kink, start, starts, numbers):
    """F = K b from the rows of the support vectors, and `weigh` of it; their number, -1 where a row is missing.

    In one, because a call from Python with as many arguments takes 30 us.
    """
    n = beta.shape[0]
    slots = np.empty(n, np.int64)
    weights = np.empty(n)
    count = 0
    missing = False
    for t in range(n):
        F[t] = 0.0
        if beta[t] != 0.0:
            missing = missing or slot[t] < 0
            slots[count] = max(0, slot[t])
            weights[count] = beta[t]
            count += 1
    add_weighted_rows(rows, 0, slots[:count], weights[:count], F)
    level = weigh(beta, F, running, shift, lo, hi, ridge, kink, start, starts, numbers)
    return (-1 if missing else count), level


@jit
def weigh(beta, F, running, shift, lo, hi, ridge, kink, start, starts, numbers):
    """The levels of the groups at F = K b, and what the certificate says about them.

    numbers : sum |b|, b'Kb, the largest difference between F and the solver's, violation, number of free variables,
        dual value, infeasibility, mass, and primal value (infinite where only the general way can tell)
    """
    n_groups = starts.shape[0] - 1
    size = 0.0
    squared = 0.0
    drift = 0.0
    for t in range(beta.shape[0]):
        size += abs(beta[t])
        squared += beta[t] * F[t]
        drift = max(drift, abs(F[t] - running[t]))
    table, lower, infeasibility, mass = measure(F, beta, shift, lo, hi, ridge, kink, start, starts, n_groups, 0.0)
    level = compiled_levels_of(table, n_groups)
    primal, _ = soft_primal(F, squared, lower, level, shift, lo, hi, ridge, kink, start, starts, n_groups)
    numbers[0], numbers[1], numbers[2], numbers[3] = size, squared, drift, violation_of(table, n_groups)
    numbers[4] = 0.0
    for g in range(n_groups):
        numbers[4] += table[g, 3]
    numbers[5], numbers[6], numbers[7], numbers[8] = lower, infeasibility, mass, primal
    return level
