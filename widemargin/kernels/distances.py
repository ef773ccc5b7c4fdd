"""Kernels exp(-scale * distance) by direct differences, summed feature by feature with nothing to cancel.

    SQUARED    sum (x_k - z_k)^2
    ABSOLUTE   sum |x_k - z_k|
    CHI        sum (x_k - z_k)^2 / (x_k + z_k), where a term with both values zero counts 0

The inner loops run along samples that lie side by side (see `DenseColumns`), two left samples and four features to a
pass, so that values and partial sums are loaded once for eight terms. The right samples are copied in strips first:
rows of a large matrix are often a power of two apart and then fall into the same few sets of the cache (measured 1.3
times slower).
"""

from __future__ import annotations

import numpy as np

from widemargin._jit import CONTRACT, jit
from widemargin.kernels.exponential import exp_scaled

SQUARED, ABSOLUTE, CHI = 0, 1, 2
STRIP = 256  # right samples copied at a time: 24 features of float32 fill 24 of the 32 KB of a first-level cache


@jit(fastmath=CONTRACT)
def exponential_block(x, left_start, n_left, z, right_start, n_right, scale, distance, flat, step):
    """Fill rows with exp(-scale * distance(x_i, z_j)) for samples given by columns."""
    d = len(x)
    strip = np.empty((d, STRIP), z.dtype)
    spare = np.empty(STRIP, flat.dtype)
    for first in range(0, n_right, STRIP):
        width = min(STRIP, n_right - first)
        for k in range(d):
            strip[k, :width] = z[k, right_start + first : right_start + first + width]
        for i in range(0, n_left, 2):
            row = flat[i * step + first : i * step + first + width]
            pair = i + 1 < n_left
            next_row = flat[(i + 1) * step + first : (i + 1) * step + first + width] if pair else spare[:width]
            second = left_start + i + (1 if pair else 0)
            row[:] = 0.0
            next_row[:] = 0.0
            if distance == SQUARED:
                _add_squares(x, left_start + i, second, strip, row, next_row)
            elif distance == ABSOLUTE:
                _add_absolute(x, left_start + i, second, strip, row, next_row)
            else:
                _add_chi(x, left_start + i, second, strip, row, next_row)
            exp_scaled(row, scale)
            if pair:
                exp_scaled(next_row, scale)


@jit(fastmath=CONTRACT)
def _add_squares(x, a, b, z, row_a, row_b):
    """Add (x_k - z_k)^2 over all features to the rows of the left samples a and b."""
    d, n = len(x), len(row_a)
    k = 0
    while k + 4 <= d:
        a0, a1, a2, a3 = x[k, a], x[k + 1, a], x[k + 2, a], x[k + 3, a]
        b0, b1, b2, b3 = x[k, b], x[k + 1, b], x[k + 2, b], x[k + 3, b]
        z0, z1, z2, z3 = z[k, :n], z[k + 1, :n], z[k + 2, :n], z[k + 3, :n]
        for j in range(n):
            c0, c1, c2, c3 = z0[j], z1[j], z2[j], z3[j]
            row_a[j] += ((a0 - c0) ** 2 + (a1 - c1) ** 2) + ((a2 - c2) ** 2 + (a3 - c3) ** 2)
            row_b[j] += ((b0 - c0) ** 2 + (b1 - c1) ** 2) + ((b2 - c2) ** 2 + (b3 - c3) ** 2)
        k += 4
    while k < d:
        a0, b0, z0 = x[k, a], x[k, b], z[k, :n]
        for j in range(n):
            row_a[j] += (a0 - z0[j]) ** 2
            row_b[j] += (b0 - z0[j]) ** 2
        k += 1


@jit(fastmath=CONTRACT)
def _add_absolute(x, a, b, z, row_a, row_b):
    """Add |x_k - z_k| over all features to the rows of the left samples a and b."""
    d, n = len(x), len(row_a)
    k = 0
    while k + 4 <= d:
        a0, a1, a2, a3 = x[k, a], x[k + 1, a], x[k + 2, a], x[k + 3, a]
        b0, b1, b2, b3 = x[k, b], x[k + 1, b], x[k + 2, b], x[k + 3, b]
        z0, z1, z2, z3 = z[k, :n], z[k + 1, :n], z[k + 2, :n], z[k + 3, :n]
        for j in range(n):
            c0, c1, c2, c3 = z0[j], z1[j], z2[j], z3[j]
            row_a[j] += (abs(a0 - c0) + abs(a1 - c1)) + (abs(a2 - c2) + abs(a3 - c3))
            row_b[j] += (abs(b0 - c0) + abs(b1 - c1)) + (abs(b2 - c2) + abs(b3 - c3))
        k += 4
    while k < d:
        a0, b0, z0 = x[k, a], x[k, b], z[k, :n]
        for j in range(n):
            row_a[j] += abs(a0 - z0[j])
            row_b[j] += abs(b0 - z0[j])
        k += 1


@jit(fastmath=CONTRACT)
def _add_chi(x, a, b, z, row_a, row_b):
    """Add (x_k - z_k)^2 / (x_k + z_k) over all features to the rows of the left samples a and b."""
    n = len(row_a)
    for k in range(len(x)):
        a0, b0, z0 = x[k, a], x[k, b], z[k, :n]
        zero = a0 - a0
        for j in range(n):  # bound by the divisions, so passes of several features gain nothing
            sum_a, sum_b = a0 + z0[j], b0 + z0[j]
            row_a[j] += (a0 - z0[j]) ** 2 / sum_a if sum_a > zero else zero
            row_b[j] += (b0 - z0[j]) ** 2 / sum_b if sum_b > zero else zero
