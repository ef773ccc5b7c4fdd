"""Small problems in one compiled call: the block is the whole problem, from the start to the checked answer.

Solves   the signed dual with groups on a full kernel matrix K, by pair steps over all variables at once
Given    K, box and terms of the dual, a start and its function F
Returns  beta and F changed in place; steps, rounds, lowest curvature met, and the thresholds of the groups at the end
How      rounds of: gradient from F in float64 -> steps in K's precision -> F += K (change of beta), summed in float64.
         One round is enough in float64; in float32 the rounds remove what rounding left. The first round
         may have an `aim` finer than `tol`, and then takes `first_steps` at most.
Nothing of Python runs in between: at 100 samples a fit is a matter of microseconds, and the hundreds of pairs of a
many-class machine run on threads side by side. What does not converge here goes on in the block solver.
"""

from __future__ import annotations

import numpy as np

from widemargin._jit import jit
from widemargin.problems.optimality import scan_groups, violation_of
from widemargin.solvers.pair_steps import solve_pairs

ROUNDS = 10


@jit
def solve_whole(
    K,
    diag,
    linear_term,
    lower,
    upper,
    diagonal,
    epsilon,
    starts,
    beta,
    F,
    tol,
    inner_tol,
    aim,
    max_steps,
    first_steps,
    position,
    limits,
):
    """See the module's header. `inner_tol` is what the steps aim at, `tol` what the float64 gradient is checked
    against.

    Plain loops, not array expressions: those cost seconds of compilation and bring nothing here.
    """
    n = beta.shape[0]
    n_groups = starts.shape[0] - 1
    gradient = np.empty(n, F.dtype)
    old = np.empty(n, F.dtype)
    f = np.empty(n, K.dtype)
    total_diagonal = np.empty(n, K.dtype)
    for t in range(n):
        total_diagonal[t] = diag[t] + diagonal[t]
    steps = 0
    rounds = 0
    curvature = 0.0
    while True:
        for t in range(n):
            gradient[t] = F[t] + diagonal[t] * beta[t] + linear_term[t]
            old[t] = beta[t]
        table = scan_groups(gradient, beta, lower, upper, epsilon, starts, n_groups, 0.0)
        violation = violation_of(table, n_groups)
        if violation <= (aim if rounds == 0 else tol) or violation == np.inf:
            break
        if rounds == ROUNDS or steps >= max_steps:
            break
        goal = aim if rounds == 0 and aim < inner_tol else inner_tol
        most = first_steps if rounds == 0 and first_steps < max_steps else max_steps - steps
        for g in range(n_groups):
            middle = 0.0
            if abs(table[g, 0]) < np.inf and abs(table[g, 1]) < np.inf:
                middle = 0.5 * (table[g, 0] + table[g, 1])
            for t in range(starts[g], starts[g + 1]):
                f[t] = gradient[t] - middle
        taken, _, lowest = solve_pairs(
            K, f, beta, lower, upper, epsilon, diagonal, total_diagonal, starts, goal, most, position, limits
        )
        if taken == 0:
            break
        if lowest < curvature:
            curvature = lowest
        finite = True
        for t in range(n):
            finite = finite and abs(beta[t]) < np.inf
        if not finite:  # a step without end: the block solver will name the cause
            for t in range(n):
                beta[t] = old[t]
            break
        for i in range(n):
            change = beta[i] - old[i]
            if change != 0.0:
                row = K[i]
                for t in range(n):
                    F[t] += change * row[t]
        steps += taken
        rounds += 1
    return steps, rounds, curvature, table
