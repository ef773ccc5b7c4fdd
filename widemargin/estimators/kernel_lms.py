"""Least mean squares in the dual: the Widrow-Hoff rule with a kernel.

Solves   (K + s I) b = y by steps along the error; without noise s it walks towards the interpolation of the targets
Batch    b <- b + rate (y - (K + s I) b)                             all samples at once
Sgd      b_i <- b_i + rate (y_i - sum_j k(x_i, x_j) b_j - s b_i)     one sample after the other, in random order
Rate     A batch step shrinks every error component by 1 - rate lambda: it converges for rate < 2 / lambda_max, and
         lambda_max <= largest sum of |k(x_i, x_j)| over a row, plus s (Gershgorin). A single step is one of successive
         over-relaxation with factor rate (k(x_i, x_i) + s), which converges between 0 and 2. The default rates are one
         over these bounds, so that divergence is impossible; other rates are watched.
Online   partial_fit takes samples as they come: each is predicted, then added with coefficient rate * error
         (Liu, Pokharel & Principe 2008).
See      Cristianini & Shawe-Taylor (2000), section 7.6: with the augmented kernel K + s I the limit is the Gaussian
         process of noise s. The dual updates are those of linear regression with w = sum_i b_i phi(x_i).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_consistent_length

from widemargin._sklearn import fit_context
from widemargin.estimators.kernel_estimator import LimitedFit, NamedKernel
from widemargin.estimators.parameters import NOT_NEGATIVE, POSITIVE, one_of, option, whole
from widemargin.estimators.training_set import as_targets, stack_samples
from widemargin.gram.tiles import cross_block
from widemargin.kernels.names import is_precomputed
from widemargin.monitor.interrupt import status_of
from widemargin.monitor.iteration import Iteration
from widemargin.monitor.status import Status
from widemargin.monitor.user_warning import warn_user
from widemargin.parallel.tiles import resolve_n_jobs
from widemargin.solvers.lms_steps import step_along
from widemargin.training.kernel_system import KernelSystem

BLOCK = 512  # samples whose kernel rows are evaluated together in a pass over single samples
DIVERGED = 1e6  # times the first error: beyond, the learning rate is too large for these data

Vector = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class KernelLMS(RegressorMixin, NamedKernel, LimitedFit):
    """Kernel least mean squares: gradient steps in the dual, all samples at once or one by one.

    For the limit itself `KernelRidge` is much faster; this one shows the way there, stops early as a form of
    regularisation, and learns from a stream by `partial_fit`.

    Parameters
    ----------
    method : {"batch", "sgd"}, default "batch"
        Steps for all samples at once, or one sample after the other in random order.
    learning_rate : float or "auto", default "auto"
        Length of a step; "auto" is one over a bound that makes divergence impossible.
    noise_variance : float, default 0.0
        s of the augmented kernel K + s I.
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "chi2", "cosine", "precomputed"}, Kernel or callable, \
            default "rbf"
        As in SVR.
    degree, gamma, coef0 : numbers
        Of the named kernels, as in SVR.
    max_iter : int, default 1000
        Largest number of passes over the samples.
    tol : float, default 1e-4
        Stop when |y - (K + s I) b| <= tol |y|.
    time_limit : float or None, default None
        Seconds after which the coefficients so far are kept, with a warning.
    random_state : int, RandomState instance or None, default None
        Of the order of samples.
    cache_size, n_jobs, verbose : as in SVR

    Attributes
    ----------
    dual_coef_ : array of shape (n_samples,)
    X_fit_ : the samples that carry them
    learning_rate_ : float
    residual_ : float
        |y - (K + s I) b| / |y| at the end of fit.
    errors_ : list of float
        The same after every pass.
    n_iter_ : int
        Passes.
    status_ : Status

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import KernelLMS
    >>> X = np.linspace(0.0, 3.0, 40)[:, None]
    >>> model = KernelLMS(gamma=1.0, noise_variance=0.1, max_iter=5000).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(1).tolist()
    [1.0]
    """

    method: str = option("batch", one_of("batch", "sgd"))
    learning_rate: float | str = option("auto", POSITIVE, one_of("auto"))
    noise_variance: float = option(0.0, NOT_NEGATIVE)
    max_iter: int = option(1000, whole(1))
    tol: float = 1e-4
    random_state: Any = option(None, "random_state")

    _kept_private = ("_gamma", "_fitted_kernel")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> KernelLMS:
        """Step until the error is small, from coefficients of zero.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            With a kernel function of your own: any sequence of samples.
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        with self._reporting(X, y) as steps:
            data, y = self._read_column(X, y)
            self._fitted_kernel = self._make_kernel(data)
            system = KernelSystem(self._fitted_kernel, data.X, self.cache_size, self.n_jobs)
            bound = self._bound(system)
            self.learning_rate_ = 1.0 / bound if self.learning_rate == "auto" else float(self.learning_rate)
            self.X_fit_, self.dual_coef_ = data.X, np.zeros(len(y))
            self.errors_: list[float] = []
            with self._watching(steps, lambda shadow, found: setattr(shadow, "dual_coef_", found[0])) as watch:
                self.status_ = self._walk(system, y, watch)
            self.residual_ = self.errors_[-1] if self.errors_ else 0.0
            self.n_iter_ = max(1, len(self.errors_))
            self._say_how_it_ended(bound)
        return self

    def _bound(self, system: KernelSystem) -> float:
        """One over it is a rate at which nothing diverges."""
        if self.method == "sgd":
            bound = float(system.diagonal.max(initial=0.0))
        else:
            bound = largest_row_sum(system)
        return max(bound + self.noise_variance, np.finfo(float).tiny)

    def _walk(self, system: KernelSystem, y: Vector, watch: Any) -> Status:
        """Passes over the samples until one of the limits."""
        started = time.perf_counter()
        deadline = float("inf") if self.time_limit is None else started + self.time_limit
        rng = check_random_state(self.random_state)
        size = float(np.linalg.norm(y))
        beta, tiles = self.dual_coef_, system.tiles(0.0)
        if size == 0.0:
            return Status.OPTIMAL
        try:
            for _ in range(self.max_iter):
                with np.errstate(over="ignore", invalid="ignore"):
                    if self.method == "batch":
                        error = y - self.noise_variance * beta - tiles.product(beta[:, None])[:, 0]
                        relative = float(np.linalg.norm(error)) / size
                        if relative > self.tol:
                            beta += self.learning_rate_ * error
                    else:
                        relative = self._sweep(system, y, beta, rng) / size
                self.errors_.append(relative)
                if watch is not None:
                    seconds = time.perf_counter() - started
                    watch(Iteration(relative, self.tol, n_support=len(y), seconds=seconds, iterate=beta.copy))
                if relative <= self.tol:
                    return Status.OPTIMAL
                if not relative <= DIVERGED:
                    return Status.UNBOUNDED
                if time.perf_counter() > deadline:
                    return Status.TIME_LIMIT
        except KeyboardInterrupt as interrupt:
            return status_of(interrupt)
        return Status.MAX_ITER

    def _sweep(self, system: KernelSystem, y: Vector, beta: Vector, rng: np.random.RandomState) -> float:
        """One pass over single samples in random order; the norm of the errors met on the way."""
        order = rng.permutation(len(y))
        total = 0.0
        for start in range(0, len(y), BLOCK):
            chosen = order[start : start + BLOCK]
            rows = cross_block(system.kernel, system.samples.take(chosen), system.samples, system.n_threads)
            total += step_along(rows, chosen, y, beta, self.learning_rate_, float(self.noise_variance))
        return float(np.sqrt(total))

    def _say_how_it_ended(self, bound: float) -> None:
        """Warn unless the tolerance was met."""
        if self.status_ in (Status.OPTIMAL, Status.STOPPED):
            return
        if self.status_ is Status.UNBOUNDED:
            self.dual_coef_ = np.zeros_like(self.dual_coef_)
            message = (
                f"The errors grow from pass to pass: learning_rate={self.learning_rate_:g} is too large for these data "
                f"and the coefficients were set back to zero. Rates up to {1.0 / bound:.3g} cannot diverge; "
                "learning_rate='auto' takes that one."
            )
        else:
            message = (
                f"{self.status_.name} after {self.n_iter_} passes: relative error {self.residual_:.3g} "
                f"(tol={self.tol:g}). Raise max_iter or tol, or use KernelRidge: it solves the same system much faster."
            )
        warn_user(message, ConvergenceWarning)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any) -> KernelLMS:
        """Learn from further samples as they come: predict each, then add it with coefficient rate * error.

        Parameters
        ----------
        X : samples of the same kind as before; not for precomputed kernels
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        if is_precomputed(self.kernel):
            raise ValueError("partial_fit needs the samples themselves: a precomputed kernel knows no new ones.")
        if not hasattr(self, "dual_coef_"):
            data, y = self._read_column(X, y)
            self._fitted_kernel = self._make_kernel(data)
            X, self.X_fit_, self.dual_coef_ = data.X, data.X, np.empty(0)
            self.errors_, self.n_iter_, self.status_ = [], 0, Status.OPTIMAL
            self.learning_rate_ = 0.0
        else:
            check_consistent_length(X, y)
            X, y = self._read_to_predict(X), as_targets(column_or_1d(y))[:, 0]
            self.X_fit_ = stack_samples(self.X_fit_, X)
        kernel, before = self._fitted_kernel, len(self.dual_coef_)
        new, every = kernel.prepare_both(X, self.X_fit_)
        largest = float(kernel.diag(new).max(initial=0.0)) + self.noise_variance
        if self.learning_rate == "auto":  # a sample with a larger k(x, x) than all before needs shorter steps
            safe = 1.0 / max(largest, np.finfo(float).tiny)
            self.learning_rate_ = safe if self.learning_rate_ == 0.0 else min(self.learning_rate_, safe)
        else:
            self.learning_rate_ = float(self.learning_rate)
        beta = np.concatenate([self.dual_coef_, np.zeros(len(y))])
        threads = resolve_n_jobs(self.n_jobs)
        for start in range(0, len(y), BLOCK):
            stop = min(len(y), start + BLOCK)
            rows = cross_block(kernel, new.tile(start, stop), every, threads)
            places = np.arange(before + start, before + stop)
            step_along(rows, places, np.concatenate([np.zeros(before), y]), beta, self.learning_rate_, 0.0)
        self.dual_coef_ = beta
        self.n_iter_ += 1
        return self

    def predict(self, X: Any) -> Vector:
        """Predicted targets, shape (n_samples,)."""
        X = self._read_to_predict(X)
        return self._evaluate(X, self._fitted_kernel, self.X_fit_, self.dual_coef_[:, None])[:, 0]


def largest_row_sum(system: KernelSystem) -> float:
    """Largest sum of |k(x_i, x_j)| over a row: a bound on the largest eigenvalue."""
    largest = 0.0
    for start in range(0, len(system), BLOCK):
        stop = min(len(system), start + BLOCK)
        rows = cross_block(system.kernel, system.samples.tile(start, stop), system.samples, system.n_threads)
        largest = max(largest, float(np.abs(rows).sum(axis=1).max()))
    return largest
