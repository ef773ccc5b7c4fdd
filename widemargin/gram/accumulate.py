"""Weighted sums of kernel rows into a float64 function, and gathers of blocks: the compiled inner loops of the Gram.

Rows may be float32; sums are always float64, because float32 sums lie at large C (claimed 1e-3, true 4e-3 to 23e-3).
"""

from __future__ import annotations

from widemargin._jit import REASSOCIATE, jit

STRIP = 1024  # columns summed at a time: 8 kB of sums stay in the first-level cache


@jit(fastmath=REASSOCIATE)
def add_weighted_rows(rows, offset, slots, coefficients, target):
    """target += sum_k coefficients[k] rows[slots[k], offset:offset+len(target)], four rows per pass.

    `rows` is whole and C-contiguous: a column slice of it would lose the unit stride and run 2.5 times slower.
    """
    n = target.shape[0]
    count = slots.shape[0]
    for start in range(0, n, STRIP):
        stop = start + STRIP if start + STRIP < n else n
        length = stop - start
        sums = target[start:stop]
        k = 0
        while k + 4 <= count:
            c0, c1, c2, c3 = coefficients[k], coefficients[k + 1], coefficients[k + 2], coefficients[k + 3]
            r0 = rows[slots[k], offset + start : offset + stop]
            r1 = rows[slots[k + 1], offset + start : offset + stop]
            r2 = rows[slots[k + 2], offset + start : offset + stop]
            r3 = rows[slots[k + 3], offset + start : offset + stop]
            for t in range(length):
                sums[t] += (c0 * r0[t] + c1 * r1[t]) + (c2 * r2[t] + c3 * r3[t])
            k += 4
        while k < count:
            c0 = coefficients[k]
            r0 = rows[slots[k], offset + start : offset + stop]
            for t in range(length):
                sums[t] += c0 * r0[t]
            k += 1


@jit(fastmath=REASSOCIATE)
def add_row_products(values, weights, target):
    """target[i] += sum_j values[i, j] weights[j], summed in float64."""
    for i in range(target.shape[0]):
        row = values[i, : weights.shape[0]]
        total = 0.0
        for j in range(weights.shape[0]):
            total += row[j] * weights[j]
        target[i] += total


@jit
def gather_block(matrix, rows, columns, out):
    """out[i, j] = matrix[rows[i], columns[j]]."""
    for i in range(rows.shape[0]):
        source = matrix[rows[i]]
        target = out[i]
        for j in range(columns.shape[0]):
            target[j] = source[columns[j]]


@jit
def mirror(matrix, top, bottom, left, right):
    """matrix[j, i] = matrix[i, j] for the rows top:bottom and columns left:right.

    Columns in strips that stay in cache, sixteen rows (one cache line of the target) at a time.
    """
    for first in range(left, right, 64):
        last = min(right, first + 64)
        start = top
        while start + 16 <= bottom:
            for j in range(first, last):
                target = matrix[j, start : start + 16]
                for k in range(16):
                    target[k] = matrix[start + k, j]
            start += 16
        for i in range(start, bottom):
            for j in range(first, last):
                matrix[j, i] = matrix[i, j]


@jit
def copy_rows(source, chosen, target, slots, start):
    """target[slots[k], start:start+length] = source[chosen[k]]."""
    length = source.shape[1]
    for k in range(chosen.shape[0]):
        row = source[chosen[k]]
        kept = target[slots[k], start : start + length]
        for t in range(length):
            kept[t] = row[t]
