"""Memory that is used again: touching fresh memory costs more than most of what is written there.

Within a fit a thread keeps one piece for blocks that follow one another (`ThreadMemory`); between fits the process
keeps up to KEPT_BYTES (`SPARE`), within the `cache_size` of the last fit. Where the host of a virtual machine
takes free pages back, the first touch of a gigabyte takes 2 s, and 0.1 s where it does not: after a pause of some
seconds a fit that needs 110 MB took 0.40 s, and takes 0.20 s in memory that was kept.
"""

from __future__ import annotations

import math
import os
import threading

import numpy as np
from numpy.typing import DTypeLike, NDArray

KEPT_BYTES = 256 << 20  # of ended fits that the process holds on to

Piece = NDArray[np.uint8]


class SparePieces:
    """Pieces of memory nobody uses at present, for whoever asks next."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self._lock = threading.Lock()

    def take(self, n_bytes: int) -> Piece:
        """A piece of at least this size with any content: the smallest there is, or a new one."""
        with self._lock:
            for place in sorted(range(len(self.pieces)), key=lambda place: self.pieces[place].size):
                if self.pieces[place].size >= n_bytes:
                    return self.pieces.pop(place)
        return np.empty(n_bytes, np.uint8)

    def give(self, piece: Piece, limit: int = KEPT_BYTES) -> None:
        """Keep a piece that nobody uses any more, and of all pieces the latest ones within `limit` bytes."""
        with self._lock:
            if piece.size:
                self.pieces.append(piece)
            while sum(kept.size for kept in self.pieces) > min(limit, KEPT_BYTES):
                self.pieces.pop(0)

    def clear(self) -> None:
        """Free all pieces."""
        with self._lock:
            self.pieces.clear()

    def forget(self) -> None:
        """In a forked child: the lock may be held by a thread that is not there."""
        self._lock = threading.Lock()
        self.pieces = []


SPARE = SparePieces()
NOTHING: Piece = np.empty(0, np.uint8)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SPARE.forget)


def shaped(piece: Piece, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
    """An array of the given shape at the beginning of a piece."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    return piece[:size].view(dtype).reshape(shape)


class ThreadMemory:
    """One piece of memory per thread; every array it gives out lies in it, so a thread's last one only is valid.

    Large arrays go back to the system when they are freed: with a new one for each tile a fit of letter-A spent a fifth
    of its time on page faults.
    """

    def __init__(self) -> None:
        self.pieces: dict[int, Piece] = {}  # by thread

    def array(self, rows: int, columns: int, dtype: DTypeLike, largest: int = 0) -> NDArray:
        """An array of the given shape with any content.

        largest : size of the largest array to be expected. A piece of that size is no more expensive: the system takes
            memory only where it is written, and pages written before serve a larger array, too
        """
        thread, itemsize = threading.get_ident(), np.dtype(dtype).itemsize
        piece = self.pieces.get(thread)
        if piece is None or piece.size < rows * columns * itemsize:
            self.pieces[thread] = piece = NOTHING  # the system may use the pages of the old one for the new one
            self.pieces[thread] = piece = SPARE.take(max(rows * columns, largest) * itemsize)
        return shaped(piece, (rows, columns), dtype)

    def close(self, limit: int = KEPT_BYTES) -> None:
        """Leave the pieces of all threads to the next fit; arrays that were given out are no longer valid."""
        while self.pieces:
            SPARE.give(self.pieces.popitem()[1], limit)
