"""Small problems in one compiled call: the block is the whole problem, from the start to the checked answer.

Solves   the signed dual on a full kernel matrix K, by pair or single steps over all variables at once
Given    K, box and terms of the dual, a start and its function F
Returns  beta and F changed in place; steps, rounds, lowest curvature met, and the thresholds of the groups at the end
How      rounds of: gradient from F in float64 -> steps in K's precision -> F += K (change of beta), summed in float64.
         One round is enough in float64; in float32 the rounds remove what rounding left.
Nothing of Python runs in between: at 100 samples a fit is a matter of microseconds, and the hundreds of pairs of a
many-class machine run on threads side by side. What does not converge here goes on in the block solver.
"""

from __future__ import annotations

import numpy as np

from widemargin._jit import jit
from widemargin.gram.accumulate import add_weighted_rows
from widemargin.solvers.optimality import scan_groups, violation_of
from widemargin.solvers.pair_steps import solve_pairs
from widemargin.solvers.single_steps import solve_singles

ROUNDS = 10


@jit
def solve_whole(
    K, diag, shift, lo, hi, ridge, kink, starts, n_groups, beta, F, tol, inner_tol, max_steps, position, limits
):
    """See the module's header. `inner_tol` is what the steps aim at, `tol` what the float64 gradient is checked against."""
    n = beta.shape[0]
    gradient = np.empty(n)
    f = np.empty(n, K.dtype)
    diagonal = np.empty(n, K.dtype)
    for t in range(n):
        diagonal[t] = diag[t] + ridge[t]
    steps = 0
    rounds = 0
    curvature = 0.0
    while True:
        for t in range(n):
            gradient[t] = F[t] + ridge[t] * beta[t] + shift[t]
        table = scan_groups(gradient, beta, lo, hi, kink, starts, n_groups, 0.0)
        violation = violation_of(table, n_groups)
        if violation <= tol or rounds == ROUNDS or steps >= max_steps or not np.isfinite(violation):
            break
        for g in range(max(1, n_groups)):
            middle = 0.0
            if n_groups > 0 and np.isfinite(table[g, 0]) and np.isfinite(table[g, 1]):
                middle = 0.5 * (table[g, 0] + table[g, 1])
            for t in range(starts[g], starts[g + 1]):
                f[t] = gradient[t] - middle
        old = beta.copy()
        if n_groups == 0:
            taken, _ = solve_singles(
                K, f, beta, lo, hi, kink, ridge, diagonal, inner_tol, max_steps - steps, position, limits
            )
        else:
            taken, _, lowest = solve_pairs(
                K, f, beta, lo, hi, kink, ridge, diagonal, starts, inner_tol, max_steps - steps, position, limits
            )
            curvature = min(curvature, lowest)
        if taken == 0:
            break
        if not np.isfinite(beta).all():  # a step without end: the block solver will name the cause
            beta[:] = old
            break
        moved = np.flatnonzero(beta != old)
        add_weighted_rows(K, 0, moved, beta[moved] - old[moved], F)
        steps += taken
        rounds += 1
    return steps, rounds, curvature, table
