"""Bit-packed 0/1 vectors: two samples are compared 64 features at a time.

    different   popcount(x xor z) = |x - z|^2 = |x - z|_1, the Hamming distance
    common      popcount(x and z) = x'z

A kernel of either is a table over 0..n_features, so that the values are exact to the rounding of the table's entries
and cost neither a product nor an exponential.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from widemargin._jit import jit


def popcount(word: Any) -> Any:
    """Number of bits set; this body runs where Numba is switched off, compiled code takes the overload below."""
    return np.uint64(int(word).bit_count())


@intrinsic
def _population_count(typing_context: Any, word: Any) -> Any:
    """LLVM's own population count, which becomes one instruction, or a vectorised table where that is faster."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@overload(popcount)
def _count_bits(word):
    """The intrinsic, in place of the Python body."""
    return lambda word: _population_count(word)


@jit
def table_of_different(x, left_start, n_left, z, right_start, n_right, table, flat, step):
    """Fill rows with table[popcount(x_i xor z_j)]; x and z hold one word of every sample per row."""
    count = np.empty(n_right, np.uint64)
    last = right_start + n_right
    for i in range(n_left):
        row = flat[i * step : i * step + n_right]
        own = left_start + i
        if len(x) == 1:
            a0, z0 = x[0, own], z[0, right_start:last]
            for j in range(n_right):
                row[j] = table[popcount(a0 ^ z0[j])]
        elif len(x) == 2:
            a0, a1 = x[0, own], x[1, own]
            z0, z1 = z[0, right_start:last], z[1, right_start:last]
            for j in range(n_right):
                row[j] = table[popcount(a0 ^ z0[j]) + popcount(a1 ^ z1[j])]
        else:
            count[:] = 0
            k = 0
            while k + 4 <= len(x):
                a0, a1, a2, a3 = x[k, own], x[k + 1, own], x[k + 2, own], x[k + 3, own]
                z0, z1 = z[k, right_start:last], z[k + 1, right_start:last]
                z2, z3 = z[k + 2, right_start:last], z[k + 3, right_start:last]
                for j in range(n_right):
                    count[j] += (popcount(a0 ^ z0[j]) + popcount(a1 ^ z1[j])) + (
                        popcount(a2 ^ z2[j]) + popcount(a3 ^ z3[j])
                    )
                k += 4
            while k < len(x):
                a0, z0 = x[k, own], z[k, right_start:last]
                for j in range(n_right):
                    count[j] += popcount(a0 ^ z0[j])
                k += 1
            for j in range(n_right):
                row[j] = table[count[j]]


@jit
def table_of_common(x, left_start, n_left, z, right_start, n_right, table, flat, step):
    """Fill rows with table[popcount(x_i and z_j)]; the same loops as above, with the other operation."""
    count = np.empty(n_right, np.uint64)
    last = right_start + n_right
    for i in range(n_left):
        row = flat[i * step : i * step + n_right]
        own = left_start + i
        if len(x) == 1:
            a0, z0 = x[0, own], z[0, right_start:last]
            for j in range(n_right):
                row[j] = table[popcount(a0 & z0[j])]
        elif len(x) == 2:
            a0, a1 = x[0, own], x[1, own]
            z0, z1 = z[0, right_start:last], z[1, right_start:last]
            for j in range(n_right):
                row[j] = table[popcount(a0 & z0[j]) + popcount(a1 & z1[j])]
        else:
            count[:] = 0
            k = 0
            while k + 4 <= len(x):
                a0, a1, a2, a3 = x[k, own], x[k + 1, own], x[k + 2, own], x[k + 3, own]
                z0, z1 = z[k, right_start:last], z[k + 1, right_start:last]
                z2, z3 = z[k + 2, right_start:last], z[k + 3, right_start:last]
                for j in range(n_right):
                    count[j] += (popcount(a0 & z0[j]) + popcount(a1 & z1[j])) + (
                        popcount(a2 & z2[j]) + popcount(a3 & z3[j])
                    )
                k += 4
            while k < len(x):
                a0, z0 = x[k, own], z[k, right_start:last]
                for j in range(n_right):
                    count[j] += popcount(a0 & z0[j])
                k += 1
            for j in range(n_right):
                row[j] = table[count[j]]
