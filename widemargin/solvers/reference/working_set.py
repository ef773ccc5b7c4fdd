"""Some variables of a run with the data for a step on them: the only place where reference solvers use K.

Several variables may belong to one sample (row), and some models flip signs (sign). A solver takes the working set of
the variables to move, changes `beta` (and `f` with it), and `move` updates F = K b.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.linalg.arrays import Index
from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import free_of
from widemargin.solvers.reference.pair_move import Multiplier, open_slopes
from widemargin.solvers.reference.passes import Run, Vector


class WorkingSet(NamedTuple):
    """Arrays of some variables; K is their block of the kernel matrix, without the diagonal D."""

    K: NDArray
    group: Index
    f: Vector
    beta: Vector
    lower: Vector
    upper: Vector
    epsilon: Vector
    diagonal: Vector
    curvature: Vector  # K_ii + D_i


def working_set(run: Run, index: Index) -> WorkingSet:
    """Return the given variables at the point of the run; f and beta are copies."""
    dual = run.dual
    block = run.gram.block(index if dual.row is None else dual.row[index])
    if dual.sign is not None:
        sign = dual.sign[index].astype(block.dtype)
        block = block * sign[:, None] * sign
    point = run.gradient(), run.beta
    terms = dual.lower, dual.upper, dual.epsilon, dual.diagonal, run.curvature
    return WorkingSet(block, dual.group[index], *(each.take(index) for each in (*point, *terms)))


def improve(run: Run, index: Index, step: Callable[..., int], *options: Any) -> int:
    """Apply `step` to the working set of some variables; return its number of steps."""
    chosen = working_set(run, index)
    steps = step(chosen, *options)
    move(run, index, chosen.beta)
    run.iterations += steps
    return steps


def move(run: Run, index: Index, values: Vector) -> None:
    """Set some variables to new values and update F; beta and F are replaced together, at the end.

    Values that overflow are rejected, and the run is marked as run away.
    """
    dual = run.dual
    beta, Kb = run.beta.copy(), run.Kb.copy()
    beta[index] = values
    change = dual.per_sample(beta - run.beta)
    rows = np.flatnonzero(change)
    is_finite = np.isfinite(change).all()
    if len(rows) and is_finite:
        run.gram.add_rows(rows, change[rows], Kb, np.ones(len(rows), np.bool_))
    if is_finite and np.isfinite(Kb).all():
        run.point = (beta, Kb)
    else:
        run.ran_away = True


@jit
def slopes_of(beta, f, terms):
    """`open_slopes` of each variable; `terms` has the boxes and kinks."""
    lower, upper, epsilon = terms.lower, terms.upper, terms.epsilon
    rise, fall = np.empty(beta.shape[0]), np.empty(beta.shape[0])
    for t in range(beta.shape[0]):
        rise[t], fall[t] = open_slopes(Multiplier(beta[t], f[t], lower[t], upper[t], epsilon[t]))
    return rise, fall


def repair_sums(dual: SignedDual, beta: Vector) -> Vector:
    """`repair_sum` of every group, in place."""
    for g in range(dual.n_groups):
        part = slice(*dual.group_starts[g : g + 2])
        repair_sum(beta[part], dual.lower[part], dual.upper[part], dual.epsilon[part], float(dual.start[part].sum()))
    return beta


def repair_sum(values: Vector, lower: Vector, upper: Vector, epsilon: Vector, total: float) -> Vector:
    """Add the rounding error of the sum to free variables, so that the sum is kept to the last bits."""
    rest = total - float(values.sum())
    for t in np.flatnonzero(free_of(values, lower, upper, epsilon)):
        if rest == 0.0:
            break
        new = min(max(values[t] + rest, lower[t]), upper[t])
        rest -= new - values[t]
        values[t] = new
    return values
