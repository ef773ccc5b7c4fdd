"""Threads that take turns: every number once."""

import os
import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest

from widemargin._jit import interpreted, jit
from widemargin.parallel import atomics
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


@pytest.mark.needs_compiler
def test_interpreted_functions_count_by_the_instruction_of_compiled_ones():
    """Both may run at the same time, on one counter: a lock around Python's += would not stop compiled threads."""
    assert interpreted(next_turn) is atomics._next_turn
    turn = np.array([7], np.int64)
    assert [interpreted(next_turn)(turn) for _ in range(3)] == [7, 8, 9]
    seen = np.zeros(12, np.int64)
    interpreted(count_turns)(turn, len(seen), seen)
    assert seen.tolist() == [0] * 10 + [1, 1] and turn[0] == 13


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("moment", ["submit", "exception"])
def test_ctrl_c_inside_the_pool_leaves_no_lock(moment, monkeypatch):
    """The signal comes when a lock of concurrent.futures is acquired and its `with` block is not entered yet."""
    enter, armed = threading.Condition.__enter__, []

    def pressed(self):
        answer = enter(self)
        if armed and threading.current_thread() is threading.main_thread():
            armed.clear()
            signal.raise_signal(signal.SIGINT)
        return answer

    run_tiles(lambda _: None, 2, 2)  # starts the thread
    monkeypatch.setattr(threading.Condition, "__enter__", pressed)
    call = getattr(ThreadPoolExecutor if moment == "submit" else Future, moment)

    def arm(self, *arguments):
        armed.append(True)
        return call(self, *arguments)

    monkeypatch.setattr(ThreadPoolExecutor if moment == "submit" else Future, moment, arm)
    with pytest.raises(KeyboardInterrupt):
        run_tiles(lambda _: time.sleep(0.05), 2, 2)
    monkeypatch.undo()
    assert not armed
    done = []
    later = threading.Thread(target=lambda: run_tiles(done.append, 4, 2), daemon=True)
    later.start()
    later.join(20.0)
    assert sorted(done) == [0, 1, 2, 3]
