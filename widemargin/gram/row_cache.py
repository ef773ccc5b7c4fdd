"""Memory for kernel rows: slots in slabs that are allocated when needed; the rows not used for longest give way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.gram.row_store import ABSENT
from widemargin.kernels.kernel import ROW_TILE
from widemargin.linalg.arrays import Index

SLAB_ROWS = ROW_TILE  # rows allocated at a time


class RowCache:
    """Slots for rows of n samples, at most `capacity` of them.

    Attributes
    ----------
    slabs : arrays of SLAB_ROWS rows each
    slot_of : slot of each sample's row, or ABSENT
    sample_in, last_use : sample and last use of each slot
    asked : times each sample's row was evaluated
    used : slots that have been given out
    clock : number of the present use
    """

    def __init__(self, n: int, capacity: int, dtype: np.dtype) -> None:
        self.capacity, self.dtype = capacity, dtype
        self.slabs: list[NDArray] = []
        self.slot_of = np.full(n, ABSENT, np.int64)
        self.sample_in = np.full(capacity, ABSENT, np.int64)
        self.last_use = np.zeros(capacity, np.int64)
        self.asked = np.zeros(n, np.int32)
        self.used = self.clock = 0

    def look_up(self, index: Index) -> Index:
        """Slots of these rows, which count as used now; ABSENT for those that are not here."""
        self.clock += 1
        slots = self.slot_of[index]
        self.last_use[slots[slots != ABSENT]] = self.clock
        return slots

    def by_slab(self, slots: Index, values: NDArray) -> list[tuple[NDArray, NDArray, NDArray]]:
        """Rows grouped by the slab they lie in: (slab, rows inside it, their values)."""
        groups = []
        numbers = slots // SLAB_ROWS
        for number in np.unique(numbers):
            here = numbers == number
            groups.append((self.slabs[number], slots[here] % SLAB_ROWS, values[here]))
        return groups

    def reserve(self, index: Index) -> Index:
        """Slots for the rows of `index`, as many as there are: new ones first, then those not used for longest."""
        new = min(len(index), self.capacity - self.used)
        slots = np.arange(self.used, self.used + new, dtype=np.int64)
        self.used += new
        while len(self.slabs) * SLAB_ROWS < self.used:
            height = min(SLAB_ROWS, self.capacity - len(self.slabs) * SLAB_ROWS)
            self.slabs.append(np.empty((height, len(self.slot_of)), self.dtype))
        missing = len(index) - new
        if missing:
            old = np.flatnonzero(self.last_use[: self.used - new] < self.clock)  # never a row of this very use
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
