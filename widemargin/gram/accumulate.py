"""Products with blocks of kernel values, summed in float64, and gathers of blocks: compiled inner loops of the Gram."""

from __future__ import annotations

import numpy as np

from widemargin._jit import REASSOCIATE, jit
from widemargin.linalg.row_sums import LONG_RUN


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
def gather_rows(matrix, rows, places, columns, out):
    """out[places[k], j] = matrix[rows[k], columns[j]]; where columns are mostly runs of adjacent ones, run by run."""
    n = columns.shape[0]
    ends, n_runs = np.empty(n, np.int64), 0
    for j in range(n):
        if j + 1 == n or columns[j + 1] != columns[j] + 1:
            ends[n_runs] = j + 1
            n_runs += 1
    for k in range(rows.shape[0]):
        source = matrix[rows[k]]
        target = out[places[k]]
        if n_runs * LONG_RUN > n:
            for j in range(n):
                target[j] = source[columns[j]]
        else:
            first = 0
            for run in range(n_runs):
                length = ends[run] - first
                part, chosen = target[first : ends[run]], source[columns[first] : columns[first] + length]
                for j in range(length):
                    part[j] = chosen[j]
                first = ends[run]


@jit
def copy_rows(source, chosen, target, slots, start):
    """target[slots[k], start:start+length] = source[chosen[k]]."""
    length = source.shape[1]
    for k in range(chosen.shape[0]):
        row = source[chosen[k]]
        kept = target[slots[k], start : start + length]
        for t in range(length):
            kept[t] = row[t]
