"""Class labels: their numbers and weights before a fit, and the class of a decision value after it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from widemargin.estimators.plain_data import are_plain_labels
from widemargin.estimators.training_set import TrainingSet
from widemargin.linalg.arrays import Vector


def checked_labels(y: Any) -> NDArray:
    """Return the labels as a vector; raise ValueError if the targets are not classes."""
    if not are_plain_labels(y, len(y)):
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
    return y


class ReadsLabels(ClassifierMixin):
    """A classifier's labels and class weights."""

    _about_one_class = ""  # appended to the error message that only one class is left

    def _read_classes(self, data: TrainingSet) -> NDArray[np.intp]:
        """Return the class numbers of the samples; raise ValueError for fewer than two classes."""
        self.classes_, labels = np.unique(checked_labels(data.y), return_inverse=True)
        if len(self.classes_) >= 2:
            return labels
        if data.kept is not None:
            raise ValueError(
                "Invalid input - all samples with positive weights belong to the same class"
                f"{self._about_one_class}. Give at least one sample of another class a positive weight."
            )
        raise ValueError(
            f"The number of classes has to be greater than one; got {len(self.classes_)} class. A classifier needs "
            "samples of at least two; OneClassSVM describes a single one."
        )

    def _read_labels(self, data: TrainingSet) -> tuple[NDArray[np.intp], Vector]:
        """Class numbers of the samples, and their weights with `class_weight` multiplied in."""
        labels = self._read_classes(data)
        class_weight: Any = self.class_weight  # type: ignore[attr-defined]
        if class_weight is None:
            self.class_weight_ = np.ones(len(self.classes_))
            return labels, data.weights()
        if class_weight == "balanced":  # a weight counts as repetition
            mass = np.bincount(labels, weights=data.weight)
            self.class_weight_ = mass.sum() / (len(mass) * mass)
        else:
            self.class_weight_ = compute_class_weight(class_weight, classes=self.classes_, y=self.classes_[labels])
        return labels, data.weights() * self.class_weight_[labels]


class OneAgainstRest(ReadsLabels):
    """Prediction from one decision value for two classes, or from the largest of one value per class."""

    def _signs(self, labels: NDArray[np.intp]) -> Vector:
        """Labels of each two-class problem, +1 or -1, shape (n_samples, n_problems)."""
        positive = np.arange(len(self.classes_)) if len(self.classes_) > 2 else np.array([1])
        return np.where(labels[:, None] == positive, 1.0, -1.0)

    def predict(self, X: Any) -> NDArray:
        """Class of each sample in X, shape (n_samples,): the largest decision value, or the sign for two classes."""
        values = self.decision_function(X)  # type: ignore[attr-defined]
        number = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_.take(number)
