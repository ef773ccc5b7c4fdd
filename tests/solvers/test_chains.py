"""Chains of tasks on threads: every task runs once, after the one before it, and never two of one chain at a time."""

import threading
import time

import pytest

from widemargin.training.chains import Chain, run_chains


class InMemory:
    store = "rows"


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("gram", [InMemory(), None])
def test_tasks_run_once_and_in_order(n_threads, gram):
    chains = [Chain(list(range(first, first + length))) for first, length in ((0, 5), (10, 1), (20, 6), (30, 3))]
    ran, busy, lock = [], set(), threading.Lock()

    def run_next(chain):
        with lock:
            assert chain.numbers[0] not in busy
            busy.add(chain.numbers[0])
        time.sleep(0.001)
        chain.gram = gram
        with lock:
            ran.append(chain.numbers[chain.done])
            busy.discard(chain.numbers[0])
        chain.done += 1

    run_chains(run_next, chains, n_threads)
    assert sorted(ran) == [*range(5), 10, *range(20, 26), *range(30, 33)]
    for chain in chains:
        assert [number for number in ran if number in chain.numbers] == chain.numbers
        assert chain.is_done and chain.gram is None
    run_chains(run_next, chains, 1)
    assert len(ran) == 15
