"""Coordinate steps inside a block, for machines without an equality constraint (fixed bias, kernel K + tau^2).

Solves   the signed dual restricted to q variables whose kernel block K is in memory, without groups
Step     i = the largest second-order gain slope_i^2 / K_ii over the open directions; b_i -= slope_i / K_ii, cut at the
         box and at the kink
Returns  beta and f changed in place; number of steps; the largest projected slope left
See      Cristianini & Shawe-Taylor (2000), section 7.2 and Remark 7.4; the greedy order is the Gauss-Southwell rule.
"""

from __future__ import annotations

import numpy as np

from widemargin._jit import CONTRACT, jit
from widemargin.solvers.packed import larger, larger_key, positive_key
from widemargin.solvers.pair_steps import CLOSED_32, CLOSED_64, curvature_floor, open_directions


@jit(fastmath=CONTRACT)
def best_after_step(f, up, down, step, K_i, diagonal, floor, position, mask):
    """f += step K_i, the packed key of the variable with the largest gain, and the largest projected slope."""
    best = position[0]  # no gain, in the integer of the keys
    zero = step - step
    worst = zero
    for t in range(f.shape[0]):
        value = f[t] + step * K_i[t]
        f[t] = value
        excess = larger(larger(value + down[t], -(value + up[t])), zero)
        worst = larger(worst, excess)
        best = larger_key(best, positive_key(excess * excess / larger(diagonal[t], floor), position[t], mask))
    return best, worst


@jit
def solve_singles(K, f, beta, lower, upper, epsilon, diagonal, total_diagonal, tol, max_steps, position, limits):
    """Single steps until every projected slope of the block is within tol; arguments as in `solve_pairs`."""
    q = f.shape[0]
    mask, low_bits = limits[1], limits[2]
    up = np.empty(q, f.dtype)
    down = np.empty(q, f.dtype)
    mean_diagonal = 0.0
    closed = CLOSED_32 if f.itemsize == 4 else CLOSED_64
    for t in range(q):
        open_directions(beta, lower, upper, epsilon, t, up, down, closed)
        mean_diagonal += abs(total_diagonal[t]) / q
    scalar = np.empty(2, f.dtype)  # the step and the floor in the float type of the block
    scalar[0] = 0.0
    scalar[1] = curvature_floor(mean_diagonal, f.itemsize)
    floor = scalar[1]
    key, worst = best_after_step(f, up, down, scalar[0], K[0], total_diagonal, floor, position, mask)
    steps = 0
    while worst > tol and steps < max_steps:
        i = key & low_bits
        fall = np.float64(f[i]) + np.float64(down[i])
        rise = np.float64(f[i]) + np.float64(up[i])
        curvature = max(np.float64(total_diagonal[i]), np.float64(floor))
        if fall > -rise:
            end = 0.0 if (beta[i] > 0.0 and epsilon[i] > 0.0) else lower[i]
            target = beta[i] - fall / curvature
            new = end if target <= end else target
        else:
            end = 0.0 if (beta[i] < 0.0 and epsilon[i] > 0.0) else upper[i]
            target = beta[i] - rise / curvature
            new = end if target >= end else target
        step = new - beta[i]
        if step == 0.0:
            break
        beta[i] = new
        open_directions(beta, lower, upper, epsilon, i, up, down, closed)
        f[i] += step * diagonal[i]
        scalar[0] = step
        key, worst = best_after_step(f, up, down, scalar[0], K[i], total_diagonal, floor, position, mask)
        steps += 1
    return steps, np.float64(worst)
