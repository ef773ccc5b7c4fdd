"""Simplified SMO: the first point in order, its partner at random.

Solves   the signed dual with one sum: 1- and 2-norm soft margin, hard margin, both eps-insensitive losses, one-class
Given    a Gram, in blocks and rows
Returns  a Solution
Loop     for i = 1..n: if point i violates its condition by more than tol, choose j != i at random, optimise the pair,
         set the threshold from it; a pass without a change counts, `max_passes_without_change` of them in a row end the
         run
Ends     OPTIMAL when a pass leaves a point that meets the tolerance; OWN_RULE when the passes without change are used
         up first, which happens: a random partner may allow no step, and the threshold is that of the last step
Use      to teach SMO in thirty lines. A random partner makes many small steps: some hundred points are comfortable.
See      Straka (2019), "SMO Algorithm", slides 15-19; update of a_i, a_j, b as in Platt (1998), (13)-(21).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from widemargin._jit import jit
from widemargin.monitor.status import Status
from widemargin.solvers.reference.pair_move import Multiplier, open_slopes, pair_move, threshold_between
from widemargin.solvers.reference.passes import PASS, SLICE, Passes, ReferenceSolver, Run
from widemargin.solvers.reference.visits import chunks_of
from widemargin.solvers.reference.working_set import improve


@jit
def random_pairs(at, first, second, threshold, tol, max_steps):
    """Try the pairs (first[k], second[k]) of a working set in turn; f, beta, threshold[0] change. Returns steps."""
    K, f, beta, lower, upper, epsilon = at.K, at.f, at.beta, at.lower, at.upper, at.epsilon
    steps = 0
    for i, j in zip(first, second):
        one = Multiplier(beta[i], f[i], lower[i], upper[i], epsilon[i])
        two = Multiplier(beta[j], f[j], lower[j], upper[j], epsilon[j])
        rise, fall = open_slopes(one)
        if i == j or steps >= max_steps or max(threshold[0] - rise, fall - threshold[0]) <= tol:
            continue
        scale = at.curvature[i] + at.curvature[j]
        b_i, b_j, decrease = pair_move(one, two, scale - 2.0 * K[i, j], scale)
        if decrease <= 0.0:
            continue
        for t in range(f.shape[0]):
            f[t] += (b_i - one.b) * K[i, t] + (b_j - two.b) * K[j, t]
        f[i] += (b_i - one.b) * at.diagonal[i]
        f[j] += (b_j - two.b) * at.diagonal[j]
        beta[i], beta[j] = b_i, b_j
        one = Multiplier(b_i, f[i], lower[i], upper[i], epsilon[i])
        threshold[0] = threshold_between(one, Multiplier(b_j, f[j], lower[j], upper[j], epsilon[j]))
        steps += 1
    return steps


@dataclass(frozen=True)
class Simplified(ReferenceSolver):
    """Simplified SMO with a random second point.

    Parameters
    ----------
    max_passes_without_change : int, default 50
        Passes in a row that change nothing before the run ends.
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
        n, tol = len(run.dual), 0.5 * run.stopping.tol
        if n < 2:
            return Status.STALLED
        rng = np.random.default_rng(self.seed)
        threshold = np.zeros(1)
        unchanged = 0
        while unchanged < self.max_passes_without_change:
            changed = 0
            for first in chunks_of(np.arange(n)):
                second = (first + rng.integers(1, n, len(first))) % n  # all j != i are equally likely
                members, place = np.unique(np.concatenate([first, second]), return_inverse=True)
                pairs = place[: len(first)], place[len(first) :]
                changed += improve(run, members, random_pairs, *pairs, threshold, tol, run.steps_left())
                yield SLICE
            unchanged = 0 if changed else unchanged + 1
            yield PASS
        return Status.OWN_RULE
