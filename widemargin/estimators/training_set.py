"""The training set: samples of positive weight, their targets and weights, and numbers computed from the data.

A weight multiplies C of its sample, so that weight 2 equals the sample given twice and weight 0 equals the sample left
out. Samples of weight zero are removed here, before the problem is built.

gamma = "scale" is 1 / (n_features * variance of all entries of X). The variance counts each sample with its weight,
again so that weights equal repetition (scikit-learn ignores the weights there).
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin._sklearn import safe_indexing
from widemargin.linalg.arrays import Vector
from widemargin.linalg.exchange import as_numpy
from widemargin.monitor.user_warning import warn_user

VARIANCE_CHUNK = 1 << 20  # entries per chunk of the variance: X.var() would make a float64 copy of all of X


@dataclass(eq=False)
class TrainingSet:
    """Samples of positive weight.

    Attributes
    ----------
    X : the samples, as validated
    y : their targets, or None
    weight : their weights, or None if all are one
    kept : their indices in the data given to fit, or None if no sample was left out
    n_given : number of samples given to fit
    """

    X: Any
    y: Any
    weight: Vector | None
    kept: NDArray[np.int64] | None
    n_given: int

    def __len__(self) -> int:
        return self.n_given if self.kept is None else len(self.kept)

    def weights(self) -> Vector:
        return np.ones(len(self)) if self.weight is None else self.weight

    def rows(self, index: NDArray[np.int64]) -> Any:
        """Return some of the samples, as given."""
        return self.X[index] if isinstance(self.X, np.ndarray) else safe_indexing(self.X, index)

    def gamma(self, gamma: Any) -> float:
        """Return gamma as a number, computed from the data for "scale" and "auto"."""
        return resolve_gamma(gamma, self.X, self.weight)

    def given_places(self, index: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the indices, in the data given to fit, of samples of this set."""
        return (index if self.kept is None else self.kept[index]).astype(np.int32)


def leave_out_weightless(X: Any, y: Any, sample_weight: Any, n_samples: int, pairwise: bool) -> TrainingSet:
    """Read sample weights and leave out the samples whose weight is zero; `pairwise` cuts columns as well as rows."""
    weight = read_weights(sample_weight, n_samples)
    if weight is None or weight.min() > 0:
        return TrainingSet(X, y, weight, None, n_samples)
    kept = np.flatnonzero(weight > 0)
    if len(kept) == 0:
        raise ValueError(
            "Invalid input - all samples have zero or negative weights. Give at least one sample a positive weight."
        )
    if weight.min() < 0:
        warn_user(
            f"sample_weight contains negative values, for which the problem has no meaning: the {(weight < 0).sum()} "
            "samples with one are left out, as scikit-learn does silently. Use weights >= 0; zero leaves a "
            "sample out.",
            UserWarning,
        )
    X = X[np.ix_(kept, kept)] if pairwise else safe_indexing(X, kept)
    return TrainingSet(X, None if y is None else y[kept], weight[kept], kept, n_samples)


def read_weights(sample_weight: Any, n_samples: int) -> Vector | None:
    """Return the sample weights as a vector, or None if no weights were given."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        return np.full(n_samples, float(sample_weight))
    weight = np.asarray(as_numpy(sample_weight), np.float64)
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight and X have incompatible shapes: sample_weight has shape {weight.shape}, expected "
            f"({n_samples},), one weight per sample."
        )
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight contains NaN or infinity: give a finite weight >= 0 for each sample.")
    return weight


def resolve_gamma(gamma: Any, X: Any, weight: Vector | None) -> float:
    """Return gamma as a number, computed from the data for "scale" and "auto"."""
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        variance = variance_of_entries(X, weight)
    return gamma_of(variance, X.shape[1])


def gamma_of(variance: float, n_features: int) -> float:
    """Return gamma="scale" for data of this variance."""
    if not np.isfinite(variance):
        raise ValueError(
            "The dual coefficients or intercepts are not finite numbers on these data: they are so large that the "
            "variance of X, which gamma='scale' divides by, overflows. Scale the features, for example with "
            "StandardScaler."
        )
    return 1.0 / (n_features * variance) if variance > 0 else 1.0


def variance_of_entries(X: Any, weight: Vector | None) -> float:
    """Variance of all entries of X, each sample counted with its weight."""
    if sp.issparse(X):
        counts = None if weight is None else np.repeat(weight, np.diff(X.indptr))
        total = X.shape[1] * (X.shape[0] if weight is None else weight.sum())
        values = X.data.astype(np.float64, copy=False)
        first = values.sum() if counts is None else values @ counts
        second = values @ values if counts is None else (values * values) @ counts
        return float(second / total - (first / total) ** 2)
    if weight is None and X.size <= VARIANCE_CHUNK:
        return float(X.var(dtype=np.float64))
    rows = max(1, VARIANCE_CHUNK // X.shape[1])
    origin = float(X[:rows].mean(dtype=np.float64))  # subtracting a typical value avoids cancellation
    first = second = total = 0.0
    for start in range(0, X.shape[0], rows):
        chunk = X[start : start + rows].astype(np.float64)
        chunk -= origin
        share = np.ones(len(chunk)) if weight is None else weight[start : start + rows]
        first += share @ chunk.sum(axis=1)
        second += share @ np.einsum("ij,ij->i", chunk, chunk)
        total += share.sum() * X.shape[1]
    return float(second / total - (first / total) ** 2)


def as_targets(y: Any) -> Vector:
    """Targets as float64 columns, shape (n_samples, n_targets)."""
    try:
        targets = np.asarray(y, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers; got {type(y).__name__} of other things.") from error
    if targets.ndim not in (1, 2) or not np.isfinite(targets).all():
        raise ValueError(
            f"y must be finite numbers of shape (n_samples,) or (n_samples, n_targets); got shape {targets.shape}"
            + ("." if np.isfinite(targets).all() else " with NaN or infinity.")
        )
    return np.ascontiguousarray(targets.reshape(len(targets), -1))


def stack_samples(first: Any, second: Any) -> Any:
    """Concatenate the samples of two collections of the same kind: arrays, sparse matrices, or lists."""
    if sp.issparse(first) or sp.issparse(second):
        return sp.vstack([sp.csr_array(first), sp.csr_array(second)], format="csr")
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return np.concatenate([first, second])
    return [*first, *second]
