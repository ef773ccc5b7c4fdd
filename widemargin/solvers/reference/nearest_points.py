"""Nearest points of the convex hulls of two classes, by the algorithm of Mitchell, Dem'yanov and Malozemov.

Solves   two classes separable in feature space, with a free bias: the hard margin (C = inf), and the squared hinge
         loss, which is a hard margin for the kernel K + I/C
Given    a Gram, as one matrix Q = K + D in memory
Returns  a Solution; the widest margin lies halfway between the nearest points of the two hulls,
             minimise |z|^2,  z = sum_i a_i y_i phi(x_i),   a >= 0,   sum of a over each class = 1,
         and alpha = 2 a / |z|^2 solves the dual: of all multiples of a it has the largest W
Step     in the class where they differ more, weight moves from the point of the hull's combination that is farthest
         along z to the point of the class that is nearest: the exact minimum along the line, or all the weight
Use      to see the geometry of the margin: |z| is its width. Linear convergence; n^2 numbers in memory, n per step.
See      Cristianini & Shawe-Taylor (2000), section 7.8; Mitchell, Dem'yanov & Malozemov (1974); Keerthi, Shevade,
         Bhattacharyya & Murthy (2000), "A fast iterative nearest point algorithm"; Bennett & Bredensteiner (2000).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from widemargin._jit import jit
from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual
from widemargin.solvers.reference.passes import PASS, Passes, ReferenceSolver, Run, Vector
from widemargin.solvers.reference.working_set import move, repair_sums, working_set


@jit
def exchange_weight(Q, y, a, G, max_steps):
    """Move weight inside the classes, at most max_steps times; a and G = Q (y a) change. Returns steps, curvature met.

    The lowest curvature is negative only if the kernel is indefinite.
    """
    lowest = 0.0
    for step in range(max_steps):
        width, near, far = 0.0, -1, -1
        for side in (1.0, -1.0):
            low, high, at_low, at_high = np.inf, -np.inf, -1, -1
            for t in range(y.shape[0]):
                along = side * G[t]
                if y[t] == side and along < low:
                    low, at_low = along, t
                if y[t] == side and a[t] > 0.0 and along > high:
                    high, at_high = along, t
            if high - low > width:
                width, near, far = high - low, at_low, at_high
        if near < 0:
            return step, lowest
        curvature = Q[near, near] + Q[far, far] - 2.0 * Q[near, far]
        lowest = min(lowest, curvature)
        moved = a[far] if curvature * a[far] <= width else width / curvature
        if a[near] + moved == a[near]:
            return step, lowest
        a[near] += moved
        a[far] -= moved
        for t in range(y.shape[0]):
            G[t] += y[near] * moved * (Q[near, t] - Q[far, t])
    return max_steps, lowest


@dataclass(frozen=True)
class NearestPoints(ReferenceSolver):
    """The nearest points of two convex hulls, for a hard margin or the squared hinge loss.

    Parameters
    ----------
    max_passes : int, default 100,000
        A pass is as many steps as there are points.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> SVC(kernel="linear", C=np.inf, solver="nearest-points").fit(X, [0, 0, 1, 1]).coef_.round(3).tolist()
    [[0.5, 0.5]]
    """

    max_passes: int = field(default=100_000, kw_only=True)

    def check(self, dual: SignedDual) -> None:
        end = np.where(dual.linear_term < 0.0, dual.upper, -dual.lower)
        two_classes = np.all(np.abs(dual.linear_term) == 1.0) and not np.any(dual.epsilon) and dual.is_plain
        if not (two_classes and dual.n_groups == 1 and np.all(end == np.inf)):
            raise ValueError(
                "solver='nearest-points' separates two classes without a box on the multipliers: use SVC with C=inf, "
                "or with loss='squared_hinge'. For this machine use solver='auto'."
            )

    def passes(self, run: Run) -> Passes:
        y, everything = -run.dual.linear_term, np.arange(len(run.dual))
        Q = working_set(run, everything).K.astype(np.float64)
        Q[np.diag_indices(len(Q))] += run.dual.diagonal
        a = _weights(run.beta, y)
        while True:
            G = Q @ (y * a)
            steps, lowest = exchange_weight(Q, y, a, G, min(len(y), run.steps_left()))
            run.lowest_curvature = min(run.lowest_curvature, lowest)
            run.iterations += steps
            squared_distance = float((y * a) @ Q @ (y * a))
            if not squared_distance > 0.0:
                run.ran_away = True  # the hulls meet
                return Status.STALLED
            before = run.beta
            move(run, everything, repair_sums(run.dual, 2.0 / squared_distance * y * a))
            if np.array_equal(run.beta, before):
                return Status.STALLED
            yield PASS


def _weights(beta: Vector, y: Vector) -> Vector:
    """Return weights that sum to one in each class: those of a start, or all on the first point of each class."""
    a = np.abs(beta)
    for side in (1.0, -1.0):
        total = float(a[y == side].sum())
        if total > 0.0:
            a[y == side] /= total
        else:
            a[np.flatnonzero(y == side)[0]] = 1.0
    return a
