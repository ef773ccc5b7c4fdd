"""Samples laid out for rows evaluated a few at a time (kernels/fused_rows.py).

The loops run along samples that lie side by side. In one large matrix by columns the features of a few samples are far
apart, and copying them together for each handful of rows took as long as the rows.

strips_of         all values, in strips of STRIP samples, feature by feature inside a strip
sparse_tiles_of   the same in tiles of SPARSE_TILE samples, and which values of a sample are not zero: of data that are
                  dense in form but mostly zeros, such as images, only those need be multiplied
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.kernels.distances import STRIP
from widemargin.kernels.samples.dense import DenseRows
from widemargin.kernels.samples.raw import MOSTLY_ZERO, some_of

SPARSE_TILE = 256  # samples of a tile


class DenseVectors(NamedTuple):
    """Samples by row, and |x|^2 times a factor in their precision."""

    values: NDArray
    squares: NDArray


class SparseVectors(NamedTuple):
    """Samples in tiles: tiles[t, k, j] is feature k of sample t * SPARSE_TILE + j. Features and values of sample i that
    are not zero at starts[i]:starts[i + 1], and |x|^2 times a factor in their precision."""

    tiles: NDArray
    starts: NDArray[np.int64]
    features: NDArray[np.int64]
    values: NDArray
    squares: NDArray


def strips_of(rows: NDArray) -> NDArray:
    """Samples in strips: strips[t, k, j] is feature k of sample t * STRIP + j."""
    n, d = rows.shape
    strips = np.zeros((-(-n // STRIP), d, STRIP), rows.dtype)  # the last one is read to its end
    for number, strip in enumerate(strips):
        part = rows[number * STRIP : (number + 1) * STRIP]
        strip[:, : len(part)] = part.T
    return strips


def is_mostly_zero(samples: DenseRows) -> bool:
    """Whether most values were zero before the samples were moved, judged by some of them."""
    some = some_of(samples.values)
    return bool(np.count_nonzero(some != moved_zero(samples)) <= MOSTLY_ZERO * some.size)


def moved_zero(samples: DenseRows) -> NDArray:
    """Return the moved position of a zero sample."""
    origin = np.zeros(samples.n_features) if samples.origin is None else samples.origin
    return (-origin).astype(samples.dtype)


def squares_unmoved(samples: DenseRows) -> NDArray[np.float64]:
    """Bound on |x|^2 of each sample before it was moved and after it was moved back: at most (|x - o| + |o|)^2."""
    origin = np.zeros(samples.n_features) if samples.origin is None else samples.origin
    squares = samples.squares + 2.0 * (samples.values @ origin.astype(samples.dtype)) + origin @ origin
    largest = (np.sqrt(samples.squares) + np.linalg.norm(origin)) ** 2
    return np.minimum(largest, squares + samples.n_features * float(np.finfo(samples.dtype).eps) * largest)


def longest_sums(samples: DenseRows) -> tuple[int, int]:
    """Most roundings of a term of an inner product by `sparse_products`, sums of eight and the rest, and of |x|^2."""
    content = int(np.count_nonzero(samples.values != moved_zero(samples), axis=1).max(initial=0))
    return content // 8 + 12, content + 1 if samples.dtype == np.float64 else 1


def sparse_tiles_of(samples: DenseRows, factor: float) -> SparseVectors:
    """Return dense samples that are mostly zeros in sparse tiles, moved back to their origin; factor of |x|^2."""
    n, d = samples.values.shape
    zero = moved_zero(samples)
    origin = np.zeros(d) if samples.origin is None else samples.origin
    starts = np.concatenate(([0], np.cumsum(np.count_nonzero(samples.values != zero, axis=1))))
    tiles = np.zeros((-(-n // SPARSE_TILE), d, SPARSE_TILE), samples.dtype)
    features, values, squares = np.empty(starts[-1], np.int64), np.empty(starts[-1], samples.dtype), np.zeros(n)
    fill_sparse(samples.values, zero, origin, starts, tiles, features, values, squares)
    return SparseVectors(tiles, starts, features, values, (factor * squares).astype(samples.dtype))


@jit
def fill_sparse(moved, zero, origin, starts, tiles, features, values, squares):
    """Write the values that differ from `zero`, moved back, to the lists and to the tiles."""
    for i in range(moved.shape[0]):
        place = starts[i]
        for k in range(moved.shape[1]):
            if moved[i, k] != zero[k]:
                features[place] = k
                values[place] = moved[i, k] + origin[k]
                value = values[place]
                tiles[i // SPARSE_TILE, k, i % SPARSE_TILE] = value
                squares[i] += float(value) * float(value)
                place += 1
