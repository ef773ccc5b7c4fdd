"""Tasks on the threads of a fit, in chains: a task, then those that begin at its answer on its rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from widemargin.gram import Gram
from widemargin.parallel.tiles import run_tiles


@dataclass(eq=False)
class Chain:
    """A task and the tasks that start at its answer, run one after another on one Gram."""

    numbers: list[int]
    done: int = 0
    gram: Gram | None = None

    @property
    def is_done(self) -> bool:
        return self.done == len(self.numbers)


def run_chains(run_next: Callable[[Chain], None], chains: Iterable[Chain], n_threads: int) -> None:
    """Run all tasks of all chains; tasks of one chain run one at a time."""
    waiting = deque(chain for chain in chains if not chain.is_done)

    def work(_: int) -> None:
        while True:
            try:
                chain = waiting.popleft()
            except IndexError:
                return
            run_next(chain)
            if chain.is_done:
                chain.gram = None
            elif len(waiting) < n_threads and chain.gram is not None and chain.gram.store is not None:
                waiting.append(chain)  # the last few in memory alternate, so that threads finish together
            else:
                waiting.appendleft(chain)  # finished before the next chain, which needs memory for its rows

    run_tiles(work, n_threads, n_threads)
