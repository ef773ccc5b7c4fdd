"""Memory used again within a fit: touching fresh memory costs more than most of what is written there.

The first touch of a gigabyte takes 0.1 s, and 2 s where the host of a virtual machine takes free pages back.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import DTypeLike, NDArray

NOTHING: NDArray[np.uint8] = np.empty(0, np.uint8)


class ThreadMemory:
    """One piece of memory per thread; every array it gives out lies in it, so a thread's last one only is valid.

    Large arrays go back to the system when they are freed: with a new one for each tile a fit of letter-A spent a fifth
    of its time on page faults.
    """

    def __init__(self) -> None:
        self.pieces: dict[int, NDArray[np.uint8]] = {}  # by thread

    def array(self, rows: int, columns: int, dtype: DTypeLike, largest: int = 0) -> NDArray:
        """An array of the given shape with any content.

        largest : size of the largest array to be expected. A piece of that size is no more expensive: the system takes
            memory only where it is written, and pages written before serve a larger array, too
        """
        thread, itemsize = threading.get_ident(), np.dtype(dtype).itemsize
        size = rows * columns * itemsize
        if self.pieces.get(thread, NOTHING).size < size:
            self.pieces[thread] = NOTHING  # the system may use the pages of the old one for the new one
            self.pieces[thread] = np.empty(max(size, largest * itemsize), np.uint8)
        return self.pieces[thread][:size].view(dtype).reshape(rows, columns)
