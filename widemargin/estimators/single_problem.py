"""Models with a single problem: regression with a tube, and the region that contains most samples.

The tube has a given half-width epsilon, or the width that leaves a share nu of the samples outside; the region of a
one-class SVM leaves out a share nu.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin, RegressorMixin

from widemargin.calibration.one_class import density_marks, probability_of_normal
from widemargin.estimators.base import Answer, KernelMachine, Run, Vector
from widemargin.estimators.fitted import coefficients_of, support_in
from widemargin.estimators.parameters import NOT_NEGATIVE, POSITIVE_OR_INFINITE, SHARE, estimator, one_of, option
from widemargin.estimators.restored import check_shape
from widemargin.estimators.training_set import TrainingSet
from widemargin.estimators.whole_fit import whole_fit
from widemargin.models.multiclass import Layout
from widemargin.problems.dual import SignedDual
from widemargin.problems.one_class import one_class
from widemargin.problems.regression import epsilon_insensitive, nu_regression, nu_tube, squared_epsilon_insensitive
from widemargin.problems.warm_start import restart
from widemargin.solvers.solution import Solution
from widemargin.training.task import Task

ON_THE_BOUNDARY = 1e-9  # relative to the offset: smaller decision values count as zero, so that rounding has no effect


@estimator
class SingleProblem(KernelMachine):
    """Base of models with a single problem: regression and one-class.

    support_ : int array of shape (n_SV,)
        Indices of the support vectors in the training data.
    n_support_ : int array of shape (1,)
    dual_coef_ : array or CSR matrix of shape (1, n_SV)
        Coefficients in the decision function.
    intercept_ : array of shape (1,)
    coef_ : array of shape (1, n_features)
        Weights of the features; only for a linear kernel.
    n_iter_ : int
        Steps of the solver.
    certificate_ : Certificate
        What is proven about the answer, rounding counted (see `SVC`).
    """

    def _bias(self, thresholds: Vector) -> float:
        """Return the bias, computed from the thresholds of the groups."""
        return -float(thresholds[0])

    def _fit_single(self, run: Run, data: TrainingSet, dual: SignedDual) -> Solution:
        """Train one problem on all samples and expose its answer."""
        self._start_training(run, data)

        def show(machine: SingleProblem, answers: Sequence[Answer]) -> None:
            """Expose the answer."""
            beta, thresholds = answers[0]
            coefficients = dual.per_sample(beta)
            support = np.flatnonzero(coefficients)
            n_support = np.array([len(support)], np.int32)
            layout = Layout(support, n_support, coefficients[None, support], None)
            machine._expose(run.kernel, data, layout, np.array([machine._bias(thresholds)]))

        start = None
        if run.before is not None:
            start = restart(run.training.as_solved(dual), _multipliers_of(run.before, data, dual))
        solution = self._train(run, [Task(dual, None, start)], show)[0].solution
        self.n_iter_ = int(solution.iterations) + (0 if run.before is None else run.before.n_iter_)
        return solution


def _multipliers_of(before: Any, data: TrainingSet, dual: SignedDual) -> Vector:
    """Return the multipliers of a fitted model, both halves for nu-regression."""
    signed = np.zeros(len(data))
    signed[support_in(before, data)] = coefficients_of(before)[0]
    return signed if dual.row is None else np.clip(signed[dual.row], dual.lower, dual.upper)


@estimator
class KernelRegressor(RegressorMixin, SingleProblem):
    """Base of SVR and NuSVR."""

    C: float = option(1.0, POSITIVE_OR_INFINITE)

    @abstractmethod
    def _build(self, y: Vector, bound: Vector) -> SignedDual:
        """The signed dual for targets y and C of each sample."""

    @whole_fit
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

    def _adopt(
        self, X: Any, y: Any, sample_weight: Any, models: Sequence[tuple[Vector, float]], certificates: Sequence[Any]
    ) -> None:
        """Expose an answer that was found elsewhere, as `fit` on these data does; `_gamma` is set.

        models : one pair, the coefficients of the samples and the bias
        """
        data, _ = self._read_column(X, y, sample_weight)
        ((coefficients, bias),) = models
        support = np.flatnonzero(coefficients)
        layout = Layout(support, np.array([len(support)], np.int32), coefficients[None, support], None)
        self._expose(self._kernel_of_fit(), data, layout, np.array([bias]))
        self._note_status(certificates)

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
        "squared_epsilon_insensitive" charges half the square of the excess.
    ... solver, stopping, time_limit, on_interrupt, n_jobs, warm_start, trace, checkpoint

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
    """Support vector regression in which nu bounds the share of samples outside the tube, and epsilon is fitted.

        minimise  1/2 |w|^2 + C (nu n epsilon + sum_i max(0, |y_i - w'phi(x_i) - b| - epsilon))

    Parameters
    ----------
    nu : float in (0, 1], default 0.5
        Upper bound on the share of samples outside the tube and lower bound on the share of support vectors.
    C : float, default 1.0
        Weight of the errors.
    ... kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter
    ... solver, stopping, time_limit, on_interrupt, n_jobs, warm_start, trace, checkpoint

    Attributes
    ----------
    ... support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, n_features_in_
    ... certificate_, status_, diagnosis_, history_
    epsilon_ : float
        Fitted half-width of the tube.

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

    def _bias(self, thresholds: Vector) -> float:
        self.epsilon_, bias = nu_tube(thresholds)
        return bias


@estimator
class OneClassSVM(OutlierMixin, SingleProblem):
    """Outlier detection: the parameters of scikit-learn's OneClassSVM, and some more.

        minimise  1/2 |w|^2 - nu n rho + sum_i xi_i,    w'phi(x_i) >= rho - xi_i,  xi_i >= 0

    Parameters
    ----------
    ... kernel, degree, gamma, coef0, tol
    nu : float in (0, 1], default 0.5
        Upper bound on the share of samples outside and lower bound on the share of support vectors.
    ... shrinking, cache_size, verbose, max_iter, solver, stopping, time_limit, on_interrupt, n_jobs
    ... warm_start, trace, checkpoint

    Attributes
    ----------
    ... support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, n_features_in_
    ... certificate_, status_, diagnosis_, history_
    offset_ : array of shape (1,)
        rho: decision_function = score_samples - offset_.

    Examples
    --------
    >>> from widemargin import OneClassSVM
    >>> X = [[0], [0.44], [0.45], [0.46], [1]]
    >>> OneClassSVM(gamma="auto").fit(X).predict(X).tolist()
    [-1, 1, 1, 1, -1]
    """

    nu: float = option(0.5, SHARE)

    _kept_private = ("_gamma", "_density_marks")

    @whole_fit
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Find the region of the samples in X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            With a kernel function of your own: any sequence of samples.
        y : ignored
        sample_weight : array-like of shape (n_samples,), default None
            Weight 2 equals the sample given twice, weight 0 the sample left out.

        Returns
        -------
        self
        """
        self._run(X, y, sample_weight)
        return self

    def _fit(self, run: Run, X: Any, y: Any, sample_weight: Any) -> None:
        data = self._read(X, sample_weight=sample_weight)
        weight = data.weights()
        run.stopping = run.stopping.relative_to(weight)
        solution = self._fit_single(run, data, one_class(weight, self.nu))
        values = solution.Kb - solution.thresholds[0]
        values[np.abs(values) <= run.stopping.tol] = 0.0  # on the boundary rounding would decide the side
        self._density_marks = density_marks(values, weight)

    def _rebuild(self) -> None:
        super()._rebuild()
        check_shape("offset_", self.offset_, (1,))

    def _bias(self, thresholds: Vector) -> float:
        self.offset_ = thresholds[:1].copy()
        return -float(thresholds[0])

    def decision_function(self, X: Any) -> Vector:
        """Decision values of the samples in X, shape (n_samples,): positive inside the region, zero on its boundary."""
        values = self._decision_values(X)[:, 0]
        values[np.abs(values) <= ON_THE_BOUNDARY * abs(self.offset_[0])] = 0.0
        return values

    def score_samples(self, X: Any) -> Vector:
        """Decision values without the offset, shape (n_samples,)."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> NDArray[np.intp]:
        """+1 for samples inside the region or on its boundary, -1 for outliers, shape (n_samples,)."""
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.intp)

    def inlier_probability(self, X: Any) -> Vector:
        """Probability that each sample in X is normal, from the rank of its decision value among the training samples.

        LIBSVM's estimate (-b 1, since 3.31): ten bins, five on each side of the boundary, with as many training samples
        each; probabilities are multiples of 0.1, or 0.001 and 0.999 beyond the outermost bins. It is not called
        `predict_proba`, since scikit-learn takes an estimator with that method for a classifier.

        Returns
        -------
        probability : array of shape (n_samples,)
        """
        values = self.decision_function(X)
        marks = getattr(self, "_density_marks", None)  # models of other software may have none
        if marks is None or len(marks) == 0:
            raise ValueError(
                "inlier_probability needs at least five training samples inside the region and five outside: choose a "
                "larger nu or give more samples."
            )
        return probability_of_normal(values, marks)
