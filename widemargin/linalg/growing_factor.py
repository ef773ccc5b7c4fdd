"""The Cholesky factor of a part of a matrix, to which rows are appended and from which they are removed.

    L L' = (K + D + delta I)_FF,     F = free[:m]

The first m rows of L and `free` are in use. A row costs m^2 / 2 multiplications, its removal 3 (m - place)^2.

See   Gill, Golub, Murray & Saunders (1974), Math. Comp. 28, method C1, for the removal by rotations
"""

from __future__ import annotations

import numpy as np

from widemargin._jit import REASSOCIATE, jit

SMALLEST_PIVOT = 0.1  # of delta: what rounding leaves of a pivot that is delta in exact arithmetic


@jit(fastmath=REASSOCIATE)
def append(K, D, delta, L, free, m, k):
    """Append variable k to F and a row to the factor; return the new size of F."""
    row, values = L[m], K[k]
    free[m] = k
    for i in range(m):
        other = L[i]
        total = np.float64(values[free[i]])
        for j in range(i):
            total -= row[j] * other[j]
        row[i] = total / other[i]
    total = values[k] + D[k] + delta
    for j in range(m):
        total -= row[j] * row[j]
    row[m] = np.sqrt(max(total, SMALLEST_PIVOT * delta))
    return m + 1


@jit
def remove(L, free, m, first):
    """Remove place `first` of F and restore the factor by rotations; return the new size of F."""
    cosine, sine = np.empty(m), np.empty(m)
    for i in range(first, m - 1):
        free[i] = free[i + 1]
        row, old = L[i], L[i + 1]
        for j in range(first):
            row[j] = old[j]
        right = old[first]
        for j in range(first, i):
            a, b = right, old[j + 1]
            row[j] = cosine[j] * a + sine[j] * b
            right = cosine[j] * b - sine[j] * a
        b = old[i + 1]
        radius = np.sqrt(right * right + b * b)
        cosine[i], sine[i] = right / radius, b / radius
        row[i] = radius
    return m - 1


@jit(fastmath=REASSOCIATE)
def solve_factored(L, m, x, y):
    """x, y = (L L')^-1 (x, y), in one pass over L each way."""
    for i in range(m):
        row = L[i]
        first, second = x[i], y[i]
        for k in range(i):
            first -= row[k] * x[k]
            second -= row[k] * y[k]
        x[i], y[i] = first / row[i], second / row[i]
    for j in range(m):
        i = m - 1 - j
        row = L[i]
        x[i] /= row[i]
        y[i] /= row[i]
        first, second = x[i], y[i]
        for k in range(i):
            x[k] -= first * row[k]
            y[k] -= second * row[k]


@jit(inner=True)
def eliminate(S, b):
    """b = S^-1 b for a positive definite matrix, by elimination in place."""
    n = b.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            factor = S[i, k] / S[k, k]
            for j in range(k + 1, n):
                S[i, j] -= factor * S[k, j]
            b[i] -= factor * b[k]
    for r in range(n):
        k = n - 1 - r
        for j in range(k + 1, n):
            b[k] -= S[k, j] * b[j]
        b[k] /= S[k, k]
