"""Gaussian process regression behind scikit-learn's face, beyond the sizes at which its matrix fits.

    f ~ GP(0, k),   y_i = f(x_i) + noise_i,   mean f(x) = k(x)'A^-1 y,   A = K + D

Source: Rasmussen & Williams (2006), chapters 2 and 5; conjugate gradients after Cristianini & Shawe-Taylor (2000),
section 7.6, and Gibbs & MacKay (1997).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from widemargin._sklearn import Interval, StrOptions, fit_context, safe_indexing
from widemargin.estimators.base import FLOATS
from widemargin.estimators.kernel_system_model import KernelSystemModel
from widemargin.gram.budget import cache_budget
from widemargin.gram.tiles import cross_block
from widemargin.kernels import BlockKernel, Kernel
from widemargin.kernels.names import is_precomputed, takes_objects
from widemargin.linalg.cholesky import clear_upper, log_determinant
from widemargin.monitor.callbacks import Steps
from widemargin.monitor.interrupt import StopRequested
from widemargin.monitor.status import Status
from widemargin.monitor.user_warning import warn_user
from widemargin.training.gaussian_process.likelihood import Likelihood, estimated_likelihood, exact_likelihood
from widemargin.training.gaussian_process.optimise import maximise
from widemargin.training.gaussian_process.posterior import Posterior
from widemargin.training.gaussian_process.translate import Model
from widemargin.training.kernel_system import KernelSystem, NotPositiveDefinite, Solved
from widemargin.training.kernel_system.system import ENDED_BY_THE_USER

FACTOR_SAMPLES = 10_000  # up to which "auto" takes a Cholesky factor: 20 s on two cores, and determinants are exact
FACTOR_COPIES = 4  # matrices held at once while the gradient is computed

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class GaussianProcessRegressor(MultiOutputMixin, RegressorMixin, KernelSystemModel):
    """Gaussian process regression: the parameters of scikit-learn's GaussianProcessRegressor, and some more.

    Up to 10,000 samples by a Cholesky factor, exactly; beyond, or with `solver="cg"`, by conjugate gradients whose
    bounds close in on y'A^-1 y, with the kernel matrix kept only as far as the memory budget goes.

    Parameters
    ----------
    kernel : Kernel, kernel of scikit-learn, callable or None, default None
        The covariance. Of our kernels every gamma, factor and constant is fitted. Of scikit-learn's, RBF with one
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
        Bring the targets to mean 0 and variance 1 first.
    copy_X_train : bool, default True
        Keep a copy of the training data rather than the data themselves.
    n_targets : int or None, default None
        Number of targets for samples of the prior, before fit.
    random_state : int, RandomState instance or None, default None
        Of the restarts and of the samples chosen by `n_optimizer_samples`.
    noise_variance : float or None, default None
        Start of a noise variance that is fitted like the kernel's parameters; None fits none.
    n_optimizer_samples : int or None, default None
        Fit the parameters on so many samples drawn at random; None means all.
    solver : {"auto", "cholesky", "cg"}, default "auto"
    tol : float, default 1e-6
        Largest error of any mean, relative to the targets' root mean square, that `certificate_` is to prove and
        conjugate gradients stop at.
    max_iter : int, default -1
        Largest number of steps of conjugate gradients; -1 leaves it to the method.
    time_limit : float or None, default None
        Seconds after which conjugate gradients return what they have, with a warning.
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
        The fitted noise variance, where one was asked for.
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

    kernel: Any = field(default=None, kw_only=False)
    alpha: Any = 1e-10
    optimizer: Any = "fmin_l_bfgs_b"
    n_restarts_optimizer: int = 0
    normalize_y: bool = False
    copy_X_train: bool = True
    n_targets: int | None = None
    random_state: Any = None
    noise_variance: float | None = None
    n_optimizer_samples: int | None = None
    solver: str = "auto"

    _parameter_constraints: ClassVar[dict] = {
        **KernelSystemModel._parameter_constraints,
        "kernel": [Kernel, callable, None],
        "alpha": [Interval(Real, 0, None, closed="left"), np.ndarray],
        "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
        "normalize_y": ["boolean"],
        "copy_X_train": ["boolean"],
        "n_targets": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "noise_variance": [Interval(Real, 0, None, closed="neither"), None],
        "n_optimizer_samples": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.sparse = isinstance(self.kernel, Kernel) and not takes_objects(self.kernel)
        return tags

    # ---- fitting

    @fit_context(prefer_skip_nested_validation=True)
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
        steps = self._begin_steps(X, y)
        model = Model(self._given_kernel(), self.noise_variance)
        rng = check_random_state(self.random_state)
        X, targets, single = self._read_process(X, y)
        noise = self._read_alpha(len(targets))
        self._model, self._targets, self._alpha = model, targets, noise
        self.X_train_ = X.copy() if self.copy_X_train and hasattr(X, "copy") else X

        theta = model.start
        if self.optimizer is not None and len(theta):
            theta = self._fit_theta(rng, steps)
        stopped = steps is not None and steps.stopped
        if steps is not None:
            steps.stopped = False  # the system is solved yet: without it there is no model
        self._theta = theta
        self.kernel_ = model.rebuilt(theta)
        self.noise_variance_ = None if model.extra is None else float(np.exp(theta[-1]))

        kernel = model.kernel(theta)
        total = noise + model.noise(theta, self.X_train_)
        system = KernelSystem(kernel, self.X_train_, self.cache_size, self.n_jobs)

        def expose(machine: GaussianProcessRegressor, coefficients: Matrix, factor: Matrix | None = None) -> None:
            machine._posterior = Posterior(system, total, factor)
            machine._coefficients = coefficients
            machine.alpha_ = coefficients[:, 0] if single else coefficients
            machine.y_train_ = targets[:, 0] if single else targets

        try:
            solved = self._solve(system, total, targets, steps, expose, self._method(system))
        except NotPositiveDefinite as error:
            raise NotPositiveDefinite(
                f"The kernel, {self.kernel_}, is not returning a positive definite matrix: {error}. Try gradually "
                "increasing the 'alpha' parameter of your GaussianProcessRegressor estimator."
            ) from error
        expose(self, solved.coefficients, solved.factor)
        self.L_ = None if solved.factor is None else clear_upper(solved.factor)
        likelihood = self._final_likelihood(system, solved)
        self.log_marginal_likelihood_value_ = likelihood.value
        self.log_marginal_likelihood_error_ = likelihood.error
        system.release()
        self._publish(solved.certificate)
        if stopped:
            self.status_ = Status.STOPPED
        if steps is not None:
            steps.finish()
        return self

    def _given_kernel(self) -> Any:
        """The kernel to fit: a copy of the user's, or scikit-learn's default."""
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

    def _wants_vectors(self) -> bool:
        """Whether samples are rows of numbers, to be validated as such."""
        if self.kernel is None:
            return True
        if isinstance(self.kernel, Kernel):
            return not takes_objects(self.kernel)
        return bool(getattr(self.kernel, "requires_vector_input", False))

    def _read_process(self, X: Any, y: Any) -> tuple[Any, Matrix, bool]:
        """Validated samples, normalised targets (n, m), and whether they came as a single column."""
        if self._wants_vectors():
            sparse = self.__sklearn_tags__().input_tags.sparse and "csr"
            X, y = validate_data(self, X, y, dtype=FLOATS, accept_sparse=sparse, multi_output=True, y_numeric=True)
        else:
            check_consistent_length(X, y)
        targets, single = self._as_targets(y)
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
        return X, (targets - mean) / spread, single

    def _read_alpha(self, n_samples: int) -> Vector:
        """The noise variance of each sample."""
        alpha = np.atleast_1d(np.asarray(self.alpha, np.float64))
        if alpha.shape not in ((1,), (n_samples,)):
            raise ValueError(
                "alpha must be a scalar or an array with same number of entries as y. "
                f"({alpha.shape[0]} != {n_samples})"
            )
        if not (np.isfinite(alpha).all() and alpha.min() >= 0):
            raise ValueError("alpha must be 0 or more and finite: it is a variance of noise.")
        return np.array(np.broadcast_to(alpha, (n_samples,)))

    def _fit_theta(self, rng: np.random.RandomState, steps: Steps | None) -> Vector:
        """The parameters of largest likelihood, on all samples or on some drawn at random.

        Each evaluation is a step of the fit, without a half-trained machine: that would take a system to be solved.
        """
        X, targets, alpha = self.X_train_, self._targets, self._alpha
        if self.n_optimizer_samples is not None and self.n_optimizer_samples < len(targets):
            chosen = np.sort(rng.permutation(len(targets))[: self.n_optimizer_samples])
            X, targets, alpha = safe_indexing(X, chosen), targets[chosen], alpha[chosen]

        seen: list[tuple[float, Vector]] = []

        def objective(theta: Vector, eval_gradient: bool = True) -> Any:
            found = self._likelihood(theta, X, targets, alpha, eval_gradient)
            if steps is not None:
                seen.append((found.value, theta.copy()))
                if steps.done():
                    raise StopRequested
            return (-found.value, -found.gradient) if found.gradient is not None else -found.value

        start, bounds = self._model.start, self._model.bounds
        try:
            return maximise(objective, start, bounds, self.optimizer, self.n_restarts_optimizer, rng)
        except StopRequested:
            return max(seen, key=lambda evaluated: evaluated[0])[1]

    def _method(self, system: KernelSystem, gradient: bool = False) -> str:
        """How to solve: a factor, which also gives the determinant, wherever it fits and is not too slow."""
        if self.solver != "auto":
            return self.solver
        copies = FACTOR_COPIES if gradient else 1
        return "cholesky" if len(system) <= FACTOR_SAMPLES and system.factor_fits(copies) else "cg"

    def _likelihood(self, theta: Vector, X: Any, targets: Matrix, alpha: Vector, gradient: bool) -> Likelihood:
        """At any theta, on any part of the training data."""
        n = len(targets)
        exact = self.solver == "cholesky" or (
            self.solver == "auto" and n <= FACTOR_SAMPLES and FACTOR_COPIES * 8 * n * n <= cache_budget(self.cache_size)
        )
        if exact:
            return exact_likelihood(self._model, theta, X, targets, alpha, gradient, self.n_jobs)
        settings: dict[str, Any] = {"rule": self._rule(), "cache_size": self.cache_size, "n_jobs": self.n_jobs}
        return estimated_likelihood(self._model, theta, X, targets, alpha, gradient, **settings)

    def _final_likelihood(self, system: KernelSystem, solved: Solved) -> Likelihood:
        """At the fitted theta, from what the solution already holds."""
        n, m = self._targets.shape
        if solved.factor is not None:
            quadratic = float((self._targets * solved.coefficients).sum())
            value = -0.5 * quadratic - 0.5 * m * (log_determinant(solved.factor) + n * np.log(2.0 * np.pi))
            return Likelihood(value, 0.0, None)
        if solved.certificate.status in ENDED_BY_THE_USER:
            return Likelihood(float("nan"), float("inf"), None)
        return estimated_likelihood(
            self._model,
            self._theta,
            self.X_train_,
            self._targets,
            self._alpha,
            False,
            rule=self._rule(),
            cache_size=self.cache_size,
            n_jobs=self.n_jobs,
            system=system,
            quadratic=(solved.coefficients, solved.quadratic),
        )

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
        found = self._likelihood(
            np.asarray(theta, np.float64), self.X_train_, self._targets, self._alpha, eval_gradient
        )
        return found.value if found.gradient is None else (found.value, found.gradient)

    # ---- predicting

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Mean of the process at the samples in X, and on request its standard deviation or covariance.

        Before fit these are those of the prior.

        Parameters
        ----------
        X : samples
        return_std, return_cov : bool, default False
            At most one of them.

        Returns
        -------
        mean : array of shape (n_samples,) or (n_samples, n_targets)
        std : array of the same shape, if asked for
        cov : array of shape (n_samples, n_samples) or (n_samples, n_samples, n_targets), if asked for
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        fitted = hasattr(self, "alpha_")
        if self._wants_vectors():
            sparse = self.__sklearn_tags__().input_tags.sparse and "csr"
            X = validate_data(self, X, dtype=FLOATS, accept_sparse=sparse, reset=False)
        if not fitted:
            return self._prior(X, return_std, return_cov)
        kernel = self._posterior.system.kernel
        mean = self._values(X, kernel, self.X_train_, self._coefficients)
        mean = self._in_units(mean * self._y_train_std + self._y_train_mean)
        if not (return_std or return_cov):
            return mean
        new, train = kernel.prepare_both(X, self.X_train_)
        white = self._model.noise(self._theta, X)
        if return_cov:
            cov = cross_block(kernel, new, new, self._posterior.system.n_threads)
            cov[np.diag_indices_from(cov)] += white
            cov -= self._posterior.explained_together(train, new)
            return mean, self._in_units(cov[..., None] * self._y_train_std**2)
        variance = kernel.diag(new) + white - self._posterior.explained(train, new)
        if (variance < 0).any():
            warn_user("Predicted variances smaller than 0. Setting those variances to 0.")
            variance = np.maximum(variance, 0.0)
        return mean, self._in_units(np.sqrt(variance)[:, None] * self._y_train_std)

    @staticmethod
    def _in_units(values: Matrix) -> Matrix:
        """Without the last axis where there is one target only."""
        return values[..., 0] if values.shape[-1] == 1 else values

    def _prior(self, X: Any, return_std: bool, return_cov: bool) -> Any:
        """Mean zero, and the kernel itself."""
        model = Model(self._given_kernel(), self.noise_variance)
        kernel, count = model.kernel(model.start), self.n_targets or 1
        samples = kernel.prepare(X)
        mean = self._in_units(np.zeros((len(samples), count)))
        white = model.noise(model.start, X)
        if return_cov:
            cov = kernel.block(samples, samples, np.empty((len(samples), len(samples))))
            cov[np.diag_indices_from(cov)] += white
            return mean, self._in_units(np.repeat(cov[..., None], count, axis=-1))
        if return_std:
            std = np.sqrt(kernel.diag(samples) + white)
            return mean, self._in_units(np.repeat(std[:, None], count, axis=-1))
        return mean

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
