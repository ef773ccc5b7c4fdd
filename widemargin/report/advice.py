"""Advice on the scale of the features and on the width of the kernel.

Kernels add up features: one that spans thousands decides alone beside one that spans a unit, and makes training slow
(`scale` in a pipeline is the cure). And a kernel whose values between different samples are all near 0 knows every
sample only by itself, one whose values are all near 1 cannot tell samples apart; gamma decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.kernels import Gaussian, Laplacian
from widemargin.report.html import Html, Section, number, section, table, tag

WIDE = 100.0  # features whose spreads differ by this factor are worth a warning
FEW_VALUES = 200  # samples between which kernel values are looked at
TOO_SEPARATE, TOO_ALIKE = 0.01, 0.99  # median kernel value below or above which gamma is likely wrong
MOST_ROWS = 8  # features shown

Vector = NDArray[np.float64]


def scaling_section(model: Any, X: Any, names: list[str]) -> Section:
    """The part of the page on scales."""
    told: list[Html] = []
    if sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"):
        if getattr(model, "kernel", None) == "precomputed":
            told.append(tag("p", "The kernel was given as a matrix: there are no features to scale."))
        else:
            told += _features(X, names, getattr(model, "preparation_", None))
            told += _kernel_width(model, X)
    else:
        told.append(tag("p", "The samples are no vectors of numbers: there are no features to scale."))
    return section("scaling", "Scale of the features", *told)


def spreads(X: Any) -> tuple[Vector, Vector, Vector]:
    """Smallest value, largest value and standard deviation of each column."""
    if sp.issparse(X):
        columns = X.tocsc()
        low, high = columns.min(axis=0).toarray().ravel(), columns.max(axis=0).toarray().ravel()
        mean = np.asarray(columns.mean(axis=0)).ravel()
        square = np.asarray(columns.multiply(columns).mean(axis=0)).ravel()
        return low, high, np.sqrt(np.maximum(square - mean**2, 0.0))
    return X.min(axis=0).astype(float), X.max(axis=0).astype(float), X.std(axis=0, dtype=np.float64)


def _features(X: Any, names: list[str], preparation: Any) -> list[Html]:
    """Sentences and a table on features whose scales differ."""
    low, high, deviation = spreads(X)
    varying = np.flatnonzero(high > low)
    constant = np.flatnonzero(high == low)
    told = []
    if len(varying) == 0:
        return [_note("bad", "All features are constant: no model can learn anything from them.")]
    ratio = float(deviation[varying].max() / max(deviation[varying].min(), np.finfo(float).tiny))
    order = varying[np.argsort(-deviation[varying], kind="stable")]
    largest, smallest = order[0], order[-1]
    if ratio > WIDE:
        told.append(
            _note(
                "warn",
                f"The features have very different scales: {_quoted(names[largest])} varies {number(ratio, 3)} times "
                f"as much as {_quoted(names[smallest])}. Features with large values then decide almost alone. Scale "
                "them, for example with make_pipeline(StandardScaler(), model), and choose C and gamma again.",
            )
        )
    else:
        told.append(_note("good", f"The scales of the features agree within a factor of {number(ratio, 2)}."))
    if preparation:
        told.append(tag("p", "The model carries its own preparation of the data; these are the features after it."))
    if len(constant):
        listed = ", ".join(_quoted(names[j]) for j in constant[:MOST_ROWS])
        more = " and more" if len(constant) > MOST_ROWS else ""
        told.append(
            tag("p", f"{len(constant):,} of {len(names):,} features never change and can be left out: {listed}{more}.")
        )
    half = MOST_ROWS // 2
    shown = order if len(order) <= MOST_ROWS else np.concatenate([order[:half], order[-half:]])
    rows = [(names[j], number(low[j]), number(high[j]), number(deviation[j])) for j in shown]
    caption = "Features with the largest and the smallest spread" if len(order) > MOST_ROWS else "Features by spread"
    told.append(table(("Feature", "Smallest", "Largest", "Standard deviation"), rows, caption, numeric=(1, 2, 3)))
    return told


def _kernel_width(model: Any, X: Any) -> list[Html]:
    """A sentence on gamma, from kernel values between some of the samples."""
    kernel = getattr(getattr(model, "_expansion", None), "kernel", None)
    if not isinstance(kernel, Gaussian | Laplacian) or X.shape[0] < 3:
        return []
    chosen = np.random.default_rng(0).permutation(X.shape[0])[:FEW_VALUES]
    values = kernel(X[np.sort(chosen)])
    typical = float(np.median(values[~np.eye(len(values), dtype=bool)]))
    told = f"Between two samples the kernel is typically {number(typical, 2)} (1 for equal samples). "
    gamma = number(kernel.gamma)
    if typical < TOO_SEPARATE:
        told += (
            f"That is close to 0: with gamma={gamma} every sample resembles only itself, and the model may have "
            "learned them by heart. Try a smaller gamma."
        )
        return [_note("warn", told)]
    if typical > TOO_ALIKE:
        told += (
            f"That is close to 1: with gamma={gamma} all samples look alike. Try a larger gamma, or a linear kernel, "
            "which is then nearly the same and faster."
        )
        return [_note("warn", told)]
    return [tag("p", told + f"That is neither 0 nor 1, so gamma={gamma} suits the spread of the data.")]


def _note(kind: str, text: str) -> Html:
    """A sentence that stands out: good, warn or bad."""
    return tag("p", text, class_=f"note {kind}")


def _quoted(name: str) -> str:
    return f"\u201c{name}\u201d"
