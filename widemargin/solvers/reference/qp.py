"""The whole quadratic programme, solved by a generic package.

Solves   every SVM of the package, hard and soft margin, as long as the matrix fits (some thousand variables)
Given    a Gram
Returns  a Solution
Form     min 1/2 x'P x + q'x   subject to  G x <= h,  A x = b                                             (8.26)
         In signed multipliers x = b = t lambda:  P = K + D,  q = c,  A = the indicators of the groups,  b = their sums,
         G = (I; -I) and h = (hi; -lo) without the rows of infinite bounds, which is (8.27) for the soft margin and its
         lower half for the hard one. A kink e |b| doubles the variables, b = p - m with p, m >= 0.
After    an interior point is near a bound, never on it: a multiplier that its own slope would carry to the bound within
         one diagonal step is put there, which picks the support vectors; the bias is averaged over the others (8.10).
Use      as an oracle for small problems, as in the textbooks. Time and memory grow like n^3 and n^2.
See      Marsland (2014), section 8.3; cvxopt.solvers.qp (Vandenberghe, 2010); Clarabel (Goulart & Chen, 2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual
from widemargin.solvers.reference.gradient import pull
from widemargin.solvers.reference.passes import PASS, Passes, ReferenceSolver, Run, Vector
from widemargin.solvers.reference.working_set import move, repair_sums, working_set

ACCURACY = 1e-10  # gap and feasibility required of the package
ROUNDING = 1e-9  # relative: larger errors of sums mean that the package failed; lower eigenvalues are negative
INSTALL = "pip install 'widemargin[qp]'"


def matrices(dual: SignedDual, Q: NDArray) -> tuple[NDArray, Vector, NDArray, Vector, NDArray, Vector]:
    """P, q, G, h, A, b of (8.26) for a signed dual with Q = K + D."""
    n = len(dual)
    sums = np.zeros((dual.n_groups, n))
    if dual.n_groups:
        sums[dual.group, np.arange(n)] = 1.0
    totals = sums @ dual.start
    if not np.any(dual.epsilon):
        P, q, lower, upper, A = Q, dual.linear_term, dual.lower, dual.upper, sums
    else:
        P = np.block([[Q, -Q], [-Q, Q]])
        q = np.concatenate([dual.linear_term + dual.epsilon, -dual.linear_term + dual.epsilon])
        lower = np.concatenate([np.maximum(dual.lower, 0.0), np.maximum(-dual.upper, 0.0)])
        upper = np.concatenate([np.maximum(dual.upper, 0.0), np.maximum(-dual.lower, 0.0)])
        A = np.hstack([sums, -sums])
    most, least = np.flatnonzero(np.isfinite(upper)), np.flatnonzero(np.isfinite(lower))
    identity = np.eye(len(q))
    G = np.vstack([identity[most], -identity[least]])
    return P, q, G, np.concatenate([upper[most], -lower[least]]), A, totals


def by_clarabel(P: NDArray, q: Vector, G: NDArray, h: Vector, A: NDArray, b: Vector) -> tuple[Vector, Vector, int]:
    """Solve (8.26) with clarabel: x, the multipliers of A x = b, and the number of iterations."""
    clarabel = _package("clarabel")
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = ACCURACY
    cones = ([clarabel.ZeroConeT(len(b))] if len(b) else []) + [clarabel.NonnegativeConeT(len(h))]
    answer = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(P)), q, sparse.csc_matrix(np.vstack([A, G])), np.concatenate([b, h]), cones, options
    ).solve()
    return np.asarray(answer.x), np.asarray(answer.z)[: len(b)], int(answer.iterations)


def by_cvxopt(P: NDArray, q: Vector, G: NDArray, h: Vector, A: NDArray, b: Vector) -> tuple[Vector, Vector, int]:
    """Solve (8.26) with cvxopt: x, the multipliers of A x = b, and the number of iterations."""
    cvxopt = _package("cvxopt")
    options = {"show_progress": False, "abstol": ACCURACY, "reltol": ACCURACY, "feastol": ACCURACY}
    equality = (cvxopt.matrix(A), cvxopt.matrix(b)) if len(b) else ()
    answer = cvxopt.solvers.qp(*map(cvxopt.matrix, (P, q, G, h)), *equality, options=options)
    return np.asarray(answer["x"]).ravel(), np.asarray(answer["y"]).ravel(), int(answer["iterations"])


def solve_programme(dual: SignedDual, Q: NDArray, package: str) -> tuple[Vector, int]:
    """Return multipliers, moved to their bounds where close, and the iterations of the package; Q = K + D."""
    solve = by_clarabel if package == "clarabel" else by_cvxopt
    x, equality, iterations = solve(*matrices(dual, Q))
    n = len(dual)
    beta = np.clip(x[:n] - x[n:] if len(x) > n else x, dual.lower, dual.upper)
    slope = Q @ beta + dual.linear_term + (equality[dual.group] if dual.n_groups else 0.0)
    beta = to_bounds(dual, beta, slope, 1.0 / np.maximum(np.diagonal(Q), np.finfo(float).tiny))
    if not keeps_sums(dual, beta):
        return dual.start.copy(), iterations  # the package failed: its point is not feasible
    return beta, iterations


def keeps_sums(dual: SignedDual, beta: Vector) -> bool:
    """Whether every group has its sum, up to rounding."""
    sums = np.add.reduceat(beta - dual.start, dual.group_starts[:-1])
    return not dual.n_groups or np.abs(sums).max() <= ROUNDING * max(1e-300, float(np.abs(beta).sum()))


def to_bounds(dual: SignedDual, beta: Vector, slope: Vector, reach: Vector) -> Vector:
    """Move multipliers to the bounds (and the kink) that they only approach: where a step of this reach ends there."""
    target = np.empty_like(beta)
    with np.errstate(over="ignore"):
        pull(beta - reach * slope, 0.0, reach * dual.epsilon, dual.lower, dual.upper, target)
    at_end = (target == dual.lower) | (target == dual.upper) | ((target == 0.0) & (dual.epsilon > 0.0))
    return repair_sums(dual, np.where(at_end, target, beta))


def _package(name: str):  # type: ignore[no-untyped-def]
    """Import an optional package, or raise an ImportError that says how to install it."""
    try:
        return __import__(name, fromlist=["solvers"])
    except ImportError as error:
        raise ImportError(f"solver='qp' needs the package {name}, which is not installed: {INSTALL}.") from error


@dataclass(frozen=True)
class QuadraticProgramme(ReferenceSolver):
    """The whole dual as one quadratic programme, solved by an installed package.

    Parameters
    ----------
    package : {"clarabel", "cvxopt"}, default "clarabel"
        Both come with the extra `widemargin[qp]`.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> SVC(kernel="linear", solver="qp", C=np.inf).fit(X, [0, 0, 1, 1]).coef_.round(3).tolist()
    [[0.5, 0.5]]
    """

    package: Literal["clarabel", "cvxopt"] = "clarabel"

    def passes(self, run: Run) -> Passes:
        everything = np.arange(len(run.dual))
        Q = working_set(run, everything).K.astype(np.float64)
        Q[np.diag_indices(len(Q))] += run.dual.diagonal
        eigenvalues = np.linalg.eigvalsh(Q)
        if eigenvalues[0] < -ROUNDING * max(abs(eigenvalues[-1]), np.finfo(float).tiny):
            run.lowest_curvature = float(eigenvalues[0])
            return Status.INDEFINITE  # such packages take convex problems only
        beta, iterations = solve_programme(run.dual, Q, self.package)
        if not np.all(np.isfinite(beta)):
            return Status.UNBOUNDED
        move(run, everything, beta)
        run.iterations = iterations
        yield PASS
        return Status.STALLED
