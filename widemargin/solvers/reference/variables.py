"""The Gram as variables see it: several variables may stand on one sample (row), and some machines flip signs (sign).

Plain solvers touch K only here: a square block of it, and the change of F = K b when some variables have moved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.solvers.reference.passes import Run, Vector

Index = NDArray[np.int64]


def block_of(run: Run, variables: Index) -> NDArray:
    """K between the given variables, without the diagonal D."""
    dual = run.dual
    samples = variables if dual.row is None else dual.row[variables]
    block = run.gram.block(samples)
    if dual.sign is None:
        return block
    sign = dual.sign[variables].astype(block.dtype)
    return block * sign[:, None] * sign


def diagonal_of(run: Run) -> Vector:
    """K_ii + D_i of every variable."""
    diag = run.gram.diag if run.dual.row is None else run.gram.diag[run.dual.row]
    return diag + run.dual.diagonal


def move(run: Run, variables: Index, values: Vector) -> None:
    """Set some variables to new values and carry the change into F; the point changes at once, at the end.

    Values beyond the numbers of the machine are not taken: the run has then run away.
    """
    dual, gram = run.dual, run.gram
    function = run.function
    change = values - run.beta[variables]
    moved = np.flatnonzero(change)
    if not len(moved):
        return
    beta = run.beta.copy()
    beta[variables] = values
    which, amounts = variables[moved], change[moved]
    if dual.sign is not None:
        amounts = amounts * dual.sign[which]
    if dual.row is not None:
        which, inverse = np.unique(dual.row[which], return_inverse=True)
        amounts = np.bincount(inverse, weights=amounts, minlength=len(which)).astype(np.float64)
    function = function.copy()
    if np.isfinite(amounts).all():
        gram.add_rows(which, amounts, function, np.ones(len(which), np.bool_))
    if not (np.isfinite(amounts).all() and np.isfinite(function).all()):
        run.ran_away = True
        return
    run.point = (beta, function)


def repair_sum(values: Vector, lower: Vector, upper: Vector, epsilon: Vector, total: float) -> Vector:
    """Give what rounding left over to free variables, so that the sum is kept to the last bits."""
    free = np.flatnonzero((values > lower) & (values < upper) & ((values != 0.0) | (epsilon == 0.0)))
    rest = total - float(values.sum())
    for t in free:
        if rest == 0.0:
            break
        new = min(max(values[t] + rest, lower[t]), upper[t])
        rest -= new - values[t]
        values[t] = new
    return values
