"""SMO with two thresholds: Keerthi's modification of Platt's algorithm.

Solves   the signed dual with one sum (the SVMs of platt.py)
Given    a Gram; kernel values as in platt.py
Returns  a Solution
Idea     Platt compares every point with one threshold, which comes from the last step and may be wrong: optimal points
         appear as violators and the loop continues. Two thresholds need no guess:
             b_up = min{f_i : b_i can rise},  b_low = max{f_i : b_i can fall},  optimal iff b_low <= b_up + tol,
         kept over the non-bound points and the two points that define them. A point is examined against the other
         side's threshold, and its partner is the point that holds it: the pair violates most.
Loop     all points; then pairs (up, low) of the non-bound points until b_low <= b_up + tol (modification 2); then all,
         ...
Choice   second_choice="violation": the pair of the two thresholds. "gain": i_up, and the non-bound point for which the
         exact step promises most, (f_up - f_j)^2 / eta, the rule that LIBSVM and the block solver took up later.
Use      to see the gain of one change to Platt's loop. Costs as in platt.py, with fewer evaluations and far fewer idle
         passes.
See      Keerthi, Shevade, Bhattacharyya & Murthy (2001), Neural Computation 13; Cristianini & Shawe-Taylor (2000),
         section 7.8; second order: Fan, Chen & Lin (2005), JMLR 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from widemargin._jit import jit
from widemargin.gram.kernel_values import KernelValues, add_point, kernel_value, unload
from widemargin.solvers.reference.pair_move import ETA_FLOOR, open_slopes
from widemargin.solvers.reference.passes import Run
from widemargin.solvers.reference.smo import (
    Form,
    PairSolver,
    State,
    gradient_at,
    multiplier,
    slice_is_over,
    steps_per_slice,
    take_step,
)
from widemargin.solvers.reference.working_set import Index


@jit
def offer(s, k, f):
    """Update the thresholds by a point with gradient f; return its open slopes."""
    rise, fall = open_slopes(multiplier(s, k, f))
    if rise < s.scalars[0].b_up:
        s.scalars[0].b_up, s.scalars[0].up = rise, k
    if fall > s.scalars[0].b_low:
        s.scalars[0].b_low, s.scalars[0].low = fall, k
    return rise, fall


@jit
def step_and_thresholds(values, s, i1, i2):
    """Optimise a pair, update the thresholds over non-bound points, former holders and the pair; whether it moved."""
    if not take_step(values, s, i1, i2, gradient_at(values, s, i2), 0.0):
        return False
    up, low = s.scalars[0].up, s.scalars[0].low
    s.scalars[0].b_up, s.scalars[0].b_low = np.inf, -np.inf
    s.scalars[0].work += 2 * s.scalars[0].n_free
    for k in s.free[: s.scalars[0].n_free]:
        offer(s, k, s.gradient[k])
    for k in (up, low, i1, i2):
        if k >= 0:
            offer(s, k, gradient_at(values, s, k))
    return True


@jit
def best_gain(values, s, up):
    """Return the non-bound point whose joint step with `up` gains most, or the holder of the other threshold."""
    rise, _ = open_slopes(multiplier(s, up, gradient_at(values, s, up)))
    add_point(values, up, 1.0, s.work)
    best, chosen = 0.0, s.scalars[0].low
    for k in s.free[: s.scalars[0].n_free]:
        _, fall = open_slopes(multiplier(s, k, s.gradient[k]))
        if fall > rise and k != up:
            scale = s.curvature[up] + s.curvature[k]
            eta = max(scale - 2.0 * kernel_value(values, s.work, up, k), ETA_FLOOR * scale)
            if (fall - rise) ** 2 / eta > best:
                best, chosen = (fall - rise) ** 2 / eta, k
    unload(values, up, s.work)
    return chosen


@jit
def examine(values, s, i2, tol):
    """Try a step of i2 with the holder of the threshold that i2 violates most; return whether it was made."""
    b_up, b_low = s.scalars[0].b_up, s.scalars[0].b_low
    rise, fall = offer(s, i2, gradient_at(values, s, i2))
    by_rise, by_fall = b_low - rise, fall - b_up
    worst = max(by_rise, by_fall)
    if worst <= tol:
        return False
    s.scalars[0].worst = max(s.scalars[0].worst, worst)
    return step_and_thresholds(values, s, s.scalars[0].low if by_rise > by_fall else s.scalars[0].up, i2)


@jit
def sweep(values, s, points, first, tol, max_steps):
    """Examine points[first:] until steps or work run out; return where to continue, and how many changed."""
    changed = 0
    for place in range(first, points.shape[0]):
        changed += examine(values, s, points[place], tol)
        if changed >= max_steps or slice_is_over(s):
            return place + 1, changed
    return points.shape[0], changed


@jit
def optimise_pairs(values, s, by_gain, tol, max_steps):
    """Optimise threshold pairs until within tol, no pair moves, or steps or work run out; return the steps made."""
    changed = 0
    while s.scalars[0].b_low - s.scalars[0].b_up > tol and changed < max_steps and not slice_is_over(s):
        s.scalars[0].worst = max(s.scalars[0].worst, s.scalars[0].b_low - s.scalars[0].b_up)
        up = s.scalars[0].up
        if not step_and_thresholds(values, s, best_gain(values, s, up) if by_gain else s.scalars[0].low, up):
            break
        changed += 1
    return changed


@dataclass(frozen=True)
class Keerthi(PairSolver):
    """SMO with two thresholds.

    Parameters
    ----------
    second_choice : {"violation", "gain"}, default "violation"
        Partner of the point with the lowest threshold: the most violating one, or the one whose exact step gains most.
    form : {"auto", "dense", "sparse", "binary", "matrix"}, default "auto"
        How the points are held, as for `Platt`.
    max_passes : int, default 1,000,000

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVC
    >>> from widemargin.solvers.reference import Keerthi
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> SVC(kernel="linear", solver=Keerthi("gain")).fit(X, [0, 0, 1, 1]).certificate_.holds
    True
    """

    second_choice: Literal["violation", "gain"] = "violation"
    form: Form = "auto"

    def rest_of(self, s: State) -> Index:
        return s.free[:0]  # pairs of the two thresholds, no list of points

    def sweep(self, run: Run, values: KernelValues, s: State, points: Index, first: int) -> tuple[int, int]:
        if len(points):
            return sweep(values, s, points, first, run.tol, steps_per_slice(run))
        by_gain = self.second_choice == "gain"
        return 0, optimise_pairs(values, s, by_gain, run.tol, run.steps_left())
