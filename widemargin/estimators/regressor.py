"""Regression machines: a tube of given half-width epsilon, or of the width that leaves a share nu outside."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from widemargin._sklearn import fit_context
from widemargin.estimators.base import SingleProblem, Vector
from widemargin.estimators.parameters import NOT_NEGATIVE, POSITIVE_OR_INFINITE, SHARE, estimator, one_of, option
from widemargin.estimators.run import Run
from widemargin.problems.dual import SignedDual
from widemargin.problems.regression import epsilon_insensitive, nu_regression, nu_tube, squared_epsilon_insensitive


@estimator
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


@estimator
class SVR(KernelRegressor):
    """Support vector regression with a tube of half-width epsilon: the parameters of scikit-learn's SVR, and some more.

        minimise  1/2 |w|^2 + C sum_i max(0, |y_i - w'phi(x_i) - b| - epsilon)

    Parameters
    ----------
    ... kernel, degree, gamma, coef0, tol
    C : float, default 1.0
        Weight of the errors.
    epsilon : float, default 0.1
        Errors up to this size cost nothing.
    ... shrinking, cache_size, verbose, max_iter
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default "epsilon_insensitive"
        The squared one charges half the square of the excess.
    ... solver, stopping, time_limit, n_jobs, warm_start, trace

    Attributes
    ----------
    ... support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, n_features_in_
    ... certificate_, status_, diagnosis_, history_

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


@estimator
class NuSVR(KernelRegressor):
    """Support vector regression in which nu bounds the share of samples outside the tube, and the tube is found.

        minimise  1/2 |w|^2 + C (nu n epsilon + sum_i max(0, |y_i - w'phi(x_i) - b| - epsilon))

    Parameters
    ----------
    nu : float in (0, 1], default 0.5
        Upper bound on the share of samples outside the tube and lower bound on the share of support vectors.
    C : float, default 1.0
        Weight of the errors.
    ... kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter
    ... solver, stopping, time_limit, n_jobs, warm_start, trace

    Attributes
    ----------
    ... support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, n_features_in_
    ... certificate_, status_, diagnosis_, history_
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
