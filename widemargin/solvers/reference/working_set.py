"""Sub-problems on a working set of variables, the part that chunking and decomposition share.

The variables outside keep their values; their pull on the others is in the gradient already, so the sub-problem is the
same problem on fewer variables, started from where they are. It is solved by

    conjugate-gradient   projected conjugate gradient (conjugate_gradient.py), as in Platt's comparison
    clarabel, cvxopt     a generic package (qp.py), as in the text books
"""

from __future__ import annotations

import time
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.problems.dual import SignedDual
from widemargin.solvers.reference.conjugate_gradient import minimise
from widemargin.solvers.reference.passes import Run
from widemargin.solvers.reference.variables import block_of, move, repair_sum

INNER = ("conjugate-gradient", "clarabel", "cvxopt")
FIRST_THRESHOLD = 3e-10  # smallest relative improvement of a conjugate gradient step (Platt 1998, section 3)
NEXT_THRESHOLD = 1.0 / 3.0  # factor after a sub-problem that left its non-bound points too far apart (the same)
LOWEST_THRESHOLD = 1e-16  # below, improvements are rounding


class SubProblems:
    """Solves one sub-problem after the other and keeps Platt's threshold schedule."""

    kinds: ClassVar[tuple[str, ...]] = INNER

    def __init__(self, run: Run, inner: str) -> None:
        self.run, self.inner = run, inner
        self.threshold = FIRST_THRESHOLD

    def solve(self, chosen: NDArray[np.int64]) -> int:
        """Optimise the chosen variables and carry the change into F; the number of steps, 0 if nothing moved."""
        run, dual = self.run, self.run.dual
        Q = block_of(run, chosen).astype(np.float64)
        Q[np.diag_indices(len(chosen))] += dual.diagonal[chosen]
        f, beta = run.gradient()[chosen], run.beta[chosen]
        before = beta.copy()
        lower, upper, epsilon, group = dual.lower[chosen], dual.upper[chosen], dual.epsilon[chosen], dual.group[chosen]
        if self.inner == "conjugate-gradient":
            objective = dual.objective(run.beta, run.function)
            steps = minimise(
                Q,
                f,
                beta,
                lower,
                upper,
                epsilon,
                group,
                dual.n_groups,
                objective,
                self.threshold,
                run.stopping.tol,
                self.out_of_time,
            )
        else:
            from widemargin.solvers.reference.qp import solve_programme

            part = SignedDual(
                linear_term=f - Q @ beta,
                lower=lower,
                upper=upper,
                epsilon=epsilon,
                start=beta.copy(),
                group=group,
                n_groups=dual.n_groups,
            )
            beta, steps = solve_programme(part, Q, self.inner)
        for g in range(dual.n_groups):  # rounding in the sums would add up over many sub-problems
            members = np.flatnonzero(group == g)
            inside = slice(*self.run.starts[g : g + 2])
            rest = float(dual.start[inside].sum() - run.beta[inside].sum()) + float(before[members].sum())
            beta[members] = repair_sum(beta[members], lower[members], upper[members], epsilon[members], rest)
        if np.array_equal(beta, before):
            return 0
        move(run, chosen, beta)
        run.iterations += max(1, steps)
        self.tighten()
        return max(1, steps)

    def tighten(self) -> None:
        """Lower the threshold if the proposed levels of non-bound points differ by more than the conditions allow."""
        run, dual = self.run, self.run.dual
        beta = run.beta
        free = (beta > dual.lower) & (beta < dual.upper) & (beta != 0.0)
        proposed = (run.gradient() + dual.epsilon * np.sign(beta))[free]
        group = dual.group[free]
        spread = 0.0
        for g in range(dual.n_groups):
            part = proposed[group == g]
            spread = max(spread, float(np.ptp(part)) if len(part) else 0.0)
        if dual.n_groups == 0 and len(proposed):
            spread = 2.0 * float(np.abs(proposed).max())
        if spread > run.stopping.tol:
            self.threshold = max(LOWEST_THRESHOLD, NEXT_THRESHOLD * self.threshold)

    def out_of_time(self) -> bool:
        """Whether the time limit has ended the run: a sub-problem may take longer than all that was left."""
        return time.perf_counter() >= self.run.deadline


def check_inner(inner: str) -> None:
    """A sentence for an inner solver that does not exist."""
    if inner not in INNER:
        raise ValueError(f"inner must be one of {', '.join(INNER)}; got {inner!r}.")


def worst_violators(run: Run, count: int, left_out: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The variables that violate the conditions most, outside `left_out`: of every group half from either side."""
    dual, beta, f = run.dual, run.beta, run.gradient()
    table = run.table()
    rise = f + np.where(beta >= 0.0, dual.epsilon, -dual.epsilon)
    fall = f + np.where(beta > 0.0, dual.epsilon, -dual.epsilon)
    groups = max(1, dual.n_groups)
    chosen = []
    for g in range(groups):
        level = 0.5 * (table[g, 0] + table[g, 1]) if dual.n_groups else 0.0
        if not np.isfinite(level):
            continue
        members = np.zeros(len(beta), np.bool_)
        members[run.starts[g] : run.starts[g + 1]] = True
        members &= ~left_out
        up = np.flatnonzero(members & (beta < dual.upper) & (rise < level))
        down = np.flatnonzero(members & (beta > dual.lower) & (fall > level))
        room = max(2, count // groups)
        n_up = min(len(up), max(room // 2, room - len(down)))
        n_down = min(len(down), room - n_up)
        chosen.append(up[np.argsort(rise[up], kind="stable")[:n_up]])
        chosen.append(down[np.argsort(-fall[down], kind="stable")[:n_down]])
    return np.concatenate(chosen) if chosen else np.empty(0, np.int64)
