"""What `widemargin train` says at the end: how the model does on its own training data, and what to try next.

`widemargin tune` gives the advice on scale.

Agreement with the training data is no estimate for new data, but a model that does badly there does badly everywhere.
Of the advice, only the first that applies is given:

    regression   class labels are numbers, and nearly as many as samples
    scale        a feature spans far more than a typical one, and decides the kernel alone
    C, gamma     the answers are hardly better than a constant; nearly all samples are support vectors; defaults in use
"""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np

from widemargin.cli.data import Data
from widemargin.cli.models import agreement
from widemargin.io.preparation import Preparation
from widemargin.monitor.status import Status
from widemargin.report.advice import spreads

MOST_SAMPLES = 2_000  # predicted after training: seconds at most, and accuracy to about one per cent
UNEQUAL = 30.0  # times the span of a typical feature from which a feature decides alone
HARDLY = 0.9  # share of a constant's errors from which a model is hardly better
NEARLY_ALL = 0.9  # share of samples that are support vectors from which the kernel is too narrow
MANY, FEW = 20, 5.0  # classes from which, and samples per class below which, numbers look like targets of a regression
OF_FEATURES = ("linear", "poly", "rbf", "sigmoid", "laplacian")  # kernels that depend on the scale of the features
OF_DISTANCES = ("rbf", "laplacian")
CUT_SHORT = (Status.INTERRUPTED, Status.TIME_LIMIT, Status.MAX_ITER)  # what the model does says nothing about C, gamma
WITH_GAMMA = ("poly", "rbf", "sigmoid", "laplacian", "chi2")


def remarks(model: Any, data: Data, y: Any, options: SimpleNamespace) -> tuple[list[str], dict[str, Any]]:
    """Return both remarks as lines for people and as facts for JSON."""
    agreed = agreement_in_training(model, data.X, y)
    lines = [agreed.pop("words")] if agreed else []
    advised = advice(model, data, y, options, agreed)
    return lines + [f"advice: {advised}"] * bool(advised), {"training": agreed, "advice": advised}


def agreement_in_training(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Return how well the model agrees with its training data, on a random part of them if there are many."""
    if y is None:
        return {}
    n_samples = len(y)
    rows = np.random.default_rng(0).permutation(n_samples)[:MOST_SAMPLES]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = model.predict([X[row] for row in rows] if isinstance(X, list) else X[rows])
    agreed = agreement(model, answers, y[rows])
    part = "" if len(rows) == n_samples else f", from {len(rows):,} of {n_samples:,} samples"
    agreed["words"] = f"training {agreed['words']}{part}; for new data: `widemargin cv`"
    return {**agreed, "samples": len(rows)}


def looks_like_regression(model: Any, y: Any) -> str | None:
    """Return a sentence if a classifier's labels are numbers of which hardly any occurs often."""
    if not hasattr(model, "class_weight") or y.dtype.kind not in "iuf":
        return None
    n_classes = len(np.unique(y))
    if n_classes < MANY or len(y) >= FEW * n_classes:
        return None
    return f"{n_classes:,} different labels of {len(y):,} samples: this looks like regression, -s svr"


def advice(model: Any, data: Data, y: Any, options: SimpleNamespace, agreed: dict[str, Any]) -> str | None:
    """Return what to try next, the most important first; None if nothing comes to mind."""
    if regression := looks_like_regression(model, y):
        return regression
    dominant = dominant_feature(data, options)
    if y is None or dominant or model.status_ in CUT_SHORT:
        return dominant
    parameters = ("C" if hasattr(model, "C") else "nu") + (" and gamma" if options.kernel in WITH_GAMMA else "")
    search = f"`widemargin cv --grid` searches {parameters}" if hasattr(model, "C") else f"try other {parameters}"
    if _is_hardly_better_than_a_constant(y, agreed):
        return f"hardly better than a constant answer: {search}"
    if options.kernel in OF_DISTANCES and hasattr(model, "classes_") and len(model.support_) > NEARLY_ALL * len(y):
        return f"nearly all samples are support vectors, gamma may be too large: {search}"
    return f"trained with defaults: {search}" if options.C == 1 and options.gamma == "auto" else None


def dominant_feature(data: Data, options: SimpleNamespace) -> str | None:
    """Return a sentence on the feature that spans far more than a typical one, if there is one, and what to do."""
    if options.kernel not in OF_FEATURES or options.scale != "none":
        return None
    low, high, _, _ = spreads(data.X)
    span = high - low
    largest, typical = int(np.argmax(span)), float(np.median(span[span > 0.0])) if np.any(span > 0.0) else np.inf
    if not span[largest] > UNEQUAL * typical:
        return None
    learned = data.preparation or {}
    name, cure = f"feature {largest + (not learned.get('zero_based', False))}", "scale the features first"
    if learned.get("format") == "table":
        name, cure = repr(Preparation.from_plain(learned).feature_names[largest]), "--scale standard"
    elif learned.get("format") == "libsvm":
        cure = "`widemargin scale` it first"
    return f"{name} spans {span[largest]:,.4g}, a typical feature {typical:,.4g}: {cure}"


def _is_hardly_better_than_a_constant(y: Any, agreed: dict[str, Any]) -> bool:
    """Whether the model errs nearly as often, or by as much, as the best single answer for all samples."""
    if "accuracy" in agreed:
        most_frequent = np.unique(y, return_counts=True)[1].max() / len(y)
        return 1.0 - agreed["accuracy"] > HARDLY * (1.0 - most_frequent)
    return agreed["mean_squared_error"] > HARDLY * np.var(y)
