"""Base class of all estimators with a kernel: parameters, reading data for fit and predict, and the kernel."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from widemargin._sklearn import num_samples
from widemargin.estimators.parameters import FINITE, NOT_NEGATIVE, POSITIVE, estimator, one_of, option, whole
from widemargin.estimators.plain_data import ReadsData, are_plain_targets
from widemargin.estimators.training_set import TrainingSet, as_targets, leave_out_weightless
from widemargin.kernels import KERNEL_NAMES, Kernel, Precomputed, make_kernel
from widemargin.kernels.names import is_precomputed, takes_objects
from widemargin.linalg.arrays import Vector
from widemargin.linalg.exchange import refuse_cluster
from widemargin.models.expansion import Expansion

WITHOUT_GAMMA = {"linear", "cosine", "precomputed"}  # spares a pass over X for a number that they do not use


@estimator
class KernelEstimator(ReadsData):
    """An estimator with a kernel. Fields are the parameters of the constructor.

    kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "chi2", "cosine", "precomputed"}, Kernel or callable, \
            default "rbf"
        A `Kernel` carries its own parameters. A callable is a function of two sets of samples, m and n of them,
        that returns an array of shape (m, n). With "precomputed" X is the kernel matrix itself.
    n_jobs : int or None, default None
        Threads; None means all cores this process may use. Fits in several threads share one pool.
    n_features_in_, feature_names_in_, shape_fit_
        As in scikit-learn.
    """

    kernel: Any = option("rbf", one_of(*KERNEL_NAMES), Kernel, callable)
    n_jobs: int | None = option(None, Integral, None)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    def _takes_sparse(self) -> bool:
        return not is_precomputed(self.kernel)

    def _takes_objects(self) -> bool:
        """Whether samples may be any objects that the kernel accepts, so that X is not validated."""
        return takes_objects(self.kernel)

    def _read(
        self, X: Any, y: Any = None, sample_weight: Any = None, plain_targets: Any = None, **checks: Any
    ) -> TrainingSet:
        """Validate the data of a fit, once, and leave out samples without weight.

        `plain_targets` and `checks` are those of `_validated`; without `plain_targets` there are no targets.
        """
        precomputed = is_precomputed(self.kernel)
        if precomputed:
            refuse_sparse_kernel(X)
        if self._takes_objects():
            refuse_cluster(X)
            if plain_targets is not None:
                check_consistent_length(X, y)
                y = np.asarray(y)
        else:
            X, y = self._validated(X, y, plain_targets, **checks)
        if precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"Precomputed matrix must be a square matrix: got {X.shape[0]} x {X.shape[1]}. Give fit the kernel "
                "between all pairs of training samples."
            )
        n_samples = num_samples(X)
        self.shape_fit_ = getattr(X, "shape", (n_samples,))
        return leave_out_weightless(X, y, sample_weight, n_samples, precomputed)

    def _read_column(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[TrainingSet, Vector]:
        """Return validated data, with one number per sample as targets."""
        data = self._read(X, y, sample_weight, are_plain_targets, y_numeric=True)
        return data, as_targets(column_or_1d(data.y, warn=True))[:, 0]

    def _read_to_predict(self, X: Any) -> Any:
        """Return validated new samples in the form that the kernel takes; raise ValueError if they are unsuitable."""
        if not hasattr(self, "shape_fit_"):
            check_is_fitted(self)
        if self._takes_objects():
            refuse_cluster(X)
            vectors = getattr(self, "support_vectors_", None)
            if isinstance(X, (list, tuple)) and isinstance(vectors, np.ndarray):
                X = np.asarray(X)  # the function was trained on an array and may use X.T or X[:, 0]
            self._check_width(getattr(X, "shape", ()), getattr(vectors, "shape", ()))
            return X
        if is_precomputed(self.kernel):
            refuse_sparse_kernel(X)
        return self._validated_to_predict(X)

    def _check_width(self, given: tuple[int, ...], known: tuple[int, ...]) -> None:
        """Check the number of features: a user's function could return wrong values silently for another width."""
        if len(given) == len(known) == 2 and given[1] != known[1]:
            raise ValueError(
                f"X has {given[1]} features, but {type(self).__name__} is expecting {known[1]} features as input: give "
                "the kernel function the same features as in fit."
            )

    def _evaluate(self, X: Any, kernel: Kernel, vectors: Any, coefficients: Vector, intercept: Any = 0.0) -> Vector:
        """sum_j k(x, z_j) coefficients_j + intercept at validated samples, shape (n_samples, n_targets)."""
        vectors = slice(None) if isinstance(kernel, Precomputed) else vectors  # all columns of X
        intercepts = np.broadcast_to(intercept, coefficients.shape[1])
        return Expansion(kernel, vectors, coefficients.T, intercepts).decision(X, self.n_jobs)


@estimator
class NamedKernel(KernelEstimator):
    """Parameters of kernels given by name.

    degree : int, default 3
        Degree of "poly".
    gamma : {"scale", "auto"} or float, default "scale"
        Scale of "rbf", "poly", "sigmoid", "laplacian" and "chi2". "scale" is 1 / (n_features * variance of X),
        the variance counted with the sample weights; "auto" is 1 / n_features.
    coef0 : float, default 0.0
        Constant of "poly" and "sigmoid".
    """

    degree: int = option(3, whole(0))
    gamma: float | str = option("scale", one_of("scale", "auto"), NOT_NEGATIVE)
    coef0: float = option(0.0, FINITE)

    def _make_kernel(self, data: TrainingSet) -> Kernel:
        """Return the kernel with its parameters; "scale" and "auto" are computed from the data."""
        uses_gamma = isinstance(self.kernel, str) and self.kernel not in WITHOUT_GAMMA
        self._gamma = data.gamma(self.gamma) if uses_gamma else 0.0
        return self._kernel_of_fit()

    def _kernel_of_fit(self) -> Kernel:
        return make_kernel(self.kernel, gamma=self._gamma, degree=self.degree, coef0=self.coef0)


@estimator
class LimitedFit(KernelEstimator):
    """Tolerance, limits and progress of an iterative fit.

    on_interrupt : {"auto", "keep", "raise"}, default "auto"
        What Ctrl-C does once the model so far is certified: "keep" warns and returns it; "raise" raises
        KeyboardInterrupt, and the estimator is fitted nevertheless; "auto" keeps at a prompt or in a notebook and
        raises in a script. Clones, as in searches and cross-validation, and a second Ctrl-C always raise.
    """

    tol: float = option(1e-3, POSITIVE)
    max_iter: int = option(-1, whole(-1))
    time_limit: float | None = option(None, POSITIVE, None)
    cache_size: float | None = option(None, POSITIVE, None)
    verbose: bool = option(False, "verbose")
    on_interrupt: str = option("auto", one_of("auto", "keep", "raise"))


def refuse_sparse_kernel(X: Any) -> None:
    """Raise an error that names the sparse kernel matrix; general validation would complain about data."""
    if sp.issparse(X):
        raise TypeError("Sparse precomputed kernels are not supported: give the dense matrix, X.toarray().")
