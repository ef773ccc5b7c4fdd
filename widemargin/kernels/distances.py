"""Kernels exp(-scale * distance) by direct differences, summed feature by feature with nothing to cancel.

    Squared    sum (x_k - z_k)^2
    Absolute   sum |x_k - z_k|
    Chi        sum (x_k - z_k)^2 / (x_k + z_k), where a term with both values zero counts 0

The inner loops run along samples that lie side by side (see `DenseColumns`), two left samples and four features to a
pass, so that values and partial sums are loaded once for eight terms. The right samples are copied in strips first:
rows of a large matrix are often a power of two apart and then fall into the same few sets of the cache (measured 1.3
times slower).

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
    spare = np.empty(STRIP, flat.dtype)
    for first in range(0, n_right, STRIP):
        width = min(STRIP, n_right - first)
        for k in range(d):
            for j in range(width):
                strip[k, j] = z[k, right_start + first + j]
        for i in range(0, n_left, 2):
            row = flat[i * step + first : i * step + first + width]
            if i + 1 < n_left:
                next_row = flat[(i + 1) * step + first : (i + 1) * step + first + width]
                add_terms(distance, x, left_start + i, left_start + i + 1, strip, row, next_row)
                exp_scaled(next_row, distance.scale)
            else:
                add_terms(distance, x, left_start + i, left_start + i, strip, row, spare[:width])
            exp_scaled(row, distance.scale)


def add_terms(distance: Any, x: Any, a: int, b: int, z: Any, row_a: Any, row_b: Any) -> None:
    """Fill the rows of the left samples a and b with distances; compiled code takes the overload below."""
    _TERMS[type(distance)](distance, x, a, b, z, row_a, row_b)


@overload(add_terms)
def _choose_terms(distance, x, a, b, z, row_a, row_b):
    """The loops of the given distance."""
    if isinstance(distance, types.NamedUniTuple):
        return _TERMS[distance.instance_class]
    return None


def _squares(distance, x, a, b, z, row_a, row_b):
    """Sums of (x_k - z_k)^2."""
    d, n = len(x), len(row_a)
    for j in range(n):
        row_a[j] = 0.0
        row_b[j] = 0.0
    k = 0
    while k + 4 <= d:
        a0, a1, a2, a3 = x[k, a], x[k + 1, a], x[k + 2, a], x[k + 3, a]
        b0, b1, b2, b3 = x[k, b], x[k + 1, b], x[k + 2, b], x[k + 3, b]
        z0, z1, z2, z3 = z[k], z[k + 1], z[k + 2], z[k + 3]
        for j in range(n):
            c0, c1, c2, c3 = z0[j], z1[j], z2[j], z3[j]
            row_a[j] += ((a0 - c0) ** 2 + (a1 - c1) ** 2) + ((a2 - c2) ** 2 + (a3 - c3) ** 2)
            row_b[j] += ((b0 - c0) ** 2 + (b1 - c1) ** 2) + ((b2 - c2) ** 2 + (b3 - c3) ** 2)
        k += 4
    while k < d:
        a0, b0, z0 = x[k, a], x[k, b], z[k]
        for j in range(n):
            row_a[j] += (a0 - z0[j]) ** 2
            row_b[j] += (b0 - z0[j]) ** 2
        k += 1


def _absolutes(distance, x, a, b, z, row_a, row_b):
    """Sums of |x_k - z_k|."""
    d, n = len(x), len(row_a)
    for j in range(n):
        row_a[j] = 0.0
        row_b[j] = 0.0
    k = 0
    while k + 4 <= d:
        a0, a1, a2, a3 = x[k, a], x[k + 1, a], x[k + 2, a], x[k + 3, a]
        b0, b1, b2, b3 = x[k, b], x[k + 1, b], x[k + 2, b], x[k + 3, b]
        z0, z1, z2, z3 = z[k], z[k + 1], z[k + 2], z[k + 3]
        for j in range(n):
            c0, c1, c2, c3 = z0[j], z1[j], z2[j], z3[j]
            row_a[j] += (abs(a0 - c0) + abs(a1 - c1)) + (abs(a2 - c2) + abs(a3 - c3))
            row_b[j] += (abs(b0 - c0) + abs(b1 - c1)) + (abs(b2 - c2) + abs(b3 - c3))
        k += 4
    while k < d:
        a0, b0, z0 = x[k, a], x[k, b], z[k]
        for j in range(n):
            row_a[j] += abs(a0 - z0[j])
            row_b[j] += abs(b0 - z0[j])
        k += 1


def _chi_terms(distance, x, a, b, z, row_a, row_b):
    """Sums of (x_k - z_k)^2 / (x_k + z_k)."""
    n = len(row_a)
    zero = x.dtype.type(0.0)
    one = x.dtype.type(1.0)
    for j in range(n):
        row_a[j] = 0.0
        row_b[j] = 0.0
    for k in range(len(x)):
        a0, b0, z0 = x[k, a], x[k, b], z[k]
        for j in range(n):  # bound by the divisions, so passes of several features gain nothing
            sum_a, sum_b = a0 + z0[j], b0 + z0[j]
            # Dividing 0 by 1 instead of jumping over 0 / 0 keeps the loop free of branches, which vectorises.
            row_a[j] += (a0 - z0[j]) ** 2 / (sum_a if sum_a > zero else one)
            row_b[j] += (b0 - z0[j]) ** 2 / (sum_b if sum_b > zero else one)


_TERMS: dict[type, Any] = {Squared: _squares, Absolute: _absolutes, Chi: _chi_terms}
