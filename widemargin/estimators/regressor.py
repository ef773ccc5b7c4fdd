"""Regression machines: a tube of given half-width epsilon, or of the width that leaves a share nu outside."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from widemargin._sklearn import fit_context
from widemargin.estimators.base import SingleProblem, Vector
from widemargin.estimators.parameters import NOT_NEGATIVE, POSITIVE_OR_INFINITE, SHARE, one_of, option
from widemargin.estimators.run import Run
from widemargin.problems.dual import SignedDual
from widemargin.problems.regression import epsilon_insensitive, nu_regression, nu_tube, squared_epsilon_insensitive


@dataclass(kw_only=True, eq=False, repr=False)
class KernelRegressor(RegressorMixin, SingleProblem):
    """Shared face of SVR and NuSVR."""

    C: float = option(1.0, POSITIVE_OR_INFINITE)

    @abstractmethod
    def _build(self, y: Vector, bound: Vector) -> SignedDual:
        """The signed dual for targets y and C of each sample."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRegressor:
        """Train on samples with real targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            With a kernel function of your own: any sequence of samples.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default None
            Multiplies C of each sample: weight 2 equals the sample given twice, weight 0 the sample left out.

        Returns
        -------
        self
        """
        self._run(X, y, sample_weight)
        return self

    def _fit(self, run: Run, X: Any, y: Any, sample_weight: Any) -> None:
        data, y = self._read_column(X, y, sample_weight)
        bound = np.full(len(data), float(self.C)) if data.weight is None else self.C * data.weight
        self._fit_single(run, data, self._build(y, bound))

    def predict(self, X: Any) -> Vector:
        """Predicted targets of the samples in X, shape (n_samples,)."""
        return self._decision_values(X)[:, 0]


@dataclass(kw_only=True, eq=False, repr=False)
class SVR(KernelRegressor):
    """Support vector regression with a tube of half-width epsilon: the parameters of scikit-learn's SVR, and some more.

        minimise  1/2 |w|^2 + C sum_i max(0, |y_i - w'phi(x_i) - b| - epsilon)

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "chi2", "cosine", "precomputed"}, Kernel or callable, \
            default "rbf"
        A `Kernel` carries its own parameters. A callable is a function of two sets of samples, m and n of them,
        that returns an array of shape (m, n). With "precomputed" X is the kernel matrix itself.
    degree : int, default 3
        Degree of "poly".
    gamma : {"scale", "auto"} or float, default "scale"
        Scale of "rbf", "poly", "sigmoid", "laplacian" and "chi2". "scale" is 1 / (n_features * variance of X),
        the variance counted with the sample weights; "auto" is 1 / n_features.
    coef0 : float, default 0.0
        Constant of "poly" and "sigmoid".
    tol : float, default 1e-3
        Tolerance of the stop rule; see `stopping`.
    C : float, default 1.0
        Weight of the errors.
    epsilon : float, default 0.1
        Errors up to this size cost nothing.
    shrinking : bool, default True
        Accepted for compatibility; the solver decides by itself.
    cache_size : float or None, default None
        Megabytes for rows of the kernel matrix; None sizes it to the free memory.
    verbose : bool, default False
        Show a progress bar.
    max_iter : int, default -1
        Largest number of steps, -1 for no limit.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default "epsilon_insensitive"
        The squared one charges half the square of the excess.
    solver : str or solver, default "auto"
        "auto" is the fast block solver; "platt", "keerthi", "chunking", "qp" and others are those of the literature,
        by name or as an object with options (`widemargin.solvers.reference`).
    stopping : {"kkt", "gap", "objective"}, default "kkt"
        What `tol` limits: the largest violation of the optimality conditions, the relative duality gap, or the growth
        of the dual objective. Kernels not known to be positive semi-definite are trained by the first in any case.
    time_limit : float or None, default None
        Seconds after which the best machine so far is returned, with a warning.
    n_jobs : int or None, default None
        Threads; None means all cores.
    warm_start : bool, default False
        Start from the multipliers of the previous fit when the number of samples is the same.
    trace : bool, default False
        Keep how the fit went in `history_`.

    Attributes
    ----------
    support_ : int array of shape (n_SV,)
        Places of the support vectors in the training data.
    support_vectors_ : array or CSR matrix of shape (n_SV, n_features)
    n_support_ : int array of shape (1,)
    dual_coef_ : array or CSR matrix of shape (1, n_SV)
        Coefficients in the decision function.
    intercept_ : array of shape (1,)
    coef_ : array of shape (1, n_features)
        Weights of the features; only for a linear kernel.
    n_iter_ : int
        Steps of the solver.
    n_features_in_, feature_names_in_, shape_fit_
        As in scikit-learn.
    certificate_ : Certificate
        What is proven about the answer, rounding counted (see `SVC`).
    status_ : Status
        How the solver ended; `fit_status_` is 0 if it met the tolerance, else 1.
    diagnosis_ : str
        Likely causes where the tolerance was not met, empty otherwise.
    history_ : dict of arrays
        With trace=True: objective, gap, violation and more after every round of the solver, one column each.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVR
    >>> X = np.arange(5.0)[:, None]
    >>> SVR(kernel="linear", C=10, epsilon=0.01, tol=1e-6).fit(X, 2 * X[:, 0] + 1).predict([[10.0]]).round(1).tolist()
    [21.0]
    """

    epsilon: float = option(0.1, NOT_NEGATIVE)
    loss: str = option("epsilon_insensitive", one_of("epsilon_insensitive", "squared_epsilon_insensitive"))

    def _build(self, y: Vector, bound: Vector) -> SignedDual:
        builder = epsilon_insensitive if self.loss == "epsilon_insensitive" else squared_epsilon_insensitive
        return builder(y, bound, self.epsilon)


@dataclass(kw_only=True, eq=False, repr=False)
class NuSVR(KernelRegressor):
    """Support vector regression in which nu bounds the share of samples outside the tube, and the tube is found.

        minimise  1/2 |w|^2 + C (nu n epsilon + sum_i max(0, |y_i - w'phi(x_i) - b| - epsilon))

    Parameters
    ----------
    nu : float in (0, 1], default 0.5
        Upper bound on the share of samples outside the tube and lower bound on the share of support vectors.
    C : float, default 1.0
        Weight of the errors.
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "chi2", "cosine", "precomputed"}, Kernel or callable, \
            default "rbf"
        A `Kernel` carries its own parameters. A callable is a function of two sets of samples, m and n of them,
        that returns an array of shape (m, n). With "precomputed" X is the kernel matrix itself.
    degree : int, default 3
        Degree of "poly".
    gamma : {"scale", "auto"} or float, default "scale"
        Scale of "rbf", "poly", "sigmoid", "laplacian" and "chi2". "scale" is 1 / (n_features * variance of X),
        the variance counted with the sample weights; "auto" is 1 / n_features.
    coef0 : float, default 0.0
        Constant of "poly" and "sigmoid".
    shrinking : bool, default True
        Accepted for compatibility; the solver decides by itself.
    tol : float, default 1e-3
        Tolerance of the stop rule; see `stopping`.
    cache_size : float or None, default None
        Megabytes for rows of the kernel matrix; None sizes it to the free memory.
    verbose : bool, default False
        Show a progress bar.
    max_iter : int, default -1
        Largest number of steps, -1 for no limit.
    solver : str or solver, default "auto"
        "auto" is the fast block solver; "platt", "keerthi", "chunking", "qp" and others are those of the literature,
        by name or as an object with options (`widemargin.solvers.reference`).
    stopping : {"kkt", "gap", "objective"}, default "kkt"
        What `tol` limits: the largest violation of the optimality conditions, the relative duality gap, or the growth
        of the dual objective. Kernels not known to be positive semi-definite are trained by the first in any case.
    time_limit : float or None, default None
        Seconds after which the best machine so far is returned, with a warning.
    n_jobs : int or None, default None
        Threads; None means all cores.
    warm_start : bool, default False
        Start from the multipliers of the previous fit when the number of samples is the same.
    trace : bool, default False
        Keep how the fit went in `history_`.

    Attributes
    ----------
    support_ : int array of shape (n_SV,)
        Places of the support vectors in the training data.
    support_vectors_ : array or CSR matrix of shape (n_SV, n_features)
    n_support_ : int array of shape (1,)
    dual_coef_ : array or CSR matrix of shape (1, n_SV)
        Coefficients in the decision function.
    intercept_ : array of shape (1,)
    coef_ : array of shape (1, n_features)
        Weights of the features; only for a linear kernel.
    n_iter_ : int
        Steps of the solver.
    n_features_in_, feature_names_in_, shape_fit_
        As in scikit-learn.
    certificate_ : Certificate
        What is proven about the answer, rounding counted (see `SVC`).
    status_ : Status
        How the solver ended; `fit_status_` is 0 if it met the tolerance, else 1.
    diagnosis_ : str
        Likely causes where the tolerance was not met, empty otherwise.
    history_ : dict of arrays
        With trace=True: objective, gap, violation and more after every round of the solver, one column each.
    epsilon_ : float
        Half-width of the tube that was found.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import NuSVR
    >>> X = np.arange(5.0)[:, None]
    >>> NuSVR(kernel="linear", C=10, tol=1e-6).fit(X, 2 * X[:, 0] + 1).predict([[10.0]]).round(1).tolist()
    [21.0]
    """

    nu: float = option(0.5, SHARE)

    def _build(self, y: Vector, bound: Vector) -> SignedDual:
        return nu_regression(y, bound, self.nu)

    def _bias(self, level: Vector) -> float:
        self.epsilon_, bias = nu_tube(level)
        return bias
