"""Weighted sums of kernel rows into a float64 function.

Rows may be float32; sums are always float64: with float32 sums and a large C, a violation computed as 1e-3 was in fact
4e-3 to 23e-3.
"""

from __future__ import annotations

from widemargin._jit import REASSOCIATE, jit

LONG_RUN = 8  # adjacent columns that are read together faster than one by one
STRIP = 1024  # columns summed at a time: 8 kB of sums stay in the first-level cache
ROWS_AT_ONCE = 32  # parts of rows that several sums share while they are in the second-level cache


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
def sums_at(rows, at, index, coefficients, out):
    """out[k] = sum_j coefficients[j] rows[at[k], index[j]]: some values of a weighted sum of a symmetric matrix.

    Where `at` has a run of adjacent numbers, parts of the rows of `index` are added up instead.
    """
    n, first = at.shape[0], 0
    while first < n:
        last = first + 1
        while last < n and at[last] == at[last - 1] + 1:
            last += 1
        if last - first >= LONG_RUN:
            for k in range(first, last):
                out[k] = 0.0
            add_weighted_rows(rows, at[first], index, coefficients, out[first:last])
        else:
            for k in range(first, last):
                row = rows[at[k]]
                total = 0.0
                for j in range(index.shape[0]):
                    total += coefficients[j] * row[index[j]]
                out[k] = total
        first = last


@jit
def several_sums_at(rows, at, index, coefficients, out):
    """out[p, k] = sum_j coefficients[p, j] rows[at[k], index[j]]: `sums_at` for several sums of the same rows.

    Rows are read once for all sums; otherwise reading them takes longer than adding them up.
    """
    n, count, first = at.shape[0], index.shape[0], 0
    out[:] = 0.0
    while first < n:
        last = first + 1
        while last < n and last < first + STRIP and at[last] == at[last - 1] + 1:
            last += 1
        for begin in range(0, count, ROWS_AT_ONCE):
            some = slice(begin, min(count, begin + ROWS_AT_ONCE))
            for p in range(out.shape[0]):
                add_weighted_rows(rows, at[first], index[some], coefficients[p, some], out[p, first:last])
        first = last
