"""One-class machine: the region that holds all but a share nu of the samples."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin, _fit_context
from sklearn.utils._param_validation import Interval

from widemargin.estimators.base import KernelMachine, Vector
from widemargin.problems.one_class import one_class

ON_THE_BOUNDARY = (
    1e-9  # of the offset: decision values this close to zero are zero, so that rounding does not judge them
)


class OneClassSVM(OutlierMixin, KernelMachine):
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
        of the dual objective.
    time_limit : float or None, default None
        Seconds after which the best machine so far is returned, with a warning.
    n_jobs : int or None, default None
        Threads; None means all cores.
    warm_start : bool, default False
        Start from the multipliers of the previous fit when the number of samples is the same.

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
        Distance from the optimum, computed afresh in float64.
    status_ : Status
        How the solver ended; `fit_status_` is 0 if it met the tolerance, else 1.
    offset_ : array of shape (1,)
        rho: decision_function = score_samples - offset_.

    Examples
    --------
    >>> from widemargin import OneClassSVM
    >>> X = [[0], [0.44], [0.45], [0.46], [1]]
    >>> OneClassSVM(gamma="auto").fit(X).predict(X).tolist()
    [-1, 1, 1, 1, -1]
    """

    _parameter_constraints: dict = {
        **KernelMachine._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    _kept_private = ("_gamma", "_density_marks")

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float | None = None,
        verbose: bool = False,
        max_iter: int = -1,
        solver: str = "auto",
        stopping: str = "kkt",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.solver = solver
        self.stopping = stopping
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.warm_start = warm_start

    @_fit_context(prefer_skip_nested_validation=True)
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
        data = self._read(X, None, sample_weight)
        kernel = self._make_kernel(data)
        dual = one_class(data.weights(), self.nu)
        solution = self._train(self._start_training(kernel, data), [dual], [None])[0].solution
        support = np.flatnonzero(solution.beta)
        self._expose(kernel, data, support, solution.beta[None, support], -solution.level[:1])
        self.offset_ = -self.intercept_
        self.n_support_ = np.array([len(support)], np.int32)
        self.n_iter_ = int(solution.iterations)
        self._warn_unless_converged()
        return self

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
