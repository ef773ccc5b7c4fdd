"""One-class machine: the region that holds all but a share nu of the samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from widemargin._sklearn import fit_context
from widemargin.calibration.one_class import density_marks, probability_of_normal
from widemargin.estimators.base import SingleProblem, Vector
from widemargin.estimators.parameters import SHARE, estimator, option
from widemargin.estimators.run import Run
from widemargin.problems.one_class import one_class

ON_THE_BOUNDARY = (
    1e-9  # of the offset: decision values this close to zero are zero, so that rounding does not judge them
)


@estimator
class OneClassSVM(OutlierMixin, SingleProblem):
    """Detection of outliers: the parameters of scikit-learn's OneClassSVM, and some more.

        minimise  1/2 |w|^2 - nu n rho + sum_i xi_i,    w'phi(x_i) >= rho - xi_i,  xi_i >= 0

    Parameters
    ----------
    ... kernel, degree, gamma, coef0, tol
    nu : float in (0, 1], default 0.5
        Upper bound on the share of samples outside and lower bound on the share of support vectors.
    ... shrinking, cache_size, verbose, max_iter, solver, stopping, time_limit, n_jobs, warm_start, trace

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

    @fit_context(prefer_skip_nested_validation=True)
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
        values[np.abs(values) <= run.stopping.tol] = 0.0  # on the boundary, which side of it is left to rounding
        self._density_marks = density_marks(values, weight)

    def _bias(self, level: Vector) -> float:
        self.offset_ = level[:1].copy()
        return -float(level[0])

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
        """Probability that each sample in X is normal, by the place of its decision value among the training samples.

        LIBSVM's estimate (-b 1, since 3.31): ten bins, five on each side of the boundary, with as many training samples
        each; probabilities are multiples of 0.1, or 0.001 and 0.999 beyond the outermost bins. Not `predict_proba`,
        which scikit-learn's tools take for the mark of a classifier.

        Returns
        -------
        probability : array of shape (n_samples,)
        """
        values = self.decision_function(X)
        marks = getattr(self, "_density_marks", None)  # models of other software need not have any
        if marks is None or len(marks) == 0:
            raise ValueError(
                "inlier_probability needs at least five training samples inside the region and five outside: choose a "
                "larger nu or give more samples."
            )
        return probability_of_normal(values, marks)
