"""Advice: the scales of the features, the width of the kernel, and what to know before the figures are trusted.

Kernels add up features: one that spans thousands decides alone beside one that spans a unit, and makes training slow
(`scale` in a pipeline is the cure). And a kernel whose values between different samples are all near 0 knows every
sample only by itself, one whose values are all near 1 cannot tell samples apart; gamma decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from widemargin.kernels import Gaussian, Laplacian
from widemargin.kernels.names import is_precomputed
from widemargin.linalg.arrays import Vector
from widemargin.report.numbers import number
from widemargin.report.subject import Subject

FEW_VALUES = 200  # samples between which kernel values are inspected
MOST_ROWS = 8  # features shown
WIDE = 100  # features whose spreads differ by this factor are worth a warning
TOO_SEPARATE, TOO_ALIKE = 0.01, 0.99  # median kernel value below or above which gamma is likely wrong
CROWDED = 0.8  # share of the samples above which the number of support vectors is worth a remark


def feature_scales(subject: Subject) -> dict[str, Any]:
    """Features that vary, by spread, and those that do not; empty where there are no features."""
    if not subject.is_numeric or is_precomputed(getattr(subject.model, "kernel", None)):
        return {}
    names = subject.names
    low, high, _, deviation = spreads(subject.X)
    varying, constant = np.flatnonzero(high > low), np.flatnonzero(high == low)
    order = varying[np.argsort(-deviation[varying], kind="stable")]
    half = MOST_ROWS // 2
    listed = order if len(order) <= MOST_ROWS else np.concatenate([order[:half], order[-half:]])
    return {
        "ratio": deviation[order[0]] / max(deviation[order[-1]], np.finfo(float).tiny) if len(order) else None,
        "rows": [(names[j], number(low[j]), number(high[j]), number(deviation[j])) for j in listed],
        "all_listed": len(order) <= MOST_ROWS,
        "constant": [names[j] for j in constant],
    }


def advice_for(
    subject: Subject, certificate: Any, scales: dict[str, Any], typical: float | None, n_support: int | None
) -> list[tuple[str, str]]:
    """What a reader should know before trusting the figures: sentences, each with the section that says more."""
    found = []
    if certificate is not None and not certificate.holds:
        found.append(
            ("Training did not reach the accuracy that was asked for: this is a preliminary model.", "certificate")
        )
    if scales and scales["ratio"] is not None and scales["ratio"] > WIDE:
        largest, smallest = scales["rows"][0][0], scales["rows"][-1][0]
        found.append((
            f"The features are not scaled: \u201c{largest}\u201d varies {number(scales['ratio'], 3)} times as much as "
            f"\u201c{smallest}\u201d and decides almost alone. Train {subject.trains_scaled} instead, "
            "and choose its parameters again.", "scaling",
        ))  # fmt: skip
    if typical is not None and not TOO_SEPARATE <= typical <= TOO_ALIKE:
        word = "larger" if typical > TOO_ALIKE else "smaller"
        found.append((f"gamma does not suit the spread of the data: try a {word} one.", "scaling"))
    if n_support is not None and subject.n_training is not None and n_support > CROWDED * subject.n_training:
        found.append(("Nearly all samples are support vectors: gamma may be too large, or C too small.", "support"))
    if subject.is_training_data:
        found.append(
            ("All figures are of the data the model was trained on; new data will give lower ones.", "quality")
        )
    return found


def spreads(X: Any) -> tuple[Vector, Vector, Vector, Vector]:
    """Smallest value, largest value, mean and standard deviation of each column."""
    if sp.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0)
        return *min_max_axis(X, axis=0), mean, np.sqrt(variance)
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    return low, high, X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)


def kernel_width(subject: Subject) -> float | None:
    """Median kernel value between some of the samples; None for kernels without a width."""
    kernel, X = subject.kernel, subject.X
    if not isinstance(kernel, Gaussian | Laplacian) or not subject.is_numeric or X.shape[0] < 3:
        return None
    chosen = np.random.default_rng(0).permutation(X.shape[0])[:FEW_VALUES]
    values = kernel(X[np.sort(chosen)])
    return float(np.median(values[~np.eye(len(values), dtype=bool)]))
