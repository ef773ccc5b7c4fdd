"""Base class of models that solve a linear system with a kernel: reading targets, solving, warning, predicting.

    validate -> kernel and noise -> KernelSystem.solve -> coefficients and certificate_ -> warn unless it holds

Nothing here solves a quadratic programme.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widemargin.certificate.system_certificate import IF_PSD
from widemargin.estimators.kernel_estimator import LimitedFit, Vector
from widemargin.estimators.parameters import estimator, one_of, option
from widemargin.estimators.plain_data import are_plain_targets
from widemargin.estimators.training_set import TrainingSet, as_targets
from widemargin.linalg.arrays import Matrix
from widemargin.monitor.callbacks import Steps
from widemargin.monitor.status import Status
from widemargin.monitor.time_limit import overshoot
from widemargin.monitor.user_warning import warn_user
from widemargin.training.kernel_system import SOLVERS, KernelSystem, Solved, SystemCertificate, SystemRule

#: sets the fitted attributes of a model for coefficients of its system
Expose = Callable[[Any, Matrix], None]


@estimator
class KernelSystemModel(LimitedFit):
    """Base of KernelRidge, LSSVC, LSSVR and GaussianProcessRegressor."""

    tol: float = 1e-6
    solver: str = option("auto", one_of(*SOLVERS))

    def _read_targets(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[TrainingSet, Matrix, bool]:
        """Return validated data, targets of shape (n, m), and whether y was one-dimensional."""
        data = self._read(X, y, sample_weight, are_plain_targets, y_numeric=True, multi_output=True)
        return data, as_targets(data.y), np.ndim(data.y) == 1

    def _rule(self) -> SystemRule:
        return SystemRule(self.tol, self.max_iter, self.time_limit)

    def _solve(
        self, system: KernelSystem, noise: Vector, targets: Matrix, steps: Steps | None, expose: Expose, solver: str
    ) -> Solved:
        """Solve one system, with progress reports on request; `expose` sets fitted attributes from coefficients."""
        with self._watching(steps, lambda shadow, answers: expose(shadow, answers[0])) as watch:
            solved = system.solve(noise, targets, self._rule(), solver, watch)
            self.status_: Status = solved.certificate.status
        return solved

    def _publish(self, certificate: SystemCertificate) -> None:
        """Set the certificate; unless it holds, warn: why, how far the answer is from the exact one, what to do."""
        self.certificate_ = certificate
        self.status_ = certificate.status
        self.n_iter_ = max(1, certificate.iterations)  # a factor counts as one step
        self._raise_if_interrupted()
        singular = certificate.method == "least squares"
        if (certificate.holds and not singular) or self.status_ is Status.STOPPED:
            return
        reasons = [SINGULAR] if singular else []
        if not certificate.holds:
            general = ADVICE_FOR_ALL.get(self.status_, self.status_.value)
            reasons.append(ADVICE.get((certificate.method, self.status_), general))
        limit = self.time_limit if self.status_ is Status.TIME_LIMIT else None
        if limit is not None and certificate.seconds > limit + overshoot(limit):
            reasons.append(
                f"It took {certificate.seconds:.2g} s: a step and the certificate, each a product with the kernel "
                "matrix, alone need longer than time_limit."
            )
        warn_user(" ".join([*reasons, proven(certificate)]), UserWarning if singular else ConvergenceWarning)


def read_alpha(alpha: Any, n_wanted: int, mismatch: str) -> Vector:
    """Return alpha as an array of the given size; `mismatch` begins the error message about any other shape."""
    alphas = np.atleast_1d(np.asarray(alpha, np.float64))
    if alphas.shape not in ((1,), (n_wanted,)):
        raise ValueError(f"{mismatch}: alpha has shape {alphas.shape}. Give one number, or {n_wanted}.")
    if not (np.isfinite(alphas).all() and alphas.min() >= 0):
        raise ValueError(f"alpha must be 0 or more and finite, as a penalty or a variance of noise; got {alpha!r}.")
    return np.array(np.broadcast_to(alphas, (n_wanted,)))


def proven(certificate: SystemCertificate) -> str:
    """Return a sentence that states what a certificate proves."""
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
