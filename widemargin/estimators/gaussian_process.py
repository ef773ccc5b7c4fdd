"""Gaussian process regression with scikit-learn's interface, also for sizes at which the matrix does not fit in memory.

    f ~ GP(0, k),   y_i = f(x_i) + noise_i,   mean f(x) = k(x)'A^-1 y,   A = K + D

Source: Rasmussen & Williams (2006), chapters 2 and 5; conjugate gradients after Cristianini & Shawe-Taylor (2000),
section 7.6, and Gibbs & MacKay (1997).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from widemargin._sklearn import num_samples
from widemargin.estimators.kernel_system_model import KernelSystemModel, read_alpha
from widemargin.estimators.parameters import NOT_NEGATIVE, POSITIVE, estimator, one_of, option, whole
from widemargin.estimators.whole_fit import whole_fit
from widemargin.gram.tiles import cross_block
from widemargin.kernels import BlockKernel, Kernel
from widemargin.kernels.names import is_precomputed, takes_objects
from widemargin.linalg.arrays import Matrix, Vector
from widemargin.linalg.cholesky import clear_upper
from widemargin.monitor.callbacks import Steps
from widemargin.monitor.status import Status
from widemargin.monitor.user_warning import warn_user
from widemargin.parallel.tiles import resolve_n_jobs
from widemargin.training.gaussian_process.likelihood import LogLikelihood
from widemargin.training.gaussian_process.optimise import maximise
from widemargin.training.gaussian_process.posterior import Posterior
from widemargin.training.gaussian_process.translate import Model
from widemargin.training.kernel_system import NotPositiveDefinite, SystemCertificate


@estimator
class GaussianProcessRegressor(MultiOutputMixin, RegressorMixin, KernelSystemModel):
    """Gaussian process regression: the parameters of scikit-learn's GaussianProcessRegressor, and some more.

    Up to 10,000 samples are solved exactly by a Cholesky factor; more samples, or `solver="cg"`, by conjugate gradients
    with converging bounds on y'A^-1 y and the kernel matrix stored only as far as the memory budget allows. It can be
    pickled, but `widemargin.io.save` has no file for it.

    Parameters
    ----------
    kernel : Kernel, kernel of scikit-learn, callable or None, default None
        The covariance. Every gamma, factor and constant of our kernels is fitted. Of scikit-learn's, RBF with one
        length scale, ConstantKernel, WhiteKernel, DotProduct, their sums and products run on our kernels; others are
        called as they are. A callable is a function of two sets of samples, without parameters to fit. None means
        ConstantKernel() * RBF().
    alpha : float or array of shape (n_samples,), default 1e-10
        Noise variance added to the diagonal.
    optimizer : "fmin_l_bfgs_b", callable or None, default "fmin_l_bfgs_b"
        How the log marginal likelihood is maximised; a callable takes (obj_func, initial_theta, bounds) and returns
        (theta_opt, func_min), as in scikit-learn. None keeps the kernel's numbers.
    n_restarts_optimizer : int, default 0
        Further starts, drawn at random within the bounds.
    normalize_y : bool, default False
        Scale the targets to mean 0 and variance 1 first.
    copy_X_train : bool, default True
        Store a copy of the training data instead of a reference.
    n_targets : int or None, default None
        Number of targets for samples of the prior, before fit.
    random_state : int, RandomState instance or None, default None
        Of the restarts and of the samples chosen by `n_optimizer_samples`.
    noise_variance : float or None, default None
        Initial value of a noise variance that is fitted like the kernel's parameters; None means no such parameter.
    n_optimizer_samples : int or None, default None
        Number of samples, drawn at random, on which the parameters are fitted; None means all.
    solver : {"auto", "cholesky", "cg", "plain-cg"}, default "auto"
        "plain-cg" is "cg" without a preconditioner.
    tol : float, default 1e-6
        Largest error of any mean, relative to the targets' root mean square, that `certificate_` is to prove and
        conjugate gradients stop at.
    max_iter : int, default -1
        Largest number of steps of conjugate gradients; -1 leaves it to the method.
    time_limit : float or None, default None
        Seconds after which conjugate gradients return what they have, with a warning.
    ... on_interrupt
    cache_size : float or None, default None
        Megabytes for the kernel matrix; None takes a share of the free memory.
    n_jobs : int or None, default None
        Threads; None means all cores.
    verbose : bool, default False
        Show a progress bar for conjugate gradients.

    Attributes
    ----------
    X_train_, y_train_ : the training data; targets as normalised
    kernel_ : the kernel with the fitted numbers
    noise_variance_ : float or None
        The fitted noise variance, if `noise_variance` was given.
    alpha_ : array of shape (n_samples,) or (n_samples, n_targets)
        A^-1 y.
    L_ : array of shape (n_samples, n_samples)
        Cholesky factor of A; None after conjugate gradients.
    log_marginal_likelihood_value_ : float
        At the fitted parameters.
    log_marginal_likelihood_error_ : float
        Its standard error where the determinant was estimated, else 0.
    certificate_ : SystemCertificate
        Bounds on y'A^-1 y and on the error of predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import GaussianProcessRegressor
    >>> from widemargin.kernels import Gaussian
    >>> X = np.linspace(0.0, 5.0, 30)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=30)
    >>> model = GaussianProcessRegressor(1.0 * Gaussian(1.0), noise_variance=0.1).fit(X, y)
    >>> mean, std = model.predict([[2.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(2.5)) < 4 * std[0])
    True
    """

    kernel: Any = option(None, Kernel, callable, None, kw_only=False)
    alpha: Any = option(1e-10, NOT_NEGATIVE, np.ndarray)
    optimizer: Any = option("fmin_l_bfgs_b", one_of("fmin_l_bfgs_b"), callable, None)
    n_restarts_optimizer: int = option(0, whole(0))
    normalize_y: bool = option(False, "boolean")
    copy_X_train: bool = option(True, "boolean")
    n_targets: int | None = option(None, whole(1), None)
    random_state: Any = option(None, "random_state")
    noise_variance: float | None = option(None, POSITIVE, None)
    n_optimizer_samples: int | None = option(None, whole(1), None)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def _takes_sparse(self) -> bool:
        return isinstance(self.kernel, Kernel) and not takes_objects(self.kernel)

    def _takes_objects(self) -> bool:
        if isinstance(self.kernel, Kernel):
            return takes_objects(self.kernel)
        return self.kernel is not None and not getattr(self.kernel, "requires_vector_input", False)

    # ---- fitting

    @whole_fit
    def fit(self, X: Any, y: Any) -> GaussianProcessRegressor:
        """Fit the parameters of the kernel, then solve for the coefficients.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features); sparse matrix or other samples where the kernel takes them
        y : array-like of shape (n_samples,) or (n_samples, n_targets)

        Returns
        -------
        self
        """
        with self._reporting(X, y) as steps:
            rng = check_random_state(self.random_state)
            self._model = Model(self._given_kernel(), self.noise_variance)
            data, targets, single = self._read_targets(X, y)
            mismatch = "alpha must be a scalar or an array with same number of entries as y"
            self._alpha = read_alpha(self.alpha, len(targets), mismatch)
            self._targets = self._normalised(targets)
            self.X_train_ = data.X.copy() if self.copy_X_train and hasattr(data.X, "copy") else data.X
            self._theta = self._model.start
            if self.optimizer is not None and len(self._theta):
                self._theta = self._fit_theta(rng, steps)
            stopped = steps is not None and steps.stopped
            if steps is not None:
                steps.stopped = False  # the system is solved nevertheless: without it there is no model
            self.kernel_ = self._model.rebuilt(self._theta)
            self.noise_variance_ = None if self.noise_variance is None else float(np.exp(self._theta[-1]))
            self._publish(self._fit_coefficients(single, steps))
            if stopped:
                self.status_ = Status.STOPPED
        return self

    def _fit_coefficients(self, single: bool, steps: Steps | None) -> SystemCertificate:
        """Solve the system at the fitted theta and expose its answer."""
        likelihood = self._likelihood()
        system, noise, targets = likelihood.system(self._theta), likelihood.diagonal(self._theta), self._targets

        def expose(machine: GaussianProcessRegressor, coefficients: Matrix, factor: Matrix | None = None) -> None:
            machine._posterior = Posterior(system, noise, factor)
            machine._coefficients = coefficients
            machine.alpha_ = coefficients[:, 0] if single else coefficients
            machine.y_train_ = targets[:, 0] if single else targets

        try:
            solved = self._solve(system, noise, targets, steps, expose, likelihood.method())
        except NotPositiveDefinite as error:
            raise NotPositiveDefinite(
                f"The kernel, {self.kernel_}, is not returning a positive definite matrix: {error}. Try gradually "
                "increasing the 'alpha' parameter of your GaussianProcessRegressor estimator."
            ) from error
        expose(self, solved.coefficients, solved.factor)
        self.L_ = None if solved.factor is None else clear_upper(solved.factor)
        found = likelihood.of_solution(self._theta, system, solved)
        self.log_marginal_likelihood_value_, self.log_marginal_likelihood_error_ = found.value, found.error
        system.release()
        return solved.certificate

    def _given_kernel(self) -> Any:
        """Return the kernel to fit: a copy of the user's, or scikit-learn's default."""
        if self.kernel is None:
            from sklearn.gaussian_process.kernels import RBF, ConstantKernel

            return ConstantKernel() * RBF()
        if isinstance(self.kernel, Kernel):
            if is_precomputed(self.kernel):
                raise ValueError(
                    "A Gaussian process needs k(x, x) of new samples, which rows of a precomputed kernel do not hold: "
                    "give the samples and a kernel, or use KernelRidge(kernel='precomputed') for means."
                )
            return self.kernel
        if hasattr(self.kernel, "clone_with_theta"):
            return clone(self.kernel)
        return BlockKernel(self.kernel)

    def _normalised(self, targets: Matrix) -> Matrix:
        """Return the targets, scaled to mean 0 and variance 1 if `normalize_y` is set."""
        if self.n_targets is not None and targets.shape[1] != self.n_targets:
            raise ValueError(
                "The number of targets seen in `y` is different from the parameter "
                f"`n_targets`. Got {targets.shape[1]} != {self.n_targets}."
            )
        mean, spread = np.zeros(targets.shape[1]), np.ones(targets.shape[1])
        if self.normalize_y:
            mean, spread = targets.mean(axis=0), targets.std(axis=0)
            spread = np.where(spread < 10 * np.finfo(float).eps * np.maximum(np.abs(mean), 1.0), 1.0, spread)
        self._y_train_mean, self._y_train_std = mean, spread
        return (targets - mean) / spread

    def _fit_theta(self, rng: np.random.RandomState, steps: Steps | None) -> Vector:
        """Return the parameters of largest likelihood, on all samples or on a random subset."""
        likelihood, n = self._likelihood(), len(self._targets)
        if self.n_optimizer_samples is not None and self.n_optimizer_samples < n:
            likelihood = likelihood.of_some(np.sort(rng.permutation(n)[: self.n_optimizer_samples]))
        return maximise(likelihood, self.optimizer, self.n_restarts_optimizer, rng, steps)

    def _likelihood(self) -> LogLikelihood:
        """Return the log likelihood of the training data as a function of theta."""
        resources = self.solver, self.cache_size, self.n_jobs
        return LogLikelihood(self._model, self.X_train_, self._targets, self._alpha, self._rule(), *resources)

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> float | tuple[float, Vector]:
        """Log marginal likelihood of the training data.

        Parameters
        ----------
        theta : array-like of shape (n_parameters,) or None
            Logarithms of the kernel's free parameters; a fitted `noise_variance` comes last. None means the fitted
            ones.
        eval_gradient : bool, default False
            Return the gradient as well; needs theta.
        clone_kernel : bool, default True
            Accepted for compatibility; kernels are never changed.

        Returns
        -------
        value : float, or (value, gradient)
        """
        check_is_fitted(self, "alpha_")
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        found = self._likelihood()(np.asarray(theta, np.float64), eval_gradient)
        return found.value if found.gradient is None else (found.value, found.gradient)

    # ---- predicting

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Mean of the process at the samples in X, and on request its standard deviation or covariance.

        Before `fit` the mean and deviation are those of the prior.

        Parameters
        ----------
        X : samples
        return_std, return_cov : bool, default False
            At most one of them.

        Returns
        -------
        mean : array of shape (n_samples,) or (n_samples, n_targets)
        std : array of the same shape, if requested
        cov : array of shape (n_samples, n_samples) or (n_samples, n_samples, n_targets), if requested
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        X = self._read_to_predict(X)
        if hasattr(self, "alpha_"):
            model, theta, unit, kernel = self._model, self._theta, self._y_train_std, self._posterior.system.kernel
            mean = self._evaluate(X, kernel, self.X_train_, self._coefficients) * unit + self._y_train_mean
        else:  # the prior
            model = Model(self._given_kernel(), self.noise_variance)
            theta, unit, kernel = model.start, np.ones(self.n_targets or 1), model.kernel(model.start)
            mean = np.zeros((num_samples(X), len(unit)))
        mean = self._in_units(mean)
        if not (return_std or return_cov):
            return mean
        new, train = kernel.prepare_both(X, self.X_train_) if hasattr(self, "alpha_") else (kernel.prepare(X), None)
        white = model.noise(theta, X)
        if return_cov:
            cov = cross_block(kernel, new, new, resolve_n_jobs(self.n_jobs))
            cov[np.diag_indices_from(cov)] += white
            if train is not None:
                cov -= self._posterior.explained_together(train, new)
            return mean, self._in_units(cov[..., None] * unit**2)
        variance = kernel.diag(new) + white
        if train is not None:
            variance -= self._posterior.explained(train, new)
        if (variance < 0).any():
            warn_user("Predicted variances smaller than 0. Setting those variances to 0.")
            variance = np.maximum(variance, 0.0)
        return mean, self._in_units(np.sqrt(variance)[:, None] * unit)

    @staticmethod
    def _in_units(values: Matrix) -> Matrix:
        """Return the values without their last axis if there is only one target."""
        return values[..., 0] if values.shape[-1] == 1 else values

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Matrix:
        """Draw functions from the process and evaluate them at X.

        Returns
        -------
        values : array of shape (n_samples_X, n_samples) or (n_samples_X, n_targets, n_samples)
        """
        rng = check_random_state(random_state)
        mean, cov = self.predict(X, return_cov=True)
        if mean.ndim == 1:
            return rng.multivariate_normal(mean, cov, n_samples).T
        draws = [rng.multivariate_normal(mean[:, t], cov[..., t], n_samples).T for t in range(mean.shape[1])]
        return np.stack(draws, axis=1)
