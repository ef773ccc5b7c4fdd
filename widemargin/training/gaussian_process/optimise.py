"""Maximising the log marginal likelihood over theta, from the given start and from random ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from widemargin.linalg.arrays import Vector
from widemargin.monitor.callbacks import Steps
from widemargin.monitor.interrupt import StopRequested
from widemargin.monitor.user_warning import warn_user
from widemargin.training.gaussian_process.likelihood import LogLikelihood


def maximise(
    likelihood: LogLikelihood, optimizer: Any, n_restarts: int, rng: np.random.RandomState, steps: Steps | None
) -> Vector:
    """The best theta over all starts.

    Each evaluation is reported as a step of the fit, without an intermediate model, which would need another solve.
    """
    start, bounds = likelihood.model.start, likelihood.model.bounds
    seen: list[tuple[float, Vector]] = []

    def objective(theta: Vector, eval_gradient: bool = True) -> Any:
        """Return minus the likelihood and its gradient, or the value only."""
        found = likelihood(theta, eval_gradient)
        if steps is not None:
            seen.append((found.value, theta.copy()))
            if steps.done():
                raise StopRequested
        return (-found.value, -found.gradient) if found.gradient is not None else -found.value

    starts = [start]
    if n_restarts:
        if not np.isfinite(bounds).all():
            raise ValueError(
                "Multiple optimizer restarts (n_restarts_optimizer>0) requires that all bounds are finite."
            )
        starts += [rng.uniform(bounds[:, 0], bounds[:, 1]) for _ in range(n_restarts)]
    try:
        ends = [_one_run(objective, theta, bounds, optimizer) for theta in starts]
    except StopRequested:
        return max(seen, key=lambda evaluated: evaluated[0])[1]
    best = min(ends, key=lambda end: end[1])[0]
    for number, (low, high) in enumerate(bounds):
        for edge, word in ((low, "lower"), (high, "upper")):
            if np.isclose(best[number], edge):
                warn_user(
                    f"The optimal value found for parameter {number} of theta is close to the {word} bound "
                    f"{np.exp(edge):g}: widening the bounds and fitting again may find a better one.",
                    ConvergenceWarning,
                )
    return best


def _one_run(objective: Callable[..., Any], start: Vector, bounds: NDArray, optimizer: Any) -> tuple[Vector, float]:
    """Maximise from one start, by L-BFGS-B or by the user's function."""
    if callable(optimizer):
        theta, value = optimizer(objective, start, bounds=bounds)
        return np.asarray(theta, float), float(value)
    result = minimize(objective, start, method="L-BFGS-B", jac=True, bounds=bounds)
    if not result.success and result.status != 2:  # 2: the line search ended at rounding, close to the optimum
        warn_user(
            f"The optimizer ended before it converged after {result.nit} iterations: {result.message}. Scale the data, "
            "or start from other parameters.",
            ConvergenceWarning,
        )
    return result.x, float(result.fun)
