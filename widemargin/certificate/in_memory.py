"""The certificate of a problem whose rows are in memory in one compiled call, where they prove it as they are.

A machine for 26 classes has 325 pairs, each solved in half a millisecond, of which the general way
(certificate/prove.py) would take a good part in Python. The bounds are the same functions; what they do not prove is
left to the general way.
"""

from __future__ import annotations

import numpy as np

from widemargin._jit import jit
from widemargin.certificate.bounds import (
    COLUMNS,
    FREE,
    HIGHEST,
    HIGHEST_HIGH,
    LENGTH_ERROR,
    LOWEST,
    LOWEST_LOW,
    NUMBERS,
    SQUARED_LENGTH,
    UNBALANCED,
    VALUE,
    evaluate_point,
    gap_terms,
    overlap,
)
from widemargin.certificate.certificate import Certificate, price
from widemargin.certificate.prove import assembled
from widemargin.gram.full import FullGram
from widemargin.gram.gram import Gram
from widemargin.gram.pair import PairGram
from widemargin.gram.scores import Scores
from widemargin.kernels.errors import SECOND_ORDER, UNIT
from widemargin.kernels.row_sums import add_weighted_rows
from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import compiled_levels_of
from widemargin.problems.primal import soft_primal
from widemargin.solvers.solution import Solution

FACTS = 7  # numbers that `evaluate_rows` returns beside those of `evaluate_point`


def certify_rows(
    dual: SignedDual, gram: FullGram | PairGram, solution: Solution, tol: float, is_psd: bool
) -> tuple[Certificate, Scores]:
    """The certificate of a solution on F = K b summed afresh from the rows of its Gram, and that F with its error."""
    n = len(dual)
    scores = Scores(np.empty(n), np.empty(n))
    table, numbers, facts = np.empty((dual.n_groups, COLUMNS)), np.empty(NUMBERS), np.empty(FACTS)
    box = (dual.shift, dual.lo, dual.hi, dual.ridge, dual.kink, dual.start, dual.group_starts)
    if isinstance(gram, PairGram):
        gram.need(np.flatnonzero(solution.beta))
        rows, slot = gram.rows, gram.slot
    else:
        rows, slot = gram.matrix, np.arange(n)
    level = evaluate_rows(
        rows, slot, solution.beta, solution.function, *box, *gram.errors, float(gram.diag.max()), *scores,
        table, numbers, facts,
    )  # fmt: skip
    violation, computed, gap, computed_gap, rounding, drift, n_support = facts.tolist()
    certificate = assembled(
        violation, computed, gap, computed_gap, numbers.tolist(), tol,
        criterion="kkt", is_psd=is_psd, rounding=rounding, drift=drift, n_support=int(n_support),
        n_free=int(table[:, FREE].sum()), level=tuple(level.tolist()), **price(solution),
    )  # fmt: skip
    return certificate, scores


def takes(dual: SignedDual, gram: Gram, criterion: str) -> bool:
    """Whether a problem can be certified here: groups, one variable per sample, no infinite loss, KKT criterion, and
    values whose size the kernel states."""
    if not isinstance(gram, FullGram | PairGram) or criterion != "kkt" or dual.n_groups == 0:
        return False
    plain = dual.row is None and dual.sign is None and dual.hi.max(initial=0.0) < np.inf > -dual.lo.min(initial=0.0)
    return plain and len(dual) > 0 and bool(gram.errors.size[0] < np.inf)


@jit
def evaluate_rows(
    rows, slot, beta, running, shift, lo, hi, ridge, kink, start, starts, left, right, size, diagonal, F, error, table,
    numbers, facts,
):  # fmt: skip
    """F and its error from the rows of the support vectors, and what follows from them; returns the levels.

    facts : violation, bounded and as computed; gap, likewise; largest error; difference to `running`; support vectors
    """
    n, n_groups, n_terms = beta.shape[0], starts.shape[0] - 1, left.shape[1]
    slots, weights = np.empty(n, np.int64), np.empty(n)
    sums = np.zeros(n_terms)
    sizes = 0.0
    count = 0
    for t in range(n):
        F[t] = 0.0
        if beta[t] != 0.0:
            slots[count] = slot[t]
            weights[count] = beta[t]
            count += 1
            for q in range(n_terms):
                sums[q] += abs(beta[t]) * right[t, q]
            sizes += abs(beta[t]) * size[t]
    add_weighted_rows(rows, 0, slots[:count], weights[:count], F)
    largest = drift = 0.0
    rounding = (count + 5) * UNIT / (1.0 - (count + 5) * UNIT)
    for t in range(n):
        e = rounding * size[t] * sizes
        for q in range(n_terms):
            e += left[t, q] * sums[q]
        error[t] = np.inf if e != e else SECOND_ORDER * e
        largest = max(largest, error[t])
        drift = max(drift, abs(F[t] - running[t]))
    evaluate_point(F, error, beta, shift, lo, hi, ridge, kink, start, starts, n_groups, diagonal, table, numbers)
    level = compiled_levels_of(table, n_groups)
    facts[0] = overlap(table, n_groups, LOWEST_LOW, HIGHEST_HIGH)
    facts[1] = overlap(table, n_groups, LOWEST, HIGHEST)
    facts[2] = facts[3] = np.inf
    if numbers[SQUARED_LENGTH] + numbers[LENGTH_ERROR] >= 0.0:
        length = max(0.0, numbers[SQUARED_LENGTH])
        _, scale = soft_primal(
            F, length, numbers[VALUE], level, shift, lo, hi, ridge, kink, start, starts, n_groups
        )  # fmt: skip
        if scale > 0.0:
            excess = np.empty(n)
            bound, computed = gap_terms(F, error, beta, shift, lo, hi, ridge, kink, starts, level, scale, excess)
            shrunk = 0.5 * (1.0 - scale) * (1.0 - scale)
            total = 0.0
            for g in range(n_groups):
                total += abs(level[g])
            bound += shrunk * (length + numbers[LENGTH_ERROR]) + total * numbers[UNBALANCED]
            facts[2], facts[3] = bound * (1.0 + 16.0 * UNIT), computed + shrunk * length
    facts[4], facts[5], facts[6] = largest, drift, count
    return level
