"""The text of a LIBSVM model file, read line by line into plain arrays and written again.

    svm_type c_svc                  c_svc nu_svc one_class epsilon_svr nu_svr
    kernel_type rbf                 linear polynomial rbf sigmoid precomputed
    degree 3, gamma 0.5, coef0 0    each on its line, where the kernel has it
    nr_class 2                      2 for regression and one-class too
    total_sv 4
    rho 0.25                        minus the intercept, one per pair of classes
    label 1 -1                      classifiers only
    probA, probB                    sigmoids, one per pair; of a regression probA alone, the scale of its noise
    prob_density_marks              ten marks, of a one-class SVM with probabilities
    nr_sv 2 2                       classifiers only
    SV                              from here on one support vector per line:
    0.5 1:0.25 3:-1                 n_classes - 1 coefficients, then its features; 0:serial for a precomputed kernel

LIBSVM prints 17 digits of its coefficients but 8 of the features, so a model read from its file differs in the eighth
digit of its support vectors from the one that was trained; LIBSVM's own predictions from the file do as well. We print
17 digits everywhere, which LIBSVM reads.

See     svm_save_model and svm_load_model in LIBSVM's svm.cpp
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.estimators.registry import LIBSVM_TYPES
from widemargin.io.libsvm_text import quote
from widemargin.io.raw_bytes import read_bytes
from widemargin.linalg.arrays import Vector
from widemargin.storage.errors import FileError

#: Kernels with the parameters that their files have.
KERNEL_PARAMETERS: dict[str, tuple[str, ...]] = {
    "linear": (),
    "polynomial": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "precomputed": (),
}
WORDS = {"svm_type": tuple(LIBSVM_TYPES.values()), "kernel_type": tuple(KERNEL_PARAMETERS)}
ONE_NUMBER = {"degree": int, "gamma": float, "coef0": float, "nr_class": int, "total_sv": int}
NUMBERS = ONE_NUMBER | {
    "rho": float, "label": int, "probA": float, "probB": float, "prob_density_marks": float, "nr_sv": int,
}  # fmt: skip
NEEDED = ("svm_type", "kernel_type", "nr_class", "total_sv", "rho")
LARGEST_INDEX = np.iinfo(np.int32).max  # of LIBSVM, whose indices are 32-bit integers


@dataclass(eq=False)
class LibsvmModel:
    """The content of a model file, with classes in the order of the file.

    Attributes
    ----------
    head : the lines above "SV" by their first word: a word, a number, or an array of numbers
    coefficients : (n_classes - 1, n_SV)
    vectors : CSR matrix of shape (n_SV, largest index), or the serial numbers (n_SV,), from 0, of a precomputed kernel
    """

    head: dict[str, Any]
    coefficients: Vector
    vectors: Any

    @property
    def classifies(self) -> bool:
        """Whether the model is a classifier, with labels and votes."""
        return self.head["svm_type"] in ("c_svc", "nu_svc")

    def numbers(self, name: str) -> Vector:
        """The numbers of a line, none where the file has no such line."""
        return self.head.get(name, np.empty(0))


# ---- reading ---------------------------------------------------------------------------------------------------------


def parse_model(path: Any) -> LibsvmModel:
    """Read a model file; a FileError names the line that is wrong and says what was expected there."""
    lines = read_bytes(path).split(b"\n")
    head, first = _parse_head(path, lines)
    model = LibsvmModel(head, np.empty(0), None)
    count = head["total_sv"]
    n_classes = head["nr_class"] if model.classifies else 2  # LIBSVM writes 2; there is one model
    sizes = {"rho": n_classes * (n_classes - 1) // 2}
    if model.classifies:
        sizes |= {"label": n_classes, "nr_sv": n_classes, "probA": sizes["rho"], "probB": sizes["rho"]}
    for name, size in sizes.items():
        given = len(model.numbers(name))
        if given != size and not (name.startswith("prob") and given == 0):
            raise FileError(f"{path} has {given} values of {name}; a model with {n_classes} classes has {size}.")
    if model.classifies:
        if len(model.numbers("probA")) != len(model.numbers("probB")):
            raise FileError(f"{path} has only one of the lines probA and probB: probabilities need both, or none.")
        n_support = head["nr_sv"]
        if len(set(head["label"])) != n_classes or n_support.sum() != count or n_support.min() < 0:
            raise FileError(f"{path}: labels must differ, and nr_sv must sum to total_sv {count}.")
    body = [(number, line) for number, line in enumerate(lines[first:], first + 1) if line.strip()]
    if len(body) != count:
        raise FileError(
            f"{path} has {len(body)} lines of support vectors, but total_sv says {count}: it was cut off or joined."
        )
    precomputed = head["kernel_type"] == "precomputed"
    model.coefficients, model.vectors = _parse_vectors(path, body, n_classes - 1, precomputed)
    return model


def _parse_head(path: Any, lines: Sequence[bytearray]) -> tuple[dict[str, Any], int]:
    """The lines up to "SV" by their first word, and where the support vectors begin."""
    head: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        name, *values = line.decode("ascii", "replace").split() or [""]
        if name == "SV":
            break
        if name in WORDS:
            if len(values) != 1 or values[0] not in WORDS[name]:
                _wrong(path, number, line, f"{name} and one of {', '.join(WORDS[name])}")
            head[name] = values[0]
        elif name in NUMBERS:
            read = _numbers(values, NUMBERS[name])
            if read is None or (name in ONE_NUMBER and len(read) != 1):
                whole = "whole " if NUMBERS[name] is int else ""
                _wrong(path, number, line, f"{name} and {'one' if name in ONE_NUMBER else 'its'} {whole}numbers")
            head[name] = read[0].item() if name in ONE_NUMBER else read
        elif name:
            _wrong(path, number, line, f"one of svm_type, kernel_type, {', '.join(NUMBERS)}, SV")
    else:
        raise FileError(f"{path} is no model of LIBSVM, or it was cut off: it has no line 'SV'.")
    missing = [name for name in NEEDED if name not in head]
    if missing:
        raise FileError(f"{path} has no line {' and no line '.join(missing)}, which every model of LIBSVM has.")
    if head["nr_class"] < 2 or head["total_sv"] < 0 or head.get("degree", 0) < 0:
        raise FileError(
            f"{path} has nr_class {head['nr_class']}, total_sv {head['total_sv']}, degree {head.get('degree', 0)}: "
            "expected at least 2 classes, and no negative numbers."
        )
    return head, number


def _parse_vectors(
    path: Any, body: Sequence[tuple[int, bytearray]], n_coefficients: int, precomputed: bool
) -> tuple[Vector, Any]:
    """Coefficients (n_coefficients, n_SV) and support vectors."""
    coefficients = np.empty((n_coefficients, len(body)))
    indices, data = [np.empty(0)], [np.empty(0)]
    starts = [0]
    expected = f"{n_coefficients} coefficient{'s' if n_coefficients > 1 else ''} and index:value pairs"
    for row, (number, line) in enumerate(body):
        n_colons = [word.count(b":") for word in line.split()]
        values = _numbers(line.replace(b":", b" ").split(), float)
        in_order = n_colons == [0] * n_coefficients + [1] * (len(n_colons) - n_coefficients)
        if values is None or not in_order or len(values) != len(n_colons) + sum(n_colons):  # fewer of "3:" and ":3"
            _wrong(path, number, line, expected)
        coefficients[:, row] = values[:n_coefficients]
        index, value = values[n_coefficients::2], values[n_coefficients + 1 :: 2]
        if precomputed:
            if len(index) != 1 or index[0] != 0 or value[0] < 1 or value[0] != int(value[0]):
                _wrong(path, number, line, "0:serial, the number from 1 of a training sample")
        elif (index != np.floor(index)).any() or (index < 1).any() or (index > LARGEST_INDEX).any():
            _wrong(path, number, line, f"indices that are whole numbers from 1 to {LARGEST_INDEX}")
        elif (np.diff(index) <= 0).any():
            _wrong(path, number, line, "indices in ascending order")
        indices.append(index - 1)
        data.append(value)
        starts.append(starts[-1] + len(index))
    values, columns = np.concatenate(data), np.concatenate(indices).astype(np.int64)
    if precomputed:
        return coefficients, values.astype(np.int64) - 1
    return coefficients, sp.csr_matrix((values, columns, starts), (len(body), int(columns.max(initial=0)) + 1))


def _numbers(words: Sequence[Any], kind: type) -> NDArray | None:
    """Finite numbers of a kind, or None where a word is not one; Python would also take underscores between digits."""
    try:
        read = np.array([kind(word) for word in words], np.int64 if kind is int else np.float64)
    except (ValueError, OverflowError):
        return None
    return read if np.isfinite(read).all() and not any("_" in str(word) for word in words) else None


def _wrong(path: Any, number: int, line: bytearray, expected: str) -> NoReturn:
    raise FileError(
        f"{path}, line {number}: expected {expected}; got {quote(line.decode('ascii', 'replace').strip())}."
    )


# ---- writing ---------------------------------------------------------------------------------------------------------


def format_model(model: LibsvmModel) -> bytes:
    """The text of a model file."""
    lines = []
    for name in (*WORDS, *NUMBERS):
        values = model.head.get(name, ())
        values = values if isinstance(values, np.ndarray | tuple) else [values]
        if len(values):
            lines.append(" ".join([name, *map(_digits, values)]))
    lines.append("SV")
    for row, coefficients in enumerate(model.coefficients.T):
        if model.head["kernel_type"] == "precomputed":
            entries = [f"0:{model.vectors[row] + 1}"]
        else:
            own = slice(*model.vectors.indptr[row : row + 2])
            pairs = zip(model.vectors.indices[own].tolist(), model.vectors.data[own].tolist())
            entries = [f"{index + 1}:{value:.17g}" for index, value in pairs]
        lines.append(" ".join([*map(_digits, coefficients), *entries]))
    return ("\n".join(lines) + "\n").encode()


def _digits(value: Any) -> str:
    """A number with all its digits, a word as it is."""
    return f"{value:.17g}" if isinstance(value, float | np.floating) else str(value)
