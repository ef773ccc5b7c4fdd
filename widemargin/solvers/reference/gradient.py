"""Batch gradient ascent on the dual, with projection: the baseline for all other methods.

Solves   every SVM of the package
Given    a Gram, in rows
Returns  a Solution; a step moves all multipliers at once,
             b <- P(b - rate f),   P the nearest feasible point: the box, and the sum of every group
         A kink e |b| shifts each value by rate e towards zero first (the proximal step); both are monotone in the level
         that keeps the sum, so the level is found by halving an interval.
Band     optional: the sum may at first lie within zeta of its value, and zeta shrinks by a factor with every step until
         it is zero to rounding; the run's point is the nearest one with the exact sum, so that every ending is
         feasible. One multiplier at a time would get stuck at the edge of the band; the projection moves all.
Rate     1 / (largest eigenvalue of K + D), from a few power iterations; halved whenever the objective does not fall
Use      to teach, and to see why other methods move few multipliers at a time: a step costs K times a vector, and their
         number grows with the condition of K.
See      Cristianini & Shawe-Taylor (2000), section 7.2; one multiplier at a time: adatron.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from widemargin._jit import jit
from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual
from widemargin.solvers.reference.passes import PASS, SLICE, Passes, ReferenceSolver, Run, Turns, Vector
from widemargin.solvers.reference.working_set import move, repair_sums

POWER_ITERATIONS = 20  # products with K to find its largest eigenvalue; an estimate is enough, the step is checked
CLOSED = 1e-12  # share of the first band below which it counts as closed
HALVINGS = 60  # halvings of the rate in one step, beyond which rounding must be why the objective does not fall
RECOVERY = 1.25  # growth of a halved rate per step, so that one bad estimate does not last


@dataclass(frozen=True)
class Gradient(ReferenceSolver):
    """Projected gradient ascent.

    Parameters
    ----------
    rate : float or None, default None
        Length of a step; None takes 1 / (largest eigenvalue of the kernel matrix).
    band : float, default 0
        zeta, by which the sum y alpha may at first differ from zero; 0 keeps the sum from the start.
    shrink : float in (0, 1), default 0.9
        Factor by which the band shrinks with every step.
    max_passes : int, default 20,000

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> SVC(kernel="linear", solver="gradient").fit(X, [0, 0, 1, 1]).coef_.round(3).tolist()
    [[0.5, 0.5]]
    """

    rate: float | None = None
    band: float = 0.0
    shrink: float = 0.9
    max_passes: int = field(default=20_000, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rate is not None and not 0.0 < self.rate < np.inf:
            raise ValueError(f"rate must be a positive number, or None to compute it; got {self.rate!r}.")
        if not 0.0 <= self.band < np.inf:
            raise ValueError(f"band must be 0 (the sum is kept) or a positive number; got {self.band!r}.")
        if not 0.0 < self.shrink < 1.0:
            raise ValueError(f"shrink must lie between 0 and 1, so that the band closes; got {self.shrink!r}.")

    def passes(self, run: Run) -> Passes:
        dual = run.dual
        everything = np.arange(len(dual))
        largest = self.rate or 1.0 / (_largest_eigenvalue(run) or 1.0)  # any rate will do where K is zero
        rate = largest
        if self.band and dual.n_groups:
            yield from self._close_band(run, rate)
        objective = dual.objective(run.beta, run.Kb)
        while True:
            before = run.point
            for _ in range(HALVINGS):
                target = project(dual, run.beta, rate * run.gradient(), rate)
                if np.array_equal(target, run.beta):
                    return Status.STALLED
                move(run, everything, target)
                after = dual.objective(run.beta, run.Kb)
                if after < objective:
                    break
                run.point = before
                rate *= 0.5
                yield SLICE
            else:
                return Status.STALLED
            objective = after
            rate = min(largest, RECOVERY * rate)
            run.iterations += 1
            yield PASS

    def _close_band(self, run: Run, rate: float) -> Turns:
        """Make steps with the sum in a band that shrinks; the run gets the nearest point with the exact sum."""
        dual, band = run.dual, self.band
        everything = np.arange(len(dual))
        inside, objective = run.beta, np.inf
        while band > CLOSED * self.band:
            f = dual.gradient(inside, run.gram.scores(dual.per_sample(inside)).values)
            inside = project(dual, inside, rate * f, rate, band)
            band *= self.shrink
            move(run, everything, project(dual, inside, np.zeros_like(inside), 0.0))
            run.iterations += 1
            before, objective = objective, min(objective, dual.objective(run.beta, run.Kb))
            yield PASS if objective < before else SLICE  # stop rules and stalling are about a falling objective
        return 0


def project(dual: SignedDual, beta: Vector, step: Vector, rate: float, band: float = 0.0) -> Vector:
    """Return the feasible point nearest to beta - step, after the kink's shift towards zero.

    band : distance from their value within which the sums count as feasible
    """
    values, epsilon = beta - step, rate * dual.epsilon
    target = np.empty_like(beta)
    if dual.n_groups == 0:
        pull(values, 0.0, epsilon, dual.lower, dual.upper, target)
        return target
    for first, last in zip(dual.group_starts[:-1], dual.group_starts[1:], strict=True):
        part = slice(first, last)
        total = float(dual.start[part].sum())
        terms = epsilon[part], dual.lower[part], dual.upper[part]
        if band > 0.0:
            free = pull(values[part], 0.0, *terms, target[part])
            if abs(free - total) <= band:
                continue
            total += np.copysign(band, free - total)
        project_to_sum(values[part], *terms, total, target[part])
    return target if band > 0.0 else repair_sums(dual, target)


@jit
def pull(values, level, epsilon, lower, upper, out):
    """Compute values - level, shrunk towards zero by the kink and clipped to the box; return the sum."""
    total = 0.0
    for t in range(values.shape[0]):
        v = values[t] - level
        v = max(v - epsilon[t], 0.0) if v > 0.0 else min(v + epsilon[t], 0.0)
        out[t] = min(max(v, lower[t]), upper[t])
        total += out[t]
    return total


@jit
def project_to_sum(values, epsilon, lower, upper, total, out):
    """Find the level at which the values of `pull` sum to `total`; the sum falls as the level rises."""
    width = abs(total) + 1e-300 + np.max(np.abs(values) + epsilon)
    low, high = -width, width
    while pull(values, low, epsilon, lower, upper, out) < total and low > -1e300:
        low *= 2.0
    while pull(values, high, epsilon, lower, upper, out) > total and high < 1e300:
        high *= 2.0
    while low < 0.5 * (low + high) < high:
        middle = 0.5 * (low + high)
        if pull(values, middle, epsilon, lower, upper, out) > total:
            low = middle
        else:
            high = middle
    pull(values, high, epsilon, lower, upper, out)


def _largest_eigenvalue(run: Run) -> float:
    """Estimate the largest eigenvalue of K + D by power iteration from an asymmetric vector."""
    dual = run.dual
    vector = 1.0 + np.random.default_rng(0).random(len(dual))
    value = 0.0
    for _ in range(POWER_ITERATIONS):
        vector /= max(float(np.linalg.norm(vector)), np.finfo(float).tiny)
        Kb = run.gram.scores(dual.per_sample(vector)).values
        vector = dual.per_variable(Kb) + dual.diagonal * vector
        value = float(np.linalg.norm(vector))
    return value
