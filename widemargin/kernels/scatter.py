"""Sums over the features that two sparse samples have in common, through an inverted index.

For every nonzero (c, v) of a left sample, the index lists the right samples with feature c, and each of them receives
one term. Only common features cause work; a block of text has few.

    PRODUCT   v w                  summed: x'z
    LESSER    |v| + |w| - |v - w|  summed: |x|_1 + |z|_1 - |x - z|_1
    HARMONIC  4 v w / (v + w)      summed: |x|_1 + |z|_1 - sum (x - z)^2 / (x + z), for values >= 0

The index    one list of (sample, value) for the whole data, by feature and then by sample, and a table `starts` with
             the place in each feature's list where sample 0, stride, 2 stride, ... begins. Tiles that start and stop at
             multiples of the stride are found by two look-ups, others by a short search from there.

Sample numbers are uint32: with signed indices Numba also tests for negative ones (measured two times slower).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import CONTRACT, jit

PRODUCT, LESSER, HARMONIC = 0, 1, 2


class Lists(NamedTuple):
    """Sparse samples: features and values of sample i at indptr[i]:indptr[i + 1]."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: NDArray


class InvertedIndex(NamedTuple):
    """The samples that have a feature, and its values there; see the module's header."""

    starts: NDArray[np.int64]
    samples: NDArray[np.uint32]
    values: NDArray
    stride: int


@jit
def invert_rows(lists, n_features, stride):
    """The inverted index of sparse samples; its starts have the shape (n_strides + 1, n_features)."""
    indptr, indices, values = lists
    n = len(indptr) - 1
    n_strides = (n + stride - 1) // stride
    starts = np.zeros((n_strides + 1, n_features), np.int64)
    for i in range(n):
        counts = starts[i // stride + 1]
        for p in range(indptr[i], indptr[i + 1]):
            counts[indices[p]] += 1
    place = np.int64(0)
    for c in range(n_features):
        starts[0, c] = place
        for t in range(1, n_strides + 1):
            place += starts[t, c]
            starts[t, c] = place
    following = starts[0].copy()
    samples = np.empty(len(indices), np.uint32)
    sorted_values = np.empty(len(indices), values.dtype)
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            c = indices[p]
            samples[following[c]] = i
            sorted_values[following[c]] = values[p]
            following[c] += 1
    return InvertedIndex(starts, samples, sorted_values, stride)


@jit
def _first_from(samples, low, high, bound):
    """The first place in samples[low:high] whose sample is `bound` or later."""
    while low < high:
        middle = (low + high) // 2
        if samples[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@jit(fastmath=CONTRACT)
def add_common(lists, left, index, right, term, flat, step):
    """Add to each row of the samples left[0]:left[1] the terms of features in common with right[0]:right[1]."""
    first, last = right
    indptr, samples, others, stride = lists.indptr, index.samples, index.values, index.stride
    low_row, high_row = first // stride, (last + stride - 1) // stride
    search_low = low_row * stride != first
    search_high = high_row * stride != last and last < stride * (len(index.starts) - 1)
    base = np.uint32(first)
    low_starts, high_starts = index.starts[low_row], index.starts[high_row]
    for i in range(left[1] - left[0]):
        row = flat[i * step : i * step + last - first]
        for p in range(indptr[left[0] + i], indptr[left[0] + i + 1]):
            c = lists.indices[p]
            v = lists.values[p]
            low, high = low_starts[c], high_starts[c]
            if search_low:
                low = _first_from(samples, low, high, first)
            if search_high:
                high = _first_from(samples, low, high, last)
            who, what = samples[low:high], others[low:high]
            if term == PRODUCT:
                _scatter_products(row, base, who, v, what)
            elif term == LESSER:
                for k in range(len(who)):
                    row[who[k] - base] += abs(v) + abs(what[k]) - abs(v - what[k])
            else:
                for k in range(len(who)):
                    if v + what[k] > 0:
                        row[who[k] - base] += 4 * v * (what[k] / (v + what[k]))  # no product to underflow


@jit(fastmath=CONTRACT)
def _scatter_products(row, base, who, v, what):
    """row[who - base] += v * what, four at a time: the additions go to different samples and can overlap."""
    n = len(who)
    k = 0
    while k + 4 <= n:
        row[who[k] - base] += v * what[k]
        row[who[k + 1] - base] += v * what[k + 1]
        row[who[k + 2] - base] += v * what[k + 2]
        row[who[k + 3] - base] += v * what[k + 3]
        k += 4
    while k < n:
        row[who[k] - base] += v * what[k]
        k += 1
