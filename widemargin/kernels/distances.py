"""Kernels exp(-scale * distance) by direct differences, summed feature by feature with nothing to cancel.

    Squared    sum (x_k - z_k)^2
    Absolute   sum |x_k - z_k|
    Chi        sum (x_k - z_k)^2 / (x_k + z_k), where a term with both values zero counts 0

The inner loops run along samples that lie side by side (see `DenseColumns`), two left samples and two features to a
pass: four features need more registers than there are (measured 1.2 times slower with 16 features), and the first pass
writes instead of adding (1.5 times faster with 2 features). The right samples are copied in strips first: rows of a
large matrix are often a power of two apart and then fall into the same few sets of the cache (1.3 times slower); sums
lie in two rows of their own for the same reason (1.2 times).

The distance is given as a value of a class of its own, so that only the loops in use are compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from widemargin._jit import CONTRACT, jit
from widemargin.kernels.exponential import exp_scaled

STRIP = 256  # right samples copied at a time: 24 features of float32 fill 24 of the 32 KB of a first-level cache


class Squared(NamedTuple):
    """exp(-scale * sum (x_k - z_k)^2); the scale in the precision of the samples."""

    scale: np.floating


class Absolute(NamedTuple):
    """exp(-scale * sum |x_k - z_k|)."""

    scale: np.floating


class Chi(NamedTuple):
    """exp(-scale * sum (x_k - z_k)^2 / (x_k + z_k))."""

    scale: np.floating


@jit(fastmath=CONTRACT)
def exponential_block(x, left_start, n_left, z, right_start, n_right, distance, flat, step):
    """Fill rows with exp(-scale * distance(x_i, z_j)) for samples given by columns.

    Arrays are filled by loops here: assigning slices doubles the time of compilation.
    """
    d = len(x)
    strip = np.empty((d, STRIP), z.dtype)
    pair = np.empty((2, d), x.dtype)
    sums = np.empty((2, STRIP), flat.dtype)
    for first in range(0, n_right, STRIP):
        width = min(STRIP, n_right - first)
        for k in range(d):
            for j in range(width):
                strip[k, j] = z[k, right_start + first + j]
        for i in range(0, n_left, 2):
            last = min(i + 1, n_left - 1)
            for k in range(d):
                pair[0, k] = x[k, left_start + i]
                pair[1, k] = x[k, left_start + last]
            add_terms(distance, pair[0], pair[1], strip, sums[0, :width], sums[1, :width])
            for k in range(i, last + 1):
                exp_scaled(sums[k - i, :width], distance.scale, flat[k * step + first : k * step + first + width])


def add_terms(distance: Any, a: Any, b: Any, z: Any, row_a: Any, row_b: Any) -> None:
    """Fill two rows with the distances of the vectors a and b; compiled code takes the overload below."""
    _TERMS[type(distance)](distance, a, b, z, row_a, row_b)


@overload(add_terms)
def _choose_terms(distance, a, b, z, row_a, row_b):
    """The loops of the given distance."""
    if isinstance(distance, types.NamedUniTuple):
        return _TERMS[distance.instance_class]
    return None


def _squares(distance, a, b, z, row_a, row_b):
    """Sums of (x_k - z_k)^2."""
    d, n = len(a), len(row_a)
    k = 0
    if d % 2:
        a0, b0, z0 = a[0], b[0], z[0]
        for j in range(n):
            row_a[j] = (a0 - z0[j]) ** 2
            row_b[j] = (b0 - z0[j]) ** 2
        k = 1
    else:
        for j in range(n):
            row_a[j] = 0.0
            row_b[j] = 0.0
    while k < d:
        a0, a1, b0, b1, z0, z1 = a[k], a[k + 1], b[k], b[k + 1], z[k], z[k + 1]
        for j in range(n):
            row_a[j] = row_a[j] + (a0 - z0[j]) ** 2 + (a1 - z1[j]) ** 2
            row_b[j] = row_b[j] + (b0 - z0[j]) ** 2 + (b1 - z1[j]) ** 2
        k += 2


def _absolutes(distance, a, b, z, row_a, row_b):
    """Sums of |x_k - z_k|."""
    d, n = len(a), len(row_a)
    k = 0
    if d % 2:
        a0, b0, z0 = a[0], b[0], z[0]
        for j in range(n):
            row_a[j] = abs(a0 - z0[j])
            row_b[j] = abs(b0 - z0[j])
        k = 1
    else:
        for j in range(n):
            row_a[j] = 0.0
            row_b[j] = 0.0
    while k < d:
        a0, a1, b0, b1, z0, z1 = a[k], a[k + 1], b[k], b[k + 1], z[k], z[k + 1]
        for j in range(n):
            row_a[j] = row_a[j] + abs(a0 - z0[j]) + abs(a1 - z1[j])
            row_b[j] = row_b[j] + abs(b0 - z0[j]) + abs(b1 - z1[j])
        k += 2


def _chi_terms(distance, a, b, z, row_a, row_b):
    """Sums of (x_k - z_k)^2 / (x_k + z_k)."""
    n = len(row_a)
    zero = a.dtype.type(0.0)
    one = a.dtype.type(1.0)
    for j in range(n):
        row_a[j] = 0.0
        row_b[j] = 0.0
    for k in range(len(a)):
        a0, b0, z0 = a[k], b[k], z[k]
        for j in range(n):  # bound by the divisions, so passes of several features gain nothing
            sum_a, sum_b = a0 + z0[j], b0 + z0[j]
            # Dividing 0 by 1 instead of jumping over 0 / 0 keeps the loop free of branches, which vectorises.
            row_a[j] += (a0 - z0[j]) ** 2 / (sum_a if sum_a > zero else one)
            row_b[j] += (b0 - z0[j]) ** 2 / (sum_b if sum_b > zero else one)


_TERMS: dict[type, Any] = {Squared: _squares, Absolute: _absolutes, Chi: _chi_terms}
