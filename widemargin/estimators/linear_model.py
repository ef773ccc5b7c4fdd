"""What LinearSVC and LinearSVR share: reading data, solving their problems, exposing weights and certificates."""

from __future__ import annotations

import math
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from widemargin._sklearn import Interval, StrOptions
from widemargin.certificate import Certificate, combine
from widemargin.certificate.linear import Judge
from widemargin.estimators.notebook import ShowsCertificate
from widemargin.estimators.plain_data import is_plain_matrix
from widemargin.estimators.training_set import TrainingSet, leave_out_weightless
from widemargin.linalg.rows import DenseRows, SparseRows, rows_of
from widemargin.monitor.callbacks import CallbackMixin, StepListener, Steps
from widemargin.monitor.iteration import Watch, of_problem
from widemargin.monitor.progress import watching
from widemargin.monitor.status import Status
from widemargin.parallel.tiles import resolve_n_jobs, run_tiles, single_threaded_blas
from widemargin.problems.dual import SignedDual
from widemargin.problems.linear import Budget, linear_problem
from widemargin.solvers.linear.solve import SMALL, solve_from_zero, solve_linear

FLOATS = (np.float64, np.float32)
WORTH_THREADS = 100_000  # entries of all problems of a fit together: below, threads cost more than they save

Vector = NDArray[np.float64]


def is_plain_csr(X: Any) -> bool:
    """Whether X is a CSR matrix of finite floats: on text, general validation costs as much as a fit."""
    return (
        sp.issparse(X)
        and X.format == "csr"
        and X.ndim == 2
        and (X.dtype == np.float64 or X.dtype == np.float32)
        and min(X.shape) > 0
        and math.isfinite(X.data.sum())
    )


@dataclass(kw_only=True, eq=False, repr=False)
class LinearMachine(ShowsCertificate, CallbackMixin, BaseEstimator):
    """Shared face of LinearSVC and LinearSVR."""

    tol: float = 1e-4
    C: float = 1.0
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    dual: bool | str = "auto"
    verbose: int = 0
    random_state: Any = None
    max_iter: int = 1000
    penalize_intercept: bool = True
    time_limit: float | None = None
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict] = {
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither")],
        "penalize_intercept": ["boolean"],
        "dual": ["boolean", StrOptions({"auto"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
    }

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
        if (is_plain_matrix(X) or is_plain_csr(X)) and plain_targets(y, X.shape[0]):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        else:
            X, y = validate_data(self, X, y, dtype=FLOATS, accept_sparse="csr", **checks)
        return leave_out_weightless(X, y, sample_weight, X.shape[0], False)

    def _rows(self, X: Any) -> DenseRows | SparseRows:
        """The samples with the constant column that carries the intercept."""
        if not self.fit_intercept:
            return rows_of(X, 0.0)
        return rows_of(X, float(self.intercept_scaling) if self.penalize_intercept else 1.0)

    def _seed(self) -> int:
        """Seed of the order of visits; None always gives the same order, so that a fit can be repeated."""
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _n_groups(self) -> int:
        """Groups of the signed dual: an unpenalised intercept makes the multipliers sum to zero."""
        return int(self.fit_intercept and not self.penalize_intercept)

    def _budget(self, watch: Any) -> Budget:
        deadline = float("inf") if self.time_limit is None else time.perf_counter() + self.time_limit
        return Budget(float(self.tol), int(self.max_iter), deadline, watch)

    def _watching(
        self, rows: DenseRows | SparseRows, steps: Steps | None, start: Vector, stack: Callable[..., Vector] = np.array
    ) -> AbstractContextManager[Watch | None]:
        """Context manager yielding the listener of a fit (progress bar, scikit-learn's callbacks, both), or None.

        start : what each problem begins with; stack : makes of the answers of all problems one row per machine
        """
        listener = None
        if steps is not None:
            listener = StepListener(steps, self, lambda shadow, found: shadow._expose(stack(found), rows), list(start))
        return watching(type(self).__name__, self.verbose, listener)

    @abstractmethod
    def _expose(self, weights: Vector, rows: DenseRows | SparseRows) -> None:
        """Set the attributes that predict, from one row of weights per machine."""

    def _solve(self, rows: DenseRows | SparseRows, duals: Sequence[SignedDual], steps: Steps | None) -> Vector:
        """Solve all problems of the fit and certify each; returns one row of weights per problem."""
        weights = np.zeros((len(duals), rows.d + 1))
        certificates: list[Certificate | None] = [None] * len(duals)
        seed, small = self._seed(), rows.entries <= SMALL
        with self._watching(rows, steps, weights) as watch:
            every = self._budget(watch)

            def run(number: int) -> None:
                began = time.perf_counter()
                budget = every if watch is None else replace(every, watch=of_problem(watch, number, len(duals)))
                problem = linear_problem(rows, duals[number])
                judge = Judge(problem, budget.gap)
                answer = solve_linear(problem, budget, seed=seed, accept=None if small else judge)
                certificate = judge.certificate(answer, time.perf_counter() - began)
                if certificate.status is Status.STALLED and not problem.squared:
                    again = solve_from_zero(problem, budget, judge, answer.iterations)
                    other = judge.certificate(again, time.perf_counter() - began)
                    if other.gap < certificate.gap:
                        answer, certificate = again, other
                weights[number], certificates[number] = answer.weights, certificate

            n_threads = resolve_n_jobs(self.n_jobs) if rows.entries * len(duals) > WORTH_THREADS else 1
            with nullcontext() if small else single_threaded_blas():
                run_tiles(run, len(duals), n_threads)
        self._take_certificates(certificates)  # type: ignore[arg-type]
        return weights

    def _take_certificates(self, certificates: Sequence[Certificate]) -> None:
        """Expose how good the answers are."""
        self.certificates_ = list(certificates)
        self.certificate_ = combine(self.certificates_)
        self.status_: Status = self.certificate_.status or Status.OPTIMAL
        self.fit_status_ = 0 if self.status_.converged and self.certificate_.holds else 1
        self.n_iter_ = max(certificate.iterations for certificate in certificates)

    def _warn_unless_converged(self) -> None:
        """Say in a sentence why the solver ended early, and how far it came."""
        if self.fit_status_ and self.status_ is not Status.STOPPED:
            warnings.warn(
                f"{self.status_.value} Reached: relative duality gap {self.certificate_.gap:.3g} (tol={self.tol:g}): "
                "no model can have an objective lower than this one's by more than that share; see certificate_.",
                ConvergenceWarning,
                stacklevel=4,  # the caller of fit, behind scikit-learn's wrapper
            )

    # ---- prediction

    def _intercepts(self, weights: Vector, rows: DenseRows | SparseRows) -> Any:
        """Intercepts from the weights of the constant column; 0.0 without one, as in scikit-learn."""
        return rows.column * weights[:, -1] if self.fit_intercept else 0.0

    def _values(self, X: Any) -> Any:
        """X coef_' + intercept_, with coef_ dense or sparse."""
        if not hasattr(self, "coef_"):
            check_is_fitted(self)
        plain = (is_plain_matrix(X) or is_plain_csr(X)) and X.shape[1] == self.n_features_in_
        if not plain or "feature_names_in_" in self.__dict__:
            X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        product = X @ self.coef_.T
        if sp.issparse(product):
            product = product.toarray()
        return np.asarray(product) + self.intercept_
