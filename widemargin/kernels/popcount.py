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
from numpy.typing import NDArray

from widemargin._jit import INTERPRETED, jit


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """Number of bits set, by LLVM: one instruction, or a vectorised table where that is faster."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


if INTERPRETED:
    popcount = lambda word: np.uint64(int(word).bit_count())  # noqa: E731


class Different(NamedTuple):
    """Values by the number of features in which two packed samples differ."""

    table: NDArray


class Common(NamedTuple):
    """Values by the number of features that two packed samples both have."""

    table: NDArray


def compared(rule: Any, x: Any, z: Any) -> Any:
    """Return the word whose bits are counted; compiled code uses the overload below."""
    return x ^ z if isinstance(rule, Different) else x & z


@overload(compared)
def _choose_comparison(rule, x, z):
    """Choose XOR or AND by type, so that only the loops in use are compiled."""
    if rule.instance_class is Different:
        return lambda rule, x, z: x ^ z
    return lambda rule, x, z: x & z


@jit
def table_rows(rule, x, index, z, span, flat, places):
    """flat[places[i] + j] = table[count of x_index[i] and z_(span[0] + j)], for all samples z of the span.

    x, z : one word of every sample per row
    """
    first, last = span
    table, n_words, n = rule.table, len(x), last - first
    count = np.empty(n, np.uint64)
    for i in range(len(index)):
        row = flat[places[i] : places[i] + n]
        own = index[i]
        if n_words == 1:
            a0, z0 = x[0, own], z[0, first:last]
            for j in range(n):
                row[j] = table[popcount(compared(rule, a0, z0[j]))]
        elif n_words == 2:
            a0, a1 = x[0, own], x[1, own]
            z0, z1 = z[0, first:last], z[1, first:last]
            for j in range(n):
                row[j] = table[popcount(compared(rule, a0, z0[j])) + popcount(compared(rule, a1, z1[j]))]
        else:
            for j in range(n):
                count[j] = 0
            k = 0
            while k + 4 <= n_words:
                a0, a1, a2, a3 = x[k, own], x[k + 1, own], x[k + 2, own], x[k + 3, own]
                z0, z1 = z[k, first:last], z[k + 1, first:last]
                z2, z3 = z[k + 2, first:last], z[k + 3, first:last]
                for j in range(n):
                    two = popcount(compared(rule, a0, z0[j])) + popcount(compared(rule, a1, z1[j]))
                    count[j] += two + (popcount(compared(rule, a2, z2[j])) + popcount(compared(rule, a3, z3[j])))
                k += 4
            while k < n_words:
                a0, z0 = x[k, own], z[k, first:last]
                for j in range(n):
                    count[j] += popcount(compared(rule, a0, z0[j]))
                k += 1
            for j in range(n):
                row[j] = table[count[j]]
