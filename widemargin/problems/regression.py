"""Regression models as signed duals. b = alpha - alpha*, one variable per sample where the model allows it.

linear eps-loss      min 1/2 |w|^2 + sum C_i max(0, |y_i - f_i| - eps)          |b_i| <= C_i, kink eps at b = 0
quadratic eps-loss   min 1/2 |w|^2 + sum C_i max(0, |y_i - f_i| - eps)^2 / 2    no box, K + diag(1/C_i), same kink
nu                   eps is fitted so that at most a fraction nu of the samples lies outside the tube

The kink replaces the doubled variables of textbooks (at most one of alpha, alpha* is nonzero); measured to be faster.
See  Cristianini & Shawe-Taylor (2000), (7.2), sections 6.2 and 7.5; Schoelkopf et al. (2000) for nu.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.classification import fill_up
from widemargin.problems.dual import SignedDual, Vector


def epsilon_insensitive(y: Vector, C: Vector, epsilon: float) -> SignedDual:
    """Linear eps-insensitive loss: box [-C, C] and a kink of height eps at zero."""
    return SignedDual(linear_term=-y, lower=-C, upper=C.copy(), epsilon=np.full(len(y), float(epsilon)))


def squared_epsilon_insensitive(y: Vector, C: Vector, epsilon: float) -> SignedDual:
    """Quadratic eps-insensitive loss: no box, 1/C on the diagonal. A sample with C = 0 stays at zero."""
    bound = np.where(C > 0, np.inf, 0.0)
    diagonal = np.divide(1.0, C, out=np.zeros_like(C), where=C > 0)
    return SignedDual(
        linear_term=-y, lower=-bound, upper=bound, diagonal=diagonal, epsilon=np.full(len(y), float(epsilon))
    )


def nu_regression(y: Vector, C: Vector, nu: float) -> SignedDual:
    """nu-SVR on 2n variables: [0, C] above the tube and [-C, 0] below it, each half with sum nu sum(C) / 2.

    Bias -(r_0 + r_1) / 2 and tube eps = (r_1 - r_0) / 2 from the thresholds of the two halves.
    """
    n = len(y)
    above = fill_up(C, nu * C.sum() / 2.0)
    zeros = np.zeros(n)
    return SignedDual(
        linear_term=np.concatenate([-y, -y]),
        lower=np.concatenate([zeros, -C]),
        upper=np.concatenate([C, zeros]),
        start=np.concatenate([above, -above]),
        group=np.repeat(np.array([0, 1], np.int64), n),
        n_groups=2,
        row=np.tile(np.arange(n, dtype=np.int64), 2),
        n_samples=n,
    )


def nu_tube(thresholds: NDArray[np.float64]) -> tuple[float, float]:
    """Tube half-width eps and bias of nu-regression from the thresholds of its two halves."""
    return (thresholds[1] - thresholds[0]) / 2.0, -(thresholds[0] + thresholds[1]) / 2.0
