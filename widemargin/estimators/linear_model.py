"""Base class of LinearSVC and LinearSVR: reading data, solving problems, exposing weights and certificates."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from widemargin.certificate import Certificate, combine
from widemargin.certificate.linear import prove_linear
from widemargin.certificate.linear_judge import Judge
from widemargin.costs import COSTS, threads_for
from widemargin.estimators.parameters import POSITIVE, estimator, one_of, option, whole
from widemargin.estimators.plain_data import ReadsData
from widemargin.estimators.training_set import TrainingSet, leave_out_weightless
from widemargin.linalg.arrays import Vector
from widemargin.linalg.design import Design, design_of
from widemargin.monitor.callbacks import Steps
from widemargin.monitor.iteration import of_problem
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.monitor.user_warning import warn_user
from widemargin.parallel.tiles import resolve_n_jobs, run_tiles, single_threaded_blas
from widemargin.problems.dual import SignedDual
from widemargin.problems.linear import LinearAnswer, LinearRun, linear_problem
from widemargin.solvers.linear.solve import SMALL_PROBLEM, solve_from_zero, solve_linear


class LinearTask(NamedTuple):
    """One problem of a fit: its solver, the proof of an answer, and what is tried if the solver stalls."""

    solve: Callable[[LinearRun], LinearAnswer]
    prove: Callable[[LinearAnswer], Certificate]
    retry: Callable[[LinearRun, int], LinearAnswer] | None = None


@estimator
class LinearMachine(ReadsData):
    """Base of LinearSVC and LinearSVR.

    tol : float, default 1e-4
        Largest relative duality gap, (primal - dual) / primal, proven with rounding errors counted. (In scikit-learn,
        `tol` limits a projected gradient.)
    C : float, default 1.0
        Weight of the errors.
    fit_intercept : bool, default True
    intercept_scaling : float, default 1.0
        Value of the constant column whose weight is a penalised intercept; a larger value penalises it less.
    verbose : bool or int, default 0
        Show a progress bar.
    random_state : int, RandomState instance or None, default None
        Order in which coordinate descent visits the samples; None always uses the same order.
    max_iter : int, default 1000
        Largest number of Newton steps or passes over the data.
    time_limit : float or None, default None
        Seconds after which the best model so far is returned, with a warning.

    n_features_in_, feature_names_in_
        As in scikit-learn.
    status_ : Status
        How the solver ended; `fit_status_` is 0 if the tolerance is proven to be met, else 1.
    """

    tol: float = option(1e-4, POSITIVE)
    C: float = option(1.0, POSITIVE)
    fit_intercept: bool = option(True, "boolean")
    intercept_scaling: float = option(1.0, POSITIVE)
    dual: bool | str = option("auto", "boolean", one_of("auto"))
    verbose: int = option(0, "verbose")
    random_state: Any = option(None, "random_state")
    max_iter: int = option(1000, whole(0))
    penalize_intercept: bool = option(True, "boolean")
    time_limit: float | None = option(None, POSITIVE, None)
    n_jobs: int | None = option(None, Integral, None)

    # ---- training

    def _read(self, X: Any, y: Any, sample_weight: Any, plain_targets: Any, **checks: Any) -> TrainingSet:
        """Validate the data of a fit, once, and leave out samples without weight."""
        X, y = self._validated(X, y, plain_targets, **checks)
        return leave_out_weightless(X, y, sample_weight, X.shape[0], False)

    def _rows(self, X: Any) -> Design:
        """Return the samples with a constant column for the intercept."""
        column = self.intercept_scaling if self.penalize_intercept else 1.0
        return design_of(X, float(column) if self.fit_intercept else 0.0)

    def _seed(self) -> int:
        """Return the seed of the order of visits; None always gives the same order, so that fits are reproducible."""
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _expose(self, weights: Vector, rows: Design) -> None:
        """Set the attributes that `predict` uses, from one row of weights per model, the constant column's last."""
        self.coef_: Any = np.ascontiguousarray(weights[:, :-1])
        self.intercept_ = rows.column * weights[:, -1] if self.fit_intercept else 0.0  # as in scikit-learn

    def _task(self, rows: Design, dual: SignedDual) -> LinearTask:
        """Return the task of one signed dual; with an unpenalised intercept the multipliers sum to zero."""
        problem = linear_problem(rows, replace(dual, n_groups=int(self.fit_intercept and not self.penalize_intercept)))
        return LinearTask(
            partial(solve_linear, problem, to_rounding=True),
            partial(prove_linear, problem, self.tol),
            None if problem.squared else partial(solve_from_zero, problem),
        )

    def _train(self, rows: Design, tasks: Sequence[LinearTask], steps: Steps | None) -> None:
        """Solve and certify every task and set the fitted attributes; warn if the tolerance is not proven."""
        weights = [np.zeros(rows.d + 1)] * len(tasks)
        certificates: list[Any] = [None] * len(tasks)

        def expose(machine: LinearMachine, found: Sequence[Vector]) -> None:
            machine._expose(np.array(found), rows)

        stopping = Stopping(float(self.tol), "gap", int(self.max_iter), self.time_limit)
        seed, start = self._seed(), time.perf_counter()
        limits = nullcontext() if rows.entries <= SMALL_PROBLEM else single_threaded_blas()
        with self._watching(steps, expose, weights) as watch, limits:

            def solve(number: int) -> None:
                began, task = time.perf_counter(), tasks[number]
                judge = Judge(task.prove, stopping.tol)
                run = LinearRun(stopping, of_problem(watch, number, len(tasks)), judge, seed, start)
                answer = task.solve(run)
                certificate = judge.certificate(answer, time.perf_counter() - began)
                if task.retry is not None and certificate.status is Status.STALLED:
                    again = task.retry(run, answer.iterations)
                    other = judge.certificate(again, time.perf_counter() - began)
                    if other.gap < certificate.gap:
                        answer, certificate = again, other
                weights[number], certificates[number] = answer.weights, certificate

            one_pass = COSTS.linear_entry * rows.entries * len(tasks)
            run_tiles(solve, len(tasks), threads_for(one_pass, resolve_n_jobs(self.n_jobs)))
            self.certificates_: list[Certificate] = certificates
            self.certificate_ = combine(certificates)
            self.status_: Status = self.certificate_.status or Status.OPTIMAL
        self.fit_status_ = 0 if self.status_.converged and self.certificate_.holds else 1
        self.n_iter_ = max(certificate.iterations for certificate in certificates)
        expose(self, weights)
        if self.fit_status_ and self.status_ is not Status.STOPPED:
            from widemargin.training.diagnosis import unequal_scales  # needs kernels, which linear models do without

            cause = unequal_scales(rows.X, getattr(self, "feature_names_in_", None))
            warn_user(
                f"{' '.join(filter(None, (self.status_.value, cause)))} "
                f"Reached: relative duality gap {self.certificate_.gap:.3g} (tol={self.tol:g}): "
                "no model can have an objective lower than this one's by more than that share; see certificate_.",
                ConvergenceWarning,
            )

    # ---- prediction

    def _values(self, X: Any) -> Any:
        """X coef_' + intercept_, with coef_ dense or sparse."""
        if not hasattr(self, "coef_"):
            check_is_fitted(self)
        X = self._validated_to_predict(X)
        product = X @ self.coef_.T
        if sp.issparse(product):
            product = product.toarray()
        return np.asarray(product) + self.intercept_
