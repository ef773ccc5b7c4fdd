"""Kernel ridge regression: squared errors, a penalty on the norm of the function, no bias.

    minimise  sum_i w_i (y_i - f(x_i))^2 + alpha |f|^2,        f(x) = sum_i a_i k(x, x_i),        (K + alpha W^-1) a = y

Source: Saunders, Gammerman & Vovk (1998); Cristianini & Shawe-Taylor (2000), section 2.2.2 and equation (6.10).
"""

from __future__ import annotations

from functools import partial
from inspect import isfunction
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from widemargin.estimators.kernel_estimator import WITHOUT_GAMMA
from widemargin.estimators.kernel_system_model import KernelSystemModel, read_alpha
from widemargin.estimators.parameters import FINITE, NOT_NEGATIVE, estimator, one_of, option
from widemargin.estimators.restored import check_places, check_samples
from widemargin.estimators.training_set import TrainingSet, resolve_gamma
from widemargin.estimators.whole_fit import whole_fit
from widemargin.kernels import KERNEL_NAMES, BlockKernel, Kernel, PairKernel, make_kernel
from widemargin.kernels.names import is_precomputed
from widemargin.linalg.arrays import Vector
from widemargin.training.kernel_system import KernelSystem, NotPositiveDefinite, SystemCertificate

ALIASES = {"polynomial": "poly"}  # scikit-learn's KernelRidge accepts both names
THEIRS = ("additive_chi2",)  # kernels that scikit-learn evaluates for us


@estimator
class KernelRidge(MultiOutputMixin, RegressorMixin, KernelSystemModel):
    """Kernel ridge regression: the parameters of scikit-learn's KernelRidge, and some more.

        minimise  sum_i w_i (y_i - f(x_i))^2 + alpha |f|^2

    Solved by a Cholesky factor or by conjugate gradients, whichever is faster and fits into memory; in both cases
    `certificate_` bounds how far any prediction can be from the exact one.

    Parameters
    ----------
    alpha : float or array of shape (n_targets,), default 1.0
        Weight of the penalty, for all targets or for each; it equals the noise variance of a Gaussian process.
    kernel : str, Kernel or callable, default "linear"
        A name as in SVC, a `Kernel` with its own parameters, or a function of two samples that returns a number. For a
        function of two sets of samples use `widemargin.kernels.BlockKernel`. With "precomputed" X is the kernel matrix.
    gamma : float, {"scale", "auto"} or None, default None
        Scale of the named kernels that have one. None means 1 / n_features, and 1 for "chi2".
    degree : float, default 3
        Degree of "poly".
    coef0 : float, default 1
        Constant of "poly" and "sigmoid".
    kernel_params : dict or None, default None
        Further arguments of a kernel function.
    solver : {"auto", "cholesky", "cg", "plain-cg"}, default "auto"
        How the linear system is solved; "plain-cg" is "cg" without a preconditioner.
    tol : float, default 1e-6
        Largest error of any prediction, relative to the targets' root mean square, that `certificate_` is to prove and
        conjugate gradients stop at.
    max_iter : int, default -1
        Largest number of steps of conjugate gradients; -1 leaves it to the method.
    time_limit : float or None, default None
        Seconds after which conjugate gradients return what they have, with a warning.
    ... on_interrupt
    cache_size : float or None, default None
        Megabytes for the kernel matrix; tiles that do not fit are evaluated again in every step. None takes a share of
        the free memory.
    n_jobs : int or None, default None
        Threads; None means all cores.
    verbose : bool, default False
        Show a progress bar for conjugate gradients.

    Attributes
    ----------
    dual_coef_ : array of shape (n_samples,) or (n_samples, n_targets)
        Coefficients of the training samples.
    X_fit_ : the training samples, or the kernel matrix
    certificate_ : SystemCertificate
        Bounds on the error, from a fresh residual. With several values of alpha, the worst of `certificates_`.
    n_iter_ : int
        Steps of conjugate gradients; a Cholesky factor counts as one.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import KernelRidge
    >>> X = np.linspace(0.0, 3.0, 40)[:, None]
    >>> model = KernelRidge(alpha=1e-3, kernel="rbf", gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(2).tolist()
    [1.0]
    """

    alpha: Any = option(1, NOT_NEGATIVE, "array-like", kw_only=False)
    kernel: Any = option("linear", one_of(*KERNEL_NAMES, *ALIASES, *THEIRS), Kernel, callable)
    gamma: float | str | None = option(None, NOT_NEGATIVE, one_of("scale", "auto"), None)
    degree: int = option(3, NOT_NEGATIVE)
    coef0: float = option(1, FINITE)
    kernel_params: dict | None = option(None, dict, None)

    _kept_private = ("_gamma", "_fitted_kernel", "_vectors", "_coefficients", "_kept")

    @whole_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidge:
        """Solve for the coefficients.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            With a kernel function of your own: any sequence of samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : float or array-like of shape (n_samples,), default None
            Weight of each squared error: weight 2 equals the sample given twice, weight 0 the sample left out.

        Returns
        -------
        self
        """
        with self._reporting(X, y, sample_weight) as steps:
            data, targets, single = self._read_targets(X, y, sample_weight)
            mismatch = "Number of targets and number of penalties do not correspond"
            alphas = read_alpha(self.alpha, targets.shape[1], mismatch)
            self._fitted_kernel = self._make_kernel(data)
            system = KernelSystem(self._fitted_kernel, data.X, self.cache_size, self.n_jobs)
            coefficients = np.zeros_like(targets)
            certificates = []
            for alpha in np.unique(alphas):  # targets that share alpha share every product with the matrix
                chosen = np.flatnonzero(alphas == alpha)

                def expose(shadow: KernelRidge, found: Vector, chosen: Any = chosen) -> None:
                    so_far = coefficients.copy()
                    so_far[:, chosen] = found
                    shadow._expose(X, data, so_far, single)

                noise = alpha / data.weights()
                try:
                    solved = self._solve(system, noise, targets[:, chosen], steps, expose, self.solver)
                except NotPositiveDefinite as why:
                    solved = system.least_squares(noise, targets[:, chosen], self._rule(), why)
                coefficients[:, chosen] = solved.coefficients
                certificates.append(solved.certificate)
            self._expose(X, data, coefficients, single)
            self.certificates_: Any = certificates
            self._publish(max(certificates, key=_how_bad))
        return self

    def _expose(self, X: Any, data: TrainingSet, coefficients: Vector, single: bool) -> None:
        """Set the fitted attributes that `predict` uses."""
        self._vectors, self._coefficients = data.X, coefficients
        everywhere = coefficients
        if data.kept is not None:  # zero for samples of weight zero
            everywhere = np.zeros((data.n_given, coefficients.shape[1]))
            everywhere[data.kept] = coefficients
        self.dual_coef_ = everywhere[:, 0] if single else everywhere
        self.X_fit_ = data.X if data.kept is None else X
        self._kept = data.kept

    def predict(self, X: Any) -> Vector:
        """Predicted targets of the samples in X, shape (n_samples,) or (n_samples, n_targets)."""
        X = self._read_to_predict(X)
        if self._kept is not None and is_precomputed(self.kernel):
            X = X[:, self._kept]
        values = self._evaluate(X, self._fitted_kernel, self._vectors, self._coefficients)
        return values[:, 0] if self.dual_coef_.ndim == 1 else values

    def _rebuild(self) -> None:
        """Check attributes that did not come from `fit`."""
        n, n_targets = self._coefficients.shape
        check_samples(self, self._vectors, n, "training samples")
        if self.dual_coef_.ndim not in (1, 2) or (self.dual_coef_.ndim == 1 and n_targets != 1):
            raise ValueError(f"dual_coef_ of shape {self.dual_coef_.shape} is not that of {n_targets} targets")
        if is_precomputed(self.kernel) and n != (self.n_features_in_ if self._kept is None else len(self._kept)):
            raise ValueError(f"{n} coefficients are not those of the columns of a kernel matrix")
        if self._kept is not None:
            check_places("_kept", self._kept, self.shape_fit_[0])
        _ = self._fitted_kernel

    def _make_kernel(self, data: TrainingSet) -> Kernel:
        """Return the kernel with its parameters; a function takes two samples, as in scikit-learn's KernelRidge."""
        if isinstance(self.kernel, Kernel):
            return self.kernel
        if not isinstance(self.kernel, str):
            if isfunction(self.kernel) and not self.kernel_params:
                return PairKernel(self.kernel)
            return BlockKernel(_PairByPair(self.kernel, self.kernel_params or {}))
        if self.kernel in THEIRS:
            from sklearn.metrics.pairwise import pairwise_kernels

            return BlockKernel(partial(pairwise_kernels, metric=self.kernel))
        name = ALIASES.get(self.kernel, self.kernel)
        if self.gamma is not None and name not in WITHOUT_GAMMA:
            gamma = resolve_gamma(self.gamma, data.X, data.weight)
        else:
            gamma = 1.0 if name == "chi2" else 1.0 / data.X.shape[1]
        if name == "poly" and not isinstance(self.degree, Integral) and self.degree != int(self.degree):
            raise ValueError(f"degree must be a whole number; got {self.degree!r}.")
        return make_kernel(name, gamma=gamma, degree=int(self.degree), coef0=self.coef0)


def _how_bad(certificate: SystemCertificate) -> tuple[bool, bool, float]:
    """Return a sort key for certificates: those that hold first, then those that do not, singular systems last."""
    return certificate.method == "least squares", not certificate.holds, certificate.reached


class _PairByPair:
    """Apply a function of two samples to two sets of samples, for functions that cannot be compiled; picklable."""

    def __init__(self, function: Any, parameters: dict) -> None:
        self.function, self.parameters = function, parameters

    def __call__(self, A: Any, B: Any) -> Vector:
        return np.array([[float(self.function(a, b, **self.parameters)) for b in B] for a in A])
