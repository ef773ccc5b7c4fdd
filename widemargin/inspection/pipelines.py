"""The estimator inside a fitted pipeline or search, and the samples as that estimator sees them.

    a pipeline  its last step, on what the steps before it make of X
    a search    its best estimator

Either may contain the other. Only scikit-learn's conventions are used, so that any search and any transformer will do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from widemargin._sklearn import num_samples
from widemargin.estimators.fitted import is_training_data


def unwrap(model: Any) -> tuple[Any, Any]:
    """Return the estimator inside a fitted pipeline or search, and the steps before it (None if there are none).

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import SVC
    >>> unwrap(make_pipeline(StandardScaler(), SVC()).fit([[0.0], [2.0]], [0, 1]))
    (SVC(), Pipeline(steps=[('standardscaler', StandardScaler())]))
    """
    if hasattr(model, "best_estimator_"):
        return unwrap(model.best_estimator_)
    if not hasattr(model, "steps"):
        check_is_fitted(model)
        if hasattr(model, "cv_results_") and not hasattr(model, "to_machine"):  # SVCCV is itself the machine
            raise ValueError(
                f"This {type(model).__name__} kept no fitted model, as refit=False asks: search with refit=True, or "
                "fit an estimator with its best_params_."
            )
        return model, None
    machine, inner = unwrap(model.steps[-1][1])
    outer = model[:-1] if len(model.steps) > 1 else None
    if outer is not None and inner is not None:
        from sklearn.pipeline import make_pipeline  # imported here, because it is slow to import

        return machine, make_pipeline(outer, inner)
    return machine, inner if outer is None else outer


def prepared(before: Any, X: Any) -> Any:
    """Return X after the steps before the estimator."""
    return X if before is None else before.transform(X)


def training_data(machine: Any, before: Any, X: Any) -> Any:
    """Return X after the steps before the estimator, as it was in training.

    Some transformers round differently when they are fitted (PCA multiplies other matrices): where the support vectors
    agree up to such rounding, those of the estimator are put in their places.
    """
    samples = prepared(before, X)
    own: Any = getattr(machine, "support_vectors_", ())
    if before is None or type(samples) is not np.ndarray or num_samples(own) == 0:
        return samples
    if np.array_equal(samples[machine.support_], own) or not is_training_data(machine, samples):
        return samples
    samples = samples.copy()
    samples[machine.support_] = own
    return samples


def names_after(before: Any) -> list[str] | None:
    """Return the names of the features that the steps before the estimator make; None if they do not say."""
    try:
        return [str(name) for name in before.get_feature_names_out()]
    except (AttributeError, ValueError):
        return None
