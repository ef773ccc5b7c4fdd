"""Memory that is used again: touching fresh memory costs more than most of what is written there."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import DTypeLike, NDArray


class ThreadMemory(threading.local):
    """One piece of memory per thread; every array it gives out lies in it, so the last one only is valid.

    Large arrays go back to the system when they are freed: with a new one for each tile a fit of letter-A spent a fifth
    of its time on page faults.
    """

    def __init__(self) -> None:
        self.piece: NDArray = np.empty(0)

    def array(self, rows: int, columns: int, dtype: DTypeLike, largest: int = 0) -> NDArray:
        """An array of the given shape with any content.

        largest : size of the largest array to be expected. A piece of that size is no more expensive: the system takes
            memory only where it is written, and pages written before serve a larger array, too
        """
        size = rows * columns
        if self.piece.size < size or self.piece.dtype != dtype:
            self.piece = np.empty(max(size, largest), dtype)
        return self.piece[:size].reshape(rows, columns)
