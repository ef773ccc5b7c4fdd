"""Which samples of the training data are the support vectors of a model read from LIBSVM's file.

The file holds the vectors, rounded to eight digits, but not their indices: rows are found by printing them likewise.
"""

from __future__ import annotations

import copy
from collections import defaultdict, deque
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin._sklearn import num_samples
from widemargin.kernels.names import is_precomputed, takes_objects

DIGITS = ".8g"  # LIBSVM prints the features of support vectors with eight digits


def knows_its_vectors_only(model: Any, n_samples: int) -> bool:
    """Whether the training samples that a model counts are its support vectors only, and may be some of these samples.

    So it is with models from LIBSVM's files, and with those all of whose samples are support vectors.
    """
    support = np.asarray(model.support_)
    if takes_objects(model.kernel):
        return False
    if is_precomputed(model.kernel):
        return bool(n_samples > model.shape_fit_[0] == support.max(initial=-1) + 1)
    return bool(n_samples >= model.shape_fit_[0] == len(support) and (support == np.arange(len(support))).all())


def with_support(model: Any, X: Any, y: Any) -> Any:
    """Return a copy of the model whose `support_` are the rows of its training data X that are its support vectors.

    Of equal rows those of the right class are taken, each once.
    """
    model = copy.copy(model)
    model.shape_fit_ = (num_samples(X), X.shape[1])
    if is_precomputed(model.kernel):
        return model
    rows: dict[Any, deque[int]] = defaultdict(deque)
    classes = getattr(model, "classes_", None)
    labels = y if classes is not None else np.zeros(X.shape[0])
    for row, key in enumerate(_printed(X)):
        rows[key, labels[row]].append(row)
    own = np.repeat(classes, model.n_support_) if classes is not None else np.zeros(len(model.support_))
    support = []
    for key, label in zip(_printed(model.support_vectors_), own, strict=True):
        if not rows.get((key, label)):
            raise ValueError(
                "A support vector of the model is not among the given samples: give the data it was trained on."
            )
        support.append(rows[key, label].popleft())
    model.support_ = np.array(support, model.support_.dtype)
    model.support_vectors_ = X[model.support_]
    return model


def _printed(X: Any) -> list[tuple]:
    """Return each row as LIBSVM would print it."""
    X = sp.csr_matrix(X)
    X.sort_indices()
    words = [(index, format(value, DIGITS)) for index, value in zip(X.indices.tolist(), X.data.tolist())]
    return [
        tuple(word for word in words[begin:end] if float(word[1]) != 0.0) for begin, end in zip(X.indptr, X.indptr[1:])
    ]
