"""Least mean squares in the dual: the Widrow-Hoff rule with a kernel.

Solves   (K + s I) b = y by steps along the error; without noise s towards the interpolation of the targets
Batch    b <- b + rate (y - (K + s I) b)                             all samples at once
Sgd      b_i <- b_i + rate (y_i - sum_j k(x_i, x_j) b_j - s b_i)     one sample after the other, in random order
Rate     A batch step shrinks every error component by 1 - rate lambda: it converges for rate < 2 / lambda_max, and
         lambda_max <= largest sum of |k(x_i, x_j)| over a row, plus s (Gershgorin). A single step is one of successive
         over-relaxation with factor rate (k(x_i, x_i) + s), which converges between 0 and 2. `safe_rate` is one over
         these bounds, so that divergence is impossible; other rates are checked.
Given    a kernel system, targets, a rate, a rule to stop, and a random order for single steps
Returns  the coefficients, the relative error |y - (K + s I) b| / |y| after every pass, and a Status
See      Cristianini & Shawe-Taylor (2000), section 7.6: with the augmented kernel K + s I the limit is the Gaussian
         process of noise s. The dual updates are those of linear regression with w = sum_i b_i phi(x_i).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.gram.gram import ROW_TILE
from widemargin.linalg.arrays import Vector
from widemargin.monitor import clock
from widemargin.monitor.interrupt import status_of
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status
from widemargin.solvers.lms_steps import step_along
from widemargin.training.kernel_system import KernelSystem, SystemRule

DIVERGED = 1e6  # multiple of the first error beyond which the learning rate is too large for the data

Order = NDArray[np.int64]


def safe_rate(system: KernelSystem, noise: float, single: bool) -> float:
    """Return a rate at which single or batch steps cannot diverge."""
    if single:
        bound = float(system.diagonal.max(initial=0.0))
    else:
        blocks = np.array_split(np.arange(len(system)), -(-len(system) // ROW_TILE))
        bound = max(float(np.abs(system.rows(block)).sum(axis=1).max()) for block in blocks)
    return 1.0 / max(bound + noise, np.finfo(float).tiny)


def sweep(system: KernelSystem, order: Order, y: Vector, beta: Vector, rate: float, noise: float) -> float:
    """Make single steps on the samples in the given order, changing beta; return the norm of the errors seen."""
    total = 0.0
    for start in range(0, len(order), ROW_TILE):
        chosen = order[start : start + ROW_TILE]
        total += step_along(system.rows(chosen), chosen, y, beta, rate, noise)
    return float(np.sqrt(total))


def walk(
    system: KernelSystem,
    y: Vector,
    rate: float,
    noise: float,
    rule: SystemRule,
    rng: np.random.RandomState | None = None,
    watch: Watch | None = None,
) -> tuple[Vector, list[float], Status]:
    """Make passes over the samples from zero coefficients: batch steps, or single steps in the order drawn by `rng`."""
    started = clock.now()
    beta, size, tiles = np.zeros(len(y)), float(np.linalg.norm(y)), system.tiles(0.0)
    errors: list[float] = []
    if size == 0.0:
        return beta, errors, Status.OPTIMAL
    try:
        for _ in range(rule.max_iter):
            with np.errstate(over="ignore", invalid="ignore"):
                if rng is None:
                    error = y - noise * beta - tiles.product(beta[:, None])[:, 0]
                    relative = float(np.linalg.norm(error)) / size
                    if relative > rule.tol:
                        beta += rate * error
                else:
                    relative = sweep(system, rng.permutation(len(y)), y, beta, rate, noise) / size
            errors.append(relative)
            seconds = clock.now() - started
            if watch is not None:
                watch(Iteration(relative, rule.tol, n_support=len(y), seconds=seconds, iterate=beta.copy))
            if relative <= rule.tol:
                return beta, errors, Status.OPTIMAL
            if not relative <= DIVERGED:
                return np.zeros_like(beta), errors, Status.UNBOUNDED
            if rule.time_limit is not None and seconds > rule.time_limit:
                return beta, errors, Status.TIME_LIMIT
    except KeyboardInterrupt as interrupt:
        return beta, errors, status_of(interrupt)
    return beta, errors, Status.MAX_ITER
