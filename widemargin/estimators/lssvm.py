"""Least-squares support vector machines: squared errors and an equality for every sample, with a bias.

    minimise  1/2 |w|^2 + C/2 sum_i w_i e_i^2     subject to  y_i = w'phi(x_i) + b + e_i

Its dual is the signed dual with one group (the sum of a is 0) and no box, a linear system

    | 0  1' | | b |   | 0 |
    | 1  A  | | a | = | y |,        A = K + diag(1 / (C w_i)),

solved on the positive definite A alone: with A eta = 1 and A nu = y,   b = 1'nu / 1'eta,   a = nu - b eta.

Source: Suykens & Vandewalle (1999); Suykens et al. (1999) for the two systems and conjugate gradients. With labels -1
and +1 as targets the classifier is the same problem, because y_i e_i has the square of e_i.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from widemargin.estimators.kernel_estimator import NamedKernel
from widemargin.estimators.kernel_system_model import KernelSystemModel
from widemargin.estimators.labels import OneAgainstRest
from widemargin.estimators.parameters import POSITIVE, estimator, one_of, option
from widemargin.estimators.plain_data import are_plain_labels
from widemargin.estimators.restored import check_places, check_samples, check_shape
from widemargin.estimators.training_set import TrainingSet
from widemargin.estimators.whole_fit import whole_fit
from widemargin.kernels import Kernel
from widemargin.kernels.names import is_precomputed
from widemargin.linalg.arrays import Matrix, Vector
from widemargin.monitor.callbacks import Steps
from widemargin.training.kernel_system import KernelSystem, NotPositiveDefinite, SystemRule
from widemargin.training.kernel_system.bias import certificate_with_bias


@estimator
class LeastSquaresMachine(NamedKernel, KernelSystemModel):
    """Base of LSSVC and LSSVR.

    C : float, default 1.0
        Weight of the squared errors.
    solver : {"auto", "cholesky", "cg", "plain-cg"}, default "auto"
        How the linear system is solved; "plain-cg" is "cg" without a preconditioner.
    max_iter, time_limit : limits of conjugate gradients; -1 and None for none
    cache_size : float or None, default None
        Megabytes for the kernel matrix; None takes a share of the free memory.
    n_jobs : int or None, default None
        Threads; None means all cores.
    verbose : bool, default False

    support_, support_vectors_ : all samples of positive weight: squared errors leave no coefficient at zero
    certificate_ : SystemCertificate
        Bounds on the error of the model, bias included, from a fresh residual.
    n_iter_ : int
    """

    C: float = option(1.0, POSITIVE)

    _kept_private: ClassVar = ("_gamma", "_fitted_kernel", "_vectors", "_coefficients", "_columns", "_single")

    def _rule(self) -> SystemRule:
        return replace(super()._rule(), bias=True)

    def _fit_columns(self, data: TrainingSet, weight: Vector, targets: Matrix, steps: Steps | None) -> None:
        """Solve for all columns of targets together and expose the model."""
        kernel = self._make_kernel(data)

        def expose(machine: LeastSquaresMachine, found: Matrix) -> None:
            machine._expose(data, kernel, found)

        system = KernelSystem(kernel, data.X, self.cache_size, self.n_jobs)
        noise, ones = 1.0 / (self.C * weight), np.ones((len(targets), 1))
        try:
            solved = self._solve(system, noise, np.hstack([targets, ones]), steps, expose, self.solver)
        except NotPositiveDefinite as error:
            raise NotPositiveDefinite(
                f"K + 1/C has no Cholesky factor ({error}): the kernel is not positive semi-definite on these data, or "
                "C is so large that the matrix is singular. Use another kernel (rbf is always valid) or a smaller C."
            ) from error
        self._expose(data, kernel, solved.coefficients)
        answer = self.intercept_, self._coefficients
        self._publish(certificate_with_bias(system, noise, targets, solved, self._rule(), *answer))

    def _expose(self, data: TrainingSet, kernel: Kernel, solution: Matrix) -> None:
        """Set the attributes that `predict` uses, from nu of every target and eta."""
        nu, eta = solution[:, :-1], solution[:, -1]
        total = eta.sum()
        self.intercept_ = nu.sum(axis=0) / (total if total else 1.0)  # eta is 0 where a fit ends before its first step
        coefficients = nu - eta[:, None] * self.intercept_
        self._fitted_kernel, self._vectors, self._coefficients = kernel, data.X, coefficients
        self._columns = data.kept if is_precomputed(self.kernel) else None
        self.support_ = data.given_places(np.arange(len(data)))
        self.support_vectors_ = np.empty((0, 0)) if is_precomputed(self.kernel) else data.X
        self.dual_coef_ = coefficients.T

    def _rebuild(self) -> None:
        """Check attributes that did not come from `fit`."""
        n, n_columns = self._coefficients.shape
        check_samples(self, self._vectors, n, "training samples")
        check_shape("intercept_", self.intercept_, (n_columns,))
        n_classes = len(self.classes_) if hasattr(self, "classes_") else 0
        if n_classes and n_columns != (1 if n_classes == 2 else n_classes):
            raise ValueError(f"{n_columns} columns of coefficients are not those of {n_classes} classes")
        if self._columns is not None:
            check_places("_columns", self._columns, self.shape_fit_[0])
        _ = self._fitted_kernel

    def _machine_values(self, X: Any) -> Matrix:
        """Values of all columns, shape (n_samples, n_columns)."""
        X = self._read_to_predict(X)
        X = X if self._columns is None else X[:, self._columns]
        return self._evaluate(X, self._fitted_kernel, self._vectors, self._coefficients, self.intercept_)


@estimator
class LSSVR(MultiOutputMixin, RegressorMixin, LeastSquaresMachine):
    """Least-squares support vector regression: kernel ridge regression with a bias that is not penalised.

        minimise  1/2 |w|^2 + C/2 sum_i (y_i - w'phi(x_i) - b)^2

    Parameters
    ----------
    ... C
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "chi2", "cosine", "precomputed"}, Kernel or callable, \
            default "rbf"
        As in SVR.
    degree, gamma, coef0 : numbers
        Of the named kernels, as in SVR.
    ... solver
    tol : float, default 1e-6
        Largest error of any prediction, relative to the targets' root mean square, that `certificate_` is to prove and
        conjugate gradients stop at.
    ... max_iter, on_interrupt, cache_size, n_jobs, verbose

    Attributes
    ----------
    dual_coef_ : array of shape (n_targets, n_samples)
    intercept_ : array of shape (n_targets,)
    ... support_, certificate_, n_iter_

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import LSSVR
    >>> X = np.arange(5.0)[:, None]
    >>> LSSVR(kernel="linear", C=100).fit(X, 2 * X[:, 0] + 1).predict([[10.0]]).round(1).tolist()
    [21.0]
    """

    @whole_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LSSVR:
        """Solve for coefficients and bias.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            With a kernel function of your own: any sequence of samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), default None
            Multiplies C of each sample: weight 2 equals the sample given twice, weight 0 the sample left out.

        Returns
        -------
        self
        """
        with self._reporting(X, y, sample_weight) as steps:
            data, targets, self._single = self._read_targets(X, y, sample_weight)
            self._fit_columns(data, data.weights(), targets, steps)
        return self

    def predict(self, X: Any) -> Vector:
        """Predicted targets, shape (n_samples,) or (n_samples, n_targets)."""
        values = self._machine_values(X)
        return values[:, 0] if self._single else values


@estimator
class LSSVC(OneAgainstRest, LeastSquaresMachine):
    """Least-squares support vector classification; many classes one against the rest, all in one linear system.

        minimise  1/2 |w|^2 + C/2 sum_i (1 - y_i (w'phi(x_i) + b))^2,        y_i = -1 or +1

    Parameters
    ----------
    ... C
    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "chi2", "cosine", "precomputed"}, Kernel or callable, \
            default "rbf"
        As in SVC.
    degree, gamma, coef0 : numbers
        Of the named kernels, as in SVC.
    class_weight : dict, "balanced" or None, default None
        Multiplies C of the samples of a class.
    ... solver
    tol : float, default 1e-6
        Largest error of any decision value that `certificate_` is to prove and conjugate gradients stop at.
    ... max_iter, on_interrupt, cache_size, n_jobs, verbose

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    dual_coef_ : array of shape (1, n_samples) for two classes, else (n_classes, n_samples)
    intercept_ : array of shape (1,) or (n_classes,)
    ... support_, certificate_, n_iter_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import LSSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> LSSVC(C=10).fit(X, y).score(X, y) > 0.95
    True
    """

    class_weight: dict | str | None = option(None, one_of("balanced"), dict, None)

    @whole_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LSSVC:
        """Solve for coefficients and bias.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            With a kernel function of your own: any sequence of samples.
        y : array-like of shape (n_samples,)
            Class labels, numbers or strings.
        sample_weight : array-like of shape (n_samples,), default None
            Multiplies C of each sample: weight 2 equals the sample given twice, weight 0 the sample left out.

        Returns
        -------
        self
        """
        with self._reporting(X, y, sample_weight) as steps:
            data = self._read(X, y, sample_weight, are_plain_labels)
            labels, weight = self._read_labels(data)
            self._fit_columns(data, weight, self._signs(labels), steps)
        return self

    def decision_function(self, X: Any) -> Vector:
        """Distances from the boundary, shape (n_samples,) for two classes, else (n_samples, n_classes)."""
        values = self._machine_values(X)
        return values[:, 0] if values.shape[1] == 1 else values
