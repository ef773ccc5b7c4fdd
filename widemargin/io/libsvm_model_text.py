"""The text of a LIBSVM model file, read line by line into plain arrays and written again.

    svm_type c_svc                  c_svc nu_svc one_class epsilon_svr nu_svr
    kernel_type rbf                 linear polynomial rbf sigmoid precomputed
    degree 3, gamma 0.5, coef0 0    each on its line, where the kernel has it
    nr_class 2                      2 for regression and one-class too
    total_sv 4
    rho 0.25                        minus the intercept, one per pair of classes
    label 1 -1                      classifiers only
    probA, probB                    sigmoids, one per pair; of a regression probA alone, the scale of its noise
    prob_density_marks              ten marks, of a one-class machine with probabilities
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
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.storage.errors import FileError

SVM_TYPES = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")
KERNEL_TYPES = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")
NUMBERS = {  # the lines that hold numbers, with the type of them
    "degree": int,
    "gamma": float,
    "coef0": float,
    "nr_class": int,
    "total_sv": int,
    "rho": float,
    "label": int,
    "probA": float,
    "probB": float,
    "prob_density_marks": float,
    "nr_sv": int,
}
SINGLE = ("degree", "gamma", "coef0", "nr_class", "total_sv")  # lines with one number
NEEDED = ("svm_type", "kernel_type", "nr_class", "total_sv", "rho")
LARGEST_INDEX = 2**31 - 2  # LIBSVM's indices are 32-bit integers
LONGEST_QUOTE = 40  # characters of a wrong line shown in an error

Vector = NDArray[np.float64]


@dataclass(eq=False)
class LibsvmModel:
    """What a model file says, classes in the order of the file.

    Attributes
    ----------
    svm_type, kernel_type : names as in the file
    rho : (n_pairs,)
    coefficients : (n_classes - 1, n_SV)
    vectors : CSR matrix of shape (n_SV, largest index), or the serial numbers (n_SV,), from 0, of a precomputed kernel
    label, nr_sv : (n_classes,), empty unless a classifier
    probA, probB, marks : empty where the file has none
    """

    svm_type: str
    kernel_type: str
    rho: Vector
    coefficients: Vector
    vectors: Any
    degree: int = 3
    gamma: float = 0.0
    coef0: float = 0.0
    label: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    nr_sv: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    probA: Vector = field(default_factory=lambda: np.empty(0))
    probB: Vector = field(default_factory=lambda: np.empty(0))
    marks: Vector = field(default_factory=lambda: np.empty(0))

    @property
    def classifies(self) -> bool:
        """Whether the machine is a classifier, with labels and votes."""
        return self.svm_type in ("c_svc", "nu_svc")


# ---- reading ---------------------------------------------------------------------------------------------------------


def parse_model(path: Any) -> LibsvmModel:
    """Read a model file; a FileError names the line that is wrong and says what was expected there."""
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None
    head, first = _parse_head(path, lines)
    count, n_classes = head["total_sv"], head["nr_class"]
    classifies = head["svm_type"] in ("c_svc", "nu_svc")
    if not classifies:
        n_classes = 2  # LIBSVM writes 2; there is one machine
    n_pairs = n_classes * (n_classes - 1) // 2
    sizes = {"rho": n_pairs}
    if classifies:
        sizes |= {"label": n_classes, "nr_sv": n_classes, "probA": n_pairs, "probB": n_pairs}
    for name, size in sizes.items():
        given = len(head.get(name, ()))
        if given != size and not (name.startswith("prob") and given == 0):
            raise FileError(f"{path} has {given} values of {name}; a machine with {n_classes} classes has {size}.")
    if classifies and (len(set(head["label"])) != n_classes or sum(head["nr_sv"]) != count or min(head["nr_sv"]) < 0):
        raise FileError(f"{path}: labels must differ, and nr_sv must sum to total_sv {count}.")
    body = [(number, line) for number, line in enumerate(lines[first:], first + 1) if line.strip()]
    if len(body) != count:
        raise FileError(
            f"{path} has {len(body)} lines of support vectors, but total_sv says {count}: it was cut off or joined."
        )
    coefficients, vectors = _parse_vectors(path, body, n_classes - 1, head["kernel_type"] == "precomputed")
    numbers: dict[str, Any] = {name: head[name] for name in ("degree", "gamma", "coef0") if name in head}
    return LibsvmModel(
        head["svm_type"],
        head["kernel_type"],
        np.array(head["rho"], np.float64),
        coefficients,
        vectors,
        label=np.array(head.get("label", ()), np.int64),
        nr_sv=np.array(head.get("nr_sv", ()), np.int64),
        marks=np.array(head.get("prob_density_marks", ()), np.float64),
        probA=np.array(head.get("probA", ()), np.float64),
        probB=np.array(head.get("probB", ()), np.float64),
        **numbers,
    )


def _parse_head(path: Any, lines: Sequence[bytes]) -> tuple[dict[str, Any], int]:
    """The lines up to "SV" by their first word, and where the support vectors begin."""
    head: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        words = line.decode("ascii", "replace").split()
        if not words:
            continue
        name, values = words[0], words[1:]
        if name == "SV":
            break
        if name in ("svm_type", "kernel_type"):
            known = SVM_TYPES if name == "svm_type" else KERNEL_TYPES
            if len(values) != 1 or values[0] not in known:
                _wrong(path, number, line, f"{name} and one of {', '.join(known)}")
            head[name] = values[0]
        elif name in NUMBERS:
            kind = NUMBERS[name]
            expected = f"{name} and {'one' if name in SINGLE else 'its'} {'whole ' if kind is int else ''}numbers"
            try:
                read = [kind(value) for value in values if "_" not in value]
            except ValueError:
                _wrong(path, number, line, expected)
            if len(read) != len(values) or not np.isfinite(read).all() or (name in SINGLE and len(read) != 1):
                _wrong(path, number, line, expected)
            head[name] = read[0] if name in SINGLE else read
        else:
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
    path: Any, body: Sequence[tuple[int, bytes]], n_coefficients: int, precomputed: bool
) -> tuple[Vector, Any]:
    """Coefficients (n_coefficients, n_SV) and support vectors."""
    coefficients = np.empty((n_coefficients, len(body)))
    data: list[NDArray] = []
    columns: list[NDArray] = []
    starts = np.zeros(len(body) + 1, np.int64)
    expected = f"{n_coefficients} coefficient{'s' if n_coefficients > 1 else ''} and index:value pairs"
    for row, (number, line) in enumerate(body):
        n_pairs = line.count(b":")
        try:
            values = np.array(line.replace(b":", b" ").split(), np.float64)
        except ValueError:
            _wrong(path, number, line, expected)
        if len(values) != n_coefficients + 2 * n_pairs or b"_" in line or not np.isfinite(values).all():
            _wrong(path, number, line, expected)
        if n_pairs and any(word.count(b":") != 1 for word in line.split()[n_coefficients:]):
            _wrong(path, number, line, expected)
        coefficients[:, row] = values[:n_coefficients]
        index = values[n_coefficients::2]
        if precomputed:
            serial = values[n_coefficients + 1 :]
            if len(serial) != 1 or index[0] != 0 or serial[0] < 1 or serial[0] != int(serial[0]):
                _wrong(path, number, line, "0:serial, the number from 1 of a training sample")
            data.append(serial)
            continue
        if (index != np.floor(index)).any() or (index < 1).any() or (index > LARGEST_INDEX).any():
            _wrong(path, number, line, f"indices that are whole numbers from 1 to {LARGEST_INDEX}")
        if (np.diff(index) <= 0).any():
            _wrong(path, number, line, "indices in ascending order")
        columns.append(index)
        data.append(values[n_coefficients + 1 :: 2])
        starts[row + 1] = starts[row] + n_pairs
    flat = np.concatenate(data) if data else np.empty(0)
    if precomputed:
        return coefficients, flat.astype(np.int64) - 1
    indices = (np.concatenate(columns) if columns else np.empty(0)).astype(np.int64) - 1
    width = int(indices.max(initial=0)) + 1
    return coefficients, sp.csr_matrix((flat, indices, starts), shape=(len(body), width))


def _wrong(path: Any, number: int, line: bytes, expected: str) -> NoReturn:
    text = line.decode("ascii", "replace").strip()
    quote = text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "..."
    raise FileError(f"{path}, line {number}: expected {expected}; got {quote!r}.")


# ---- writing ---------------------------------------------------------------------------------------------------------


def format_model(model: LibsvmModel) -> bytes:
    """The text of a model file."""
    kernel = model.kernel_type
    head: list[tuple[str, Any]] = [("svm_type", [model.svm_type]), ("kernel_type", [kernel])]
    if kernel == "polynomial":
        head.append(("degree", [model.degree]))
    if kernel in ("polynomial", "rbf", "sigmoid"):
        head.append(("gamma", [model.gamma]))
    if kernel in ("polynomial", "sigmoid"):
        head.append(("coef0", [model.coef0]))
    count = model.coefficients.shape[1]
    head += [("nr_class", [max(2, len(model.label))]), ("total_sv", [count]), ("rho", model.rho)]
    if model.classifies:
        head.append(("label", model.label))
    optional = {"probA": model.probA, "probB": model.probB, "prob_density_marks": model.marks, "nr_sv": model.nr_sv}
    head += [(name, values) for name, values in optional.items() if len(values)]
    out = BytesIO()
    for name, values in head:
        out.write(f"{name} {' '.join(map(_digits, values))}\n".encode())
    out.write(b"SV\n")
    for row in range(count):
        words = [_digits(value) for value in model.coefficients[:, row]]
        if kernel == "precomputed":
            words.append(f"0:{model.vectors[row] + 1}")
        else:
            own = slice(model.vectors.indptr[row], model.vectors.indptr[row + 1])
            indices, values = model.vectors.indices[own].tolist(), model.vectors.data[own].tolist()
            words += [f"{index + 1}:{value:.17g}" for index, value in zip(indices, values, strict=True)]
        out.write((" ".join(words) + "\n").encode())
    return out.getvalue()


def _digits(value: Any) -> str:
    """A number with all its digits, a word as it is."""
    return f"{value:.17g}" if isinstance(value, float | np.floating) else str(value)
