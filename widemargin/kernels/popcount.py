"""Bit-packed 0/1 vectors: two samples are compared 64 features at a time.

    different   popcount(x xor z) = |x - z|^2 = |x - z|_1, the Hamming distance
    common      popcount(x and z) = x'z

A kernel of either is a table over 0..n_features, so that the values are exact to the rounding of the table's entries
and cost neither a product nor an exponential.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
    return lambda word: _population_count(word)  # type: ignore[call-arg]


class Different(NamedTuple):
    """Count the features in which two samples differ; n_words is the length of a packed sample."""

    n_words: int


class Common(NamedTuple):
    """Count the features that two samples both have."""

    n_words: int


def combine(counted: Any, x: Any, z: Any) -> Any:
    """The word whose bits are to be counted; compiled code takes the overload below."""
    return x ^ z if isinstance(counted, Different) else x & z


@overload(combine)
def _choose_combination(counted, x, z):
    """Exclusive or, or and: chosen by type, so that only the loops in use are compiled."""
    if counted.instance_class is Different:
        return lambda counted, x, z: x ^ z
    return lambda counted, x, z: x & z


@jit
def table_block(x, left_start, n_left, z, right_start, n_right, counted, table, flat, step):
    """Fill rows with table[count of x_i and z_j]; x and z hold one word of every sample per row."""
    count = np.empty(n_right, np.uint64)
    last = right_start + n_right
    n_words = counted.n_words
    for i in range(n_left):
        row = flat[i * step : i * step + n_right]
        own = left_start + i
        if n_words == 1:
            a0, z0 = x[0, own], z[0, right_start:last]
            for j in range(n_right):
                row[j] = table[popcount(combine(counted, a0, z0[j]))]
        elif n_words == 2:
            a0, a1 = x[0, own], x[1, own]
            z0, z1 = z[0, right_start:last], z[1, right_start:last]
            for j in range(n_right):
                row[j] = table[popcount(combine(counted, a0, z0[j])) + popcount(combine(counted, a1, z1[j]))]
        else:
            for j in range(n_right):
                count[j] = 0
            k = 0
            while k + 4 <= n_words:
                a0, a1, a2, a3 = x[k, own], x[k + 1, own], x[k + 2, own], x[k + 3, own]
                z0, z1 = z[k, right_start:last], z[k + 1, right_start:last]
                z2, z3 = z[k + 2, right_start:last], z[k + 3, right_start:last]
                for j in range(n_right):
                    first = popcount(combine(counted, a0, z0[j])) + popcount(combine(counted, a1, z1[j]))
                    second = popcount(combine(counted, a2, z2[j])) + popcount(combine(counted, a3, z3[j]))
                    count[j] += first + second
                k += 4
            while k < n_words:
                a0, z0 = x[k, own], z[k, right_start:last]
                for j in range(n_right):
                    count[j] += popcount(combine(counted, a0, z0[j]))
                k += 1
            for j in range(n_right):
                row[j] = table[count[j]]
