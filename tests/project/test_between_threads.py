"""Threads that take turns: every number once."""

import numpy as np
import pytest

from widemargin._jit import jit
from widemargin.parallel.atomics import next_turn
from widemargin.parallel.tiles import run_tiles


@jit(cache=False)
def count_turns(turn, count, seen):
    while True:
        number = next_turn(turn)
        if number >= count:
            break
        seen[number] += 1


@pytest.mark.parametrize("n_threads", [1, 4])
def test_every_number_comes_once(n_threads):
    turn, seen = np.zeros(1, np.int64), np.zeros(20_000, np.int64)
    run_tiles(lambda _: count_turns(turn, len(seen), seen), n_threads, n_threads)
    assert (seen == 1).all()
    assert turn[0] == len(seen) + n_threads
