"""SVC and SVR with a linear kernel, solved by the linear solvers: the same model, without a kernel matrix.

The answer has the same form as that of the kernel solvers: signed multipliers that sum to zero. It is certified with
K b = X (X'b) recomputed; if the certificate does not hold, the block solver continues from these multipliers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.certificate import Certificate, certify_function
from widemargin.certificate.certificate import price
from widemargin.certificate.linear_rounding import function_error
from widemargin.gram.scores import Scores
from widemargin.gram.source import Index
from widemargin.kernels import Kernel, Linear
from widemargin.linalg.columns import occurring_columns
from widemargin.linalg.design import Design, design_of
from widemargin.monitor import clock
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems.dual import SignedDual
from widemargin.problems.linear import LinearAnswer, LinearRun, Vector, linear_problem
from widemargin.problems.warm_start import restart
from widemargin.solvers.linear.solve import solve_linear
from widemargin.solvers.linear.tuning import DEFAULT
from widemargin.solvers.solution import Solution
from widemargin.training.task import Trained

FEWEST = 1000  # samples: below, the block solver on a whole kernel matrix is as fast
MOST_STEPS = 1000  # Newton steps and passes, after which the block solver continues


class LinearPath:
    """The rows of a fit, and the multipliers of its problems by the linear solvers."""

    def __init__(self, X: Any) -> None:
        self.rows = design_of(occurring_columns(X)[0], 1.0)

    @staticmethod
    def suits(kernel: Kernel, X: Any) -> bool:
        """Whether problems on these data can be solved without the kernel matrix, and faster."""
        if type(kernel) is not Linear or not (sp.issparse(X) or isinstance(X, np.ndarray)):
            return False
        return X.shape[0] >= FEWEST and (X.shape[1] <= DEFAULT.most_features or (sp.issparse(X) and X.format == "csr"))

    def train(self, dual: SignedDual, index: Index | None, stopping: Stopping, watch: Watch) -> Trained | None:
        """Return solution and certificate of one problem; None for problems of another kind."""
        if len(dual) < FEWEST or stopping.max_iter >= 0 or stopping.criterion == "objective" or not _is_linear(dual):
            return None
        began = clock.now()
        rows = self.rows if index is None else self.rows.take(index)
        largest_square = float(np.max(rows.squared_norms, initial=0.0))
        found: tuple[Vector, Scores, Certificate] | None = None

        def certified(answer: LinearAnswer) -> tuple[Vector, Scores, Certificate]:
            beta = _feasible(dual, answer.beta)
            scores = _scores(rows, beta)
            certificate = certify_function(
                dual, beta, scores, stopping.tol, criterion=stopping.criterion, diagonal=largest_square
            )
            return beta, scores, certificate

        def decide(answer: LinearAnswer) -> Status | None:
            nonlocal found
            found = certified(answer)
            return Status.OPTIMAL if found[-1].holds else None

        def report(now: Iteration) -> None:
            def point() -> tuple[Vector, Vector]:
                assert now.multipliers is not None
                beta = _feasible(dual, now.multipliers())
                return beta, _scores(rows, beta).values

            watch(replace(now, point=point))

        limits = replace(stopping, criterion="gap", max_iter=MOST_STEPS)
        answer = solve_linear(linear_problem(rows, dual), LinearRun(limits, report, decide))
        if found is None or not answer.status.converged:  # else it was computed to accept the answer
            found = certified(answer)
        beta, scores, certificate = found
        near_enough = certificate.holds and not answer.status.on_request  # the solver may have stalled there
        solution = Solution(
            beta=beta,
            Kb=scores.values,
            thresholds=np.array(certificate.level),
            status=Status.OPTIMAL if near_enough else answer.status,
            violation=certificate.violation,
            objective=dual.objective(beta, scores.values),
            iterations=answer.iterations,
            rounds=answer.iterations,
            rows_computed=0,
            seconds=clock.now() - began,
            error=scores.error,
        )
        return Trained(solution, replace(certificate, **price(solution)))


def _feasible(dual: SignedDual, beta: Vector) -> Vector:
    """Return multipliers with the exact sum of the problem, from which Newton steps deviate by rounding."""
    restored = restart(dual, beta)
    return beta if restored is None else restored


def _is_linear(dual: SignedDual) -> bool:
    """Whether a problem is a C-SVM with bias: one sum that is zero, losses all linear or all squared."""
    if dual.n_groups != 1 or dual.row is not None or dual.sign is not None or dual.start.any():
        return False
    finite, squared = np.isfinite(dual.upper) & np.isfinite(dual.lower), dual.diagonal > 0.0
    return bool((dual.upper > dual.lower).any() and ((finite & ~squared).all() or squared.all()))


def _scores(rows: Design, beta: Vector) -> Scores:
    """K b = X (X'b), without the bias, and its error."""
    support = np.flatnonzero(beta)
    total = np.zeros(rows.d + 1)
    rows.add_transposed(support, beta[support], total)
    total[-1] = 0.0
    return Scores(rows.times(total), function_error(rows, support, beta[support], total))
