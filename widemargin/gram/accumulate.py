"""Products with blocks of kernel values, summed in float64, and gathers of blocks: compiled inner loops of the Gram."""

from __future__ import annotations

from widemargin._jit import REASSOCIATE, jit


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
    """out[places[k], j] = matrix[rows[k], columns[j]]."""
    for k in range(rows.shape[0]):
        source = matrix[rows[k]]
        target = out[places[k]]
        for j in range(columns.shape[0]):
            target[j] = source[columns[j]]


@jit
def copy_rows(source, chosen, target, slots, start):
    """target[slots[k], start:start+length] = source[chosen[k]]."""
    length = source.shape[1]
    for k in range(chosen.shape[0]):
        row = source[chosen[k]]
        kept = target[slots[k], start : start + length]
        for t in range(length):
            kept[t] = row[t]
