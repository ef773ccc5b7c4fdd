"""The labels of a fit: its classes, the class number of each sample, and weights with those of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from widemargin.estimators.plain_data import are_plain_labels
from widemargin.estimators.training_set import TrainingSet


def read_classes(
    estimator: Any, data: TrainingSet, about_one_class: str = ""
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Class numbers and weights of the samples; sets `classes_` and `class_weight_` of the estimator.

    about_one_class : what an estimator adds to the sentence that only one class is left
    """
    y = data.y
    if not are_plain_labels(y, len(data)):
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
    estimator.classes_, labels = np.unique(y, return_inverse=True)
    n_classes = len(estimator.classes_)
    if n_classes < 2:
        if data.kept is not None:
            raise ValueError(
                f"Invalid input - all samples with positive weights belong to the same class{about_one_class}. Give at "
                "least one sample of another class a positive weight."
            )
        raise ValueError(
            f"The number of classes has to be greater than one; got {n_classes} class. A classifier needs samples of "
            "at least two; OneClassSVM describes a single one."
        )
    if estimator.class_weight is None:
        estimator.class_weight_ = np.ones(n_classes)
        return labels, data.weights()
    if estimator.class_weight == "balanced":  # with weights counted as repetitions
        mass = np.bincount(labels, weights=data.weight)
        estimator.class_weight_ = mass.sum() / (n_classes * mass)
    else:
        estimator.class_weight_ = compute_class_weight(estimator.class_weight, classes=estimator.classes_, y=y)
    return labels, data.weights() * estimator.class_weight_[labels]
