"""Data of the command line: LIBSVM text as the estimators want it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.io.errors import FileError
from widemargin.io.libsvm_text import read_libsvm


def read_samples(
    path: str, *, precomputed: bool = False, n_features: int | None = None, ignore_more: bool = False
) -> tuple[Any, NDArray[np.float64]]:
    """Samples and labels of a file.

    precomputed : rows are `label 0:number 1:k(x,x1) 2:k(x,x2) ...`, LIBSVM's way to write a kernel matrix.
    n_features : number of columns wanted; with `ignore_more` columns beyond it are left out instead of refused.
    """
    if precomputed:
        X, y = read_libsvm(path)
        numbers = X[:, [0]].toarray().ravel()
        if n_features is None and not np.array_equal(numbers, np.arange(1, len(y) + 1)):
            raise FileError(
                f"{path} is not a precomputed kernel: expected lines 'label 0:number 1:value 2:value ...' with numbers "
                "1, 2, 3, ... after 0:."
            )
        return X[:, 1:].toarray(), y
    X, y = read_libsvm(path, None if ignore_more else n_features)
    if ignore_more and n_features is not None and X.shape[1] != n_features:
        X.resize(len(y), n_features)
    return X, y


def labels_as_written(y: NDArray[np.float64]) -> NDArray:
    """Class labels as whole numbers where they all are, so that they are written as they were read: 1 and not 1.0."""
    whole = y.astype(np.int64)
    return whole if np.array_equal(whole, y) else y
