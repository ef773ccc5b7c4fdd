"""The certificate of a problem whose rows are in memory, in one compiled call, if these rows suffice for the proof.

A model of 26 classes has 325 class pairs, each solved in half a millisecond; the general method
(certificate/prove.py) would add a good part of that in Python. The bounds are the same functions; problems that they do
not prove are left to the general method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from widemargin._jit import jit
from widemargin.certificate.bounds import COMPUTED, LARGEST, Point, evaluate_point, gap_at, summarise
from widemargin.certificate.certificate import FACTS, Certificate, certificate_of, price
from widemargin.gram.gram import Gram
from widemargin.gram.scores import Scores
from widemargin.kernels.errors import SECOND_ORDER, UNIT
from widemargin.linalg.row_sums import add_weighted_rows
from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import FREE, compiled_thresholds_of, violation_of
from widemargin.problems.primal import soft_primal

if TYPE_CHECKING:
    from widemargin.solvers.solution import Solution

N_FACTS = len(FACTS)
DRIFT, ROUNDING, N_SUPPORT, N_FREE = (FACTS.index(name) for name in ("drift", "rounding", "n_support", "n_free"))


def certify_rows(
    dual: SignedDual, gram: Gram, solution: Solution, tol: float, is_psd: bool
) -> tuple[Certificate, Scores]:
    """Return the certificate of a solution, from K b summed from the rows of its Gram, and that K b with its error."""
    n, store = len(dual), gram.store
    assert store is not None
    gram.need(np.flatnonzero(solution.beta))
    point, facts = Point(solution.beta, np.empty(n), np.empty(n)), np.empty(N_FACTS)
    thresholds = certify_point(store.rows, store.slot, gram.errors, dual.terms, point, gram.diag, solution.Kb, facts)
    certificate = certificate_of(facts, thresholds, tol=tol, is_psd=is_psd, **price(solution))
    return certificate, Scores(point.Kb, point.error)


def takes(dual: SignedDual, gram: Gram, criterion: str) -> bool:
    """Whether a problem can be certified here: groups, one variable per sample, no infinite loss, KKT criterion."""
    if gram.store is None or criterion != "kkt" or dual.n_groups == 0 or not dual.is_plain:
        return False
    return dual.largest_bound < np.inf and len(dual) > 0


@jit(interpret_first=True)
def certify_point(rows, slot, errors, terms, point, diag, incremental, facts):
    """Sum K b and its error into `point` and fill `facts` (`certificate.FACTS`); returns the thresholds of the groups.

    incremental : K b as updated by the solver
    """
    sum_rows(rows, slot, errors, point)
    drift = largest_diagonal = 0.0
    for t in range(point.beta.shape[0]):
        drift = max(drift, abs(point.Kb[t] - incremental[t]))
        largest_diagonal = max(largest_diagonal, diag[t])
    threshold = certify_known(terms, point, largest_diagonal, facts)
    facts[DRIFT] = drift
    return threshold


@jit(inner=True)
def certify_known(terms, point, largest_diagonal, facts):
    """Fill `facts` for a point whose K b is known; returns the thresholds of the groups."""
    largest, count = 0.0, 0
    for t in range(point.beta.shape[0]):
        largest = max(largest, point.error[t])
        count += 1 if point.beta[t] != 0.0 else 0
    facts[ROUNDING], facts[DRIFT], facts[N_SUPPORT] = largest, np.nan, count
    tables, numbers = evaluate_point(terms, point, largest_diagonal)
    facts[N_FREE] = 0.0
    for g in range(terms.n_groups):
        facts[N_FREE] += tables[COMPUTED, g, FREE]
    threshold = compiled_thresholds_of(tables[COMPUTED], terms.n_groups)
    violation = violation_of(tables[LARGEST], terms.n_groups)
    computed = violation_of(tables[COMPUTED], terms.n_groups)
    summarise(violation, computed, soft_gap(terms, point, threshold, numbers), numbers, facts)
    return threshold


@jit(inner=True)
def soft_gap(terms, point, threshold, numbers):
    """Return a bound on primal - dual at the best scaling found, for problems without infinite losses."""
    if numbers.squared_length + numbers.length_error < 0.0:  # b'Kb < 0: there is no feature space and no primal problem
        return np.inf
    _, scale = soft_primal(terms, point.Kb, max(0.0, numbers.squared_length), numbers.value, threshold)
    if scale == 0.0:
        return np.inf
    bound, _ = gap_at(terms, point, threshold, scale, numbers, np.empty(point.beta.shape[0]))
    return bound


@jit(inner=True)
def sum_rows(rows, slot, errors, point):
    """Write K b and its error, summed from the rows of the support vectors, to `point`.

    Where the kernel does not bound the size of its values, sizes are summed along the rows.
    """
    beta, Kb, error = point
    n, n_terms = beta.shape[0], errors.left.shape[1]
    slots, weights = np.empty(n, np.int64), np.empty(n)
    sums, magnitude = np.zeros(n_terms), np.zeros(n)
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
    add_weighted_rows(rows, np.int64(0), slots[:count], weights[:count], Kb)
    has_sizes = sizes < np.inf
    for t in range(n):
        magnitude[t] = errors.size[t] * sizes if has_sizes and sizes > 0.0 else 0.0
    if not has_sizes:
        for k in range(count):
            row, weight = rows[slots[k]], abs(weights[k])
            for t in range(n):
                magnitude[t] += weight * abs(row[t])
    roundings = count + 5 if has_sizes else 2 * count + 8
    rounding = roundings * UNIT / (1.0 - roundings * UNIT)
    for t in range(n):
        e = rounding * magnitude[t]
        for q in range(n_terms):
            e += errors.left[t, q] * sums[q]
        error[t] = SECOND_ORDER * e if e == e else np.inf
