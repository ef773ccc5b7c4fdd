"""Packing matrices of two values, and telling whether a matrix is one: compiled, where NumPy passes several times."""

from __future__ import annotations

import numpy as np

from widemargin._jit import jit
from widemargin.kernels.popcount import popcount

WORD = 64  # bits of a machine word


@jit
def consists_of(entries, low, high):
    """Whether every entry of a contiguous array is one of the two values."""
    strip = 4096  # a sum without an early end is done with vectors
    for first in range(0, entries.shape[0], strip):
        last = min(entries.shape[0], first + strip)
        others = 0
        for k in range(first, last):
            others += (entries[k] != low) & (entries[k] != high)
        if others:
            return False
    return True


@jit
def pack_dense(matrix, start, high, words, ones):
    """Bit k of words[w, i] says whether feature 64 w + k of sample i is `high`; ones[i] is how many are.

    matrix : samples from `start` on
    """
    n, d = matrix.shape
    for i in range(start, start + n):
        row = matrix[i - start]
        for w in range(words.shape[0]):
            first = w * WORD
            word = np.uint64(0)
            for k in range(min(WORD, d - first)):
                word |= np.uint64(row[first + k] == high) << np.uint64(k)
            words[w, i] = word
            ones[i] += popcount(word)


@jit
def pack_sparse(indptr, indices, data, high, words, ones):
    """The same for a matrix in CSR without duplicates, `high` not zero."""
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            is_high = data[p] == high
            words[indices[p] // WORD, i] |= np.uint64(is_high) << np.uint64(indices[p] % WORD)
            ones[i] += is_high
