"""From a function known up to errors to a certificate; float64 values only where the outcome is still in doubt.

Deciding "violation <= tol" is a matter of single samples: with m the middle of the thresholds of a group, sample i is
in doubt only if its slope, moved by its error e_i against us, is beyond m +- tol / 2. So

    proven     max(fall + e) - min(rise - e) <= tol: nothing is computed
    refuted    max(fall - e) - min(rise + e) > tol: nothing is computed either
    else       F_i of the samples in doubt is computed from the support vectors in float64, with its own bound, and
    again
               if the middle has moved; what is still open then, double precision cannot decide

For criteria about the gap a sample is in doubt if its error can move the gap by a share of what is allowed. In practice
the samples in doubt are the free support vectors and few more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from widemargin.certificate.bounds import (
    COLUMNS,
    FEASIBILITY,
    FREE,
    HIGHEST,
    HIGHEST_HIGH,
    HIGHEST_LOW,
    INFEASIBILITY,
    LENGTH_ERROR,
    LOWEST,
    LOWEST_HIGH,
    LOWEST_LOW,
    NUMBERS,
    SQUARED_LENGTH,
    UNBALANCED,
    VALUE,
    VALUE_ERROR,
    Point,
    doubtful_slopes,
    evaluate_point,
    gap_terms,
    overlap,
    safe_hard_scale,
    summarise,
)
from widemargin.certificate.certificate import FACTS, Certificate, certificate_of, price
from widemargin.gram.gram import kernel_scores
from widemargin.gram.scores import Scores
from widemargin.kernels.errors import UNIT
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.parallel.tiles import single_threaded_blas
from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import thresholds_of
from widemargin.problems.primal import hard_primal, soft_primal

if TYPE_CHECKING:
    from widemargin.solvers.solution import Solution

LOOKS = 3  # times that samples in doubt are looked for: values computed afresh can move the middle
FRESH_SHARE = 0.7  # of the samples in doubt from which all are computed
GAP_SHARE = 0.1  # of what a gap may be, that all errors together may add to it without being in doubt

Vector = NDArray[np.float64]
Exactly = Callable[[NDArray[np.int64] | None], Scores]  # F at some samples, in float64; None: at all


def point_of(dual: SignedDual, beta: Vector, scores: Scores) -> Point:
    """The point as each variable sees it."""
    error = scores.error if dual.row is None else scores.error[dual.row]
    return Point(beta, dual.per_variable(scores.values), error)


def evaluated(dual: SignedDual, point: Point, largest_diagonal: float) -> tuple[Vector, Vector]:
    """`evaluate_point`: the table of thresholds and the numbers of the certificate."""
    table, numbers = np.empty((max(1, dual.n_groups), COLUMNS)), np.empty(NUMBERS)
    evaluate_point(dual.terms, point, largest_diagonal, table, numbers)
    return table, numbers


def settle(
    dual: SignedDual, beta: Vector, scores: Scores, exactly: Exactly, tol: float, criterion: str = "kkt"
) -> tuple[Scores, float]:
    """Scores that decide whether the criterion is met to `tol`, as far as float64 can; and the largest difference seen
    between them and the ones given (NaN without any)."""
    known = np.zeros(len(scores.values), np.bool_)
    drift = np.nan
    for _ in range(LOOKS):
        point = point_of(dual, beta, scores)
        variables = np.flatnonzero(_in_doubt(dual, point, tol, criterion))
        doubtful = variables if dual.row is None else np.unique(dual.row[variables])
        doubtful = doubtful[~known[doubtful]]
        if not len(doubtful):
            break
        if np.count_nonzero(known) + len(doubtful) > FRESH_SHARE * len(known):
            doubtful = np.flatnonzero(~known)
        fresh = exactly(None if len(doubtful) == len(known) else doubtful)
        known[doubtful] = True
        difference = np.abs(fresh.values - scores.values[doubtful])
        drift = float(np.fmax(drift, np.max(difference, initial=0.0)))
        scores = scores.improved(doubtful, fresh)
    return scores, drift


def _in_doubt(dual: SignedDual, point: Point, tol: float, criterion: str) -> NDArray[np.bool_]:
    """Variables whose error keeps the criterion from being decided."""
    table, numbers = evaluated(dual, point, 0.0)
    groups = dual.n_groups
    nothing = np.zeros(len(dual), np.bool_)
    if criterion == "kkt":
        if overlap(table, groups, LOWEST_LOW, HIGHEST_HIGH) <= tol:
            return nothing
        if np.inf > overlap(table, groups, LOWEST_HIGH, HIGHEST_LOW) > tol:
            return nothing
        return doubtful_slopes(dual.terms, point, table, tol)
    if not np.isfinite(point.error).all():
        return np.isinf(point.error)
    level = thresholds_of(table, groups)
    gap, _, excess = _gap(dual, point, level, numbers)
    allowed = tol * _size(numbers)
    if gap <= allowed:
        return nothing
    return excess > GAP_SHARE * allowed / max(1, len(dual))


def _size(numbers: Vector) -> float:
    """What primal and dual value, the larger of the two, are at least in size."""
    return max(0.0, abs(float(numbers[VALUE])) - float(numbers[VALUE_ERROR]))


def _gap(dual: SignedDual, point: Point, threshold: Vector, numbers: Vector) -> tuple[float, float, Vector]:
    """Bound on primal - dual at the best scaling found, the same as computed, and what errors add for each variable."""
    terms, excess = dual.terms, np.zeros(len(dual))
    length = float(numbers[SQUARED_LENGTH])
    if length + float(numbers[LENGTH_ERROR]) < 0.0:  # no vector of any feature space: there is no primal problem
        return np.inf, np.inf, excess
    length = max(0.0, length)
    problem = (terms, point.Kb, length, float(numbers[VALUE]), threshold)
    _, scale = soft_primal(*problem)
    if scale == 0.0 and len(dual.hard):
        _, scale = hard_primal(*problem)
        scale = safe_hard_scale(terms, point, threshold, scale)
        if scale == 0.0 or not scale < np.inf:
            return np.inf, np.inf, excess
        threshold = scale * threshold
    bound, computed = gap_terms(terms, point, threshold, scale, excess)
    shrunk = 0.5 * (1.0 - scale) ** 2
    sums = float(np.abs(threshold).sum()) * float(numbers[UNBALANCED])
    computed += shrunk * length
    bound = (bound + shrunk * (length + float(numbers[LENGTH_ERROR])) + sums) * (1.0 + 16.0 * UNIT)
    return bound, computed, excess


def proven_violation(dual: SignedDual, beta: Vector, scores: Scores) -> float:
    """Bound on the largest violation; infinite where beta is not feasible. For solvers that ask again and again."""
    table, numbers = evaluated(dual, point_of(dual, beta, scores), 0.0)
    if not numbers[INFEASIBILITY] <= FEASIBILITY:
        return float("inf")
    return float(overlap(table, dual.n_groups, LOWEST_LOW, HIGHEST_HIGH))


def certify_function(
    dual: SignedDual,
    beta: Vector,
    function: Vector,
    tol: float,
    *,
    error: float | Vector = 0.0,
    level: Vector | None = None,
    criterion: str = "kkt",
    is_psd: bool = True,
    diagonal: float = np.inf,
    solution: Solution | None = None,
    drift: float = np.nan,
) -> Certificate:
    """Certificate of beta, given its function F = K b (per sample) up to `error` (of all, or of each).

    level : the model's own levels; None takes the best ones
    diagonal : a bound on k(x, x), with which sums that are off by rounding cost next to nothing; infinite if unknown
    solution, drift : what the certificate is to say about how the answer was found
    """
    point = point_of(dual, beta, Scores(function, np.broadcast_to(np.asarray(error, np.float64), function.shape)))
    groups = dual.n_groups
    table, numbers = evaluated(dual, point, diagonal)
    violation, computed = (
        float(overlap(table, groups, *columns)) for columns in ((LOWEST_LOW, HIGHEST_HIGH), (LOWEST, HIGHEST))
    )
    if level is None:
        level = thresholds_of(table, groups)
    elif not np.isfinite(level).all():
        violation = computed = float("inf")
    elif groups:
        violation, computed = (
            max(value, float((table[:, high] - level).max()), float((level - table[:, low]).max()))
            for value, low, high in ((violation, LOWEST_LOW, HIGHEST_HIGH), (computed, LOWEST, HIGHEST))
        )
    gap, computed_gap, _ = _gap(dual, point, level, numbers)
    facts = np.empty(len(FACTS))
    summarise(violation, computed, gap, numbers, facts)
    facts[FACTS.index("rounding") :] = (
        np.max(point.error, initial=0.0), drift, np.count_nonzero(dual.per_sample(beta)), table[:, FREE].sum()
    )  # fmt: skip
    criterion = criterion if is_psd else "kkt"
    if criterion != "kkt":
        size = _size(numbers)
        relative = computed_gap / size if size > 0.0 else 0.0 if computed_gap == 0.0 else float("inf")
        facts[FACTS.index("computed")] = relative
    about = {} if solution is None else price(solution)
    return certificate_of(facts, level, tol=tol, criterion=criterion, is_psd=is_psd, **about)


def certify(
    dual: SignedDual,
    kernel: Kernel,
    X: Any,
    beta: Vector,
    tol: float = 1e-3,
    *,
    level: Vector | None = None,
    constant: float = 0.0,
    coefficients: Vector | None = None,
    n_threads: int = 1,
) -> Certificate:
    """Certificate of any multipliers beta of a signed dual on raw data X, computed from nothing else, all in float64.

    constant : of the kernel K + constant, whose machine without groups has the bias constant * sum b
    coefficients : b of each sample where beta has it only up to rounding: two large variables of one sample
    """
    samples = X if isinstance(X, Samples) else kernel.prepare(X, np.float64)
    coefficients = dual.per_sample(beta) if coefficients is None else coefficients
    support = np.flatnonzero(coefficients)
    with single_threaded_blas():
        scores = kernel_scores(kernel, samples, samples.take(support), coefficients[support], n_threads)
    bias = constant * math.fsum(coefficients)
    values = scores.values + bias
    return certify_function(
        dual,
        beta,
        values,
        tol,
        error=scores.error + 4.0 * UNIT * (np.abs(values) + abs(bias)) if bias else scores.error,
        level=level,
        is_psd=kernel.is_psd,
        diagonal=float(np.max(kernel.diag(samples), initial=0.0)) + constant,
    )
