"""SMO with two thresholds: Keerthi's modification of Platt's algorithm.

Solves   the signed dual with one sum (the machines of platt.py)
Given    a Gram; kernel values as in platt.py
Returns  a Solution
Idea     Platt compares every point with one threshold, which comes from the last step and may be wrong: correct points
         look like violators and the loop runs on. Two thresholds need no guess:
             b_up = min{f_i : b_i can rise},  b_low = max{f_i : b_i can fall},  optimal iff b_low <= b_up + tol,
         kept over the non-bound points and the two points that define them. A point is examined against the other
         side's threshold, and its partner is the point that holds it: the pair violates most.
Loop     all points; then pairs (up, low) of the non-bound points until b_low <= b_up + tol (modification 2); then all,
         ...
Choice   second_choice="violation": the pair of the two thresholds. "gain": i_up, and the non-bound point for which the
         exact step promises most, (f_up - f_j)^2 / eta, the rule that LIBSVM and the block solver took up later.
Use      to see what one change to Platt's loop gains. Costs as platt.py, with fewer evaluations and far fewer idle
         passes.
See      Keerthi, Shevade, Bhattacharyya & Murthy (2001), Neural Computation 13; Cristianini & Shawe-Taylor (2000),
         section 7.8; second order: Fan, Chen & Lin (2005), JMLR 6.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from widemargin._jit import jit
from widemargin.gram.kernel_values import kernel_value, load, unload, values_of
from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual
from widemargin.solvers.reference.pair_move import ETA_FLOOR, open_slopes, pair_move
from widemargin.solvers.reference.passes import PASS, SLICE, Passes, ReferenceSolver, Run
from widemargin.solvers.reference.platt import WORK_PER_SLICE
from widemargin.solvers.reference.smo_state import (
    CURVATURE,
    DECREASE,
    EVALUATIONS,
    N_FREE,
    WORST,
    carry_out,
    gradient_at,
    new_state,
    refresh,
    refuse_several_groups,
)

UP, LOW = 0, 1  # places in `holder` and `threshold`
RETRIES = 3  # times a finished run is taken up again from gradients computed afresh
CHOICES = ("violation", "gain")


@jit
def find_thresholds(values, s, holder, threshold):
    """Thresholds over the non-bound points and the two points that held them before."""
    up, low = holder[UP], holder[LOW]
    threshold[UP], threshold[LOW] = np.inf, -np.inf
    for place in range(s.counts[N_FREE] + 2):
        if place < s.counts[N_FREE]:
            k = s.free[place]
        else:
            k = up if place == s.counts[N_FREE] else low
        if k >= 0:
            offer(s, k, gradient_at(values, s, k), holder, threshold)


@jit
def offer(s, k, f, holder, threshold):
    """Let a point move the thresholds."""
    rise, fall = open_slopes(f, s.beta[k], s.lower[k], s.upper[k], s.epsilon[k])
    if rise < threshold[UP]:
        threshold[UP], holder[UP] = rise, k
    if fall > threshold[LOW]:
        threshold[LOW], holder[LOW] = fall, k


@jit
def best_gain(values, s, up):
    """The non-bound point whose joint step with `up` promises most, or -1."""
    f = gradient_at(values, s, up)
    rise, _ = open_slopes(f, s.beta[up], s.lower[up], s.upper[up], s.epsilon[up])
    load(values, up, s.work)
    best, chosen = 0.0, -1
    for place in range(s.counts[N_FREE]):
        k = s.free[place]
        _, fall = open_slopes(s.gradient[k], s.beta[k], s.lower[k], s.upper[k], s.epsilon[k])
        if fall > rise and k != up:
            scale = s.total_diagonal[up] + s.total_diagonal[k]
            eta = max(scale - 2.0 * kernel_value(values, s.work, up, k), ETA_FLOOR * scale)
            if (fall - rise) ** 2 / eta > best:
                best, chosen = (fall - rise) ** 2 / eta, k
    unload(values, up, s.work)
    return chosen


@jit
def take_step(values, s, i1, i2, holder, threshold):
    """Optimise a pair and find the thresholds anew; whether it moved."""
    if i1 == i2 or i1 < 0 or i2 < 0:
        return False
    f1, f2 = gradient_at(values, s, i1), gradient_at(values, s, i2)
    load(values, i1, s.work)
    scale = s.total_diagonal[i1] + s.total_diagonal[i2]
    eta = scale - 2.0 * kernel_value(values, s.work, i1, i2)
    if eta < -1e3 * ETA_FLOOR * scale:
        s.numbers[CURVATURE] = min(s.numbers[CURVATURE], eta)
    b1, b2, decrease = pair_move(
        s.beta[i1],
        s.beta[i2],
        f2 - f1,
        eta,
        scale,
        s.lower[i1],
        s.upper[i1],
        s.lower[i2],
        s.upper[i2],
        s.epsilon[i1],
        s.epsilon[i2],
    )
    moves = decrease > 0.0 and b2 != s.beta[i2]
    if moves:
        load(values, i2, s.other_work)
        carry_out(values, s, i1, b1, f1, i2, b2, f2)
        unload(values, i2, s.other_work)
        s.numbers[DECREASE] += decrease
        holder[UP] = holder[UP] if holder[UP] >= 0 else i1
        holder[LOW] = holder[LOW] if holder[LOW] >= 0 else i2
        unload(values, i1, s.work)
        find_thresholds(values, s, holder, threshold)
        offer(s, i1, gradient_at(values, s, i1), holder, threshold)
        offer(s, i2, gradient_at(values, s, i2), holder, threshold)
        return True
    unload(values, i1, s.work)
    return False


@jit
def partner_of(values, s, i2, holder, threshold, tol):
    """The point that holds the threshold against which i2 violates most, or -1."""
    f = gradient_at(values, s, i2)
    rise, fall = open_slopes(f, s.beta[i2], s.lower[i2], s.upper[i2], s.epsilon[i2])
    by_rise, by_fall = threshold[LOW] - rise, fall - threshold[UP]
    offer(s, i2, f, holder, threshold)
    worst = max(by_rise, by_fall)
    if worst <= tol:
        return -1
    s.numbers[WORST] = max(s.numbers[WORST], worst)
    return holder[LOW] if by_rise > by_fall else holder[UP]


@jit
def sweep(values, s, first, stop, holder, threshold, tol, max_steps, max_work, by_gain):
    """Examine points first:stop, or with stop < 0 optimise the pair of the thresholds; where to go on, steps made."""
    changed, work = 0, 0
    n = s.beta.shape[0]
    position = first
    while stop < 0 or position < stop:
        evaluations = s.counts[EVALUATIONS]
        if stop < 0:
            if threshold[LOW] - threshold[UP] <= tol:
                return -1, changed
            s.numbers[WORST] = max(s.numbers[WORST], threshold[LOW] - threshold[UP])
            i2 = holder[UP]
            i1 = best_gain(values, s, i2) if by_gain else holder[LOW]
            i1 = holder[LOW] if i1 < 0 else i1
        else:
            i2 = position
            i1 = partner_of(values, s, i2, holder, threshold, tol)
            position += 1
        moved = i1 >= 0 and take_step(values, s, i1, i2, holder, threshold)
        changed += moved
        work += 1 + n * (s.counts[EVALUATIONS] - evaluations) + 4 * s.counts[N_FREE] * moved
        if stop < 0 and not moved:
            return -1, changed
        if changed >= max_steps or work >= max_work:
            return position, changed
    return position, changed


@dataclass(frozen=True)
class Keerthi(ReferenceSolver):
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

    second_choice: str = "violation"
    form: str = "auto"
    max_passes: int = field(default=1_000_000, kw_only=True)

    def __post_init__(self) -> None:
        if self.second_choice not in CHOICES:
            raise ValueError(f"second_choice must be one of {', '.join(CHOICES)}; got {self.second_choice!r}.")

    def check(self, dual: SignedDual) -> None:
        refuse_several_groups(dual, "keerthi")

    def passes(self, run: Run) -> Passes:
        values = values_of(run.gram, self.form)
        run.point = (run.beta, run.function)
        s = new_state(run, values, 0)
        objective = run.dual.objective(run.beta, run.function)
        holder, threshold = np.full(2, -1, np.int64), np.array([np.inf, -np.inf])
        n, retries, everything = len(run.dual), 0, True
        while True:
            position, stop, changed = 0, n if everything else -1, 0
            s.numbers[WORST] = 0.0
            while position >= 0 and (stop < 0 or position < stop):
                position, count = sweep(
                    values, s, position, stop, holder, threshold, run.stopping.tol, run.steps_left(), WORK_PER_SLICE,
                    self.second_choice == "gain",
                )  # fmt: skip
                changed += count
                run.iterations += count
                run.lowest_curvature = min(run.lowest_curvature, s.numbers[CURVATURE])
                run.point = (s.beta, None)
                run.seen = (s.numbers[WORST], objective - s.numbers[DECREASE])
                yield SLICE if everything else PASS  # on hard margins that do not exist the pairs never end
            run.seen = (s.numbers[WORST], objective - s.numbers[DECREASE])
            if changed:
                retries = 0
                yield PASS
            if everything and not changed:
                table = run.table()
                if table[0, 1] - table[0, 0] <= run.stopping.tol or retries == RETRIES:
                    return Status.STALLED
                retries += 1
                refresh(values, s, run.gradient())
                holder[:], threshold[:] = -1, (np.inf, -np.inf)
            everything = not everything or not changed
