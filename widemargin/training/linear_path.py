"""SVC and SVR with a linear kernel by the linear solvers: the same machine, without a kernel matrix.

The answer is the one of the kernel machine: signed multipliers that sum to zero. It is judged as every other, by the
certificate of widemargin.certificate, with F = K b = X (X'b) computed afresh; if that does not hold, the block solver
goes on from these multipliers.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.certificate import Certificate, certify_function
from widemargin.certificate.linear_rounding import function_error
from widemargin.certificate.prove import proven_violation
from widemargin.gram.scores import Scores
from widemargin.gram.source import Index
from widemargin.kernels import Kernel, Linear
from widemargin.linalg.design import Design, design_of
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems.dual import SignedDual
from widemargin.problems.linear import LinearAnswer, LinearRun, Vector, linear_problem
from widemargin.problems.warm_start import restart
from widemargin.solvers.linear.solve import solve_linear
from widemargin.solvers.linear.tuning import DEFAULT
from widemargin.solvers.solution import Solution

FEWEST = 1000  # samples: below, the block solver on a whole kernel matrix is as fast
FIRST_GAP = 1e-3  # relative gap at which the certificate is looked at for the first time
MOST_STEPS = 1000  # Newton steps and passes, after which the block solver goes on


class LinearPath:
    """The rows of a fit, and the multipliers of its problems by the linear solvers."""

    def __init__(self, X: Any) -> None:
        self.rows = design_of(X, 1.0)

    @staticmethod
    def suits(kernel: Kernel, X: Any) -> bool:
        """Whether problems on these data can be solved without the kernel matrix, and faster."""
        if type(kernel) is not Linear or not (sp.issparse(X) or isinstance(X, np.ndarray)):
            return False
        return X.shape[0] >= FEWEST and (X.shape[1] <= DEFAULT.most_features or (sp.issparse(X) and X.format == "csr"))

    def train(
        self, dual: SignedDual, index: Index | None, stopping: Stopping, watch: Watch
    ) -> tuple[Solution, Certificate] | None:
        """Solution and certificate of one problem; None for problems of another kind."""
        if len(dual) < FEWEST or stopping.max_iter >= 0 or stopping.criterion == "objective" or not _is_linear(dual):
            return None
        began = time.perf_counter()
        rows = self.rows if index is None else self.rows.take(index)
        largest_square = float(np.max(rows.squared_norms, initial=0.0))
        scores = Scores(np.empty(0), np.empty(0))

        def decide(answer: LinearAnswer) -> Status | None:
            nonlocal scores
            point = _feasible(dual, answer.beta)
            scores = _scores(rows, point)
            if stopping.criterion == "kkt":
                holds = proven_violation(dual, point, scores) <= stopping.tol
            else:
                holds = certified(point, scores).holds
            return Status.OPTIMAL if holds else None

        def certified(beta: Vector, scores: Scores, solution: Solution | None = None) -> Certificate:
            return certify_function(
                dual, beta, scores.values, stopping.tol, error=scores.error, criterion=stopping.criterion,
                diagonal=largest_square, solution=solution,
            )  # fmt: skip

        def tell(now: Iteration) -> None:
            def point() -> tuple[Vector, Vector]:
                assert now.multipliers is not None
                beta = _feasible(dual, now.multipliers())
                return beta, _scores(rows, beta).values

            watch(replace(now, point=point))

        limits = Stopping(FIRST_GAP, "gap", MOST_STEPS, stopping.time_limit)
        answer = solve_linear(linear_problem(rows, dual), LinearRun(limits, tell, decide))
        beta = _feasible(dual, answer.beta)
        if not answer.status.converged:  # else it was computed to be accepted
            scores = _scores(rows, beta)
        solution = Solution(
            beta=beta,
            Kb=scores.values,
            thresholds=np.zeros(1),
            status=answer.status,
            violation=np.nan,
            objective=dual.objective(beta, scores.values),
            iterations=answer.iterations,
            rounds=answer.iterations,
            rows_computed=0,
            seconds=time.perf_counter() - began,
            error=scores.error,
        )
        certificate = certified(beta, scores, solution)
        thresholds = np.array(certificate.level)
        return replace(solution, thresholds=thresholds, violation=certificate.violation), certificate


def _feasible(dual: SignedDual, beta: Vector) -> Vector:
    """Multipliers whose sum is what the problem asks: Newton steps leave it off by their own rounding."""
    restored = restart(dual, beta)
    return beta if restored is None else restored


def _is_linear(dual: SignedDual) -> bool:
    """Whether a problem is a C-machine with bias: one sum that is zero, losses all linear or all squared."""
    if dual.n_groups != 1 or dual.row is not None or dual.sign is not None or dual.start.any():
        return False
    finite, squared = np.isfinite(dual.upper) & np.isfinite(dual.lower), dual.diagonal > 0.0
    return bool((dual.upper > dual.lower).any() and ((finite & ~squared).all() or squared.all()))


def _scores(rows: Design, beta: Vector) -> Scores:
    """F = X (X'b), without the bias, and its error."""
    support = np.flatnonzero(beta)
    total = np.zeros(rows.d + 1)
    rows.add_transposed(support, beta[support], total)
    total[-1] = 0.0
    return Scores(rows.times(total), function_error(rows, support, beta[support], total))
