"""Which variables enter the next working set: the worst of every group, part of the last ones, and the free ones.

Given    slopes of all variables (problems/dual.py), the middle between the two thresholds of each group
Returns  sorted numbers of the chosen variables
Rules    Half of the variables that were new last time stay; the rest are the top violators of both sides, half and
         half, of every group in turn; free variables fill what is left up to the cap. Without groups only violators
         are taken: there is no partner to move against.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.problems.dual import SignedDual


@jit
def collect_violators(f, beta, lower, upper, epsilon, first, last, threshold, taken, rising, rise_by, falling, fall_by):
    """Variables first:last, not taken yet, whose slope violates the threshold: numbers and amounts of both sides."""
    n_rising = 0
    n_falling = 0
    for t in range(first, last):  # each variable is noted, and overwritten by the next unless it counts: no branches
        b = beta[t]
        rise = f[t] + (epsilon[t] if b >= 0.0 else -epsilon[t])
        fall = f[t] + (epsilon[t] if b > 0.0 else -epsilon[t])
        rises = (b < upper[t]) & (rise < threshold) & (not taken[t])
        falls = (b > lower[t]) & (fall > threshold) & (not taken[t]) & (not rises)
        rising[n_rising] = falling[n_falling] = t
        rise_by[n_rising] = rise - threshold
        fall_by[n_falling] = threshold - fall
        n_rising += 1 if rises else 0
        n_falling += 1 if falls else 0
    return n_rising, n_falling


@jit
def free_variables(beta, lower, upper, epsilon):
    """Numbers of the variables strictly inside their box and off the kink (`is_free` of solvers/newton.py)."""
    numbers = np.empty(beta.shape[0], np.int64)
    count = 0
    for t in range(beta.shape[0]):
        numbers[count] = t
        is_free = (beta[t] > lower[t]) & (beta[t] < upper[t]) & ((beta[t] != 0.0) | (epsilon[t] == 0.0))
        count += 1 if is_free else 0
    return numbers[:count]


def worst(numbers: NDArray[np.int64], amounts: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """The `count` numbers with the smallest amounts."""
    if count >= len(numbers):
        return numbers.copy()
    if count <= 0:
        return numbers[:0]
    return numbers[np.argpartition(amounts, count - 1)[:count]]


class Selector:
    """Chooses blocks for one solve; keeps its scratch arrays and the variables that were new last time."""

    def __init__(self, dual: SignedDual) -> None:
        n = len(dual)
        self.dual = dual
        self.starts = dual.group_starts
        self.taken = np.zeros(n, np.bool_)
        self.rising, self.falling = np.empty(n, np.int64), np.empty(n, np.int64)
        self.rise_by, self.fall_by = np.empty(n), np.empty(n)
        self.newest = np.empty(0, np.int64)

    def choose(
        self, f: NDArray, beta: NDArray, table: NDArray, size: int, cap: int, free: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """A block of about `size` variables, filled with free ones up to `cap`."""
        dual = self.dual
        self.taken[:] = False
        kept = self.newest[: size // 2]
        self.taken[kept] = True
        groups = max(1, dual.n_groups)
        new = []
        for g in range(groups):
            room = (size - len(kept)) // groups
            if dual.n_groups and not np.isfinite(table[g, :2]).all():
                continue  # nothing can rise, or nothing can fall: this group cannot move
            threshold = 0.5 * (table[g, 0] + table[g, 1]) if dual.n_groups else 0.0
            n_rising, n_falling = collect_violators(
                f, beta, dual.lower, dual.upper, dual.epsilon, self.starts[g], self.starts[g + 1], threshold,
                self.taken, self.rising, self.rise_by, self.falling, self.fall_by,
            )  # fmt: skip
            take_rising = min(n_rising, max(room // 2, room - n_falling))
            take_falling = min(n_falling, room - take_rising)
            new.append(worst(self.rising[:n_rising], self.rise_by[:n_rising], take_rising))
            new.append(worst(self.falling[:n_falling], self.fall_by[:n_falling], take_falling))
        fresh = np.concatenate(new) if new else np.empty(0, np.int64)
        self.newest = fresh
        self.taken[fresh] = True
        others = free[~self.taken[free]][: max(0, cap - len(kept) - len(fresh))]
        chosen = np.concatenate([kept, fresh, others])
        chosen.sort()
        return chosen
