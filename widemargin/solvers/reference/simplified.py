"""Simplified SMO: the first point in order, its partner at random.

Solves   the signed dual with one sum: 1- and 2-norm soft margin, hard margin, both eps-insensitive losses, one-class
Given    a Gram, in blocks and rows
Returns  a Solution
Loop     for i = 1..n: if point i violates its condition by more than tol, choose j != i at random, optimise the pair,
         set the threshold from it. Every violator counts as a change, even if its random partner allows no step;
         `max_passes_without_change` passes in a row without a violator end the run
Ends     OPTIMAL when a pass leaves a point that meets the tolerance; OWN_RULE when the passes without a change are used
         up first; STALLED after IDLE_PASSES passes with violators and no step
Growth   of the objective is judged over `max_passes_without_change` passes: what a single one gains is chance
Use      to teach SMO in thirty lines. A random partner makes many small steps: some hundred points are comfortable.
See      Straka (2019), "SMO Algorithm", slides 15-19; update of a_i, a_j, b as in Platt (1998), (13)-(21).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from widemargin._jit import jit
from widemargin.monitor.status import Status
from widemargin.solvers.reference.pair_move import Multiplier, open_slopes, pair_move, threshold_between
from widemargin.solvers.reference.passes import PART, PASS, SLICE, Passes, ReferenceSolver, Run
from widemargin.solvers.reference.visits import chunks_of
from widemargin.solvers.reference.working_set import improve

IDLE_PASSES = 1000  # passes without a step in which rounding, not the choice of partners, must be the reason


@jit
def random_pairs(at, first, second, threshold, violators, tol, max_steps):
    """Try the pairs (first[k], second[k]) of a working set in turn; returns the steps.

    f, beta, threshold[0] and the number of violators violators[0] change in place.
    """
    K, f, beta, lower, upper, epsilon = at.K, at.f, at.beta, at.lower, at.upper, at.epsilon
    steps = 0
    for i, j in zip(first, second):
        one = Multiplier(beta[i], f[i], lower[i], upper[i], epsilon[i])
        two = Multiplier(beta[j], f[j], lower[j], upper[j], epsilon[j])
        rise, fall = open_slopes(one)
        if i == j or steps >= max_steps or max(threshold[0] - rise, fall - threshold[0]) <= tol:
            continue
        violators[0] += 1
        scale = at.curvature[i] + at.curvature[j]
        b_i, b_j, decrease = pair_move(one, two, scale - 2.0 * K[i, j], scale)
        if decrease > 0.0:
            for t in range(f.shape[0]):
                f[t] += (b_i - one.b) * K[i, t] + (b_j - two.b) * K[j, t]
            f[i] += (b_i - one.b) * at.diagonal[i]
            f[j] += (b_j - two.b) * at.diagonal[j]
            beta[i], beta[j] = b_i, b_j
            steps += 1
        one = Multiplier(beta[i], f[i], lower[i], upper[i], epsilon[i])
        threshold[0] = threshold_between(one, Multiplier(beta[j], f[j], lower[j], upper[j], epsilon[j]))
    return steps


@dataclass(frozen=True)
class Simplified(ReferenceSolver):
    """Simplified SMO with a random second point.

    Parameters
    ----------
    max_passes_without_change : int, default 50
        Passes in a row without a violator before the run ends.
    seed : int, default 0
    max_passes : int, default 100,000

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> SVC(kernel="linear", solver="simplified").fit(X, [0, 0, 1, 1]).coef_.round(3).tolist()
    [[0.5, 0.5]]
    """

    max_passes_without_change: int = 50
    seed: int = 0
    max_passes: int = field(default=100_000, kw_only=True)

    moves = 2
    keeps_going = True

    def passes(self, run: Run) -> Passes:
        n, tol = len(run.dual), 0.5 * run.tol
        if n < 2:
            return Status.STALLED
        rng = np.random.default_rng(self.seed)
        threshold, violators = np.zeros(1), np.zeros(1, np.int64)
        passes = unchanged = idle = 0
        while unchanged < self.max_passes_without_change and idle < IDLE_PASSES:
            violators[0], before = 0, run.iterations
            for first in chunks_of(np.arange(n), run.every_step):
                second = (first + rng.integers(1, n, len(first))) % n  # all j != i are equally likely
                members, place = np.unique(np.concatenate([first, second]), return_inverse=True)
                pairs = place[: len(first)], place[len(first) :]
                improve(run, members, random_pairs, *pairs, threshold, violators, tol, run.steps_left())
                run.moved = (int(first[0]), int(second[0]))
                yield SLICE
            passes += 1
            unchanged = 0 if violators[0] else unchanged + 1
            idle = 0 if run.iterations > before else idle + 1
            yield PART if passes % self.max_passes_without_change else PASS
        return Status.STALLED if idle >= IDLE_PASSES else Status.OWN_RULE
