"""One-class machine: the region that holds all but a share nu of the samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from widemargin._sklearn import fit_context
from widemargin.calibration.one_class import density_marks, probability_of_normal
from widemargin.estimators.base import SingleProblem, Vector
from widemargin.estimators.parameters import SHARE, option
from widemargin.estimators.run import Run
from widemargin.problems.one_class import one_class

ON_THE_BOUNDARY = (
    1e-9  # of the offset: decision values this close to zero are zero, so that rounding does not judge them
)


@dataclass(kw_only=True, eq=False, repr=False)
class OneClassSVM(OutlierMixin, SingleProblem):
    """Detection of outliers: the parameters of scikit-learn's OneClassSVM, and some more.

        minimise  1/2 |w|^2 - nu n rho + sum_i xi_i,    w'phi(x_i) >= rho - xi_i,  xi_i >= 0

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
    nu : float in (0, 1], default 0.5
        Upper bound on the share of samples outside and lower bound on the share of support vectors.
    shrinking : bool, default True
        Accepted for compatibility; the solver decides by itself.
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
