"""What the models share that solve a linear system with a kernel: reading targets, solving, warning, predicting.

    validate -> kernel and noise -> KernelSystem.solve -> coefficients and certificate_ -> warn unless it holds

Data are read as the support vector machines read them; nothing here solves a quadratic programme.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from widemargin._sklearn import Interval, StrOptions
from widemargin.certificate.system_certificate import IF_PSD
from widemargin.estimators.base import FLOATS, KernelMachine
from widemargin.estimators.notebook import ShowsCertificate
from widemargin.estimators.plain_data import are_plain_targets
from widemargin.estimators.training_set import TrainingSet
from widemargin.gram.tiles import cross_product
from widemargin.kernels import Kernel, Linear, Precomputed
from widemargin.kernels.names import is_precomputed, takes_objects
from widemargin.models.expansion import combine
from widemargin.monitor.callbacks import CallbackMixin, StepListener, Steps
from widemargin.monitor.progress import watching
from widemargin.monitor.status import Status
from widemargin.monitor.user_warning import warn_user
from widemargin.parallel.tiles import resolve_n_jobs
from widemargin.training.kernel_system import (
    SOLVERS,
    KernelSystem,
    NotPositiveDefinite,
    Rule,
    Solved,
    SystemCertificate,
)

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
#: sets the fitted attributes of a machine for coefficients of its system
Expose = Callable[[Any, Matrix], None]

LEAST_SQUARES_SAMPLES = 5000  # up to which a singular system is solved by eigenvalues: half a minute


@dataclass(kw_only=True, eq=False, repr=False)
class KernelSystemModel(ShowsCertificate, CallbackMixin, BaseEstimator):
    """Shared face of KernelRidge, LSSVC, LSSVR, GaussianProcessRegressor, KernelLMS, RVC and RVR."""

    kernel: Any = "rbf"
    tol: float = 1e-6
    max_iter: int = -1
    time_limit: float | None = None
    cache_size: float | None = None
    n_jobs: int | None = None
    verbose: bool = False

    _parameter_constraints: ClassVar[dict] = {
        "solver": [StrOptions(set(SOLVERS))],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
        "cache_size": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = not is_precomputed(self.kernel)
        return tags

    # ---- reading, with the meaning that the support vector machines give to data, kernels and their parameters

    _read = KernelMachine._read
    _make_kernel = KernelMachine._make_kernel
    _is_plain_to_predict = KernelMachine._is_plain_to_predict

    def _read_targets(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[TrainingSet, Matrix, bool]:
        """Validated data, targets (n, m), and whether they came as a single column."""
        data = self._read(X, y, sample_weight, are_plain_targets, y_numeric=True, multi_output=True)
        return data, *self._as_targets(data.y)

    @staticmethod
    def _as_targets(y: Any) -> tuple[Matrix, bool]:
        """Targets as float64 columns, and whether they came as a single one."""
        try:
            targets = np.asarray(y, np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"y must hold numbers; got {type(y).__name__} of other things.") from error
        if targets.ndim not in (1, 2) or not np.isfinite(targets).all():
            raise ValueError(
                f"y must be finite numbers of shape (n_samples,) or (n_samples, n_targets); got shape {targets.shape}"
                + ("." if np.isfinite(targets).all() else " with NaN or infinity.")
            )
        return np.ascontiguousarray(targets.reshape(len(targets), -1)), targets.ndim == 1

    # ---- solving

    def _rule(self) -> Rule:
        return Rule(self.tol, self.max_iter, self.time_limit)

    def _watching(
        self, steps: Steps | None, expose: Callable[[Any, list[Any]], None], start: Sequence[Any] = (None,)
    ) -> Any:
        """Context manager yielding the listener of a fit (progress bar, scikit-learn's callbacks, both), or None."""
        listener = None if steps is None else StepListener(steps, self, expose, start)
        return watching(type(self).__name__, self.verbose, listener)

    def _solve(
        self,
        system: KernelSystem,
        noise: Vector,
        targets: Matrix,
        steps: Steps | None,
        expose: Expose,
        solver: str | None = None,
    ) -> Solved:
        """Solve one system, with progress where it is asked for; `expose` makes a machine of coefficients."""
        with self._watching(steps, lambda shadow, answers: expose(shadow, answers[0])) as watch:
            return system.solve(noise, targets, self._rule(), solver or self.solver, watch)

    def _solve_or_least_squares(
        self, system: KernelSystem, noise: Vector, targets: Matrix, steps: Steps | None, expose: Expose
    ) -> Solved:
        """Solve, and fall back to the solution of least norm where the matrix is singular or the kernel indefinite."""
        try:
            return self._solve(system, noise, targets, steps, expose)
        except NotPositiveDefinite as why:
            if len(system) > LEAST_SQUARES_SAMPLES:
                raise NotPositiveDefinite(
                    f"The kernel matrix is singular or indefinite ({why}), and {len(system)} samples are too many "
                    "for a solution of least squares: raise alpha, or use another kernel (rbf is always valid)."
                ) from why
        started = time.perf_counter()
        K = system.matrix()
        K[np.diag_indices_from(K)] += noise
        values, vectors = np.linalg.eigh(K)
        usable = np.abs(values) > len(K) * np.finfo(float).eps * np.abs(values).max(initial=0.0)
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=usable)
        coefficients = vectors @ (inverse[:, None] * (vectors.T @ targets))
        residual = system.residual(noise, targets, coefficients)
        with np.errstate(over="ignore", invalid="ignore"):
            step = vectors @ (inverse[:, None] * (vectors.T @ residual.value))
            energy = np.einsum("ij,ij->j", residual.value, step)
        negative = not system.kernel.is_psd and bool((values[usable] < 0.0).any())
        ended = Status.INDEFINITE if negative else None
        return system.certify(
            noise, targets, coefficients, residual, energy, self._rule(), "least squares", started, status=ended
        )

    def _publish(self, certificate: SystemCertificate) -> None:
        """Set the certificate, and warn in a sentence unless it holds: why, how far the answer is, what to do."""
        self.certificate_ = certificate
        self.status_: Status = certificate.status
        self.n_iter_ = max(1, certificate.iterations)  # a factor counts as one step
        singular = certificate.method == "least squares"
        if (certificate.holds and not singular) or self.status_ is Status.STOPPED:
            return
        reasons = [SINGULAR] if singular else []
        if not certificate.holds:
            general = ADVICE_FOR_ALL.get(self.status_, self.status_.value)
            reasons.append(ADVICE.get((certificate.method, self.status_), general))
        warn_user(" ".join([*reasons, proven(certificate)]), UserWarning if singular else ConvergenceWarning)

    # ---- predicting

    def _check_new(self, X: Any) -> Any:
        """Validate samples to predict."""
        check_is_fitted(self)
        if takes_objects(self.kernel) or self._is_plain_to_predict(X):
            return X
        return validate_data(
            self, X, dtype=FLOATS, accept_sparse=not is_precomputed(self.kernel) and "csr", reset=False
        )

    def _values(self, X: Any, kernel: Kernel, vectors: Any, coefficients: Matrix) -> Matrix:
        """k(X, vectors) coefficients, shape (n_samples, n_targets), in float64."""
        if isinstance(kernel, Precomputed):
            if X.shape[1] != len(coefficients):
                raise ValueError(
                    f"Precomputed metric requires shape (n_queries, n_indexed). Got ({X.shape[0]}, {X.shape[1]}) for "
                    f"{len(coefficients)} indexed: pass K(X_test, X_train)."
                )
            return np.asarray(X, np.float64) @ coefficients
        if isinstance(kernel, Linear):
            weights = combine(coefficients.T, vectors)
            return np.asarray(X @ weights.T, np.float64) if sp.issparse(X) else np.asarray(X, np.float64) @ weights.T
        left, right = kernel.prepare_both(X, vectors)
        return cross_product(kernel, left, right, coefficients, resolve_n_jobs(self.n_jobs))


def proven(certificate: SystemCertificate) -> str:
    """What a certificate proves, in a sentence."""
    tol = f"(tol={certificate.tol:g})"
    if certificate.is_psd:
        bound = f"{certificate.error:.2g} of the targets' root mean square"
        first = f"Proven: predictions within {bound} {tol}, y'(K + D)^-1 y"
    else:
        bound = f"{certificate.residual:.2g} of the targets"
        first = f"Proven: a residual of at most {bound} {tol}; {IF_PSD}, y'(K + D)^-1 y is"
    return f"{first} between {certificate.lower[0]:.6g} and {certificate.upper[0]:.6g}; see certificate_."


SINGULAR = (
    "Singular matrix in solving dual problem. Using least-squares solution instead: raise alpha, or remove duplicate "
    "samples."
)
STRONGER = "raise alpha (of LSSVC and LSSVR: lower C) or tol, or scale the features."
ADVICE = {
    ("cg", Status.STALLED): (
        "Rounding errors stop conjugate gradients above the tolerance: raise tol or alpha, or use solver='cholesky'."
    ),
    ("cg", Status.MAX_ITER): (
        "Conjugate gradients used up max_iter before they met the tolerance: raise max_iter or alpha."
    ),
    ("cholesky", Status.STALLED): (
        f"Rounding errors keep the answer above the tolerance, so badly conditioned is the system: {STRONGER}"
    ),
    ("least squares", Status.STALLED): "The least-norm solution cannot be distinguished from others near it.",
}
ADVICE_FOR_ALL = {
    Status.UNDECIDED: (
        "The answer meets the tolerance as far as double precision can tell, but rounding errors could exceed it, so "
        f"that nothing is proven: {STRONGER}"
    ),
    Status.INDEFINITE: (
        "The kernel is not positive semi-definite on these data, so the answer need not be the best one. Use another "
        "kernel (rbf is always valid) or a larger alpha."
    ),
}
