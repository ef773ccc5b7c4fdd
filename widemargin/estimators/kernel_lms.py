"""Kernel least mean squares as an estimator, trained by passes over the data or from a stream.

The steps are those of training/least_mean_squares.py. `partial_fit` takes samples as they come: each is predicted, then
added with coefficient rate * error (Liu, Pokharel & Principe 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_consistent_length

from widemargin.estimators.kernel_estimator import LimitedFit, NamedKernel
from widemargin.estimators.parameters import NOT_NEGATIVE, POSITIVE, estimator, one_of, option, whole
from widemargin.estimators.restored import check_samples, check_shape
from widemargin.estimators.training_set import as_targets, stack_samples
from widemargin.estimators.whole_fit import whole_fit
from widemargin.kernels.names import is_precomputed
from widemargin.linalg.arrays import Vector
from widemargin.monitor.interrupt import CtrlC
from widemargin.monitor.status import Status
from widemargin.monitor.user_warning import warn_user
from widemargin.training.kernel_system import KernelSystem, SystemRule
from widemargin.training.least_mean_squares import safe_rate, sweep, walk


@estimator
class KernelLMS(RegressorMixin, NamedKernel, LimitedFit):
    """Kernel least mean squares: gradient steps in the dual, all samples at once or one by one.

    `KernelRidge` computes the limit of these steps much faster; this estimator shows the steps themselves, can stop
    early as a form of regularisation, and learns from a stream by `partial_fit`.

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
    ... on_interrupt
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

    @whole_fit
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
            single = self.method == "sgd"
            safe = safe_rate(system, self.noise_variance, single)
            self.learning_rate_ = safe if self.learning_rate == "auto" else float(self.learning_rate)
            self.X_fit_ = data.X
            rule = SystemRule(self.tol, self.max_iter, self.time_limit)
            rng = check_random_state(self.random_state) if single else None
            ctrl_c = CtrlC()

            def expose(shadow: KernelLMS, found: Sequence[Vector]) -> None:
                shadow.dual_coef_ = found[0]

            with ctrl_c, self._watching(steps, expose, others=[ctrl_c.listener]) as watch:
                found = walk(system, y, self.learning_rate_, float(self.noise_variance), rule, rng, watch)
                self.dual_coef_, self.errors_, self.status_ = found
            self.residual_ = self.errors_[-1] if self.errors_ else 0.0
            self.n_iter_ = max(1, len(self.errors_))
            self._raise_if_interrupted(ctrl_c.presses > 0)
            self._say_how_it_ended(safe)
        return self

    def _say_how_it_ended(self, safe: float) -> None:
        """Warn unless the tolerance was met."""
        if self.status_ in (Status.OPTIMAL, Status.STOPPED):
            return
        if self.status_ is Status.UNBOUNDED:
            message = (
                f"The errors grow from pass to pass: learning_rate={self.learning_rate_:g} is too large for these data "
                f"and the coefficients were set back to zero. Rates up to {safe:.3g} cannot diverge; "
                "learning_rate='auto' takes that one."
            )
        else:
            message = (
                f"{self.status_.name} after {self.n_iter_} passes: relative error {self.residual_:.3g} "
                f"(tol={self.tol:g}). Raise max_iter or tol, or use KernelRidge: it solves the same system much faster."
            )
        warn_user(message, ConvergenceWarning)

    @whole_fit
    def partial_fit(self, X: Any, y: Any) -> KernelLMS:
        """Learn from further samples in the order given: predict each, then add it with coefficient rate * error.

        Parameters
        ----------
        X : samples of the same kind as before; not for precomputed kernels
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        if is_precomputed(self.kernel):
            raise ValueError("partial_fit needs the samples themselves: a precomputed kernel has no new values.")
        if not hasattr(self, "dual_coef_"):
            data, y = self._read_column(X, y)
            self._fitted_kernel = self._make_kernel(data)
            self.X_fit_, self.dual_coef_ = data.X, np.empty(0)
            self.errors_, self.n_iter_, self.status_ = [], 0, Status.OPTIMAL
            self.learning_rate_ = np.inf
        else:
            check_consistent_length(X, y)
            self.X_fit_ = stack_samples(self.X_fit_, self._read_to_predict(X))
            y = as_targets(column_or_1d(y))[:, 0]
        before = len(self.dual_coef_)
        system = KernelSystem(self._fitted_kernel, self.X_fit_, self.cache_size, self.n_jobs)
        if self.learning_rate == "auto":  # a sample whose k(x, x) exceeds all earlier ones needs shorter steps
            self.learning_rate_ = min(self.learning_rate_, safe_rate(system, self.noise_variance, single=True))
        else:
            self.learning_rate_ = float(self.learning_rate)
        self.dual_coef_ = np.concatenate([self.dual_coef_, np.zeros(len(y))])
        targets, order = np.concatenate([np.zeros(before), y]), np.arange(before, before + len(y))
        sweep(system, order, targets, self.dual_coef_, self.learning_rate_, 0.0)
        self.n_iter_ += 1
        return self

    def _rebuild(self) -> None:
        """Check attributes that did not come from `fit`."""
        check_shape("dual_coef_", self.dual_coef_, (len(self.dual_coef_),))
        check_samples(self, self.X_fit_, len(self.dual_coef_), "training samples")
        if is_precomputed(self.kernel) and len(self.dual_coef_) != self.n_features_in_:
            raise ValueError(f"{len(self.dual_coef_)} coefficients are not those of the columns of a kernel matrix")
        _ = self._fitted_kernel

    def predict(self, X: Any) -> Vector:
        """Predicted targets, shape (n_samples,)."""
        X = self._read_to_predict(X)
        return self._evaluate(X, self._fitted_kernel, self.X_fit_, self.dual_coef_[:, None])[:, 0]
