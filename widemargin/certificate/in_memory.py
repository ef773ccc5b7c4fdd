"""The certificate of a problem whose rows are in memory by two compiled calls, where they prove it as they are.

A machine for 26 classes has 325 pairs, each solved in half a millisecond, of which the general way
(certificate/prove.py) would take a good part in Python. The bounds are the same functions; what they do not prove is
left to the general way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    Point,
    evaluate_point,
    gap_terms,
    overlap,
)
from widemargin.certificate.certificate import Certificate, price
from widemargin.certificate.prove import assembled
from widemargin.gram.gram import Gram
from widemargin.gram.scores import Scores
from widemargin.kernels.errors import SECOND_ORDER, UNIT
from widemargin.linalg.row_sums import add_weighted_rows
from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import compiled_levels_of
from widemargin.problems.primal import soft_primal

if TYPE_CHECKING:
    from widemargin.solvers.solution import Solution

# What the compiled functions below find beside the numbers of `evaluate_point`
VIOLATION, VIOLATION_COMPUTED, GAP, GAP_COMPUTED, LARGEST_ERROR, DRIFT, SUPPORT = range(7)
FACTS = 7


def certify_rows(
    dual: SignedDual, gram: Gram, solution: Solution, tol: float, is_psd: bool
) -> tuple[Certificate, Scores]:
    """The certificate of a solution on F = K b summed afresh from the rows of its Gram, and that F with its error."""
    n = len(dual)
    point = Point(solution.beta, np.empty(n), np.empty(n))
    table, numbers, facts = np.empty((dual.n_groups, COLUMNS)), np.empty(NUMBERS), np.empty(FACTS)
    store = gram.store
    assert store is not None
    gram.need(np.flatnonzero(solution.beta))
    diagonal = float(gram.diag.max())
    sum_rows(store.rows, store.slot, gram.errors, point, solution.function, facts)
    level = evaluate(dual.terms, point, diagonal, table, numbers, facts)
    violation, computed, gap, computed_gap, rounding, drift, n_support = facts.tolist()
    certificate = assembled(
        violation, computed, gap, computed_gap, numbers.tolist(), tol,
        criterion="kkt", is_psd=is_psd, rounding=rounding, drift=drift, n_support=int(n_support),
        n_free=int(table[:, FREE].sum()), level=tuple(level.tolist()), **price(solution),
    )  # fmt: skip
    return certificate, Scores(point.Kb, point.error)


def takes(dual: SignedDual, gram: Gram, criterion: str) -> bool:
    """Whether a problem can be certified here: groups, one variable per sample, no infinite loss, KKT criterion, and
    values whose size the kernel states."""
    if gram.store is None or criterion != "kkt" or dual.n_groups == 0 or not dual.is_plain:
        return False
    is_finite = dual.upper.max(initial=0.0) < np.inf > -dual.lower.min(initial=0.0)
    return is_finite and len(dual) > 0 and bool(gram.errors.size[0] < np.inf)


@jit
def sum_rows(rows, slot, errors, point, incremental, facts):
    """K b and its error from the rows of the support vectors, into `point`.

    incremental : K b as the solver holds it
    facts : LARGEST_ERROR, DRIFT from `incremental`, and SUPPORT, the number of support vectors, are set
    """
    beta, Kb, error = point
    n, n_terms = beta.shape[0], errors.left.shape[1]
    slots, weights = np.empty(n, np.int64), np.empty(n)
    sums = np.zeros(n_terms)
    sizes = 0.0
    count = 0
    for t in range(n):
        Kb[t] = 0.0
        if beta[t] != 0.0:
            slots[count] = slot[t]
            weights[count] = beta[t]
            count += 1
            for q in range(n_terms):
                sums[q] += abs(beta[t]) * errors.right[t, q]
            sizes += abs(beta[t]) * errors.size[t]
    add_weighted_rows(rows, 0, slots[:count], weights[:count], Kb)
    largest = drift = 0.0
    rounding = (count + 5) * UNIT / (1.0 - (count + 5) * UNIT)
    for t in range(n):
        e = rounding * errors.size[t] * sizes
        for q in range(n_terms):
            e += errors.left[t, q] * sums[q]
        error[t] = np.inf if e != e else SECOND_ORDER * e
        largest = max(largest, error[t])
        drift = max(drift, abs(Kb[t] - incremental[t]))
    facts[LARGEST_ERROR], facts[DRIFT], facts[SUPPORT] = largest, drift, count


@jit
def evaluate(terms, point, largest_diagonal, table, numbers, facts):
    """Thresholds, value, violation and gap of a point; returns the thresholds of the groups.

    facts : VIOLATION and GAP, bounded and as computed, are set
    """
    evaluate_point(terms, point, largest_diagonal, table, numbers)
    threshold = compiled_levels_of(table, terms.n_groups)
    facts[VIOLATION] = overlap(table, terms.n_groups, LOWEST_LOW, HIGHEST_HIGH)
    facts[VIOLATION_COMPUTED] = overlap(table, terms.n_groups, LOWEST, HIGHEST)
    facts[GAP] = facts[GAP_COMPUTED] = np.inf
    if numbers[SQUARED_LENGTH] + numbers[LENGTH_ERROR] < 0.0:
        return threshold
    length = max(0.0, numbers[SQUARED_LENGTH])
    _, scale = soft_primal(terms, point.Kb, length, numbers[VALUE], threshold)
    if scale > 0.0:
        bound, computed = gap_terms(terms, point, threshold, scale, np.empty(point.beta.shape[0]))
        shrunk = 0.5 * (1.0 - scale) * (1.0 - scale)
        bound += shrunk * (length + numbers[LENGTH_ERROR]) + np.abs(threshold).sum() * numbers[UNBALANCED]
        facts[GAP], facts[GAP_COMPUTED] = bound * (1.0 + 16.0 * UNIT), computed + shrunk * length
    return threshold
