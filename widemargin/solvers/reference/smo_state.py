"""What the SMO family keeps while it runs, and the bookkeeping after a step: weights, cached gradients, non-bound list.

gradient   f_i = F_i + D_i b_i + c_i is cached for the non-bound points only, as in Platt's error cache (E_i = f_i - r,
           with r the threshold); for all others it is evaluated when asked for: one dot product with the weight vector
           (22) if the kernel is linear, else a sum over the support vectors
non-bound  a list of points strictly inside their box (and off the kink), with the place of each in it

See  Platt (1998), sections 2.2, 2.4 and 2.5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import REASSOCIATE, jit
from widemargin.gram.kernel_values import (
    LINEAR,
    MATRIX,
    KernelValues,
    add_point,
    kernel_value,
    load,
    product,
    unload,
)
from widemargin.problems.dual import SignedDual
from widemargin.solvers.reference.passes import Run, Vector
from widemargin.solvers.reference.variables import diagonal_of

# places in `counts` and `numbers`
N_FREE, STEPS, EVALUATIONS = range(3)
LEVEL, DECREASE, WORST, CURVATURE = range(4)
BOUND = -1  # place of a point that is not in the non-bound list


class State(NamedTuple):
    """Arrays of one run; see the header."""

    beta: Vector
    lower: Vector
    upper: Vector
    epsilon: Vector
    diagonal: Vector
    linear_term: Vector
    total_diagonal: Vector  # K_ii + D_i
    gradient: Vector  # valid for non-bound points
    free: NDArray[np.int64]
    place: NDArray[np.int64]
    weights: Vector  # w of a linear machine, else empty
    work: Vector
    other_work: Vector
    counts: NDArray[np.int64]
    numbers: Vector
    random: NDArray[np.uint64]


def new_state(run: Run, values: KernelValues, seed: int) -> State:
    """The state that belongs to the point of a run."""
    dual, n = run.dual, len(run.dual)
    linear = values.form != MATRIX and values.kernel == LINEAR
    state = State(
        beta=run.beta,
        lower=dual.lower,
        upper=dual.upper,
        epsilon=dual.epsilon,
        diagonal=dual.diagonal,
        linear_term=dual.linear_term,
        total_diagonal=diagonal_of(run),
        gradient=np.zeros(n),
        free=np.empty(n, np.int64),
        place=np.full(n, BOUND, np.int64),
        weights=np.zeros(values.n_features if linear else 0),
        work=np.zeros(values.n_features),
        other_work=np.zeros(values.n_features),
        counts=np.zeros(3, np.int64),
        numbers=np.zeros(4),
        random=np.array([2 * seed + 1], np.uint64),
    )
    refresh(values, state, run.gradient())
    return state


def refuse_several_groups(dual: SignedDual, name: str) -> None:
    """SMO with one threshold moves two variables of one sum: nu-machines have two sums, fixed-bias machines none."""
    if dual.n_groups == 1 and dual.row is None and dual.sign is None:
        return
    what = "no equality constraint (fixed bias)" if dual.n_groups == 0 else "more than one equality constraint (nu)"
    instead = "'fixed-threshold' or 'adatron'" if dual.n_groups == 0 else "'block', 'chunking' or 'osuna'"
    raise ValueError(
        f"solver={name!r} moves two multipliers against one threshold, and this machine has {what}: "
        f"use solver={instead}."
    )


@jit
def refresh(values, s, gradient):
    """Take over gradients computed afresh; rebuild the non-bound list and the weight vector."""
    s.counts[N_FREE] = 0
    for k in range(s.weights.shape[0]):
        s.weights[k] = 0.0
    for i in range(s.beta.shape[0]):
        s.place[i] = BOUND
        s.gradient[i] = gradient[i]
        note_place(s, i)
        if s.weights.shape[0] > 0 and s.beta[i] != 0.0:
            add_point(values, i, s.beta[i], s.weights)


@jit
def note_place(s, i):
    """Enter point i into the non-bound list or take it out, as its multiplier says."""
    b = s.beta[i]
    inside = s.lower[i] < b < s.upper[i] and (b != 0.0 or s.epsilon[i] == 0.0)
    if inside and s.place[i] == BOUND:
        s.place[i] = s.counts[N_FREE]
        s.free[s.counts[N_FREE]] = i
        s.counts[N_FREE] += 1
    elif not inside and s.place[i] != BOUND:
        s.counts[N_FREE] -= 1
        last = s.free[s.counts[N_FREE]]
        s.free[s.place[i]] = last
        s.place[last] = s.place[i]
        s.place[i] = BOUND


@jit(fastmath=REASSOCIATE)
def weighted_row(row, beta):
    """Sum of a row of the matrix, weighted by the multipliers."""
    total = 0.0
    for j in range(beta.shape[0]):
        total += row[j] * beta[j]
    return total


@jit
def gradient_at(values, s, i):
    """f_i from the cache, or evaluated."""
    if s.place[i] != BOUND:
        return s.gradient[i]
    s.counts[EVALUATIONS] += 1
    if s.weights.shape[0] > 0:
        output = product(values, s.weights, i)
    elif values.form == MATRIX:
        output = weighted_row(values.matrix[i], s.beta)
    else:
        output = 0.0
        load(values, i, s.work)
        for j in range(s.beta.shape[0]):
            if s.beta[j] != 0.0:
                output += s.beta[j] * kernel_value(values, s.work, i, j)
        unload(values, i, s.work)
    return output + s.diagonal[i] * s.beta[i] + s.linear_term[i]


@jit
def carry_out(values, s, i, new_i, f_i, j, new_j, f_j):
    """Set two multipliers and bring weights, cached gradients and the non-bound list up to date.

    f_i and f_j are the gradients before the step; points i and j are loaded in `work` and `other_work`.
    """
    step_i, step_j = new_i - s.beta[i], new_j - s.beta[j]
    k_ij = kernel_value(values, s.work, i, j)
    if s.weights.shape[0] > 0:
        # The change of w itself is spread over the working vector: one dot product per cached point instead of two.
        unload(values, j, s.other_work)
        add_point(values, i, step_i, s.other_work)
        add_point(values, j, step_j, s.other_work)
        for place in range(s.counts[N_FREE]):
            s.gradient[s.free[place]] += product(values, s.other_work, s.free[place])
        unload(values, i, s.other_work)
        add_point(values, i, step_i, s.weights)
        add_point(values, j, step_j, s.weights)
    else:
        for place in range(s.counts[N_FREE]):
            k = s.free[place]
            s.gradient[k] += step_i * kernel_value(values, s.work, i, k) + step_j * kernel_value(
                values, s.other_work, j, k
            )
    s.gradient[i] = f_i + step_i * s.total_diagonal[i] + step_j * k_ij
    s.gradient[j] = f_j + step_j * s.total_diagonal[j] + step_i * k_ij
    s.beta[i] = new_i
    s.beta[j] = new_j
    note_place(s, i)
    note_place(s, j)
    s.counts[STEPS] += 1


@jit
def random_below(random, n):
    """A number in [0, n) from a small generator of its own (xorshift), so that a seed gives the same run everywhere."""
    x = random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    random[0] = x
    return np.int64(x >> np.uint64(11)) % n
