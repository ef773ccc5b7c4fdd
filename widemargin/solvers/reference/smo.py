"""Common parts of Platt's SMO and its modification: the state of a run, the step on two points, the loop over passes.

gradient   f_i = F_i + D_i b_i + c_i is cached for the non-bound points only, as in Platt's error cache (E_i = f_i - r,
           with r the threshold); for all others it is evaluated when needed: one dot product with the weight vector
           (22) if the kernel is linear, else a sum over the support vectors
non-bound  a list of points strictly inside their box (and off the kink), with the place of each in it
passes     over all points; over the rest (the non-bound points, or pairs of them) until that changes nothing; over all
           points again; the end is a pass over all points without a change

See  Platt (1998), sections 2.2, 2.4 and 2.5.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import REASSOCIATE, jit
from widemargin.gram.kernel_values import (
    LINEAR,
    MATRIX,
    KernelValues,
    add_point,
    kernel_value,
    product,
    unload,
    values_of,
)
from widemargin.monitor.status import Status
from widemargin.problems.optimality import is_free
from widemargin.solvers.reference.pair_move import ETA_FLOOR, Multiplier, pair_move
from widemargin.solvers.reference.passes import PART, PASS, SLICE, Passes, ReferenceSolver, Run, Vector
from widemargin.solvers.reference.working_set import Index

#: Non-bound points, kernel values in this slice, holders of the two thresholds of keerthi.py, the last pair; threshold,
#: decrease of the objective, largest violation of a pass, lowest curvature, the two thresholds.
COUNTS = [(name, np.int64) for name in ("n_free", "work", "up", "low", "first", "second")]
NUMBERS = [(name, np.float64) for name in ("threshold", "decrease", "worst", "lowest_curvature", "b_up", "b_low")]
WORK_PER_SLICE = 2**23  # kernel values between two checks of the time: about a tenth of a second
STEPS_PER_SLICE = 200  # the same in steps: each can add two support vectors, and so to the price of the certificate
RETRIES = 3  # times a finished run is restarted from recomputed gradients


class State(NamedTuple):
    """Arrays of one run; see the header."""

    terms: NDArray[np.float64]  # a row per point: lower, upper, epsilon, D and c
    beta: Vector
    curvature: Vector  # K_ii + D_i
    gradient: Vector  # valid for non-bound points
    free: Index
    place: Index  # of each point in `free`; -1 for those at a bound
    weights: Vector  # w of a linear model, else empty
    work: Vector
    other_work: Vector
    scalars: Any  # one record of COUNTS and NUMBERS
    random: NDArray[np.uint64]


def new_state(run: Run, values: KernelValues, seed: int) -> State:
    """Return the state at the point of a run."""
    dual, n = run.dual, len(run.dual)
    linear = values.form != MATRIX and values.kernel == LINEAR
    state = State(
        terms=np.column_stack([dual.lower, dual.upper, dual.epsilon, dual.diagonal, dual.linear_term]),
        beta=run.beta,
        curvature=run.curvature,
        gradient=np.zeros(n),
        free=np.empty(n, np.int64),
        place=np.full(n, -1, np.int64),
        weights=np.zeros(values.n_features if linear else 0),
        work=np.zeros(values.n_features),
        other_work=np.zeros(values.n_features),
        scalars=np.zeros(1, [*COUNTS, *NUMBERS]).view(np.recarray),
        random=np.array([2 * seed + 1], np.uint64),
    )
    refresh(values, state, run.gradient())
    return state


@jit
def refresh(values, s, gradient):
    """Set recomputed gradients; rebuild the non-bound list and the weight vector, reset the two thresholds."""
    s.scalars[0].n_free = 0
    s.scalars[0].up = s.scalars[0].low = -1
    s.scalars[0].b_up, s.scalars[0].b_low = np.inf, -np.inf
    s.weights[:] = 0.0
    for i in range(s.beta.shape[0]):
        s.place[i] = -1
        s.gradient[i] = gradient[i]
        note_place(s, i)
        if s.weights.shape[0] > 0 and s.beta[i] != 0.0:
            add_point(values, i, s.beta[i], s.weights)


@jit
def note_place(s, i):
    """Add point i to the non-bound list or remove it, according to its multiplier."""
    inside = is_free(s.beta[i], s.terms[i, 0], s.terms[i, 1], s.terms[i, 2])
    if inside and s.place[i] < 0:
        s.place[i] = s.scalars[0].n_free
        s.free[s.scalars[0].n_free] = i
        s.scalars[0].n_free += 1
    elif not inside and s.place[i] >= 0:
        s.scalars[0].n_free -= 1
        last = s.free[s.scalars[0].n_free]
        s.free[s.place[i]] = last
        s.place[last] = s.place[i]
        s.place[i] = -1


@jit(fastmath=REASSOCIATE)
def weighted_row(row, beta):
    """Sum of a row of the matrix, weighted by the multipliers."""
    total = 0.0
    for j in range(beta.shape[0]):
        total += row[j] * beta[j]
    return total


@jit
def gradient_at(values, s, i):
    """Return f_i from the cache, or evaluate it."""
    if s.place[i] >= 0:
        return s.gradient[i]
    s.scalars[0].work += s.beta.shape[0]
    if s.weights.shape[0] > 0:
        output = product(values, s.weights, i)
    elif values.form == MATRIX:
        output = weighted_row(values.matrix[i], s.beta)
    else:
        output = 0.0
        add_point(values, i, 1.0, s.work)
        for j in range(s.beta.shape[0]):
            if s.beta[j] != 0.0:
                output += s.beta[j] * kernel_value(values, s.work, i, j)
        unload(values, i, s.work)
    return output + s.terms[i, 3] * s.beta[i] + s.terms[i, 4]


@jit
def slice_is_over(s):
    """Whether the time has to be checked; called once per point."""
    s.scalars[0].work += 1
    return s.scalars[0].work >= WORK_PER_SLICE


def steps_per_slice(run: Run) -> int:
    """Return how many steps of a pass over points are made until the time is checked."""
    return min(STEPS_PER_SLICE, run.steps_left())


@jit
def multiplier(s, i, f):
    """Return the Multiplier of point i with gradient f."""
    return Multiplier(s.beta[i], f, s.terms[i, 0], s.terms[i, 1], s.terms[i, 2])


@jit
def take_step(values, s, i, j, f_j, eps):
    """Optimise a pair and update weights, cached gradients and non-bound list; return whether it moved.

    eps : smallest relative change of a multiplier that counts as a move
    """
    if i == j or i < 0:
        return False
    f_i = gradient_at(values, s, i)
    add_point(values, i, 1.0, s.work)
    k_ij = kernel_value(values, s.work, i, j)
    scale = s.curvature[i] + s.curvature[j]
    eta = scale - 2.0 * k_ij
    if eta < -1e3 * ETA_FLOOR * scale:
        s.scalars[0].lowest_curvature = min(s.scalars[0].lowest_curvature, eta)
    one, two = multiplier(s, i, f_i), multiplier(s, j, f_j)
    b_i, b_j, decrease = pair_move(one, two, eta, scale)
    # The report adds eps inside the bracket, for multipliers of size one; here they may have any size.
    moves = decrease > 0.0 and abs(b_j - two.b) >= eps * (abs(b_j) + abs(two.b))
    if moves:
        step_i, step_j = b_i - one.b, b_j - two.b
        add_to_cache(values, s, i, step_i, j, step_j)
        s.gradient[i] = f_i + step_i * s.curvature[i] + step_j * k_ij
        s.gradient[j] = f_j + step_j * s.curvature[j] + step_i * k_ij
        s.beta[i], s.beta[j] = b_i, b_j
        note_place(s, i)
        note_place(s, j)
        s.scalars[0].decrease += decrease
        s.scalars[0].first, s.scalars[0].second = j, i
    unload(values, i, s.work)
    return moves


@jit
def add_to_cache(values, s, i, step_i, j, step_j):
    """Update the weights and the cached gradients by a step; point i is loaded in `work`."""
    s.scalars[0].work += 2 * s.scalars[0].n_free
    if s.weights.shape[0] > 0:
        # The change of w itself is spread over the working vector: one dot product per cached point instead of two.
        add_point(values, i, step_i, s.other_work)
        add_point(values, j, step_j, s.other_work)
        for place in range(s.scalars[0].n_free):
            s.gradient[s.free[place]] += product(values, s.other_work, s.free[place])
        unload(values, i, s.other_work)
        add_point(values, i, step_i, s.weights)
        add_point(values, j, step_j, s.weights)
    else:
        add_point(values, j, 1.0, s.other_work)
        for place in range(s.scalars[0].n_free):
            k = s.free[place]
            change = step_i * kernel_value(values, s.work, i, k)
            s.gradient[k] += change + step_j * kernel_value(values, s.other_work, j, k)
    unload(values, j, s.other_work)


#: How the points are held (gram/kernel_values.py).
Form = Literal["auto", "dense", "sparse", "binary", "matrix"]


@dataclass(frozen=True)
class PairSolver(ReferenceSolver):
    """The loop over passes; see the header."""

    max_passes: int = field(default=1_000_000, kw_only=True)

    moves = 2
    form = "auto"
    seed = 0

    @abstractmethod
    def rest_of(self, s: State) -> Index:
        """Return the points of a pass that is not over all points."""

    @abstractmethod
    def sweep(self, run: Run, values: KernelValues, s: State, points: Index, first: int) -> tuple[int, int]:
        """Examine points[first:] until steps or work run out; return where to continue, and how many changed."""

    def passes(self, run: Run) -> Passes:
        run.point = (run.beta, run.Kb)
        values = values_of(run.gram, self.form)
        if values.form == MATRIX and not run.gram.is_whole:
            run.matrix = values.matrix
        s = new_state(run, values, self.seed)
        yield SLICE  # computing the matrix is no round of steps
        objective = run.dual.objective(run.beta, run.Kb)
        all_points = np.arange(len(run.dual), dtype=np.int64)
        s.scalars[0].threshold = middle_of(run) if s.beta.any() else 0.0
        retries, everything = 0, True
        while True:
            points = all_points if everything else self.rest_of(s)
            s.scalars[0].worst = 0.0
            position = changed = 0
            while True:
                s.scalars[0].work = 0
                position, steps = self.sweep(run, values, s, points, position)
                changed += steps
                run.iterations += steps
                run.moved = (int(s.scalars[0].first), int(s.scalars[0].second))
                run.lowest_curvature = min(run.lowest_curvature, s.scalars[0].lowest_curvature)
                run.point = (s.beta, None)
                if position >= len(points):
                    break
                yield SLICE
            run.seen = (s.scalars[0].worst, objective - s.scalars[0].decrease)
            if changed:
                retries = 0
                yield PASS if everything else PART
            elif everything:
                # Nothing moves. The threshold came from the last step and may not be the best: retry from the middle.
                lowest, highest = run.table()[0, :2]
                if highest - lowest <= run.tol or retries == RETRIES:
                    return Status.STALLED
                retries += 1
                refresh(values, s, run.gradient())
                s.scalars[0].threshold = middle_of(run)
            everything = not (changed and run.fell)


def middle_of(run: Run) -> float:
    """Return the midpoint of the two thresholds allowed by the conditions, if both exist."""
    middle = float(run.table()[0, :2].mean())
    return middle if np.isfinite(middle) else 0.0
