"""Sentences on why a fit did not meet its tolerance: causes that can be measured on the data and the kernel.

scale        one feature is far larger than all others, or large and almost constant, and dominates the kernel
precision    rounding of sums of terms as large as C K_ii exceeds the tolerance, which is too small or C too large; or
             C makes it nearly a hard margin
indefinite   a block of the kernel matrix has a negative eigenvalue, so the problem is not convex

Called only after a failure, on at most a few thousand samples, so that its cost does not matter unless a kernel is
slow: after a time limit, causes whose kernel values would take longer than is left are not looked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.certificate import Certificate
from widemargin.gram.source import GramSource
from widemargin.kernels.kernel import Kernel
from widemargin.kernels.user_function import DIAGONAL_PART, BlockKernel, PairKernel, not_finite
from widemargin.kernels.validity import check_kernel
from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual
from widemargin.training.certified import rounding_of

MOST_SAMPLES = 5_000  # rows inspected for the scale of the features
TESTED = 500  # samples whose kernel matrix is tested for negative eigenvalues
UNEQUAL = 100.0  # times the typical feature from which a feature is reported as large
NEARLY_CONSTANT = 1e-3  # variation relative to its size below which a feature acts as a constant
LOUD = 0.1  # share of tol from which rounding is reported as a cause
USUAL_TOL = 1e-3  # which the estimators have by default: with it, rounding of problems like this one would do no harm
NEARLY_HARD = 1e4  # C K_ii from which the box hardly limits the multipliers


def meaning(certificate: Certificate) -> str:
    """Return a sentence on how far the answer is from the optimum."""
    reached = f"Reached: largest KKT violation {certificate.violation:.3g} (tol={certificate.tol:g}), "
    if not np.isfinite(certificate.gap):
        return reached + "and no bound on the distance from the optimum; see certificate_."
    words = f"relative duality gap {certificate.gap:.3g}: "
    if certificate.gap >= 0.995:
        return reached + words + "the best possible objective may be far from this model's; see certificate_."
    share = f"the best possible objective is at most {100 * certificate.gap:.2g} % better than this model's"
    condition = "" if certificate.is_psd else ", if the kernel is positive semi-definite"
    return reached + words + share + condition + "; see certificate_."


def causes(
    certificate: Certificate,
    source: GramSource,
    duals: Sequence[SignedDual],
    names: Sequence[str] | None = None,
    n_values: float = math.inf,
) -> str:
    """Return sentences that name the likely causes; empty if no cause was found.

    n_values : kernel values that there is time for
    """
    if certificate.status in (Status.INTERRUPTED, Status.STOPPED, Status.LOST, Status.OPTIMAL):
        return ""
    is_in_time = n_values >= min(len(source), TESTED) ** 2 + DIAGONAL_PART * len(source)
    found = [_indefinite(source)] if len(source) and is_in_time else []
    found += [unequal_scales(source.X, names)] if len(source) else []
    if certificate.status is not Status.NOT_FINITE and is_in_time:
        found.append(_precision(certificate, source, duals))
    return " ".join(sentence for sentence in found if sentence)


def refuse_function_not_finite(kernel: Kernel, X: Any, certificates: Sequence[Certificate]) -> None:
    """Raise an error if a user's kernel function returned NaN or infinity: a model of such values is a constant.

    Where NaN keeps a solver from its first step, K b has none; values of up to 500 samples are looked at then.
    """
    if not isinstance(kernel, BlockKernel | PairKernel):
        return
    failed = {certificate.status for certificate in certificates if not certificate.holds}
    is_looked_at = bool(failed - {Status.TIME_LIMIT, Status.INTERRUPTED, Status.STOPPED, Status.LOST})
    if Status.NOT_FINITE in failed or (is_looked_at and not check_kernel(kernel, X).finite):
        raise not_finite(kernel)


def _indefinite(source: GramSource) -> str:
    """Return a sentence if a block of the kernel matrix is proven to have a negative eigenvalue."""
    if source.kernel.is_psd:
        return ""
    check = check_kernel(source.kernel, source.X, n_samples=TESTED)
    if check.positive_semi_definite or not check.finite:
        return ""
    return (
        f"The kernel is not positive semi-definite: a block of {len(check.index)} samples has the eigenvalues "
        f"{check.smallest_eigenvalue:.3g} to {check.largest_eigenvalue:.3g}."
    )


def unequal_scales(X: Any, names: Sequence[str] | None) -> str:
    """Return a sentence if one feature is far larger than all others, or is large and almost constant."""
    if not (sp.issparse(X) or isinstance(X, np.ndarray)) or X.ndim != 2 or X.shape[0] == X.shape[1]:
        return ""
    if X.dtype.kind not in "fiub":
        return ""
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler  # imported only when needed

    rows = X[:: -(-X.shape[0] // MOST_SAMPLES)]
    with np.errstate(over="ignore"):
        size = MaxAbsScaler().fit(rows).max_abs_
        spread = np.sqrt(StandardScaler(with_mean=False).fit(rows).var_)
    used = np.flatnonzero(size > 0.0)
    if len(used) == 0:
        return ""
    largest = int(used[np.argmax(size[used])])
    typical = float(np.median(size[used]))
    name = repr(names[largest]) if names is not None else f"{largest} (counted from 0)"
    if size[largest] > UNEQUAL and spread[largest] < NEARLY_CONSTANT * size[largest]:
        return (
            f"Feature {name} is about {size[largest]:.3g} everywhere and varies by {spread[largest]:.2g} only: the "
            "model sees little else. Centre and scale the features (StandardScaler)."
        )
    if size[largest] > UNEQUAL * typical or (len(used) <= 2 and size[largest] > UNEQUAL * float(size[used].min())):
        return (
            f"Feature {name} has values up to {size[largest]:.3g}, a typical feature up to {typical:.3g}: the model "
            "sees little else. Scale the features (StandardScaler)."
        )
    if size[largest] > UNEQUAL:
        return (
            f"The features have values up to {size[largest]:.3g} (feature {name}): scale them (StandardScaler), or "
            "choose the kernel's parameters to match."
        )
    return ""


def _precision(certificate: Certificate, source: GramSource, duals: Sequence[SignedDual]) -> str:
    """Return a sentence if rounding exceeds the tolerance, or the margin is nearly hard."""
    diag = source.diag
    noise = max(rounding_of(dual, diag, certificate.n_support) for dual in duals)
    cost = max(dual.largest_cost for dual in duals)
    largest = float(diag.max(initial=0.0))
    if noise > LOUD * certificate.tol:
        if noise <= LOUD * USUAL_TOL:
            return (
                f"tol = {certificate.tol:.3g} is too small for double precision: with C = {cost:.3g} and kernel values "
                f"up to {largest:.3g}, rounding alone moves decision values by about {noise:.2g}. Raise tol to "
                f"{max(noise, certificate.rounding) / LOUD:.1g} or more."
            )
        return (
            f"C is too large for double precision: with C = {cost:.3g} and kernel values up to {largest:.3g}, "
            f"rounding alone moves decision values by about {noise:.2g}. Lower C, or scale the features so that kernel "
            "values are about one."
        )
    if cost * largest > NEARLY_HARD:
        return (
            f"C = {cost:.3g} with kernel values up to {largest:.3g} is nearly a hard margin, which converges slowly "
            "where classes overlap or targets are noisy: a smaller C is faster and usually predicts better."
        )
    return ""
