"""What a fitted kernel machine holds, ours or scikit-learn's: where its support vectors are, and its coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.estimators.training_set import TrainingSet
from widemargin.kernels.names import is_precomputed, takes_objects

Vector = NDArray[np.float64]


def support_in(model: Any, data: TrainingSet) -> NDArray[np.int64]:
    """Places of the support vectors among the samples that took part."""
    support = np.asarray(model.support_, np.int64)
    if data.kept is not None:
        place = np.searchsorted(data.kept, support)
        if np.array_equal(data.kept[np.minimum(place, len(data.kept) - 1)], support) and _same(model, data, place):
            return place
        # after a sparse fit scikit-learn counts among the samples of positive weight
        if support.max(initial=-1) < len(data) and _same(model, data, support) and sp.issparse(data.X):
            return support
        raise ValueError("The support vectors of the model are not among the samples with positive weight in X.")
    if not _same(model, data, support):
        raise ValueError(
            "The support vectors of the model are not the samples of X at support_: give its training data."
        )
    return support


def _same(model: Any, data: TrainingSet, support: NDArray[np.int64]) -> bool:
    """Whether the samples at `support` are the model's support vectors, where it keeps any that can be compared."""
    vectors = model.support_vectors_
    if takes_objects(model.kernel) or is_precomputed(model.kernel) or len(support) != vectors.shape[0]:
        return True
    given = data.X[support]
    if sp.issparse(given) or sp.issparse(vectors):
        return bool(abs(sp.csr_matrix(given) - sp.csr_matrix(vectors)).sum() == 0)
    return bool((given == vectors).all())


def coefficients_of(model: Any) -> Vector:
    """Coefficients as a dense matrix, one row per output."""
    return model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else np.asarray(model.dual_coef_, np.float64)
