"""What is true of LinearSVC and LinearSVR: their primal at the weights they predict with, and how low it can be.

    P(w, b) = 1/2 |w|^2 (+ 1/2 (b / tau)^2 for a penalised intercept) + sum_i C_i max(0, |z_i| - eps)^p,   p = 1 or 2

The models do not expose multipliers, so a claim is refuted by better weights: P at any weights bounds the optimum from
above, whatever their accuracy. Tried are zero, the model's own weights scaled, and those of an interior-point solver.
P is evaluated in extended precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tests.fuzz.kernel_sums import LONG, Vector
from tests.fuzz.models import training_data

MOST_SAMPLES = 400  # for the interior-point solver
INTERCEPT_ROUNDING = 2.3e-16  # relative: intercept_ is a rounded product of weight and column
SCALES = (0.25, 0.5, 0.9, 0.99, 1.01, 1.1, 2.0, 4.0)


@dataclass(eq=False)
class LinearProblem:
    """One linear machine: samples with the intercept's column last (tau, or 1 if it is not penalised), losses, weights.

    sign : +1, -1 for classes; None for targets
    """

    X: NDArray
    target: Vector
    sign: Vector | None
    C: Vector
    epsilon: float
    squared: bool
    free_bias: bool
    weights: Vector

    def primal(self, w: Vector) -> tuple[float, float]:
        """Value at some weights and a bound on its error."""
        X, w = self.X.astype(LONG), w.astype(LONG)
        u = float(np.finfo(LONG).eps) * (X.shape[1] + len(X) + 8)
        value = X @ w
        error = u * (np.abs(X) @ np.abs(w) + np.abs(self.target) + 1.0)
        error += INTERCEPT_ROUNDING * np.abs(X[:, -1] * w[-1])
        excess = 1.0 - self.sign * value if self.sign is not None else np.abs(self.target - value) - self.epsilon
        excess = np.maximum(excess, 0)
        loss, slope = (excess * excess, 2 * excess + error) if self.squared else (excess, np.where(excess > 0, 1, 0))
        part = w[:-1] if self.free_bias else w
        total = 0.5 * (part @ part) + self.C @ loss
        return float(total), float(self.C @ (slope * error) + u * total) + 2.3e-16 * abs(float(total))

    def best_known(self) -> float:
        """An upper bound on the optimum, as low as it can be had."""
        w = self.weights
        tried = [w, 0.0 * w, *(s * w for s in SCALES)]
        if len(self.X) <= MOST_SAMPLES:
            tried += self._interior_point()
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.nanmin([value + error for value, error in map(self.primal, tried)]))

    def _interior_point(self) -> list[Vector]:
        """Weights of clarabel for  min 1/2 |w|^2 + sum C xi^p,  one slack per side of the tube; none if it fails."""
        import clarabel

        n, d = self.X.shape
        size = np.abs(self.X).max(axis=0)  # columns of size one: the solver likes them
        size[size == 0.0] = 1.0
        if not (size > 1e-100).all() or not np.isfinite(size * size).all():
            return []
        A = self.X / size
        if self.sign is not None:
            sides = [(-self.sign[:, None] * A, -np.ones(n))]
        else:
            sides = [(-A, self.epsilon - self.target), (A, self.epsilon + self.target)]
        m = n * len(sides)
        penalised = np.ones(d)
        penalised[-1] = 0.0 if self.free_bias else 1.0
        C = np.tile(self.C, len(sides))
        P = sparse.diags(np.concatenate([penalised / size**2, 2.0 * C if self.squared else np.zeros(m)])).tocsc()
        q = np.concatenate([np.zeros(d), np.zeros(m) if self.squared else C])
        rows = sparse.hstack([np.vstack([side for side, _ in sides]), -sparse.identity(m)])
        G = sparse.vstack([rows, sparse.hstack([sparse.csr_array((m, d)), -sparse.identity(m)])]).tocsc()
        h = np.concatenate([*(right for _, right in sides), np.zeros(m)])
        options = clarabel.DefaultSettings()
        options.verbose, options.max_iter, options.time_limit = False, 100, 1.0
        options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-10
        try:
            answer = clarabel.DefaultSolver(P, q, G, h, [clarabel.NonnegativeConeT(2 * m)], options).solve()
        except BaseException as error:  # the solver's own panics are no exceptions of Python's
            if isinstance(error, KeyboardInterrupt):
                raise
            return []
        w = np.array(answer.x[:d]) / size
        return [w] if np.isfinite(w).all() else []


def linear_problems_of(model: Any, X: Any, y: Any, weight: Any) -> list[LinearProblem]:
    """The problems of a LinearSVC (one per class against the rest) or a LinearSVR, with penalty l2."""
    data = training_data(X, y, weight, False)
    column = 0.0
    free_bias = model.fit_intercept and not model.penalize_intercept
    if model.fit_intercept:
        column = 1.0 if free_bias else float(model.intercept_scaling)
    rows = np.hstack([data.X.astype(np.float64), np.full((len(data.X), 1), column)])
    coef = np.atleast_2d(model.coef_)
    intercept = np.broadcast_to(np.atleast_1d(model.intercept_), (len(coef),))
    bias = intercept / column if column else np.zeros(len(coef))
    squared = model.loss.startswith("squared")
    if type(model).__name__ == "LinearSVR":
        weights = np.append(coef[0], bias[0])
        y, C = data.y.astype(np.float64), model.C * data.weight
        return [LinearProblem(rows, y, None, C, float(model.epsilon), squared, free_bias, weights)]
    classes, number = np.unique(data.y, return_inverse=True)
    C = model.C * (data.weight * np.asarray(model.class_weight_)[number])
    positive = [1] if len(classes) == 2 else range(len(classes))
    zero = np.zeros(len(rows))
    return [
        LinearProblem(rows, zero, np.where(number == k, 1.0, -1.0), C, 0.0, squared, free_bias, np.append(w, b))
        for k, w, b in zip(positive, coef, bias)
    ]
