"""Rows of K on demand with a least-recently-used cache under a byte budget.

Rows are evaluated tile by tile and added to K b immediately; only rows that are likely to be needed again are kept: a
row must have been requested so often that evaluating it has cost as much as keeping it would. Touching memory for the
first time costs as much as evaluating cheap values ten times (costs.py).

Others may take memory that was free when the fit began. The cache stops growing when less than `least_free` bytes are
free, and gives up half its rows when an array cannot be allocated.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin._jit import jit
from widemargin.costs import COSTS, threads_for
from widemargin.gram.accumulate import copy_rows, gather_rows
from widemargin.gram.free_memory import free_memory
from widemargin.gram.full import FULL, FullGram
from widemargin.gram.gram import COLUMN_TILE, ROW_TILE, Gram, kernel_product, symmetric_block
from widemargin.gram.memory import ThreadMemory
from widemargin.gram.row_store import ABSENT
from widemargin.kernels.errors import ErrorTerms
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.linalg.arrays import Index, Vector
from widemargin.linalg.row_sums import add_weighted_rows
from widemargin.parallel.tiles import run_tiles

USUAL_BLOCK = 4096  # samples of the largest block to be expected
ROUNDS_AHEAD = 4  # rounds of a part: if they would request all its rows, its whole matrix is evaluated, ...
LARGEST_WHOLE_PART = 8192  # ... up to this number of samples, 256 MB
SLAB_ROWS = ROW_TILE  # rows of the cache allocated at a time
TILES_PER_THREAD = 4  # minimum, so that a delayed thread does not delay the sum


class Memory(NamedTuple):
    """Memory reused in every round: for blocks, for missing parts of a block, and for tiles of rows."""

    blocks: ThreadMemory
    corners: ThreadMemory
    tiles: ThreadMemory


class CachedGram(Gram):
    """Rows by sample, evaluated on request; at most `budget` bytes of them are kept."""

    def __init__(
        self,
        kernel: Kernel,
        samples: Samples,
        dtype: DTypeLike,
        budget: int,
        n_threads: int = 1,
        least_free: int = 0,
    ) -> None:
        self.kernel = kernel
        self.samples = samples
        self.dtype = np.dtype(dtype)
        self.diag = kernel.diag(samples)
        self.n_threads = n_threads
        n = len(samples)
        capacity = int(min(n, max(0, budget) // max(1, n * self.dtype.itemsize)))
        self.cache = RowCache(n, capacity, self.dtype, least_free)
        self.block_limit = (max(0, budget) / (2 * self.dtype.itemsize)) ** 0.5
        self.memory = Memory(ThreadMemory(), ThreadMemory(), ThreadMemory())
        self.entry_cost = kernel.entry_cost(samples)
        self.is_fused = kernel.fused_rows(samples.tile(0, 0), samples) is not None

    @property
    def worth_keeping(self) -> float:
        """Number of evaluations from which keeping a row costs less."""
        return COSTS.store_value / self.entry_cost

    @cached_property
    def errors(self) -> ErrorTerms:  # type: ignore[override]
        return self.kernel.errors(self.samples)

    def block(self, index: Index) -> NDArray:
        try:
            return self._block(index)
        except MemoryError:
            self.cache.release_half()
            return self._block(index)

    def _block(self, index: Index) -> NDArray:
        out = self.memory.blocks.array(len(index), len(index), self.dtype, min(USUAL_BLOCK, len(self)) ** 2)
        slots = self.cache.slot_of[index]
        kept = slots != ABSENT
        if self.entry_cost < COSTS.gather_value or not kept.any():
            return self._evaluate(index, out)
        old, new = np.flatnonzero(kept), np.flatnonzero(~kept)
        groups = self.cache.by_slab(slots[old], old)
        n_threads = threads_for(len(index) * len(old) * COSTS.gather_value, self.n_threads)
        run_tiles(lambda number: gather_rows(*groups[number], index, out), len(groups), n_threads)
        if len(new):
            among = self._evaluate(index[new], self.memory.corners.array(len(new), len(new), self.dtype))
            complete_block(among, new, old, out)
        return out

    def part(self, index: Index, n_rows: int) -> Gram | None:
        if self.worth_keeping <= 1.0:  # rows are kept, and adding them once more costs little
            return None
        if n_rows * (len(self) - len(index)) * self.entry_cost < COSTS.worth_a_part:
            return None
        samples = self.samples.take(index)
        budget = (self.cache.capacity - self.cache.used) * len(self) * self.dtype.itemsize
        largest = min(LARGEST_WHOLE_PART, ROUNDS_AHEAD * n_rows)
        soon_asked = len(index) <= largest and len(index) ** 2 * self.dtype.itemsize <= budget
        if len(index) <= FULL or soon_asked:
            # in the memory of blocks, which are not needed while the part is solved
            whole = FullGram.of(self.kernel, samples, self.dtype, self.n_threads, self.memory.blocks)
            whole.block_limit = self.block_limit
            return whole
        part = CachedGram(self.kernel, samples, self.dtype, budget, self.n_threads, self.cache.least_free)
        part.memory, part.block_limit = self.memory, self.block_limit  # the memory is not in use meanwhile
        return part

    def sum_at(self, at: Index, index: Index, coefficients: Vector) -> Vector:
        self.rows_computed += round(len(index) * len(at) / len(self))
        return kernel_product(
            self.kernel, self.samples.take(at), self.samples.take(index), coefficients, self.dtype, self.n_threads
        )

    def _evaluate(self, index: Index, out: NDArray) -> NDArray:
        """Evaluate the block of these samples into `out`, without cached rows."""
        n_threads = threads_for(0.5 * len(index) ** 2 * self.entry_cost, self.n_threads)
        return symmetric_block(self.kernel, self.samples.take(index), out, n_threads)

    def add_rows(self, index, coefficients, Kb, keep=None) -> None:  # type: ignore[no-untyped-def]
        slots = self.cache.look_up(index)
        cached = slots != ABSENT
        self.row_hits += int(cached.sum())
        self.rows_computed += int(len(index) - cached.sum())
        new = np.flatnonzero(~cached)
        new_slots = np.full(len(new), ABSENT, np.int64)
        if keep is not None and len(new):
            self.cache.asked[index[new]] += 1
            wanted = np.flatnonzero(keep[new] & (self.cache.asked[index[new]] >= self.worth_keeping))
            reserved = self.cache.reserve(index[new[wanted]])
            new_slots[wanted[: len(reserved)]] = reserved
        self._sum(index[new], coefficients[new], new_slots, slots[cached], coefficients[cached], Kb)

    def _sum(self, index, coefficients, new_slots, slots, cached_coefficients, Kb) -> None:  # type: ignore[no-untyped-def]
        """One task per column tile: add the cached rows, then evaluate and add the new ones, and keep some of them."""
        n = len(self)
        work = n * (len(index) * self.entry_cost + len(slots) * COSTS.read_value)
        n_threads = threads_for(work, self.n_threads)
        passing, in_blocks = np.flatnonzero(new_slots == ABSENT), np.flatnonzero(new_slots != ABSENT)
        fused = self.kernel.fused_rows(self.samples.take(index[passing]), self.samples) if self.is_fused else None
        if fused is not None:
            fused.add_rows(coefficients[passing], Kb, n_threads)
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
        by_slab = self.cache.by_slab(slots, cached_coefficients)
        everything = np.arange(ROW_TILE, dtype=np.int64)

        def add(number: int) -> None:
            first = number * width
            last = min(n, first + width)
            target = Kb[first:last]
            for slab, inside, weights in by_slab:
                add_weighted_rows(slab, first, inside, weights, target)
            if not chunks:
                return
            columns = self.samples.tile(first, last)
            buffer = self.memory.tiles.array(min(ROW_TILE, len(in_blocks)), last - first, self.dtype)
            for rows, weights, stored, kept_slots in chunks:
                values = self.kernel.block(rows, columns, buffer[: len(weights)])
                add_weighted_rows(buffer, 0, everything[: len(weights)], weights, target)
                for slab, inside, chosen in self.cache.by_slab(kept_slots, stored):
                    copy_rows(values, chosen, slab, inside, first)

        run_tiles(add, -(-n // width), n_threads)


class RowCache:
    """Memory for at most `capacity` rows of n values, in slabs that are allocated when needed.

    Attributes
    ----------
    slabs : arrays of SLAB_ROWS rows each
    slot_of : slot of each sample's row, or ABSENT
    sample_in, last_use : sample and last use of each slot
    asked : number of evaluations of each sample's row
    used : number of slots in use
    clock : number of the present use
    least_free : bytes of free memory below which no slab is added; 0 adds them unseen
    is_too_large : whether a slab could not be allocated since the last use
    """

    def __init__(self, n: int, capacity: int, dtype: np.dtype, least_free: int = 0) -> None:
        self.capacity, self.dtype, self.least_free = capacity, dtype, least_free
        self.is_too_large = False
        self.slabs: list[NDArray] = []
        self.slot_of = np.full(n, ABSENT, np.int64)
        self.sample_in = np.full(capacity, ABSENT, np.int64)
        self.last_use = np.zeros(capacity, np.int64)
        self.asked = np.zeros(n, np.int32)
        self.used = self.clock = 0

    def look_up(self, index: Index) -> Index:
        """Return the slots of these rows and mark them as used now; ABSENT for rows that are not cached."""
        self.clock += 1
        if self.is_too_large:
            self.release_half()
        slots = self.slot_of[index]
        self.last_use[slots[slots != ABSENT]] = self.clock
        return slots

    def by_slab(self, slots: Index, values: NDArray) -> list[tuple[NDArray, NDArray, NDArray]]:
        """Group rows by their slab: (slab, rows inside it, their values)."""
        groups = []
        numbers = slots // SLAB_ROWS
        for number in np.unique(numbers):
            here = numbers == number
            groups.append((self.slabs[number], slots[here] % SLAB_ROWS, values[here]))
        return groups

    def reserve(self, index: Index) -> Index:
        """Return slots for as many rows of `index` as possible: free slots first, then the least recently used."""
        self._allocate(min(self.used + len(index), self.capacity))
        new = min(len(index), self.capacity - self.used)
        slots = np.arange(self.used, self.used + new, dtype=np.int64)
        self.used += new
        missing = len(index) - new
        if missing:
            old = np.flatnonzero(self.last_use[: self.used - new] < self.clock)  # never a row of the current use
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

    def _allocate(self, n_rows: int) -> None:
        """Allocate slabs for so many rows; where memory is scarce, reduce the capacity to the rows there are."""
        while (allocated := len(self.slabs) * SLAB_ROWS) < n_rows:
            if self.least_free and free_memory() < self.least_free:
                self.capacity = allocated
                return
            try:
                height = min(SLAB_ROWS, self.capacity - allocated)
                self.slabs.append(np.empty((height, len(self.slot_of)), self.dtype))
            except MemoryError:
                self.capacity, self.is_too_large = allocated, True  # rows of the current use stay until the next one
                return

    def release_half(self) -> None:
        """Free half of the slabs and forget their rows."""
        kept = len(self.slabs) // 2
        del self.slabs[kept:]
        self.capacity = min(self.capacity, kept * SLAB_ROWS)
        gone = self.sample_in[self.capacity : self.used]
        self.slot_of[gone] = ABSENT
        self.used, self.is_too_large = min(self.used, self.capacity), False


@jit
def complete_block(among, new, old, out):
    """The rows `new` of a symmetric block: their values among themselves, and those that the old rows hold."""
    for a in range(new.shape[0]):
        row = out[new[a]]
        for m in old:
            row[m] = out[m, new[a]]
        for b in range(new.shape[0]):
            row[new[b]] = among[a, b]
