"""One variable at a time, in a given order: the step that Adatron, fixed-threshold SMO and coordinate ascent share.

    b_i <- clip( b_i - rate_i (f_i + e_i),  lower_i, upper_i )        f += (change of b_i) K_i

With the rate 1 / (K_ii + D_i) this is the exact maximum along the axis: kernel-Adatron with rate 1 / K_ii (Cristianini
& Shawe-Taylor 2000, Table 7.1), eq. (23) of Platt (1998) and the coordinate ascent of CS229 are the same step (Remark
7.16) and differ in the order.

A pass is cut into chunks of the order. Inside a chunk only its own block of K is needed, because the gradients of later
chunks are updated before they are visited: the iterates are exactly those of the plain loop, for any n.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from widemargin._jit import jit
from widemargin.monitor.status import Status
from widemargin.solvers.reference.pair_move import ETA_FLOOR, LARGEST, Multiplier, open_slopes
from widemargin.solvers.reference.passes import PART, PASS, SLICE, Passes, ReferenceSolver, Run, Turns, Vector
from widemargin.solvers.reference.working_set import Index, improve

WHOLE = 2048  # variables up to which a pass is one chunk
CHUNK = 512  # variables of a chunk otherwise: its block is small compared with the rows of a pass


@dataclass(frozen=True)
class SingleSolver(ReferenceSolver):
    """A solver that moves one multiplier at a time, which needs a fixed bias.

    Parameters
    ----------
    tau : float or None, default None
        SVC and SVR add tau^2 to the kernel, which makes the bias tau^2 sum y alpha, penalised like a weight. None takes
        the largest |x| in feature space, the safe choice (Remark 7.4); 0 holds the bias at 0.
    """

    tau: float | None = field(default=None, kw_only=True)

    moves = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tau is not None and not 0.0 <= self.tau < np.inf:
            raise ValueError(f"tau must be 0 (no bias) or a positive number, or None for max |x|; got {self.tau!r}.")


@jit
def visit(at, rate, tol, max_steps):
    """Steps on the variables of a working set, first to last; f and beta change in place. Returns their number.

    Only variables that violate their condition by more than tol are moved; tol = 0 moves every one that can gain.
    """
    steps = 0
    K, f, beta, lower, upper, epsilon = at.K, at.f, at.beta, at.lower, at.upper, at.epsilon
    largest = np.abs(at.curvature).max()
    for t in range(beta.shape[0]):
        b, curvature, has_kink = beta[t], at.curvature[t], epsilon[t] > 0.0
        rise, fall = open_slopes(Multiplier(b, f[t], lower[t], upper[t], epsilon[t]))
        if fall > tol and fall >= -rise:
            slope, end = fall, (0.0 if has_kink and b > 0.0 else lower[t])
        elif -rise > tol:
            slope, end = rise, (0.0 if has_kink and b < 0.0 else upper[t])
        else:
            continue
        new = b - rate[t] * slope
        if (slope > 0.0 and new < end) or (slope < 0.0 and new > end) or (curvature <= 0.0 and np.isfinite(end)):
            new = end
        if new == b or not abs(new) < LARGEST / max(1.0, largest):
            continue
        if steps == max_steps:
            break
        beta[t] = new
        f[t] += (new - b) * at.diagonal[t]
        row = K[t]
        for k in range(f.shape[0]):
            f[k] += (new - b) * row[k]
        steps += 1
    return steps


def chunks_of(order: Index, every_step: bool = False) -> list[Index]:
    """Split an order into chunks, each of which uses one block of K: single variables to hear of every step."""
    size = 1 if every_step else WHOLE if len(order) <= WHOLE else CHUNK
    return [order[first : first + size] for first in range(0, len(order), size)]


def largest_gain(run: Run) -> Vector:
    """Return the rates 1 / (K_ii + D_i), which go to the maximum along each axis."""
    largest = float(np.abs(run.curvature).max())
    return 1.0 / np.maximum(run.curvature, max(ETA_FLOOR * largest, 1e-300))


def visit_in_turn(run: Run, order: Index, rate: Vector, tol: float = 0.0) -> Turns:
    """Visit the variables in order, chunk by chunk; return the number of steps."""
    steps = 0
    for number, chunk in enumerate(chunks_of(order, run.every_step)):
        if number:
            yield SLICE
        steps += improve(run, chunk, visit, rate[chunk], tol, run.steps_left())
        run.moved = (int(chunk[0]),)
    run.lowest_curvature = min(0.0, float(run.curvature.min()))
    return steps


def all_then_non_bound(run: Run, rate: Vector) -> Passes:
    """The first-choice heuristic of SMO: all points, the non-bound ones until within tol, all again, ..."""
    everything = True
    while True:
        order = np.arange(len(run.dual)) if everything else np.flatnonzero(run.free())
        changed = yield from visit_in_turn(run, order, rate, run.tol)
        if changed:
            yield PASS if everything else PART
        elif everything:
            return Status.STALLED
        everything = not (changed and run.fell)
