"""A training set whose samples lie on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.estimators.training_set import TrainingSet, gamma_of
from widemargin.linalg.arrays import Index


@dataclass(eq=False)
class ClusterTrainingSet(TrainingSet):
    """Samples of positive weight; `X` is a `Rows`."""

    def rows(self, index: Index) -> Any:
        return self.X.take(index)

    def gamma(self, gamma: Any) -> float:
        if isinstance(gamma, str) and gamma == "scale":
            with np.errstate(over="ignore", invalid="ignore"):
                return gamma_of(self.X.variance(self.weight), self.X.shape[1])
        return super().gamma(gamma)
