"""A problem in memory at a point, as the compiled steps take it.

The working set of a large problem, a class pair and a small problem all have this form, the only one steps accept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin.problems.dual import Terms
from widemargin.solvers.steps.packed_keys import Keys, keys_of


class Block(NamedTuple):
    """q variables and their kernel matrix; steps change `f` and `beta` in place.

    K : kernel matrix, shape (q, q), float32 or float64
    f : gradient, less the threshold of each group, in the precision of K: floats are finest near zero
    total_diagonal : diag(K) + D, in the precision of K
    beta : multipliers, float64
    terms : of these variables
    keys : positions for the packed keys
    """

    K: NDArray
    f: NDArray
    total_diagonal: NDArray
    beta: NDArray[np.float64]
    terms: Terms
    keys: Keys


def block_of(
    K: NDArray, f: NDArray, diag: NDArray[np.float64], beta: NDArray[np.float64], terms: Terms, dtype: DTypeLike
) -> Block:
    """Return a block in the given precision; `beta` is copied."""
    K, total = K.astype(dtype, copy=False), (diag + terms.diagonal).astype(dtype)
    return Block(K, f.astype(dtype), total, beta.copy(), terms, keys_of(len(beta), np.dtype(dtype)))
