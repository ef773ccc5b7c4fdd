"""Prepared samples of data on disk: as large as the data, they lie on disk too, in a file without a name.

The operating system keeps in memory what is used and drops what is not. A round of the solver reads all samples once,
in order, so reading is fast beside the work as long as working sets are large.
"""

from __future__ import annotations

import os
import tempfile

import numpy as np
from numpy.typing import DTypeLike, NDArray

IN_MEMORY = 1 << 28  # bytes of prepared samples up to which they are held in memory in any case


def empty_for(source: NDArray, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
    """Return an array to write prepared values of `source` to; a large one is a file if `source` is one."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if size <= IN_MEMORY or not is_on_disk(source):
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile(prefix="widemargin-") as file:  # lives as long as it is mapped
        if hasattr(os, "posix_fallocate"):  # an OSError now if there is no room; later the process would be killed
            os.posix_fallocate(file.fileno(), 0, size)
        return np.asarray(np.memmap(file, dtype, "w+", shape=shape))


def is_on_disk(values: NDArray | None) -> bool:
    """Whether an array is a memory map, or a view of one."""
    while isinstance(values, np.ndarray):
        if isinstance(values, np.memmap):
            return True
        values = values.base
    return False
