"""Attributes of a fitted kernel model: its support vectors among samples, its coefficients, and its function.

Attributes may come from a file or from another library, and compiled code does not check sizes and indices, so they
are checked before the decision function is built.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin._sklearn import num_samples, safe_indexing
from widemargin.estimators.plain_data import FLOATS
from widemargin.estimators.training_set import TrainingSet
from widemargin.kernels import Precomputed
from widemargin.kernels.names import is_precomputed, takes_objects
from widemargin.linalg.arrays import Vector
from widemargin.linalg.sparse_structure import sound_sparse
from widemargin.models.expansion import Expansion


def support_in(model: Any, data: TrainingSet) -> NDArray[np.int64]:
    """Return the indices of the support vectors among the samples of positive weight."""
    support = np.asarray(model.support_, np.int64)

    def may_be_at(places: NDArray[np.int64]) -> bool:
        """Whether these samples may be the support vectors: no difference was found, or they cannot be compared."""
        return _are_support_vectors(model, data.rows(places)) is not False

    if data.kept is not None:
        place = np.searchsorted(data.kept, support)
        if np.array_equal(data.kept[np.minimum(place, len(data.kept) - 1)], support) and may_be_at(place):
            return place
        # after a sparse fit scikit-learn's support_ counts samples of positive weight only
        if support.max(initial=-1) < len(data) and may_be_at(support) and sp.issparse(data.X):
            return support
        raise ValueError("The support vectors of the model are not among the samples with positive weight in X.")
    if not may_be_at(support):
        raise ValueError(
            "The support vectors of the model are not the samples of X at support_: give its training data."
        )
    return support


def is_training_data(model: Any, X: Any) -> bool | None:
    """Whether the samples of X at `support_` are the model's support vectors, which may be rounded to float32; None if
    they cannot be compared."""
    if num_samples(X) != model.shape_fit_[0]:
        return False
    return _are_support_vectors(model, safe_indexing(X, model.support_), float(np.finfo(np.float32).eps))


def _are_support_vectors(model: Any, rows: Any, rounding: float = 0.0) -> bool | None:
    """Whether samples are the model's support vectors, up to a relative rounding; None if that cannot be said."""
    vectors = sound_sparse(model.support_vectors_)
    if is_precomputed(model.kernel) or num_samples(vectors) != num_samples(rows):
        return None
    if sp.issparse(rows) or sp.issparse(vectors):  # dense copies of text would not fit in memory
        rows, vectors = sp.csr_matrix(rows), sp.csr_matrix(vectors)
        if rows.shape != vectors.shape or rows.shape[0] == 0:
            return rows.shape == vectors.shape
        return bool(abs(rows - vectors).max() <= rounding * abs(vectors).max())
    if takes_objects(model.kernel):  # which need not define equality
        return np.array_equal(rows, vectors) or None
    rows, vectors = np.asarray(rows, np.float64), np.asarray(vectors, np.float64)
    return rows.shape == vectors.shape and np.allclose(rows, vectors, rtol=rounding, atol=0.0)


def coefficients_of(model: Any) -> Vector:
    """Coefficients as a dense matrix, one row per output."""
    return model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else np.asarray(model.dual_coef_, np.float64)


def rebuild_expansion(machine: Any) -> Expansion:
    """Return the kernel expansion of a fitted model; raise ValueError if its attributes are inconsistent."""
    kernel = machine._kernel_of_fit()
    vectors = _columns(machine) if isinstance(kernel, Precomputed) else checked_vectors(machine)
    count = num_samples(vectors)
    n_support = np.shape(machine.dual_coef_)[-1]  # checked before a sparse matrix is written out
    if not len(machine.support_) == count == n_support:
        raise ValueError(
            f"there are {len(machine.support_)} numbers and {count} support vectors for {n_support} coefficients, "
            "which must be as many"
        )
    n_classes = len(machine.classes_) if hasattr(machine, "classes_") else 2
    if n_classes < 2:
        raise ValueError(f"classes_ has {n_classes} class, a classifier has at least 2")
    pairs = n_classes > 2 and machine.multi_class == "ovo"
    outputs = 1 if n_classes == 2 else n_classes
    rows, wanted = (n_classes - 1, n_classes * (n_classes - 1) // 2) if pairs else (outputs, outputs)
    intercept = finite_matrix("intercept_", np.atleast_2d(machine.intercept_))[0]
    n_rows = np.shape(machine.dual_coef_)[0]
    if n_rows != rows or len(intercept) != wanted:
        raise ValueError(
            f"{n_rows} rows of coefficients and {len(intercept)} intercepts are not the {rows} and "
            f"{wanted} of a model with {n_classes} classes"
        )
    if hasattr(machine, "tie_order_") and sorted(machine.tie_order_) != list(range(n_classes)):
        raise ValueError(f"tie_order_ must be an order of {n_classes} classes")
    coefficients = finite_matrix("dual_coef_", machine.dual_coef_)
    return Expansion(kernel, vectors, coefficients, intercept, _class_starts(machine, n_support) if pairs else None)


def finite_matrix(name: str, values: Any) -> NDArray[np.float64]:
    """Return a value as a two-dimensional float64 array; raise ValueError unless all entries are finite."""
    dense = values.toarray() if sp.issparse(values) else np.asarray(values)
    if dense.ndim != 2 or dense.dtype.kind != "f" or not np.isfinite(dense).all():
        raise ValueError(f"{name} must hold finite numbers, got an array of {dense.dtype} of shape {dense.shape}")
    return dense.astype(np.float64, copy=False)


def _columns(machine: Any) -> NDArray[np.int64]:
    """Return the columns of the kernel matrix that a model with a precomputed kernel uses."""
    support = np.asarray(machine.support_)
    n_training = int(machine.shape_fit_[0])
    if support.ndim != 1 or support.dtype.kind != "i" or (support < 0).any() or (support >= n_training).any():
        raise ValueError(f"support_ must hold numbers of training samples, 0 to {n_training - 1}")
    return support


def checked_vectors(machine: Any) -> Any:
    """Return the support vectors, with their number of features checked unless the kernel is a user's function.

    The indices of sparse ones are checked where the kernel prepares them (kernels/samples), and in files while reading.
    """
    vectors = machine.support_vectors_
    if takes_objects(machine.kernel):
        return vectors
    if not (sp.issparse(vectors) or isinstance(vectors, np.ndarray)) or vectors.dtype not in FLOATS:
        raise ValueError(f"support_vectors_ must be an array of numbers, got {type(vectors).__name__}")
    if vectors.ndim != 2 or vectors.shape[1] != machine.n_features_in_:
        raise ValueError(f"support vectors of shape {vectors.shape} do not have {machine.n_features_in_} features")
    return vectors


def _class_starts(machine: Any, n_support: int) -> NDArray[np.int64]:
    """Return the index of the first support vector of each class."""
    counts = np.asarray(machine.n_support_)
    if counts.shape != (len(machine.classes_),) or (counts < 0).any() or counts.sum() != n_support:
        raise ValueError(f"n_support_ = {counts.tolist()} does not divide {n_support} support vectors into classes")
    return np.concatenate([[0], np.cumsum(counts)])
