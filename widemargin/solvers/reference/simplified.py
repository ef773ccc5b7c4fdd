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
from typing import ClassVar

import numpy as np

from widemargin._jit import jit
from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual
from widemargin.solvers.reference.pair_move import open_slopes, pair_move
from widemargin.solvers.reference.passes import PASS, SLICE, Passes, ReferenceSolver, Run
from widemargin.solvers.reference.smo_state import refuse_several_groups
from widemargin.solvers.reference.variables import block_of, diagonal_of, move
from widemargin.solvers.reference.visits import WHOLE

PAIRS = 256  # pairs whose rows are brought up to date together where the whole matrix is not held


@jit
def random_pairs(K, f, beta, lower, upper, epsilon, diagonal, total_diagonal, first, second, threshold, tol, max_steps):
    """Try the pairs (first[k], second[k]) of a block in turn; f, beta, threshold[0] change in place. Returns steps."""
    steps = 0
    for k in range(first.shape[0]):
        i, j = first[k], second[k]
        rise, fall = open_slopes(f[i], beta[i], lower[i], upper[i], epsilon[i])
        if i == j or steps >= max_steps or max(threshold[0] - rise, fall - threshold[0]) <= tol:
            continue
        scale = total_diagonal[i] + total_diagonal[j]
        eta = scale - 2.0 * K[i, j]
        b_i, b_j, decrease = pair_move(
            beta[i], beta[j], f[j] - f[i], eta, scale, lower[i], upper[i], lower[j], upper[j], epsilon[i], epsilon[j]
        )
        if decrease <= 0.0 or b_j == beta[j]:
            continue
        step_i, step_j = b_i - beta[i], b_j - beta[j]
        for t in range(f.shape[0]):
            f[t] += step_i * K[i, t] + step_j * K[j, t]
        f[i] += step_i * diagonal[i]
        f[j] += step_j * diagonal[j]
        beta[i], beta[j] = b_i, b_j
        one, two = f[i] + epsilon[i] * np.sign(b_i), f[j] + epsilon[j] * np.sign(b_j)
        if lower[i] < b_i < upper[i]:
            threshold[0] = one
        elif lower[j] < b_j < upper[j]:
            threshold[0] = two
        else:
            threshold[0] = 0.5 * (one + two)
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

    keeps_going: ClassVar[bool] = True

    def check(self, dual: SignedDual) -> None:
        refuse_several_groups(dual, "simplified")

    def passes(self, run: Run) -> Passes:
        dual, n = run.dual, len(run.dual)
        if n < 2:
            return Status.STALLED
        rng = np.random.default_rng(self.seed)
        diagonal = diagonal_of(run)
        threshold = np.zeros(1)
        whole = block_of(run, np.arange(n, dtype=np.int64)) if n <= WHOLE else None
        size = n if whole is not None else PAIRS
        unchanged = 0
        while unchanged < self.max_passes_without_change:
            changed = 0
            for start in range(0, n, size):
                first = np.arange(start, min(n, start + size))
                second = (first + rng.integers(1, n, len(first))) % n  # every j != i is as likely
                members, place = np.unique(np.concatenate([first, second]), return_inverse=True)
                if whole is not None:
                    members, place = np.arange(n, dtype=np.int64), np.concatenate([first, second])
                beta, f = run.beta[members], run.gradient()[members]
                block = whole if whole is not None else block_of(run, members)
                steps = random_pairs(
                    block, f, beta, dual.lower[members], dual.upper[members], dual.epsilon[members],
                    dual.diagonal[members],
                    diagonal[members], place[: len(first)], place[len(first) :], threshold, 0.5 * run.stopping.tol,
                    run.steps_left(),
                )  # fmt: skip
                move(run, members, beta)
                run.iterations += steps
                changed += steps
                yield SLICE
            unchanged = 0 if changed else unchanged + 1
            yield PASS
        return Status.OWN_RULE
