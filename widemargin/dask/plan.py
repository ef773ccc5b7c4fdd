"""What a fit on a cluster does and about how long it takes, said in one sentence before it starts.

With n rows, S support vectors among them, c seconds per kernel value, W cores on workers and T here, a fit evaluates
1.25 S rows, in rounds of m = 0.34 q, q the size of a working set. Beside them a round costs its block, q^2 / 2 values
here, a latency, and 8 n bytes:

    seconds = 1.25 S n c / W + rounds (q^2 c / (2 T) + latency + 8 n / bandwidth)

The factors were measured on covtype. S is not known before: the sentence gives the times for a tenth and for six tenths
of the samples. Steps within working sets are left out; with large C and many free support vectors they are most of the
time, and they are made here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from widemargin.dask.source import ClusterSource

ROUND = 2e7  # nanoseconds that a round of tasks takes beside the work in them
GOOD_BLOCK = 4080  # variables of a working set: fewer rounds outweigh the steps within it
ROWS_PER_VECTOR = 1.25  # kernel rows evaluated for each support vector
MOVED = 0.34  # of the variables of a working set, in a round
BYTE = 1.0  # nanoseconds on a network of 10 Gb/s
SHARES = (0.1, 0.6)  # of support vectors, between which most problems lie
LARGEST_SHARE = 0.6  # of a worker's memory limit, beyond which Dask begins to write to disk
WORTH_SPREADING = 20_000  # samples of a class pair from which all workers may be faster than one
FEW_TIMES = 1.3  # faster than here: below, a cluster does not pay


@dataclass(frozen=True, eq=False)
class Plan:
    """What goes where.

    shape : of all rows
    entry_cost : nanoseconds of a kernel value
    threads : of each worker
    n_here : threads of this process
    sizes : samples of each class pair; empty if every problem is about all samples
    is_spread : which pairs are solved on all workers together, one after another
    """

    shape: tuple[int, int]
    entry_cost: float
    threads: list[int]
    n_here: int
    sizes: NDArray[np.int64]
    is_spread: NDArray[np.bool_]

    @classmethod
    def of(cls, source: ClusterSource, sizes: NDArray[np.int64]) -> Plan:
        """Return the plan for a problem on all rows, or for class pairs of these sizes."""
        rows, kernel = source.lying, source.kernel
        threads = [slab.n_threads for slab in rows.slabs]
        limit = min((worker.memory_limit for worker in rows.workers if worker.memory_limit), default=np.inf)
        work = sizes.astype(np.float64) ** 2
        holds_up = (sizes >= WORTH_SPREADING) & (work > work.sum() / len(threads))
        is_spread = (sizes * rows.bytes_per_row > LARGEST_SHARE * limit) | holds_up
        return cls(rows.shape, kernel.entry_cost(source.template), threads, source.n_threads, sizes, is_spread)

    @property
    def trains_all(self) -> bool:
        """Whether problems are about all samples."""
        return not len(self.sizes)

    @property
    def threads_per_pair(self) -> int:
        """Threads of a pair on one worker: one, unless there are more cores than pairs."""
        return max(1, min(min(self.threads), sum(self.threads) // max(1, len(self.sizes))))

    @property
    def at_a_time(self) -> int:
        """Pairs under way: one for each set of threads, and one for each worker to go on with."""
        return sum(max(1, threads // self.threads_per_pair) for threads in self.threads) + len(self.threads)

    def seconds(self, n: int, share: float, there: bool) -> float:
        """Return about how long a problem of n samples takes, on the cluster or here."""
        rows = ROWS_PER_VECTOR * share * n
        if not there:
            return 1e-9 * rows * n * self.entry_cost / self.n_here
        block = min(GOOD_BLOCK, n)
        n_rounds = max(1.0, rows / (MOVED * block))
        each = 0.5 * block**2 * self.entry_cost / self.n_here + ROUND + BYTE * 8 * n
        return 1e-9 * (rows * n * self.entry_cost / sum(self.threads) + n_rounds * each)

    def times(self, there: bool) -> list[float]:
        """Return about how long the fit takes, for the smaller and the larger share of support vectors."""
        if self.trains_all:
            return [self.seconds(self.shape[0], share, there) for share in SHARES]
        found = []
        for share in SHARES:
            spread = sum(self.seconds(int(n), share, there) for n in self.sizes[self.is_spread])
            alone = [self.seconds(int(n), share, False) * self.n_here for n in self.sizes[~self.is_spread]]
            if there:
                alone = [seconds + 1e-9 * ROUND for seconds in alone]
                found.append(spread + max(sum(alone) / sum(self.threads), max(alone, default=0.0)))
            else:
                found.append(spread + sum(alone) / self.n_here)
        return found

    def sentence(self, name: str) -> str:
        """Return what was chosen, what is expected, and whether a cluster helps."""
        n, d = self.shape
        workers = f"{len(self.threads)} workers ({sum(self.threads)} threads)"
        if self.trains_all:
            slabs = f"{-(-n // len(self.threads)):,} rows each"
            chosen = f"all {workers}, {slabs}, with working sets of {min(GOOD_BLOCK, n):,}"
        else:
            alone, spread = self.sizes[~self.is_spread], self.sizes[self.is_spread]
            parts = []
            if len(alone):
                parts.append(f"{len(alone)} class pairs, each on one of {workers}, the longest of {max(alone):,} rows")
            if len(spread):
                parts.append(f"{len(spread)} class pairs one after another on all {workers}")
            chosen = " and ".join(parts)
        there, here = self.times(True), self.times(False)
        expected = (
            f"about {_span(there)} s for {SHARES[0]:.0%} to {SHARES[1]:.0%} support vectors, {_span(here)} s here"
        )
        if self.trains_all or self.is_spread.any():
            expected += "; more at large C, whose steps are made here"
        faster = max(a / b for a, b in zip(here, there))
        advice = "" if faster >= FEW_TIMES else f": the cluster will not help, widemargin.{name} is about as fast"
        return f"{name} on {n:,} x {d}: {chosen}; {expected}{advice}."


def _span(seconds: list[float]) -> str:
    return " to ".join(f"{value:.2g}" if value < 100 else f"{value:.0f}" for value in seconds)
