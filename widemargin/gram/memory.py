"""Memory reused within a fit: touching fresh memory costs more than most writes to it.

The first touch of a gigabyte takes 0.1 s, and 2 s where the host of a virtual machine reclaims free pages.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import DTypeLike, NDArray

NOTHING: NDArray[np.uint8] = np.empty(0, np.uint8)


class ThreadMemory:
    """One buffer per thread; every array is placed in it, so that only a thread's last array is valid.

    Large arrays are returned to the system when freed: with a new one for each tile a fit of letter-A spent a fifth
    of its time on page faults.
    """

    def __init__(self) -> None:
        self.pieces: dict[int, NDArray[np.uint8]] = {}  # by thread

    def array(self, rows: int, columns: int, dtype: DTypeLike, largest: int = 0) -> NDArray:
        """Return an uninitialised array of the given shape.

        largest : size of the largest array expected. A buffer of that size is no more expensive: the system allocates
            pages only where they are written, and pages written before are reused by a larger array
        """
        thread, itemsize = threading.get_ident(), np.dtype(dtype).itemsize
        size = rows * columns * itemsize
        if self.pieces.get(thread, NOTHING).size < size:
            self.pieces[thread] = NOTHING  # the system may reuse the pages of the old buffer
            self.pieces[thread] = np.empty(max(size, largest * itemsize), np.uint8)
        return self.pieces[thread][:size].view(dtype).reshape(rows, columns)
