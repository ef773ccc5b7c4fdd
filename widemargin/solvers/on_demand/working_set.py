"""Choice of the next working set: the worst violators of every group, part of the last set, and free variables.

Given    slopes of all variables (problems/dual.py), the middle between the two thresholds of each group
Returns  sorted numbers of the variables
Rules    Half of the variables that were new last time stay; the rest are the top violators of both sides, half and
         half, of every group in turn; free variables fill what is left up to the cap. Without groups only violators
         are taken: there is no partner to move against.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.gram.gram import Gram
from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import free_variables, slopes
from widemargin.solvers.tuning import BlockTuning


class Violators(NamedTuple):
    """Scratch arrays: variables already chosen; numbers and amounts of violators that can rise, and that can fall."""

    taken: NDArray[np.bool_]
    rising: NDArray[np.int64]
    rise_by: NDArray[np.float64]
    falling: NDArray[np.int64]
    fall_by: NDArray[np.float64]


@jit
def collect_violators(terms, f, beta, g, threshold, found):
    """Collect the violators of group g that are not chosen yet; return how many can rise and how many can fall."""
    n_rising = 0
    n_falling = 0
    for t in range(terms.starts[g], terms.starts[g + 1]):  # overwritten by the next unless it violates
        rise, fall = slopes(f[t], beta[t], terms.epsilon[t])
        rises = (beta[t] < terms.upper[t]) & (rise < threshold) & (not found.taken[t])
        falls = (beta[t] > terms.lower[t]) & (fall > threshold) & (not found.taken[t]) & (not rises)
        found.rising[n_rising] = found.falling[n_falling] = t
        found.rise_by[n_rising] = rise - threshold
        found.fall_by[n_falling] = threshold - fall
        n_rising += 1 if rises else 0
        n_falling += 1 if falls else 0
    return n_rising, n_falling


def worst(numbers: NDArray[np.int64], amounts: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the `count` numbers with the smallest amounts."""
    if count >= len(numbers):
        return numbers.copy()
    if count <= 0:
        return numbers[:0]
    return numbers[np.argpartition(amounts, count - 1)[:count]]


def threshold_midpoints(thresholds: NDArray, n_groups: int) -> NDArray[np.float64]:
    """Middle between the two thresholds of each group; 0 for a group that cannot move, and without groups."""
    if not n_groups:
        return np.zeros(1)
    movable = np.isfinite(thresholds[:, :2]).all(axis=1)
    return np.where(movable, 0.5 * np.where(movable[:, None], thresholds[:, :2], 0.0).sum(axis=1), 0.0)


class Selector:
    """Chooses the working sets of one solve; keeps scratch arrays and the variables that were new last time."""

    def __init__(self, dual: SignedDual, tuning: BlockTuning, gram: Gram) -> None:
        n = len(dual)
        self.terms, self.tuning, self.block_limit = dual.terms, tuning, gram.block_limit
        wanted = int(min(gram.good_block, gram.block_limit)) // 32 * 32 + 16  # not a power of two (tuning.py)
        self.least = max(tuning.smallest, min(tuning.largest, wanted))
        integers, reals = (np.empty((2, n), kind) for kind in (np.int64, np.float64))
        self.found = Violators(np.zeros(n, np.bool_), integers[0], reals[0], integers[1], reals[1])
        self.newest = np.empty(0, np.int64)
        self.size = tuning.first

    def cap(self, n_free: int) -> int:
        """Return the largest working set: about a power of two above 1.2 times the free variables, within tuned limits.

        With more free variables than `usual` it contains most of them, if memory allows. It is never less than the Gram
        finds good (`Gram.good_block`).
        """
        tuning = self.tuning
        wanted = (1 << max(0, int(np.ceil(1.2 * n_free)) - 1).bit_length()) - 16
        many = int(min(tuning.largest, tuning.free_share * n_free, self.block_limit))
        return min(len(self.found.taken), max(self.least, many, min(tuning.usual, wanted)))

    def choose(self, f: NDArray, beta: NDArray, thresholds: NDArray) -> NDArray[np.int64]:
        """Return the next working set, twice as large as the last up to `cap`, filled with free variables."""
        terms, found = self.terms, self.found
        free = free_variables(terms, beta)
        cap = self.cap(len(free))
        size = min(self.size, cap)
        self.size = min(2 * size, cap)
        found.taken[:] = False
        kept = self.newest[: size // 2]
        found.taken[kept] = True
        groups = max(1, terms.n_groups)
        middles = threshold_midpoints(thresholds, terms.n_groups)
        new = []
        for g in range(groups):
            room = (size - len(kept)) // groups
            if terms.n_groups and not np.isfinite(thresholds[g, :2]).all():
                continue  # nothing can rise, or nothing can fall: this group cannot move
            n_rising, n_falling = collect_violators(terms, f, beta, g, middles[g], found)
            take_rising = min(n_rising, max(room // 2, room - n_falling))
            take_falling = min(n_falling, room - take_rising)
            new.append(worst(found.rising[:n_rising], found.rise_by[:n_rising], take_rising))
            new.append(worst(found.falling[:n_falling], found.fall_by[:n_falling], take_falling))
        self.newest = np.concatenate(new) if new else np.empty(0, np.int64)
        found.taken[self.newest] = True
        others = free[~found.taken[free]][: max(0, cap - len(kept) - len(self.newest))]
        working_set = np.concatenate([kept, self.newest, others])
        working_set.sort()
        return working_set
