"""Rows of K on demand with a least-recently-used cache under a byte budget.

Rows are evaluated tile by tile and summed into the function at once; only rows that are likely to be needed again are
kept: a row must have been asked for so often that evaluating it has cost as much as keeping it would. Memory touched
for the first time is not cheap (measured on a virtual machine: 0.6 to 3 s per GB, as much as evaluating cheap values
ten times). cadata SVR at C = 10: 3.8 -> 1.6 s of CPU time, a9a at C = 1: 2.0 -> 1.2 s.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin._jit import jit
from widemargin.costs import COSTS, threads_for
from widemargin.gram.accumulate import copy_rows
from widemargin.gram.full import FullGram
from widemargin.gram.gram import COLUMN_TILE, ROW_TILE, Gram, kernel_product, symmetric_block
from widemargin.gram.memory import ThreadMemory
from widemargin.kernels.errors import ErrorTerms
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.linalg.row_sums import add_weighted_rows
from widemargin.parallel.tiles import run_tiles

SLAB_ROWS = 256
USUAL_BLOCK = 4096  # samples of the largest block to be expected
WHOLE_PART = 2048  # samples of a part up to which its whole matrix is evaluated
ROUNDS_AHEAD = 4  # of a part at least: where they would ask for all its rows, its whole matrix is evaluated, too,
LARGEST_WHOLE_PART = 8192  # up to so many samples, 256 MB; with no limit cadata SVR at C = 100 took 3.0, not 1.95 s
TILES_PER_THREAD = 4  # at least: a thread that was held up leaves its other tiles to the others
ABSENT = -1


class CachedGram(Gram):
    """Rows by sample, evaluated when asked for; at most `budget` bytes of them are kept."""

    def __init__(self, kernel: Kernel, samples: Samples, dtype: DTypeLike, budget: int, n_threads: int = 1) -> None:
        self.kernel = kernel
        self.samples = samples
        self.dtype = np.dtype(dtype)
        self.diag = kernel.diag(samples)
        self.n_threads = n_threads
        n = len(samples)
        self.capacity = int(min(n, max(0, budget) // max(1, n * self.dtype.itemsize)))
        self.block_limit = (max(0, budget) / (2 * self.dtype.itemsize)) ** 0.5
        self.slabs: list[NDArray] = []
        self.blocks, self.corners, self.tiles = ThreadMemory(), ThreadMemory(), ThreadMemory()
        self.slot_of = np.full(n, ABSENT, np.int64)
        self.sample_in = np.full(self.capacity, ABSENT, np.int64)
        self.last_use = np.zeros(self.capacity, np.int64)
        self.used = 0
        self.clock = 0
        self.asked = np.zeros(n, np.int32)  # times a row was evaluated
        self.entry_cost = kernel.entry_cost(samples)
        self.worth_keeping = COSTS.store_value / self.entry_cost  # from so many times on
        self.is_fused = kernel.fused_rows(samples.tile(0, 0), samples) is not None

    @cached_property
    def errors(self) -> ErrorTerms:  # type: ignore[override]
        return self.kernel.errors(self.samples)

    def block(self, index: NDArray[np.int64]) -> NDArray:
        out = self.blocks.array(len(index), len(index), self.dtype, min(USUAL_BLOCK, len(self)) ** 2)
        slots = self.slot_of[index]
        kept = slots != ABSENT
        if self.entry_cost < COSTS.gather_value or not kept.any():
            return self._evaluate(index, out)
        groups = self._by_slab(slots[kept], np.flatnonzero(kept))
        n_threads = threads_for(len(index) * float(kept.sum()) * COSTS.gather_value, self.n_threads)
        run_tiles(lambda number: gather_rows(*groups[number], index, out), len(groups), n_threads)
        new = np.flatnonzero(~kept)
        if len(new):
            among = self._evaluate(index[new], self.corners.array(len(new), len(new), self.dtype))
            fill_up(among, new, kept, out)
        return out

    def part(self, index: NDArray[np.int64], n_rows: int) -> Gram | None:
        if self.worth_keeping <= 1.0:  # rows are kept, and adding them once more costs little
            return None
        if n_rows * (len(self) - len(index)) * self.entry_cost < COSTS.worth_a_part:
            return None
        samples = self.samples.take(index)
        budget = (self.capacity - self.used) * len(self) * self.dtype.itemsize
        largest = min(LARGEST_WHOLE_PART, ROUNDS_AHEAD * n_rows)
        soon_asked = len(index) <= largest and len(index) ** 2 * self.dtype.itemsize <= budget
        if len(index) <= WHOLE_PART or soon_asked:
            # where blocks have been: none is needed while the part is solved, and the pages have been written to
            whole = FullGram.of(self.kernel, samples, self.dtype, self.n_threads, self.blocks)
            whole.block_limit = self.block_limit
            return whole
        part = CachedGram(self.kernel, samples, self.dtype, budget, self.n_threads)
        part.blocks, part.corners, part.tiles = self.blocks, self.corners, self.tiles  # not in use meanwhile
        part.block_limit = self.block_limit
        return part

    def sum_at(
        self, at: NDArray[np.int64], index: NDArray[np.int64], coefficients: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        self.rows_computed += round(len(index) * len(at) / len(self))
        return kernel_product(
            self.kernel, self.samples.take(at), self.samples.take(index), coefficients, self.dtype, self.n_threads
        )

    def _evaluate(self, index: NDArray[np.int64], out: NDArray) -> NDArray:
        """out = the block of these samples, from nothing."""
        n_threads = threads_for(0.5 * len(index) ** 2 * self.entry_cost, self.n_threads)
        return symmetric_block(self.kernel, self.samples.take(index), out, n_threads)

    def add_rows(self, index, coefficients, function, keep=None) -> None:  # type: ignore[no-untyped-def]
        self.clock += 1
        slots = self.slot_of[index]
        cached = slots != ABSENT
        self.row_hits += int(cached.sum())
        self.rows_computed += int(len(index) - cached.sum())
        self.last_use[slots[cached]] = self.clock
        new = np.flatnonzero(~cached)
        new_slots = np.full(len(new), ABSENT, np.int64)
        if keep is not None and len(new):
            self.asked[index[new]] += 1
            wanted = np.flatnonzero(keep[new] & (self.asked[index[new]] >= self.worth_keeping))
            reserved = self._reserve(index[new[wanted]])
            new_slots[wanted[: len(reserved)]] = reserved
        self._sum(index[new], coefficients[new], new_slots, slots[cached], coefficients[cached], function)

    def _sum(self, index, coefficients, new_slots, slots, cached_coefficients, function) -> None:  # type: ignore[no-untyped-def]
        """One task per column tile: add the cached rows, then evaluate and add the new ones, and keep some of them."""
        n = len(self)
        work = n * (len(index) * self.entry_cost + len(slots) * COSTS.read_value)
        n_threads = threads_for(work, self.n_threads)
        passing, in_blocks = np.flatnonzero(new_slots == ABSENT), np.flatnonzero(new_slots != ABSENT)
        fused = self.kernel.fused_rows(self.samples.take(index[passing]), self.samples) if self.is_fused else None
        if fused is not None:
            fused.add_rows(coefficients[passing], function, n_threads)
            if not len(in_blocks) and not len(slots):
                return
        else:
            in_blocks = np.arange(len(index))
        # Few rows make wide tiles: of the same size in memory, and each costs some 60 us of Python.
        widest = COLUMN_TILE * max(1, ROW_TILE // max(1, min(len(in_blocks), ROW_TILE)))
        width = min(widest, max(128, -(-n // (TILES_PER_THREAD * n_threads if n_threads > 1 else 1))))
        chunks = []
        for start in range(0, len(in_blocks), ROW_TILE):
            part = in_blocks[start : start + ROW_TILE]
            stored = np.flatnonzero(new_slots[part] != ABSENT)
            chunks.append((self.samples.take(index[part]), coefficients[part], stored, new_slots[part][stored]))
        by_slab = self._by_slab(slots, cached_coefficients)
        everything = np.arange(ROW_TILE, dtype=np.int64)

        def add(number: int) -> None:
            first = number * width
            last = min(n, first + width)
            target = function[first:last]
            for slab, inside, weights in by_slab:
                add_weighted_rows(slab, first, inside, weights, target)
            if not chunks:
                return
            columns = self.samples.tile(first, last)
            buffer = self.tiles.array(min(ROW_TILE, len(in_blocks)), last - first, self.dtype)
            for rows, weights, stored, kept_slots in chunks:
                values = self.kernel.block(rows, columns, buffer[: len(weights)])
                add_weighted_rows(buffer, 0, everything[: len(weights)], weights, target)
                for slab_number in np.unique(kept_slots // SLAB_ROWS) if len(stored) else ():
                    here = kept_slots // SLAB_ROWS == slab_number
                    slab = self.slabs[slab_number]
                    copy_rows(values, stored[here], slab, kept_slots[here] % SLAB_ROWS, first)

        run_tiles(add, -(-n // width), n_threads)

    def _by_slab(self, slots, coefficients) -> list[tuple[NDArray, NDArray, NDArray]]:  # type: ignore[no-untyped-def]
        """Cached rows grouped by the slab they lie in: (slab, rows inside it, coefficients)."""
        groups = []
        numbers = slots // SLAB_ROWS
        for number in np.unique(numbers):
            here = numbers == number
            groups.append((self.slabs[number], slots[here] % SLAB_ROWS, coefficients[here]))
        return groups

    def _reserve(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Slots for the rows of `index`: fresh ones first, then those of the rows not used for longest."""
        fresh = min(len(index), self.capacity - self.used)
        slots = np.arange(self.used, self.used + fresh, dtype=np.int64)
        self.used += fresh
        while len(self.slabs) * SLAB_ROWS < self.used:
            height = min(SLAB_ROWS, self.capacity - len(self.slabs) * SLAB_ROWS)
            self.slabs.append(np.empty((height, len(self)), self.dtype))
        missing = len(index) - fresh
        if missing:
            old = np.flatnonzero(self.last_use[: self.used - fresh] < self.clock)  # never a row of this very call
            missing = min(missing, len(old))
            if missing:
                if missing < len(old):
                    old = old[np.argpartition(self.last_use[old], missing - 1)[:missing]]
                self.slot_of[self.sample_in[old]] = ABSENT
                slots = np.concatenate([slots, old[:missing]])
        owners = index[: len(slots)]
        self.slot_of[owners] = slots
        self.sample_in[slots] = owners
        self.last_use[slots] = self.clock
        return slots


@jit
def gather_rows(slab, rows, places, index, out):
    """out[places[k]] = slab[rows[k], index]."""
    for k in range(rows.shape[0]):
        source = slab[rows[k]]
        target = out[places[k]]
        for m in range(index.shape[0]):
            target[m] = source[index[m]]


@jit
def fill_up(among, new, kept, out):
    """The rows `new` of a symmetric block: their values among themselves, and those that the rows kept already hold."""
    for a in range(new.shape[0]):
        i = new[a]
        for m in range(kept.shape[0]):
            if kept[m]:
                out[i, m] = out[m, i]
        for b in range(new.shape[0]):
            out[i, new[b]] = among[a, b]
