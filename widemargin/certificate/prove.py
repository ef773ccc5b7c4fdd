"""Compute a certificate from K b known up to errors, with float64 values only where the outcome is in doubt.

Whether "violation <= tol" is decided sample by sample: with m the midpoint of the thresholds of a group, sample i is
in doubt only if its slope, moved by its error e_i in the unfavourable direction, is beyond m +- tol / 2. So

    proven     max(fall + e) - min(rise - e) <= tol: nothing is computed
    refuted    max(fall - e) - min(rise + e) > tol: nothing is computed either
    else       (K b)_i of the samples in doubt is computed from the support vectors in float64, with its own bound, and
               again if the midpoint has moved; if doubt remains, double precision cannot decide

For criteria on the gap a sample is in doubt if its error can change the gap by a share of what is allowed. In practice
the samples in doubt are the free support vectors and a few more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.certificate.bounds import (
    COMPUTED,
    LARGEST,
    SMALLEST,
    Numbers,
    Point,
    doubtful_slopes,
    evaluate_point,
    gap_at,
    relative,
    safe_hard_scale,
    summarise,
)
from widemargin.certificate.certificate import FACTS, Certificate, certificate_of
from widemargin.gram.gram import kernel_scores
from widemargin.gram.scores import Scores
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.linalg.arrays import Vector
from widemargin.parallel.tiles import available_cores, single_threaded_blas
from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import FREE, HIGHEST, LOWEST, thresholds_of, violation_of
from widemargin.problems.primal import hard_primal, soft_primal

RECOMPUTED_SHARE = 0.7  # share of samples in doubt above which all are recomputed
GAP_SHARE = 0.1  # share of the allowed gap that all errors together may add without doubt

Recomputed = Callable[[NDArray[np.int64] | None], Scores]  # K b at some samples, in float64; None: at all


def point_of(dual: SignedDual, beta: Vector, scores: Scores) -> Point:
    """Return the point with one entry per variable."""
    error = scores.error if dual.row is None else scores.error[dual.row]
    return Point(beta, dual.per_variable(scores.values), error)


def settle(
    dual: SignedDual, beta: Vector, scores: Scores, recomputed: Recomputed, tol: float, criterion: str = "kkt"
) -> tuple[Scores, float]:
    """Scores that decide whether the criterion is met to `tol`, as far as float64 can; and the largest difference seen
    between them and the ones given (NaN without any)."""
    known = np.zeros(len(scores.values), np.bool_)
    drift = np.nan
    while True:  # terminates: every iteration recomputes further samples, which can move the midpoint
        doubtful = samples_in_doubt(dual, beta, scores, tol, criterion)
        doubtful = doubtful[~known[doubtful]]
        if not len(doubtful):
            return scores, drift
        if np.count_nonzero(known) + len(doubtful) > RECOMPUTED_SHARE * len(known):
            doubtful = np.flatnonzero(~known)
        fresh = recomputed(None if len(doubtful) == len(known) else doubtful)
        known[doubtful] = True
        difference = np.abs(fresh.values - scores.values[doubtful])
        drift = float(np.fmax(drift, np.max(difference, initial=0.0)))
        scores = scores.improved(doubtful, fresh)


def samples_in_doubt(dual: SignedDual, beta: Vector, scores: Scores, tol: float, criterion: str) -> NDArray[np.int64]:
    """Return the samples whose error keeps the criterion from being decided."""
    variables = np.flatnonzero(_in_doubt(dual, point_of(dual, beta, scores), tol, criterion))
    return variables if dual.row is None else np.unique(dual.row[variables])


def _in_doubt(dual: SignedDual, point: Point, tol: float, criterion: str) -> NDArray[np.bool_]:
    """Variables whose error keeps the criterion from being decided."""
    tables, numbers = evaluate_point(dual.terms, point, 0.0)
    nothing = np.zeros(len(dual), np.bool_)
    if criterion == "kkt":
        if violation_of(tables[LARGEST], dual.n_groups) <= tol:
            return nothing
        if np.inf > violation_of(tables[SMALLEST], dual.n_groups) > tol:
            return nothing
        return doubtful_slopes(dual.terms, point, tables[COMPUTED], tol)
    if not np.isfinite(point.error).all():
        return np.isinf(point.error)
    gap, _, excess = _gap(dual, point, thresholds_of(tables[COMPUTED], dual.n_groups), numbers)
    if relative(gap, numbers.value, numbers.value_error) <= tol:
        return nothing
    allowed = tol * max(0.0, abs(numbers.value) - numbers.value_error)
    return excess > GAP_SHARE * allowed / max(1, len(dual))


def _gap(dual: SignedDual, point: Point, thresholds: Vector, numbers: Numbers) -> tuple[float, float, Vector]:
    """Return a bound on primal - dual at the best scaling found, its computed value, and what each error adds."""
    terms, excess, scale = dual.terms, np.zeros(len(dual)), 0.0
    if numbers.squared_length + numbers.length_error >= 0.0:  # else there is no feature space and no primal problem
        problem = (terms, point.Kb, max(0.0, numbers.squared_length), numbers.value, thresholds)
        _, scale = soft_primal(*problem)
        if scale == 0.0 and len(dual.hard):
            _, scale = hard_primal(*problem)
            scale = safe_hard_scale(terms, point, thresholds, scale)
            thresholds = scale * thresholds
    if not 0.0 < scale < np.inf:
        return np.inf, np.inf, excess
    bound, computed = gap_at(terms, point, thresholds, scale, numbers, excess)
    return bound, computed, excess


def certify_function(
    dual: SignedDual,
    beta: Vector,
    scores: Scores,
    tol: float,
    *,
    thresholds: Vector | None = None,
    criterion: str = "kkt",
    is_psd: bool = True,
    diagonal: float = np.inf,
) -> Certificate:
    """Return the certificate of beta, given K b per sample with its error.

    thresholds : the model's own; None takes the best ones
    diagonal : a bound on k(x, x), with which rounding errors of sums cost almost nothing; infinite if unknown
    """
    point, groups = point_of(dual, beta, scores), dual.n_groups
    tables, numbers = evaluate_point(dual.terms, point, diagonal)
    violation, computed = (violation_of(tables[kind], groups) for kind in (LARGEST, COMPUTED))
    if thresholds is None:
        thresholds = thresholds_of(tables[COMPUTED], groups)
    elif not np.isfinite(thresholds).all():
        violation = computed = np.inf
    elif groups:
        lowest, highest = tables[:, :, LOWEST], tables[:, :, HIGHEST]
        apart = np.maximum(highest - thresholds, thresholds - lowest).max(axis=1)
        violation, computed = max(violation, apart[LARGEST]), max(computed, apart[COMPUTED])
    gap, computed_gap, _ = _gap(dual, point, thresholds, numbers)
    criterion = criterion if is_psd else "kkt"
    if criterion != "kkt":
        computed = relative(computed_gap, numbers.value, 0.0)
    facts = np.empty(len(FACTS))
    summarise(violation, computed, gap, numbers, facts)
    n_support, n_free = np.count_nonzero(dual.per_sample(beta)), tables[COMPUTED, :, FREE].sum()
    facts[FACTS.index("rounding") :] = np.max(point.error, initial=0.0), np.nan, n_support, n_free
    return certificate_of(facts, thresholds, tol=tol, criterion=criterion, is_psd=is_psd)


def certify(
    dual: SignedDual,
    kernel: Kernel,
    X: Any,
    beta: Vector,
    tol: float = 1e-3,
    *,
    thresholds: Vector | None = None,
    coefficients: Vector | None = None,
    criterion: str = "kkt",
) -> Certificate:
    """Certificate of any multipliers beta of a signed dual on raw data X, computed from nothing else, all in float64.

    thresholds : the model's own; None takes the best ones
    coefficients : b of each sample where beta has it only up to rounding: two large variables of one sample
    """
    samples = X if isinstance(X, Samples) else kernel.prepare(X, np.float64)
    coefficients = dual.per_sample(beta) if coefficients is None else coefficients
    support = np.flatnonzero(coefficients)
    with single_threaded_blas():
        scores = kernel_scores(kernel, samples, samples.take(support), coefficients[support], available_cores())
    diagonal = float(np.max(kernel.diag(samples), initial=0.0))
    return certify_function(
        dual, beta, scores, tol,
        thresholds=thresholds, criterion=criterion, is_psd=kernel.is_psd, diagonal=diagonal,
    )  # fmt: skip
