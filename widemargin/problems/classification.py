"""Classification models as signed duals. Labels y are +1 or -1; C is one positive number per sample (C times weight).

1-norm soft margin   min 1/2 |w|^2 + sum C_i xi_i          0 <= alpha_i <= C_i      hard margin: C = inf
2-norm soft margin   min 1/2 |w|^2 + sum C_i xi_i^2 / 2    0 <= alpha_i, K + diag(1/C_i)
nu                   min 1/2 |w|^2 - nu m rho + sum w_i xi_i, margin rho instead of 1, m = sum of weights

See  Cristianini & Shawe-Taylor (2000), (7.1), section 6.1 and Remark 6.11 (2-norm); Schoelkopf et al. (2000), Neural
Computation 12, for nu, in the scaling of Chang & Lin (2001) where the box is [0, w_i].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.dual import SignedDual, Vector


def box_of(C: float, weight: Vector) -> Vector:
    """Return the largest |b| of each sample, C times its weight; samples without weight have none, also for C = inf."""
    return C * weight if np.isfinite(C) else np.where(weight > 0, np.inf, 0.0)


def hinge(y: Vector, C: Vector) -> SignedDual:
    """1-norm soft margin; C = inf gives the hard margin. b = y alpha, so b lies between 0 and y C."""
    bound = y * C
    return SignedDual(linear_term=-y, lower=np.minimum(bound, 0.0), upper=np.maximum(bound, 0.0))


def squared_hinge(y: Vector, C: Vector) -> SignedDual:
    """2-norm soft margin, loss C xi^2 / 2: no upper bound, 1/C on the diagonal. A sample with C = 0 stays at zero."""
    bound = np.where(C > 0, y * np.inf, 0.0)
    diagonal = np.divide(1.0, C, out=np.zeros_like(C), where=C > 0)
    return SignedDual(linear_term=-y, lower=np.minimum(bound, 0.0), upper=np.maximum(bound, 0.0), diagonal=diagonal)


def nu_classification(y: Vector, nu: float, weight: Vector) -> SignedDual:
    """nu-SVC: the multipliers of each class sum to nu m / 2, with box [0, w_i]; no linear term.

    The margin found is rho = (r_+ - r_-) / 2 and the bias -(r_+ + r_-) / 2, from the thresholds of the two groups;
    dividing beta and bias by rho gives the model with margin one.
    """
    order = np.argsort(-y, kind="stable").astype(np.int64)  # group 0: y = +1, group 1: y = -1
    signed = (y * weight)[order]
    group = (y[order] < 0).astype(np.int64)
    half = nu * weight.sum() / 2.0
    largest = largest_nu(y, weight)
    if nu > largest * (1 + 1e-12):
        raise ValueError(
            f"specified nu is infeasible: nu={nu:g} asks for more support vectors than the smaller class has; "
            f"with these labels and weights nu can be at most {largest:.6g}."
        )
    return SignedDual(
        linear_term=np.zeros(len(y)),
        lower=np.minimum(signed, 0.0),
        upper=np.maximum(signed, 0.0),
        start=np.concatenate([fill_up(weight[y > 0], half), -fill_up(weight[y < 0], half)]),
        group=group,
        n_groups=2,
        row=None if np.array_equal(order, np.arange(len(y))) else order,
        n_samples=len(y),
    )


def largest_nu(y: Vector, weight: Vector) -> float:
    """Return the largest feasible nu: twice the share of the lighter class in the total weight."""
    total = float(weight.sum())
    lighter = min(float(weight[y > 0].sum()), float(weight[y < 0].sum()))
    return 2.0 * lighter / total if total > 0.0 else 1.0


def fill_up(capacity: Vector, total: float) -> Vector:
    """Return values 0 <= v <= capacity that sum to `total`, filled from the front: a feasible start for nu-SVMs."""
    before = np.concatenate([[0.0], np.cumsum(capacity)[:-1]])
    return np.clip(total - before, 0.0, capacity)


def nu_margin(thresholds: NDArray[np.float64]) -> tuple[float, float]:
    """Margin rho and bias of nu-classification from the thresholds of its two groups."""
    return (thresholds[0] - thresholds[1]) / 2.0, -(thresholds[0] + thresholds[1]) / 2.0
