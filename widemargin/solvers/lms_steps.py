"""The inner loop of single-sample least mean squares, in a separate module so that edits do not recompile it."""

from __future__ import annotations

from widemargin._jit import REASSOCIATE, jit


@jit(fastmath=REASSOCIATE)
def step_along(rows, chosen, y, beta, rate, noise):
    """Make single steps on the chosen samples in turn, given their kernel rows; return the sum of squared errors."""
    total = 0.0
    for k in range(chosen.shape[0]):
        i = chosen[k]
        row = rows[k]
        value = 0.0
        for j in range(row.shape[0]):
            value += row[j] * beta[j]
        error = y[i] - value - noise * beta[i]
        total += error * error
        beta[i] += rate * error
    return total
