"""What LinearSVC and LinearSVR share: reading data, solving their problems, exposing weights and certificates."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache, partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from widemargin.certificate import Certificate, combine
from widemargin.certificate.linear import prove_linear
from widemargin.certificate.linear_judge import Judge
from widemargin.estimators.notebook import ShowsCertificate
from widemargin.estimators.parameters import POSITIVE, Constraints, one_of, option, whole
from widemargin.estimators.plain_data import is_plain_matrix, is_plain_sparse
from widemargin.estimators.training_set import TrainingSet, leave_out_weightless
from widemargin.linalg.arrays import Vector
from widemargin.linalg.design import Design, design_of
from widemargin.monitor.callbacks import CallbackMixin, StepListener, Steps
from widemargin.monitor.iteration import of_problem
from widemargin.monitor.progress import watching
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.monitor.user_warning import warn_user
from widemargin.parallel.tiles import resolve_n_jobs, run_tiles, single_threaded_blas
from widemargin.problems.dual import SignedDual
from widemargin.problems.linear import LinearAnswer, LinearRun, linear_problem
from widemargin.solvers.linear.solve import SMALL_PROBLEM, solve_from_zero, solve_linear

FLOATS = (np.float64, np.float32)
WORTH_THREADS = 100_000  # entries of all problems of a fit together: below, threads cost more than they save


class LinearTask(NamedTuple):
    """One problem of a fit: its solver, the proof of an answer, and what is tried where the solver stalled."""

    solve: Callable[[LinearRun], LinearAnswer]
    prove: Callable[[LinearAnswer], Certificate]
    retry: Callable[[LinearRun, int], LinearAnswer] | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class LinearMachine(ShowsCertificate, CallbackMixin, BaseEstimator):
    """Shared face of LinearSVC and LinearSVR."""

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

    _parameter_constraints = Constraints()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Read off the signature once per class: on small data reading it again is a tenth of a fit."""
        return super()._get_param_names()

    # ---- training

    def _read(self, X: Any, y: Any, sample_weight: Any, plain_targets: Any, **checks: Any) -> TrainingSet:
        """Validate the data of a fit, once, and leave out samples without weight."""
        if (is_plain_matrix(X) or is_plain_sparse(X)) and plain_targets(y, X.shape[0]):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        else:
            X, y = validate_data(self, X, y, dtype=FLOATS, accept_sparse="csr", **checks)
        return leave_out_weightless(X, y, sample_weight, X.shape[0], False)

    def _rows(self, X: Any) -> Design:
        """The samples with the constant column that carries the intercept."""
        column = self.intercept_scaling if self.penalize_intercept else 1.0
        return design_of(X, float(column) if self.fit_intercept else 0.0)

    def _seed(self) -> int:
        """Seed of the order of visits; None always gives the same order, so that a fit can be repeated."""
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    @abstractmethod
    def _expose(self, weights: Vector, rows: Design) -> None:
        """Set the attributes that predict, from one row of weights per model."""

    def _task(self, rows: Design, dual: SignedDual) -> LinearTask:
        """The task of one signed dual; an unpenalised intercept makes its multipliers sum to zero."""
        problem = linear_problem(rows, replace(dual, n_groups=int(self.fit_intercept and not self.penalize_intercept)))
        return LinearTask(
            partial(solve_linear, problem, to_rounding=True),
            partial(prove_linear, problem, self.tol),
            None if problem.squared else partial(solve_from_zero, problem),
        )

    def _train(
        self,
        rows: Design,
        tasks: Sequence[LinearTask],
        steps: Steps | None,
        stack: Callable[[Sequence[Vector]], Vector] = np.array,
        shape: tuple[int, ...] = (),
    ) -> None:
        """Solve and certify every task, and set the fitted attributes; warns where the tolerance is not proven.

        stack : makes of the weights of all tasks one row per model; shape : of the weights of a feature
        """
        weights = [np.zeros((rows.d + 1, *shape))] * len(tasks)
        certificates: list[Any] = [None] * len(tasks)
        listener = None
        if steps is not None:
            listener = StepListener(steps, self, lambda shadow, found: shadow._expose(stack(found), rows), weights)
        stopping = Stopping(float(self.tol), "gap", int(self.max_iter), self.time_limit)
        seed, start = self._seed(), time.perf_counter()
        limits = nullcontext() if rows.entries <= SMALL_PROBLEM else single_threaded_blas()
        with watching(type(self).__name__, self.verbose, listener) as watch, limits:

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

            n_threads = resolve_n_jobs(self.n_jobs) if rows.entries * len(tasks) > WORTH_THREADS else 1
            run_tiles(solve, len(tasks), n_threads)
        self.certificates_: list[Certificate] = certificates
        self.certificate_ = combine(certificates)
        self.status_: Status = self.certificate_.status or Status.OPTIMAL
        self.fit_status_ = 0 if self.status_.converged and self.certificate_.holds else 1
        self.n_iter_ = max(certificate.iterations for certificate in certificates)
        self._expose(stack(weights), rows)
        if steps is not None:
            steps.finish()
        if self.fit_status_ and self.status_ is not Status.STOPPED:
            warn_user(
                f"{self.status_.value} Reached: relative duality gap {self.certificate_.gap:.3g} (tol={self.tol:g}): "
                "no model can have an objective lower than this one's by more than that share; see certificate_.",
                ConvergenceWarning,
            )

    # ---- prediction

    def _intercepts(self, weights: Vector, rows: Design) -> Any:
        """Intercepts from the weights of the constant column; 0.0 without one, as in scikit-learn."""
        return rows.column * weights[:, -1] if self.fit_intercept else 0.0

    def _values(self, X: Any) -> Any:
        """X coef_' + intercept_, with coef_ dense or sparse."""
        if not hasattr(self, "coef_"):
            check_is_fitted(self)
        plain = (is_plain_matrix(X) or is_plain_sparse(X)) and X.shape[1] == self.n_features_in_
        if not plain or "feature_names_in_" in self.__dict__:
            X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        product = X @ self.coef_.T
        if sp.issparse(product):
            product = product.toarray()
        return np.asarray(product) + self.intercept_
