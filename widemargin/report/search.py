"""The search behind an SVCCV or SVRCV, for the report: mean scores over C and gamma."""

from __future__ import annotations

from typing import Any

import numpy as np

LIGHTEST = 0.08  # opacity of the worst cell's background; the best one has DARKEST
DARKEST = 0.75


def search_facts(model: Any) -> dict[str, Any] | None:
    """Table of mean scores and the chosen cell; None for a model that did not search."""
    if not hasattr(model, "search_complete_"):
        return None
    means = model.scores_.mean(axis=-1)
    has_gamma = "gamma" in model.best_params_
    while means.ndim > 1 + has_gamma:
        means = np.fmax.reduce(means, axis=-1)  # of epsilon the best
    means = means.reshape(len(model.Cs_), -1)
    known = np.isfinite(means)
    low, high = (means[known].min(), means[known].max()) if known.any() else (0.0, 0.0)
    share = (means - low) / (high - low) if high > low else np.zeros_like(means)
    rows = [
        (float(C), [None if np.isnan(mean) else (float(mean), LIGHTEST + (DARKEST - LIGHTEST) * float(part))
                    for mean, part in zip(row, shares)])
        for C, row, shares in zip(model.Cs_, means, share)
    ]  # fmt: skip
    return {
        "gammas": [float(gamma) for gamma in model.gammas_] if has_gamma else [],
        "rows": rows,
        "chosen": model.best_params_,
        "score": model.best_score_,
        "n_cells": len(model.cv_results_["params"]),
        "n_splits": model.n_splits_,
        "complete": model.search_complete_,
        "names": " and ".join(model.best_params_),
    }
