"""Coordinate steps inside a block, for models without an equality constraint (fixed bias, kernel K + tau^2).

Solves   the signed dual restricted to q variables whose kernel block K is in memory, without groups
Step     i = the largest second-order gain slope_i^2 / K_ii over the open directions; b_i -= slope_i / K_ii, cut at the
         box and at the kink
Returns  beta and f changed in place; number of steps; the largest projected slope left
See      Cristianini & Shawe-Taylor (2000), section 7.2 and Remark 7.4; the greedy order is the Gauss-Southwell rule.
"""

from __future__ import annotations

import numpy as np

from widemargin._jit import CONTRACT, jit
from widemargin.solvers.steps.packed_keys import larger, larger_key, positive_key
from widemargin.solvers.steps.pairs import begin_steps, curvature_floor, open_directions


@jit(fastmath=CONTRACT)
def best_after_step(f, up, down, step, K_i, diagonal, floor, keys):
    """f += step K_i, the packed key of the variable with the largest gain, and the largest projected slope."""
    position, mask = keys.position, keys.limits[1]
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
def solve_singles(block, tol, max_steps):
    """Single steps until every projected slope of the block is within tol: (steps, largest projected slope left)."""
    f, beta, terms, low_bits = block.f, block.beta, block.terms, block.keys.limits[2]
    up = np.empty(f.shape[0], f.dtype)
    down = np.empty(f.shape[0], f.dtype)
    closed, mean_diagonal = begin_steps(block, up, down)
    scalar = np.empty(2, f.dtype)  # the step and the floor in the float type of the block
    scalar[0] = 0.0
    scalar[1] = curvature_floor(mean_diagonal, f.itemsize)
    floor = scalar[1]
    key, worst = best_after_step(f, up, down, scalar[0], block.K[0], block.total_diagonal, floor, block.keys)
    steps = 0
    while worst > tol and steps < max_steps:
        i = key & low_bits
        fall = np.float64(f[i]) + np.float64(down[i])
        rise = np.float64(f[i]) + np.float64(up[i])
        curvature = max(np.float64(block.total_diagonal[i]), np.float64(floor))
        if fall > -rise:
            end = 0.0 if (beta[i] > 0.0 and terms.epsilon[i] > 0.0) else terms.lower[i]
            target = beta[i] - fall / curvature
            new = end if target <= end else target
        else:
            end = 0.0 if (beta[i] < 0.0 and terms.epsilon[i] > 0.0) else terms.upper[i]
            target = beta[i] - rise / curvature
            new = end if target >= end else target
        step = new - beta[i]
        if step == 0.0:
            break
        beta[i] = new
        up[i], down[i] = open_directions(beta[i], terms.lower[i], terms.upper[i], terms.epsilon[i], closed)
        f[i] += step * terms.diagonal[i]
        scalar[0] = step
        key, worst = best_after_step(f, up, down, scalar[0], block.K[i], block.total_diagonal, floor, block.keys)
        steps += 1
    return steps, np.float64(worst)
