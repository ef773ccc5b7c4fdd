"""Accuracy, R^2 and mean squared error from predictions, equal to scikit-learn's scorers to the last bit.

scikit-learn validates labels and targets on every call, which takes longer than many a fit of a search. Here y is
looked at once per search, and a score is the metric's own arithmetic, in the same order of summation. Whatever is not
an ordinary case (other metrics and their options, weights, targets that are not finite, one test sample) is left to the
scorer: `DirectScorer.of` returns None, or a metric calls scikit-learn's function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.metrics import accuracy_score, mean_squared_error, r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import type_of_target

from widemargin import _sklearn

Metric = Callable[[np.ndarray, np.ndarray], float]


def accuracy(true: np.ndarray, predicted: np.ndarray) -> float:
    """Share of equal labels."""
    return float(np.count_nonzero(true == predicted) / len(true))


def r_squared(true: np.ndarray, predicted: np.ndarray) -> float:
    """1 - sum (y - f)^2 / sum (y - mean y)^2."""
    y, f = true.reshape(-1, 1), predicted.reshape(-1, 1)  # columns: numpy then adds in scikit-learn's order
    if len(y) > 1:
        residual = float(np.sum((y - f) ** 2, axis=0)[0])
        total = float(np.sum((y - np.average(y, axis=0)) ** 2, axis=0)[0])
        if total > 0.0 and math.isfinite(residual / total):
            return 1.0 - residual / total
    return float(r2_score(true, predicted))


def negative_squared_error(true: np.ndarray, predicted: np.ndarray) -> float:
    """-mean (y - f)^2."""
    error = float(np.average((true.reshape(-1, 1) - predicted.reshape(-1, 1)) ** 2, axis=0)[0])
    return -1 * (error if math.isfinite(error) else float(mean_squared_error(true, predicted)))


@dataclass(frozen=True)
class DirectScorer:
    """Scores of predictions, for a whole search.

    true     labels, or targets in float64, of all samples
    metrics  one function per scorer
    names    of the scorers if there are several, else None
    """

    true: np.ndarray
    metrics: tuple[Metric, ...]
    names: tuple[str, ...] | None

    @classmethod
    def of(cls, scorer: Any, estimator: Any, y: Any, score_params: dict[str, Any] | None = None) -> DirectScorer | None:
        """Return the direct path to the scorer's values for an estimator or a Pipeline, or None if there is none."""
        while type(estimator) is Pipeline:
            if get_config()["enable_metadata_routing"]:
                return None  # Pipeline.score then checks requests of metadata, and may raise
            estimator = estimator.steps[-1][1]
        several = isinstance(scorer, _sklearn.MultimetricScorer)
        scorers = scorer._scorers if several else {"score": scorer}
        metrics = tuple(metric for each in scorers.values() if (metric := _metric(each, estimator)) is not None)
        if len(metrics) < len(scorers) or any(value is not None for value in (score_params or {}).values()):
            return None
        true = _labels(y) if is_classifier(estimator) else _targets(y)
        return None if true is None else cls(true, metrics, tuple(scorers) if several else None)

    def __call__(self, rows: Any, predicted: np.ndarray) -> Any:
        """Score the predictions for some rows: a float, or a dictionary of floats for several scorers.

        `predicted` are labels of the kind of y, or targets in float64: what `predict` would return.
        """
        true = self.true[rows]
        if self.names is None:
            return self.metrics[0](true, predicted)
        return {name: metric(true, predicted) for name, metric in zip(self.names, self.metrics)}


def _metric(scorer: Any, estimator: Any) -> Metric | None:
    """The function that computes what a single scorer does."""
    if type(scorer) is _sklearn.PassthroughScorer:  # scoring=None: the estimator's own `score`
        known = {ClassifierMixin.score: accuracy, RegressorMixin.score: r_squared}
        return known.get(type(estimator).score)
    if type(scorer) is not _sklearn.MetricScorer or scorer._kwargs or scorer._response_method != "predict":
        return None
    if is_classifier(estimator):
        return accuracy if (scorer._score_func, scorer._sign) == (accuracy_score, 1) else None
    if not is_regressor(estimator):
        return None
    if (scorer._score_func, scorer._sign) == (r2_score, 1):
        return r_squared
    return negative_squared_error if (scorer._score_func, scorer._sign) == (mean_squared_error, -1) else None


def _labels(y: Any) -> np.ndarray | None:
    """Labels as an array, if every part of them is valid for a classification metric."""
    labels = np.asarray(y)
    return labels if labels.ndim == 1 and type_of_target(y) in ("binary", "multiclass") else None


def _targets(y: Any) -> np.ndarray | None:
    """Targets in float64, if there is one per sample and all are finite."""
    targets = np.asarray(y)
    if targets.ndim != 1 or targets.dtype.kind not in "iuf" or targets.dtype.itemsize > 8:
        return None
    targets = targets.astype(np.float64)
    return targets if np.isfinite(targets).all() else None
