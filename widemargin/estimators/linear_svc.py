"""Linear classification and regression: the models of LIBLINEAR, or with an unpenalised intercept those of
SVC(kernel="linear") and SVR(kernel="linear").
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin
from sklearn.svm import l1_min_c as l1_min_c  # the smallest C with weights other than zero, the same for our LinearSVC
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from widemargin.certificate.linear_joint import prove_joint
from widemargin.certificate.linear_l1 import prove_l1
from widemargin.estimators.labels import OneAgainstRest
from widemargin.estimators.linear_model import LinearMachine, LinearTask, Vector
from widemargin.estimators.parameters import NOT_NEGATIVE, estimator, one_of, option
from widemargin.estimators.plain_data import are_plain_labels, are_plain_targets
from widemargin.estimators.whole_fit import whole_fit
from widemargin.linalg.design import Design
from widemargin.problems.classification import hinge, squared_hinge
from widemargin.problems.regression import epsilon_insensitive, squared_epsilon_insensitive
from widemargin.solvers.linear.crammer_singer import solve_crammer_singer
from widemargin.solvers.linear.l1 import solve_l1


@estimator
class LinearSVC(OneAgainstRest, LinearMachine):
    """Linear support vector classification: the parameters of scikit-learn's LinearSVC, and some more.

        minimise  1/2 |w|^2 + C sum_i max(0, 1 - y_i (w'x_i + b))^p,     p = 1 for "hinge", 2 for "squared_hinge"

    with a certificate of how close the answer is to the optimum. For dense and sparse data, with more samples than
    features or more features than samples; the method is chosen from the data.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default "l2"
        "l1" charges the sum of |w_j| instead of half the squares, which makes many weights zero; only with
        "squared_hinge".
    loss : {"squared_hinge", "hinge"}, default "squared_hinge"
    dual : bool or "auto", default "auto"
        Accepted for compatibility: primal and dual are solved together. Combinations that scikit-learn refuses are
        refused here too.
    ... tol, C
    multi_class : {"ovr", "crammer_singer"}, default "ovr"
        One model for each class against the rest, or one joint problem, min 1/2 sum_k |w_k|^2 + C sum_i
        max_k(1 - delta_k,y_i + (w_k - w_y_i)'x_i); `loss` and `penalty` are then ignored.
    ... fit_intercept, intercept_scaling
    class_weight : dict, "balanced" or None, default None
        Factor on C of each class. "balanced" is n_samples / (n_classes * count of the class), where a
        sample counts with its weight (scikit-learn: as one).
    ... verbose, random_state, max_iter
    penalize_intercept : bool, default True
        False leaves the intercept out of |w|^2: then loss="hinge" gives exactly the model of SVC(kernel="linear"),
        and the answer does not change when a constant is added to a feature.
    ... time_limit, on_interrupt
    n_jobs : int or None, default None
        Threads for several classes; None means all cores this process may use. Fits in several threads share one pool.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) for two classes, else (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,); 0.0 without intercept
    classes_, class_weight_ : arrays of shape (n_classes,)
    n_iter_ : int
        Largest number of steps over all problems.
    ... n_features_in_
    certificate_ : Certificate
        Bounds on the distance from the optimum; `certificates_` has one per model.
    ... status_

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import LinearSVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> machine = LinearSVC(loss="hinge", penalize_intercept=False).fit(X, ["low", "low", "high", "high"])
    >>> machine.predict([[-0.8, -1.0]]).tolist()
    ['low']
    >>> machine.certificate_.gap < 1e-4
    True
    """

    penalty: str = option("l2", one_of("l1", "l2"), kw_only=False)
    loss: str = option("squared_hinge", one_of("hinge", "squared_hinge"), kw_only=False)
    multi_class: str = option("ovr", one_of("ovr", "crammer_singer"))
    class_weight: dict | str | None = option(None, one_of("balanced"), dict, None)

    @whole_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Train on labelled samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels, numbers or strings.
        sample_weight : array-like of shape (n_samples,), default None
            Multiplies C of each sample: weight 2 equals the sample given twice, weight 0 the sample left out.

        Returns
        -------
        self
        """
        self._run(X, y, sample_weight)
        return self

    def _tasks(self, X: Any, y: Any, sample_weight: Any, tol: float) -> tuple[Design, list[LinearTask]]:
        self._check_combination()
        data = self._read(X, y, sample_weight, are_plain_labels)
        labels, weight = self._read_labels(data)
        rows, cost = self._rows(data.X), self.C * weight
        if not cost.min() > 0.0:
            raise ValueError("class_weight must give every class a positive weight: leave the class out instead.")
        if self.multi_class == "crammer_singer":
            solve = partial(solve_crammer_singer, rows, labels, len(self.classes_), cost)
            return rows, [LinearTask(solve, partial(prove_joint, rows.as_sparse(), labels, cost))]
        signs = np.ascontiguousarray(self._signs(labels).T)
        return rows, [self._two_class_task(rows, sign, cost, tol) for sign in signs]

    def _two_class_task(self, rows: Design, sign: Vector, cost: Vector, tol: float) -> LinearTask:
        """The task of one class against the rest."""
        if self.penalty == "l1":
            return LinearTask(partial(solve_l1, rows, sign, cost), partial(prove_l1, rows, sign, cost))
        if self.loss == "hinge":
            return self._task(rows, hinge(sign, cost), tol)
        return self._task(rows, squared_hinge(sign, 2.0 * cost), tol)  # LIBLINEAR charges C xi^2, not half of it

    def _expose(self, weights: Vector, rows: Design) -> None:
        if self.multi_class == "crammer_singer":  # one column per class; for two classes their difference is equivalent
            joint = weights[0].T
            weights = joint[1:] - joint[:1] if len(joint) == 2 else joint
        super()._expose(weights, rows)

    def _weights(self, rows: Design) -> Any:
        weights = super()._weights(rows)
        if self.multi_class != "crammer_singer":
            return weights
        joint = weights if len(weights) > 1 else np.concatenate([-0.5 * weights, 0.5 * weights])
        return [np.ascontiguousarray(joint.T)]

    def _check_combination(self) -> None:
        """Reject combinations without a solver in LIBLINEAR, as scikit-learn does, and meaningless ones."""
        if self.multi_class == "crammer_singer":
            if self.fit_intercept and not self.penalize_intercept:
                raise ValueError(
                    "multi_class='crammer_singer' is solved with a penalised intercept only: use "
                    "penalize_intercept=True with a larger intercept_scaling, or multi_class='ovr'."
                )
            return
        impossible = self.penalty == "l1" and self.loss == "hinge"
        if impossible or (self.penalty == "l1" and self.dual is True) or (self.loss == "hinge" and self.dual is False):
            raise ValueError(
                f"Unsupported set of arguments: penalty={self.penalty!r}, loss={self.loss!r}, dual={self.dual!r}. "
                "penalty='l1' goes with loss='squared_hinge' and dual=False, loss='hinge' with penalty='l2' and "
                "dual=True; dual='auto' leaves the choice to the estimator."
            )
        if self.penalty == "l1" and self.fit_intercept and not self.penalize_intercept:
            raise ValueError(
                "penalty='l1' is solved with a penalised intercept only: use penalize_intercept=True with a larger "
                "intercept_scaling, or penalty='l2'."
            )

    # ---- prediction

    def decision_function(self, X: Any) -> Vector:
        """Distance from the boundary in units of the margin.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        values : array of shape (n_samples,) for two classes, where positive means classes_[1]; else
            (n_samples, n_classes)
        """
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def sparsify(self) -> LinearSVC:
        """Convert coef_ to a sparse matrix, useful if most weights are zero (penalty="l1")."""
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> LinearSVC:
        """Convert coef_ back to a dense array."""
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()  # type: ignore[attr-defined]
        return self


@estimator
class LinearSVR(RegressorMixin, LinearMachine):
    """Linear support vector regression: the parameters of scikit-learn's LinearSVR, and some more.

        minimise  1/2 |w|^2 + C sum_i max(0, |y_i - w'x_i - b| - epsilon)^p

    with p = 1 for "epsilon_insensitive" and 2 for "squared_epsilon_insensitive", and with a certificate of how close
    the answer is to the optimum.

    Parameters
    ----------
    epsilon : float, default 0.0
        Errors up to this size cost nothing.
    ... tol, C
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default "epsilon_insensitive"
    ... fit_intercept, intercept_scaling
    dual : bool or "auto", default "auto"
        Accepted for compatibility: primal and dual are solved together. dual=False with the linear loss is refused, as
        in scikit-learn.
    ... verbose, random_state, max_iter
    penalize_intercept : bool, default True
        False leaves the intercept out of |w|^2: then the linear loss gives exactly the model of SVR(kernel="linear").
    ... time_limit, on_interrupt
    n_jobs : int or None, default None
        Accepted as in LinearSVC; a regression is a single problem.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : array of shape (1,); 0.0 without intercept
    n_iter_ : int
    ... n_features_in_
    certificate_ : Certificate
        Bounds on the distance from the optimum.
    ... status_

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

    @whole_fit
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
        self._run(X, y, sample_weight)
        return self

    def _tasks(self, X: Any, y: Any, sample_weight: Any, tol: float) -> tuple[Design, list[LinearTask]]:
        if self.loss == "epsilon_insensitive" and self.dual is False:
            raise ValueError(
                f"Unsupported set of arguments: penalty='l2', loss={self.loss!r}, dual=False. Use dual=True or "
                "dual='auto' with this loss, or loss='squared_epsilon_insensitive'."
            )
        data = self._read(X, y, sample_weight, are_plain_targets, y_numeric=True)
        targets = column_or_1d(data.y, warn=True).astype(np.float64, copy=False)
        rows, cost = self._rows(data.X), self.C * data.weights()
        if self.loss == "epsilon_insensitive":
            problem = epsilon_insensitive(targets, cost, self.epsilon)
        else:  # LIBLINEAR charges C times the square, not half of it
            problem = squared_epsilon_insensitive(targets, 2.0 * cost, self.epsilon)
        return rows, [self._task(rows, problem, tol)]

    def _expose(self, weights: Vector, rows: Design) -> None:
        super()._expose(weights, rows)
        self.coef_ = self.coef_[0]

    def predict(self, X: Any) -> Vector:
        """Predicted targets of the samples in X, shape (n_samples,)."""
        return self._values(X)
