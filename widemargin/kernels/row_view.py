"""One array type for every output block.

Callers pass blocks cut out of larger buffers: contiguous, cut in the columns, rows of a cache. To Numba these are
different types, and a row of an array with unknown strides is not vectorised (measured 2.5 times slower). So compiled
functions get the memory as one flat contiguous array, and the distance between the starts of two rows.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray


def flat_rows(out: NDArray) -> tuple[NDArray, int]:
    """The memory of `out` as a flat array, and the step from row to row.

    Row i is flat[i * step : i * step + n_columns].

    Raises
    ------
    ValueError
        When the items of a row do not lie side by side.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels.row_view import flat_rows
    >>> flat, step = flat_rows(np.arange(12.0).reshape(3, 4)[:, :2])
    >>> flat[1 * step : 1 * step + 2].tolist()
    [4.0, 5.0]
    """
    n_rows, n_columns = out.shape
    if out.flags.c_contiguous:
        return out.reshape(-1), n_columns
    item = out.itemsize
    step, rest = divmod(out.strides[0], item)
    if out.strides[1] != item or rest or step < n_columns:
        raise ValueError(
            f"The rows of the output block must be contiguous; its strides are {out.strides} bytes. "
            "Pass a C-ordered array or a slice of its columns."
        )
    return as_strided(out, shape=((n_rows - 1) * step + n_columns,), strides=(item,)), step


def writable(array: NDArray) -> NDArray:
    """The array itself, or a copy of a read-only one: to Numba read-only is another type and another compilation."""
    return array if array.flags.writeable and array.flags.c_contiguous else np.array(array, order="C")
