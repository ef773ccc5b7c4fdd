"""Pair steps on a large block by several threads: each scans its own share of the variables, they meet twice a step.

Solves   what solve_pairs (pair_steps.py) solves, for blocks of one group in float32, to the same last bit
How      Every thread makes every step, on a copy of beta of its own. A scan gives its share's best variable; the
         threads write theirs on a board, wait for the others' and take the best of all: they agree without a leader.
         The board has two sides used in turn: nobody can be two meetings ahead, so nothing unread is overwritten.
Why      A step on 4,080 variables reads two rows of 16 kB that lie in no cache, and one core cannot read them faster.
         Measured on two cores: 3.0 -> 2.7 us a step with 4,080 variables, 4.9 -> 4.1 with 6,000, 1.2 -> 0.9 with 2,032,
         which fit a shared cache; whole fits: a9a at C = 100 1.36, a9a.t 1.15, cpusmall SVR 1.1 times as fast, w8a no
         different. With both cores taken by others a fit of a9a.t took up to a fifth longer than by one thread.
Care     Threads that wait for each other twice in two microseconds are lost when one of them has no core. Who is not
         there at the beginning is not waited for; when waits add up, all leave together at a meeting, and the steps
         that are left are made by one thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import INTERPRETED, jit
from widemargin.parallel.atomics import add_word, next_turn, read_word, write_word
from widemargin.parallel.tiles import run_tiles
from widemargin.solvers.pair_steps import (
    CLOSED_32,
    NEGATIVE_32,
    best_partner,
    curvature_floor,
    lowest_after_step,
    move_pair,
    open_directions,
    solve_pairs,
)

SHARE = 900  # variables per thread at least: half a step on so many takes as long as the two meetings
LINE = 8  # numbers in a line of the processor's cache: what two threads write must not lie in one
PHASE, KEY, VALUE, HIGHEST, LEAVES, COUNT = range(6)  # what a thread writes into its line
ROLL_CALL = 500_000  # looks at the door before the threads begin without those who are not there, about 0.3 ms
PATIENCE = 30_000  # looks, about 20 us, that a meeting may take before it counts as late; they take 0.1 us
LATE, LATE_SHARE = 100, 40  # so often late at most, and once more for so many steps: a third of the time
CLOSED_DOOR = 1 << 20  # added to the number of threads that came in, so that later ones see that they are late

Keys = tuple[NDArray, NDArray]  # of packed.key_limits


class Team:
    """The threads of a fit, for pair steps; once they did not keep up with each other, they are not asked again."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = 1 if INTERPRETED else n_threads
        self.keeps_up = True

    def size(self, block: NDArray, starts: NDArray[np.int64]) -> int:
        """How many threads a block is worth."""
        if not self.keeps_up or block.dtype != np.float32 or len(starts) != 2:
            return 1
        return max(1, min(self.n_threads, len(block) // SHARE))

    def solve_pairs(
        self, problem: tuple, diagonal: NDArray, starts: NDArray[np.int64], tol: float, most: int, keys: Keys
    ) -> tuple[int, float, float]:
        """`solve_pairs` of pair_steps.py, by as many threads as the block is worth."""
        taken, curvature = 0, 0.0
        size = self.size(problem[0], starts)
        if size > 1:
            taken, left, curvature = self.together(problem, diagonal, tol, most, keys, size)
            if self.keeps_up:
                return taken, left, curvature
        steps, left, lowest = solve_pairs(*problem, diagonal, starts, tol, most - taken, *keys)
        return taken + steps, left, min(curvature, lowest)

    def together(
        self, problem: tuple, diagonal: NDArray, tol: float, most: int, keys: Keys, size: int
    ) -> tuple[int, float, float]:
        """The same for one group; if the threads do not keep up, they may end short of both tol and `most`."""
        door, board, outcome = np.zeros(1, np.int64), np.zeros(2 * size * LINE), np.zeros(4)
        words = board.view(np.int64)

        def join(_: Any) -> None:
            solve_together(*problem, diagonal, tol, most, *keys, size, door, words, board, outcome)

        run_tiles(join, size, size)
        steps, violation, curvature, left = outcome
        self.keeps_up = left == 0.0
        return int(steps), violation, curvature


@jit(inner=True)
def meet(words, phase, size, member, count):
    """Show one's line of this phase and wait for all others'; returns how often a wait was late."""
    side = (phase & 1) * size
    write_word(words, (side + member) * LINE + PHASE, phase)
    late = looks = 0
    for other in range(count):
        while read_word(words, (side + other) * LINE + PHASE) != phase:
            looks += 1
            if looks == PATIENCE:
                late += 1
                looks = 0
    return late


@jit(inner=True)
def come_in(door, words, size):
    """Number of this thread and how many there are; (0, 0) for one that came too late."""
    member = next_turn(door)
    if member >= CLOSED_DOOR:
        return 0, 0
    if member > 0:
        while read_word(words, COUNT) == 0:
            pass
        return member, read_word(words, COUNT)
    looks = 0
    while looks < ROLL_CALL and read_word(door, 0) < size:
        looks += 1
    count = add_word(door, CLOSED_DOOR)
    write_word(words, COUNT, count)
    return member, count


@jit
def solve_together(
    K, f, beta, lo, hi, kink, ridge, diagonal, tol, max_steps, position, limits, size, door, words, board, outcome
):
    """What each of up to `size` threads calls with the same arguments; see the module's header.

    outcome : steps, violation, lowest curvature, and 1 if the threads left because they waited too long
    """
    member, count = come_in(door, words, size)
    if count == 0:
        return
    q = f.shape[0]
    largest, mask, low_bits = limits[0], limits[1], limits[2]
    first, last = q * member // count, q * (member + 1) // count
    own_position = position[first:last]
    own_beta = beta if member == 0 else beta.copy()
    up = np.empty(q, f.dtype)
    down = np.empty(q, f.dtype)
    mean_diagonal = 0.0
    for t in range(q):
        open_directions(own_beta, lo, hi, kink, t, up, down, CLOSED_32)
        mean_diagonal += abs(diagonal[t]) / q
    number = np.empty(3, f.dtype)  # step, floor and lowest slope in the float type of the block
    number[0] = 0.0
    number[1] = curvature_floor(mean_diagonal, f.itemsize)
    floor = number[1]
    noise = -NEGATIVE_32 * mean_diagonal
    lowest_curvature = violation = 0.0
    i = j = steps = late = 0
    meet(words, 1, size, member, count)  # nobody changes beta before all have their copy
    phase = 2
    while True:
        line = ((phase & 1) * size + member) * LINE
        key = lowest_after_step(f, up, number[0], K, i, j, first, last, own_position, mask, largest)
        t = key & low_bits
        board[line + KEY], board[line + VALUE] = key, f[t] + up[t]
        late += meet(words, phase, size, member, count)
        best = lowest = np.inf
        for other in range(count):
            line = ((phase & 1) * size + other) * LINE
            if board[line + KEY] < best:
                best, lowest = board[line + KEY], board[line + VALUE]
        i = int(best) & low_bits
        number[2] = lowest
        phase += 1

        line = ((phase & 1) * size + member) * LINE
        key, highest = best_partner(f, down, number[2], K, i, diagonal, floor, first, last, own_position, mask)
        t = key & low_bits
        board[line + KEY], board[line + VALUE] = key, np.float64(f[t]) + np.float64(down[t])
        board[line + HIGHEST] = highest
        board[line + LEAVES] = 1.0 if late > LATE + steps // LATE_SHARE else 0.0
        late += meet(words, phase, size, member, count)
        best, slope, top, leaving = -1.0, 0.0, -np.inf, 0.0
        for other in range(count):
            line = ((phase & 1) * size + other) * LINE
            if board[line + KEY] > best:
                best, slope = board[line + KEY], board[line + VALUE]
            top = max(top, board[line + HIGHEST])
            leaving = max(leaving, board[line + LEAVES])
        phase += 1

        can_move = lowest < 0.5 * CLOSED_32 and top > -0.5 * CLOSED_32
        violation = max(0.0, top - lowest) if can_move else 0.0
        excess = slope - lowest
        if violation <= tol or not excess > 0.0 or steps >= max_steps or leaving > 0.0:
            break
        j = int(best) & low_bits
        curvature = diagonal[i] + np.float64(diagonal[j]) - 2.0 * K[i, j]
        if curvature < noise and curvature < lowest_curvature:
            lowest_curvature = curvature
        step = move_pair(own_beta, lo, hi, kink, i, j, excess / max(curvature, np.float64(floor)))
        if first <= i < last:
            f[i] += step * ridge[i]
        if first <= j < last:
            f[j] -= step * ridge[j]
        number[0] = step
        open_directions(own_beta, lo, hi, kink, i, up, down, CLOSED_32)
        open_directions(own_beta, lo, hi, kink, j, up, down, CLOSED_32)
        steps += 1
    if member == 0:
        outcome[0], outcome[1], outcome[2], outcome[3] = steps, violation, lowest_curvature, leaving
