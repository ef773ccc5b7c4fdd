"""SMO inside a block: second-order pair steps on a dense kernel matrix, vectorised with packed keys.

Solves   the signed dual (problems/dual.py) restricted to q variables whose kernel block K (q x q) is in memory
Given    a Block: K, the gradient f of these variables less the threshold, their terms
Returns  beta and f changed in place; number of steps; the largest remaining violation; the lowest curvature found
Step     i = the lowest slope that can rise; j = the partner with the largest gain (slope_j - slope_i)^2 / eta,
         eta = K_ii + K_jj - 2 K_ij; b_i += s, b_j -= s with s = (slope_j - slope_i) / eta cut at the boxes and at
         zero where epsilon > 0. Each group has its own i and j; the better pair of all groups is taken.
See      Platt (1998), section 2.1, for the step; Fan, Chen & Lin (2005), JMLR 6, for the second-order choice.

Precision: K, f and the choice are in K's precision; beta and the step are float64, and bounds are assigned, never
added up to.
"""

from __future__ import annotations

import numpy as np

from widemargin._jit import CONTRACT, jit
from widemargin.solvers.steps.packed_keys import larger, larger_key, ordered_key, positive_key, smaller_key

CLOSED_32, CLOSED_64 = 1e30, 1e300  # penalty of a closed direction; finite, since packed keys hold no infinities
SAME_ROOM = 1e-14  # of a multiplier: one that is off its bound by the rounding of many steps would count as free
CURVATURE_FLOOR_32 = 1e-7  # of the mean diagonal: duplicate points leave only rounding noise in eta (Platt 1998, 2.1)
CURVATURE_FLOOR_64 = 1e-12  # the same in double precision (LIBSVM's TAU)
NO_PAIR = np.int64(-1)  # Numba gives a literal -1 its own type, which would compile callees once more
NEGATIVE_32, NEGATIVE_64 = 1e-2, 1e-8  # of the mean diagonal: a curvature below minus this is not rounding
SMALLEST_CURVATURE_32, SMALLEST_CURVATURE_64 = 1e-37, 1e-300  # an all-zero kernel matrix still needs a divisor


@jit(fastmath=CONTRACT, inner=True)
def lowest_after_step(f, up, step, K, pair, group, keys):
    """f += step (K_i - K_j) on a group, and the packed key of its lowest slope that can rise, in one pass.

    The rows are cut here, not by the caller: a slice compiles to long machine code at every call site.
    """
    first, last = group
    f, up, K_i, K_j = f[first:last], up[first:last], K[pair[0], first:last], K[pair[1], first:last]
    position, best, mask = keys.position, keys.limits[0], keys.limits[1]
    for t in range(last - first):
        value = f[t] + step * (K_i[t] - K_j[t])
        f[t] = value
        best = smaller_key(best, ordered_key(value + up[t], position[t], mask))
    return best


@jit(fastmath=CONTRACT, inner=True)
def best_partner(f, down, lowest, matrix, i, group, keys):
    """Return the packed key of the partner of i with the largest second-order gain, and the highest falling slope.

    matrix : K, its diagonal with D added, and the smallest curvature
    """
    K, diagonal, floor = matrix
    first, last = group
    diagonal_i = diagonal[i]
    f, down, K_i, diagonal = f[first:last], down[first:last], K[i, first:last], diagonal[first:last]
    position, mask = keys.position, keys.limits[1]
    best = position[0]  # no gain, in the integer of the keys
    highest = down[0] + f[0]
    for t in range(last - first):
        slope = f[t] + down[t]
        highest = larger(highest, slope)
        excess = larger(slope - lowest, diagonal_i - diagonal_i)
        curvature = larger((diagonal[t] - K_i[t]) + (diagonal_i - K_i[t]), floor)
        best = larger_key(best, positive_key(excess * excess / curvature, position[t], mask))
    return best, highest


@jit(inner=True)
def curvature_floor(mean_diagonal, itemsize):
    """Smallest divisor of a step, in the precision of the block."""
    single = itemsize == 4
    floor = (CURVATURE_FLOOR_32 if single else CURVATURE_FLOOR_64) * mean_diagonal
    smallest = SMALLEST_CURVATURE_32 if single else SMALLEST_CURVATURE_64
    return floor if floor > smallest else smallest


@jit(inner=True)
def open_directions(b, lower, upper, epsilon, closed):
    """Penalties that turn the gradient of a variable into its slopes: +-epsilon where open, +-closed where not."""
    up = closed if b >= upper else epsilon if b >= 0.0 else -epsilon
    down = -closed if b <= lower else epsilon if b > 0.0 else -epsilon
    return up, down


@jit(inner=True)
def begin_steps(block, up, down):
    """Fill the penalties of all variables; returns the penalty of a closed direction and the mean diagonal."""
    beta, terms, closed = block.beta, block.terms, CLOSED_32 if block.f.itemsize == 4 else CLOSED_64
    mean_diagonal = 0.0
    q = beta.shape[0]
    for t in range(q):
        up[t], down[t] = open_directions(beta[t], terms.lower[t], terms.upper[t], terms.epsilon[t], closed)
        mean_diagonal += abs(block.total_diagonal[t]) / q
    return closed, mean_diagonal


@jit(inner=True)
def move_pair(beta, lower, upper, epsilon, i, j, step):
    """b_i += step, b_j -= step, cut at the boxes and, where epsilon > 0, at zero; returns the step that was made."""
    b_i, b_j = beta[i], beta[j]
    end_i = 0.0 if (b_i < 0.0 and epsilon[i] > 0.0) else upper[i]
    end_j = 0.0 if (b_j > 0.0 and epsilon[j] > 0.0) else lower[j]
    room_i = end_i - b_i
    room_j = b_j - end_j
    if step < room_i and step < room_j:
        b_i, b_j = b_i + step, b_j - step
    else:
        step = min(room_i, room_j)
        b_i = end_i if room_i - step <= SAME_ROOM * (abs(b_i) + step) else b_i + step
        b_j = end_j if room_j - step <= SAME_ROOM * (abs(b_j) + step) else b_j - step
    beta[i], beta[j] = b_i, b_j
    return step


@jit
def solve_pairs(block, tol, max_steps):
    """Pair steps until every group of the block is within tol, or for `max_steps`.

    Returns the number of steps, the largest violation left, and the lowest curvature met if it is negative beyond
    rounding.
    """
    K, f, total_diagonal, beta = block.K, block.f, block.total_diagonal, block.beta
    lower, upper, epsilon, diagonal = block.terms.lower, block.terms.upper, block.terms.epsilon, block.terms.diagonal
    starts, positions, low_bits = block.terms.starts, block.keys, block.keys.limits[2]
    q, n_groups = f.shape[0], starts.shape[0] - 1
    up = np.empty(q, f.dtype)
    down = np.empty(q, f.dtype)
    closed, mean_diagonal = begin_steps(block, up, down)
    scalar = np.empty(2, f.dtype)  # the step and the floor in the float type of the block
    scalar[0] = 0.0
    scalar[1] = curvature_floor(mean_diagonal, f.itemsize)
    floor = scalar[1]
    closed_check = 0.5 * closed
    keys = np.empty(n_groups, positions.limits.dtype)
    steps = 0
    violation = 0.0
    noise = -(NEGATIVE_32 if f.itemsize == 4 else NEGATIVE_64) * mean_diagonal
    lowest_curvature = 0.0
    i = j = NO_PAIR + 1
    while True:
        for g in range(n_groups):  # update the gradient by the last step, zero at first
            keys[g] = positions.limits[0]
            if starts[g + 1] > starts[g]:
                keys[g] = lowest_after_step(f, up, scalar[0], K, (i, j), (starts[g], starts[g + 1]), positions)
        violation = 0.0
        best_gain = 0.0
        step = 0.0
        i = j = NO_PAIR
        for g in range(n_groups):
            first, last = starts[g], starts[g + 1]
            if last - first < 2:
                continue
            candidate = first + (keys[g] & low_bits)
            if up[candidate] > closed_check:
                continue
            lowest = f[candidate] + up[candidate]
            matrix = (K, total_diagonal, floor)
            key, highest = best_partner(f, down, lowest, matrix, candidate, (first, last), positions)
            if highest < -closed_check:
                continue
            group_violation = np.float64(highest) - np.float64(lowest)
            if group_violation > violation:
                violation = group_violation
            partner = first + (key & low_bits)
            excess = np.float64(f[partner]) + np.float64(down[partner]) - np.float64(lowest)
            if group_violation > tol and excess > 0.0:
                curvature = (
                    total_diagonal[candidate] + np.float64(total_diagonal[partner]) - 2.0 * K[candidate, partner]
                )
                if curvature < noise and curvature < lowest_curvature:
                    lowest_curvature = curvature
                if curvature < floor:
                    curvature = np.float64(floor)
                gain = excess * excess / curvature
                if gain > best_gain:
                    best_gain = gain
                    i, j = candidate, partner
                    step = excess / curvature
        if i < 0 or steps >= max_steps:
            break
        step = move_pair(beta, lower, upper, epsilon, i, j, step)
        f[i] += step * diagonal[i]
        f[j] -= step * diagonal[j]
        scalar[0] = step
        for side in range(2):
            t = i if side == 0 else j
            up[t], down[t] = open_directions(beta[t], lower[t], upper[t], epsilon[t], closed)
        steps += 1
    return steps, violation, lowest_curvature
