"""The primal objective of a Gaussian SVM, in float64 by plain NumPy: 1/2 b'Kb + C sum_i max(0, 1 - y_i f(x_i))."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel

BLOCK = 1000  # rows of K at a time


def primal(X: Any, y: NDArray, support: NDArray, beta: NDArray, bias: float, C: float, gamma: float) -> float:
    """Objective of f(x) = sum_j beta_j k(x, X[support_j]) + bias on labels -1 and 1."""
    scores = np.concatenate(
        [rbf_kernel(X[i : i + BLOCK], X[support], gamma=gamma) @ beta for i in range(0, len(y), BLOCK)]
    )
    hinge = np.maximum(0.0, 1.0 - y * (scores + bias)).sum()
    return float(0.5 * beta @ scores[support] + C * hinge)


def excess(value: float, optimum: float) -> float:
    """How far an objective lies above the optimum, as a share of it."""
    return (value - optimum) / optimum
