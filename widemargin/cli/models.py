"""Models that commands open: our own files, and LIBSVM's; the first bytes of a file determine its kind."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_outlier_detector

from widemargin.cli.data import Data, labels_as_written, read_like, targets_for
from widemargin.cli.screen import Screen
from widemargin.storage.archive import is_archive
from widemargin.storage.errors import FileError

PICKLES = (b"\x80", b"(", b"ccopy_reg", b"\x78\x9c")  # first bytes; the last is joblib's zlib
LIBSVM_HEADS = (b"svm_type", b"kernel_type", b"nr_class")
PRINTED = 1e-7  # relative accuracy of eight printed digits


def open_model(path: str, n_features: int | None = None) -> Any:
    """A fitted estimator from a file of ours or of LIBSVM.

    n_features : of the data; LIBSVM's files do not contain the number of features.
    """
    kind = kind_of_model(path)
    if kind == "libsvm":
        from widemargin.io.libsvm_model import read_libsvm_model

        model = read_libsvm_model(path, n_features)
        model.preparation_ = {"format": "libsvm", "zero_based": False}  # its features always count from 1
        return model
    if kind == "pickle":
        raise FileError(
            f"{path} is a pickle, and reading one can run code that is in it. If you trust where it comes from: "
            f"widemargin convert --trust-pickle {path} {os.path.basename(path)}.model"
        )
    from widemargin.io.model_file import load

    return load(path)


def open_with_data(options: SimpleNamespace, screen: Screen) -> tuple[Any, Data, Any]:
    """Return the model of a command, its data, and the targets as the model needs them."""
    check_order(options)
    model = open_model(options.model)
    data = read_like(model, options, screen)
    for note in data.notes:
        screen.note(note)
    return model, data, targets_for(model, data, options.data)


def check_order(options: SimpleNamespace) -> None:
    """FileError if data were given where a model belongs, and the model where the data belong, or there are none."""
    if options.data != "-" and not os.path.exists(options.data):
        raise FileError(f"{options.data} does not exist: check the path.")  # before the other file is called damaged
    if is_model(options.data) and not is_model(options.model):
        raise FileError(
            f"{options.data} is a model and {options.model} is not: they are the wrong way round, swap them."
        )


def is_model(path: str) -> bool:
    """Whether a file is a model, of ours or of LIBSVM."""
    return os.path.isfile(path) and (kind_of_model(path) == "libsvm" or is_archive(path))


def kind_of_model(path: str) -> str:
    """ "libsvm", "pickle", or "widemargin" for all the rest, whose reader says what is wrong."""
    try:
        with open(path, "rb") as stream:
            head = stream.read(16)
    except OSError:
        return "widemargin"
    if head.startswith(LIBSVM_HEADS):
        return "libsvm"
    return "pickle" if head.startswith(PICKLES) else "widemargin"


def agreement(model: Any, answers: Any, y: Any) -> dict[str, Any]:
    """Return how well the answers agree with the labels: accuracy, or the error of a regression."""
    if y is None:
        return {}
    if is_classifier(model) or is_outlier_detector(model):
        given = labels_as_written(y)
        if (given.dtype.kind == "U") != (answers.dtype.kind == "U"):
            return {}
        right = int(np.sum(answers == given))
        words = f"accuracy {right / len(y):.4%} ({right:,} of {len(y):,})"
        return {"words": words, "accuracy": right / len(y), "right": right}
    if y.dtype.kind not in "fiub":
        return {}
    error = float(np.mean((answers - y) ** 2))
    varies = np.ptp(answers) > 0 and np.ptp(y) > 0
    correlation = float(np.corrcoef(answers, y)[0, 1] ** 2) if varies else float("nan")
    words = f"mean squared error {error:.6g}, squared correlation {correlation:.6g}"
    return {"words": words, "mean_squared_error": error, "squared_correlation": correlation}


def take_rows_for_vectors(model: Any, X: Any) -> None:
    """Give a model the rows of X at `support_` as its support vectors, where they are equal up to printed digits.

    Text files round: the model may know its vectors in eight digits, or the data may have been written in sixteen.
    """
    rows = model.support_
    if model.kernel == "precomputed" or isinstance(X, list) or rows.max(initial=-1) >= X.shape[0]:
        return
    given, own = sp.csr_matrix(X[rows]), sp.csr_matrix(model.support_vectors_)
    if given.shape == own.shape and abs(given - own).max() <= PRINTED * abs(own).max():
        model.support_vectors_ = X[rows]
