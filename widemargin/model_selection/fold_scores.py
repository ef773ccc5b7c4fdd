"""The score of a cell: that of its answers for the held-out samples of its split.

Without `scoring` it is the accuracy, or R^2 of a regression. Any other scorer gets a model whose `predict` and
`decision_function` return the cell's values. Sample weights count in the first two and in scikit-learn's own scorers,
so that weight 2 equals the sample given twice; a function of the user's gets none, as in a search of scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import get_scorer, r2_score

from widemargin._sklearn import safe_split
from widemargin.estimators.single_problem import SVR
from widemargin.estimators.svc import SVC
from widemargin.linalg.arrays import Vector
from widemargin.model_selection.held_out import HeldOut

#: score of a cell for the rows of a split
Score = Callable[[HeldOut, NDArray, NDArray], float]


class _HeldOut:
    """Answers of a cell, whatever samples are given."""

    def __init__(self, machine: Any, cell: HeldOut, classes: NDArray | None) -> None:
        known = type(self)._get_param_names()  # type: ignore[attr-defined]
        super().__init__(**{name: value for name, value in machine.get_params(deep=False).items() if name in known})
        self._cell = cell
        if classes is not None:
            self.classes_ = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _decision_values(self, X: Any) -> Vector:
        return self._cell.decision

    def predict(self, X: Any) -> NDArray:
        return self._cell.prediction


class HeldOutSVC(_HeldOut, SVC):
    """A classifier that knows the answers for one split only."""


class HeldOutSVR(_HeldOut, SVR):
    """A regression that knows the answers for one split only."""


def score_by(scoring: Any, machine: Any, X: Any, y: NDArray, weight: Vector | None) -> Score:
    """Return the function that scores a cell."""
    is_classifier = isinstance(machine, ClassifierMixin)
    if scoring is None:
        return lambda cell, train, test: _own_score(cell.prediction, y[test], _of(weight, test), is_classifier)
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    weighted = weight is not None and (isinstance(scoring, str) or hasattr(scorer, "_score_func"))

    def score(cell: HeldOut, train: NDArray, test: NDArray) -> float:
        kind = HeldOutSVC if is_classifier else HeldOutSVR
        model = kind(machine, cell, np.unique(y[train]) if is_classifier else None)
        tested, _ = safe_split(machine, X, y, test, train)
        try:
            value = scorer(model, tested, y[test], **({"sample_weight": weight[test]} if weighted else {}))  # type: ignore[index]
        except AttributeError as error:
            if "predict_proba" not in str(error):
                raise
            raise ValueError(
                f"scoring={scoring!r} needs probabilities, and a held-out cell has decision values only: choose a "
                "scorer of predict or decision_function, such as 'roc_auc', or search with GridSearchCV."
            ) from error
        if not isinstance(value, Real):
            raise ValueError(f"scoring must return one number for each split, got {type(value).__name__}.")
        return float(value)

    return score


def _own_score(prediction: NDArray, y: NDArray, weight: Vector | None, is_classifier: bool) -> float:
    """Accuracy, or R^2; nan with fewer than two targets."""
    if is_classifier:
        return float(np.average(prediction == y, weights=weight))
    return float(r2_score(y, prediction, sample_weight=weight)) if len(y) > 1 else np.nan


def _of(weight: Vector | None, rows: NDArray) -> Vector | None:
    return None if weight is None else weight[rows]
