"""What all estimators with a kernel share: their parameters, reading data to fit and to predict, and the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from widemargin._sklearn import num_samples
from widemargin.estimators.notebook import ShowsCertificate
from widemargin.estimators.parameters import FINITE, NOT_NEGATIVE, POSITIVE, Constraints, one_of, option, whole
from widemargin.estimators.plain_data import are_plain_targets, is_plain_matrix, is_plain_sparse
from widemargin.estimators.training_set import FLOATS, TrainingSet, as_targets, leave_out_weightless, resolve_gamma
from widemargin.kernels import KERNEL_NAMES, Kernel, Precomputed, make_kernel
from widemargin.kernels.names import is_precomputed, takes_objects
from widemargin.linalg.arrays import Vector
from widemargin.models.expansion import Expansion
from widemargin.monitor.callbacks import CallbackMixin, StepListener, Steps
from widemargin.monitor.iteration import Watch
from widemargin.monitor.progress import watching

WITHOUT_GAMMA = {"linear", "cosine", "precomputed"}  # no pass over X for a number they do not use


@dataclass(kw_only=True, eq=False, repr=False)
class KernelEstimator(ShowsCertificate, CallbackMixin, BaseEstimator):
    """An estimator with a kernel. Fields are the parameters of the constructor."""

    kernel: Any = option("rbf", one_of(*KERNEL_NAMES), Kernel, callable)
    n_jobs: int | None = option(None, Integral, None)

    _parameter_constraints = Constraints()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = self._takes_sparse()
        return tags

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Read off the signature once per class: on small data reading it again is a tenth of a fit."""
        return super()._get_param_names()

    @contextmanager
    def _reporting(self, X: Any, y: Any = None, sample_weight: Any = None) -> Iterator[Steps | None]:
        """Context of a fit that scikit-learn's callbacks follow; yields None where there are none."""
        steps = self._begin_steps(X, y, sample_weight)
        yield steps
        if steps is not None:
            steps.finish()

    def _takes_sparse(self) -> bool:
        return not is_precomputed(self.kernel)

    def _takes_objects(self) -> bool:
        """Whether the kernel decides what a sample is, so that X is not validated."""
        return takes_objects(self.kernel)

    def _read(
        self, X: Any, y: Any = None, sample_weight: Any = None, plain_targets: Any = None, **checks: Any
    ) -> TrainingSet:
        """Validate the data of a fit, once, and leave out samples without weight.

        `plain_targets(y, n)` tells whether y can be used as it is; None means there are no targets. `checks` go to
        scikit-learn's validation of all other data.
        """
        precomputed = is_precomputed(self.kernel)
        if precomputed:
            refuse_sparse_kernel(X)
        if self._takes_objects():
            if plain_targets is not None:
                check_consistent_length(X, y)
                y = np.asarray(y)
        elif is_plain_matrix(X) and (plain_targets is None or plain_targets(y, len(X))):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        else:
            targets = {} if plain_targets is None else {"y": y, **checks}
            checked = validate_data(self, X, dtype=FLOATS, accept_sparse=self._takes_sparse() and "csr", **targets)
            X, y = checked if targets else (checked, None)
        if precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"Precomputed matrix must be a square matrix: got {X.shape[0]} x {X.shape[1]}. Give fit the kernel "
                "between all pairs of training samples."
            )
        n_samples = num_samples(X)
        self.shape_fit_ = getattr(X, "shape", (n_samples,))
        return leave_out_weightless(X, None if plain_targets is None else y, sample_weight, n_samples, precomputed)

    def _read_column(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[TrainingSet, Vector]:
        """Validated data, and one number per sample as their targets."""
        data = self._read(X, y, sample_weight, are_plain_targets, y_numeric=True)
        return data, as_targets(column_or_1d(data.y, warn=True))[:, 0]

    def _read_to_predict(self, X: Any) -> Any:
        """New samples as the kernel takes them, or a sentence."""
        if not hasattr(self, "shape_fit_"):
            check_is_fitted(self)
        if self._takes_objects():
            vectors = getattr(self, "support_vectors_", None)
            if isinstance(X, (list, tuple)) and isinstance(vectors, np.ndarray):
                X = np.asarray(X)  # the function was trained on an array and may ask for X.T or X[:, 0]
            self._check_width(getattr(X, "shape", ()), getattr(vectors, "shape", ()))
        elif not self._is_plain_to_predict(X):
            if is_precomputed(self.kernel):
                refuse_sparse_kernel(X)
            X = validate_data(self, X, dtype=FLOATS, accept_sparse=self._takes_sparse() and "csr", reset=False)
        return X

    def _check_width(self, given: tuple[int, ...], known: tuple[int, ...]) -> None:
        """A function of the user's would fail on a table of another width, or return wrong values silently."""
        if len(given) == len(known) == 2 and given[1] != known[1]:
            raise ValueError(
                f"X has {given[1]} features, but {type(self).__name__} is expecting {known[1]} features as input: give "
                "the kernel function the same features as in fit."
            )

    def _is_plain_to_predict(self, X: Any) -> bool:
        """Whether X needs no validation: plain data of the right width, and no feature names to compare."""
        plain = is_plain_matrix(X) or (is_plain_sparse(X) and self._takes_sparse())
        same_width = plain and X.shape[1] == getattr(self, "n_features_in_", None)
        return same_width and "feature_names_in_" not in self.__dict__

    def _evaluate(self, X: Any, kernel: Kernel, vectors: Any, coefficients: Vector, intercept: Any = 0.0) -> Vector:
        """sum_j k(x, z_j) coefficients_j + intercept at validated samples, shape (n_samples, n_targets)."""
        vectors = slice(None) if isinstance(kernel, Precomputed) else vectors  # all columns of X
        intercepts = np.broadcast_to(intercept, coefficients.shape[1])
        return Expansion(kernel, vectors, coefficients.T, intercepts).decision(X, self.n_jobs)


@dataclass(kw_only=True, eq=False, repr=False)
class NamedKernel(KernelEstimator):
    """Parameters of kernels given by name."""

    degree: int = option(3, whole(0))
    gamma: float | str = option("scale", one_of("scale", "auto"), NOT_NEGATIVE)
    coef0: float = option(0.0, FINITE)

    def _make_kernel(self, data: TrainingSet) -> Kernel:
        """The kernel with its numbers; "scale" and "auto" are resolved on the data."""
        uses_gamma = isinstance(self.kernel, str) and self.kernel not in WITHOUT_GAMMA
        self._gamma = resolve_gamma(self.gamma, data.X, data.weight) if uses_gamma else 0.0
        return self._kernel_of_fit()

    def _kernel_of_fit(self) -> Kernel:
        return make_kernel(self.kernel, gamma=self._gamma, degree=self.degree, coef0=self.coef0)


@dataclass(kw_only=True, eq=False, repr=False)
class LimitedFit(KernelEstimator):
    """Tolerance, limits and progress of an iterative fit."""

    tol: float = option(1e-3, POSITIVE)
    max_iter: int = option(-1, whole(-1))
    time_limit: float | None = option(None, POSITIVE, None)
    cache_size: float | None = option(None, POSITIVE, None)
    verbose: bool = option(False, "verbose")

    def _watching(
        self, steps: Steps | None, expose: Callable[[Any, list[Any]], None], start: Sequence[Any] = (None,)
    ) -> AbstractContextManager[Watch | None]:
        """Context manager yielding the listener of a fit (progress bar, scikit-learn's callbacks, both), or None."""
        listener = None if steps is None else StepListener(steps, self, expose, start)
        return watching(type(self).__name__, self.verbose, listener)


def refuse_sparse_kernel(X: Any) -> None:
    """Say that the matrix itself is the trouble: general validation would speak of data."""
    if sp.issparse(X):
        raise TypeError("Sparse precomputed kernels are not supported: give the dense matrix, X.toarray().")
