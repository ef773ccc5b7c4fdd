"""Linear regression with a tube: the machine of LIBLINEAR, or that of SVR(kernel="linear") with a free intercept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d

from widemargin._sklearn import fit_context
from widemargin.estimators.linear_model import LinearMachine, Vector
from widemargin.estimators.parameters import NOT_NEGATIVE, one_of, option
from widemargin.estimators.plain_data import are_plain_targets
from widemargin.linalg.design import Design
from widemargin.problems.regression import epsilon_insensitive, squared_epsilon_insensitive


@dataclass(kw_only=True, eq=False, repr=False)
class LinearSVR(RegressorMixin, LinearMachine):
    """Linear support vector regression: the parameters of scikit-learn's LinearSVR, and some more.

        minimise  1/2 |w|^2 + C sum_i max(0, |y_i - w'x_i - b| - epsilon)^p

    with p = 1 for "epsilon_insensitive" and 2 for "squared_epsilon_insensitive", and with a certificate of how close
    the answer is to the optimum.

    Parameters
    ----------
    epsilon : float, default 0.0
        Errors up to this size cost nothing.
    tol : float, default 1e-4
        Largest relative duality gap, (primal - dual) / primal, proven with rounding errors counted. (scikit-learn's
        limits a projected gradient.)
    C : float, default 1.0
        Weight of the errors.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default "epsilon_insensitive"
    fit_intercept : bool, default True
    intercept_scaling : float, default 1.0
        Value of the constant column whose weight carries a penalised intercept; larger penalises it less.
    dual : bool or "auto", default "auto"
        Accepted for compatibility: primal and dual are solved together. dual=False with the linear loss is refused, as
        in scikit-learn.
    verbose : bool or int, default 0
        Show a progress bar.
    random_state : int, RandomState instance or None, default None
        Order in which coordinate descent visits the samples; None always takes the same.
    max_iter : int, default 1000
        Largest number of Newton steps or passes over the data.
    penalize_intercept : bool, default True
        False leaves the intercept out of |w|^2: then the linear loss gives exactly the machine of SVR(kernel="linear").
    time_limit : float or None, default None
        Seconds after which the best machine so far is returned, with a warning.
    n_jobs : int or None, default None
        Accepted as in LinearSVC; a regression is a single problem.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : array of shape (1,); 0.0 without intercept
    n_iter_ : int
    n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        Bounds on the distance from the optimum.
    status_ : Status
        How the solver ended; `fit_status_` is 0 if the tolerance is proven to be met, else 1.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import LinearSVR
    >>> X = np.arange(5.0)[:, None]
    >>> LinearSVR(C=10, penalize_intercept=False).fit(X, 2 * X[:, 0] + 1).predict([[10.0]]).round(1).tolist()
    [21.0]
    """

    epsilon: float = option(0.0, NOT_NEGATIVE)
    loss: str = option("epsilon_insensitive", one_of("epsilon_insensitive", "squared_epsilon_insensitive"))

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVR:
        """Train on samples with real targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default None
            Multiplies C of each sample: weight 2 equals the sample given twice, weight 0 the sample left out.

        Returns
        -------
        self
        """
        if self.loss == "epsilon_insensitive" and self.dual is False:
            raise ValueError(
                f"Unsupported set of arguments: penalty='l2', loss={self.loss!r}, dual=False. Use dual=True or "
                "dual='auto' with this loss, or loss='squared_epsilon_insensitive'."
            )
        steps = self._begin_steps(X, y, sample_weight)
        data = self._read(X, y, sample_weight, are_plain_targets, y_numeric=True)
        targets = column_or_1d(data.y, warn=True).astype(np.float64, copy=False)
        rows, cost = self._rows(data.X), self.C * data.weights()
        if self.loss == "epsilon_insensitive":
            problem = epsilon_insensitive(targets, cost, self.epsilon)
        else:  # LIBLINEAR charges C times the square, not half of it
            problem = squared_epsilon_insensitive(targets, 2.0 * cost, self.epsilon)
        self._train(rows, [self._task(rows, problem)], steps)
        return self

    def _expose(self, weights: Vector, rows: Design) -> None:
        self.coef_ = weights[0, :-1].copy()
        self.intercept_ = self._intercepts(weights, rows)

    def predict(self, X: Any) -> Vector:
        """Predicted targets of the samples in X, shape (n_samples,)."""
        return self._values(X)
