"""Conversion of the values of a fitted model to JSON and arrays, and back.

JSON has numbers, strings, true, false and null. Everything else is an object {"kind": ...}:

    float         inf and nan, which JSON lacks            array         its name among the file's arrays
    dict          pairs, so that keys need not be text      csr           the names of its three arrays, and its shape
    tuple, list   items                                     kernel        its formula (kernel_text.py)
    status        a name of `Status`                        record        a dataclass of `RECORDS`, its fields
    dtype         a NumPy type, as data or as a class       slice         its three numbers
    transformer   one of scikit-learn (transformers.py): its class and its state

`pack` refuses what does not fit with a sentence. `unpack` reads a file from anyone, so it checks before it builds: an
array is referred to once, and keys are short, so that a small file cannot take much memory or time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.io.kernel_text import kernel_from_text
from widemargin.io.transformers import is_transformer, restored, state_of
from widemargin.linalg.sparse_structure import sound_sparse
from widemargin.monitor.status import Status
from widemargin.storage.archive import PLAIN_KINDS
from widemargin.storage.errors import FileError

#: Dataclasses that a file can hold, each with the module it is imported from; one line adds one (CONTRIBUTING.md).
RECORDS = {
    "Certificate": "widemargin.certificate.certificate",
    "CertificateTable": "widemargin.certificate.certificate",
    "SystemCertificate": "widemargin.certificate.system_certificate",
    "SparseModel": "widemargin.solvers.evidence",
    "History": "widemargin.models.perceptron_history",
}
SPARSE_PARTS = ("data", "indices", "indptr")
OBJECT_KINDS = "U"  # of arrays that were arrays of objects
LARGEST_KEY = 1 << 63  # labels are numbers of NumPy

Arrays = dict[str, NDArray]


def pack(name: str, value: Any, arrays: Arrays) -> Any:
    """A value as JSON, with its arrays put aside in `arrays` under names that begin with `name`."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"kind": "float", "text": repr(value)}
    if isinstance(value, Status):
        return {"kind": "status", "name": value.name}
    if type(value).__module__ == RECORDS.get(type(value).__name__):
        items = {field.name: getattr(value, field.name) for field in fields(value)}  # asdict would convert nested ones
        return {"kind": "record", "class": type(value).__name__, "items": pack(name, items, arrays)}
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None  # not needed after training
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return {"kind": "dtype", "text": np.dtype(value).str, "class": isinstance(value, type)}
    if isinstance(value, slice):
        return {"kind": "slice", "items": [value.start, value.stop, value.step]}
    if is_transformer(value):
        own = f"{name}-{type(value).__name__}"
        return {"kind": "transformer", "class": type(value).__name__, "state": pack(own, state_of(value), arrays)}
    if callable(value):
        return {"kind": "kernel", "text": _formula(name, value)}
    if isinstance(value, Mapping):
        return {"kind": "dict", "items": [[pack(name, k, arrays), pack(name, v, arrays)] for k, v in value.items()]}
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {"kind": kind, "items": [pack(name, item, arrays) for item in value]}
    if isinstance(value, np.ndarray):
        free = _free_name(name, arrays)
        arrays[free] = _plain_array(name, value)
        return {"kind": "array", "name": free, "object": value.dtype.hasobject}
    if sp.issparse(value):
        matrix = value.tocsr()
        free = _free_name(name, arrays)
        for part in SPARSE_PARTS:
            arrays[f"{free}.{part}"] = getattr(matrix, part)
        return {"kind": "csr", "name": free, "shape": list(matrix.shape), "matrix": isinstance(value, sp.spmatrix)}
    raise FileError(f"{name} of the model is a {type(value).__name__}, which no safe file can hold: use pickle for it.")


def unpack(value: Any, arrays: Arrays) -> Any:
    """Return the value that `pack` converted to JSON; takes its arrays out of `arrays`."""
    if not isinstance(value, dict):
        return value
    match value["kind"]:
        case "float":
            return float(value["text"])
        case "status":
            return Status[value["name"]]
        case "record":
            record = getattr(import_module(RECORDS[value["class"]]), value["class"])
            known = {field.name for field in fields(record)}  # a later version may have had more
            items = unpack(value["items"], arrays)
            made = record(**{name: item for name, item in items.items() if name in known})
            str(made)  # fails here, with the file's name, rather than on later use
            return made
        case "dtype":
            found = np.dtype(value["text"])
            return found.type if value["class"] else found
        case "slice":
            return slice(*value["items"])
        case "transformer":
            return restored(value["class"], unpack(value["state"], arrays))
        case "dict":
            return {_key(k): unpack(v, arrays) for k, v in value["items"]}
        case "tuple" | "list":
            items = [unpack(item, arrays) for item in value["items"]]
            return tuple(items) if value["kind"] == "tuple" else items
        case "array":
            array = _taken(value["name"], arrays)
            if value["object"] and array.dtype.kind not in OBJECT_KINDS:
                raise FileError(f"it has an array of {array.dtype} as objects, which only texts are")
            return array.astype(object) if value["object"] else array
        case "csr":
            return _sparse(value, arrays)
        case "kernel":
            return kernel_from_text(value["text"])
    raise FileError(f"it holds a value of kind {value['kind']!r}, unknown to this version: upgrade widemargin")


def _taken(name: Any, arrays: Arrays) -> NDArray:
    """Take an array out of those of the file."""
    if not isinstance(name, str) or name not in arrays:
        raise FileError(f"it refers to the array {name!r}, which it does not hold, or more than once")
    return arrays.pop(name)


def _key(value: Any) -> Any:
    """Return a key of a dict: a label or a name. Whole numbers of any length could all have the same hash."""
    key = unpack(value, {})
    if not isinstance(key, bool | int | float | str | None) or (isinstance(key, int) and abs(key) > LARGEST_KEY):
        raise FileError(f"it has a dict with a key of type {type(key).__name__}, expected texts and numbers")
    return key


def _sparse(value: dict[str, Any], arrays: Arrays) -> Any:
    """Return a CSR matrix with its indices checked, since compiled code does not check them."""
    make = sp.csr_matrix if value["matrix"] else sp.csr_array
    rows, columns = value["shape"]
    matrix = make(tuple(_taken(f"{value['name']}.{part}", arrays) for part in SPARSE_PARTS), shape=(rows, columns))
    return sound_sparse(matrix)


def _formula(name: str, kernel: Any) -> str:
    """The text of a kernel, tried out: a function of the user's, or a kernel around one, cannot be read back."""
    text = repr(kernel)
    try:
        if kernel_from_text(text) == kernel:
            return text
    except FileError:
        pass
    raise FileError(
        f"A model file holds data, no functions, so {name}={text} cannot be saved: train on a precomputed kernel "
        "matrix, or use pickle for files that only you load."
    )


def _free_name(name: str, arrays: Arrays) -> str:
    """`name`, or with a number where a list holds several arrays."""
    taken = {key.partition(".")[0] for key in arrays}
    free, number = name, 1
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free


def _plain_array(name: str, value: NDArray) -> NDArray:
    """Labels and feature names may come as objects: kept where they are all strings. Dates are not read back."""
    if value.dtype.kind in PLAIN_KINDS:
        return value
    if not value.dtype.hasobject:
        raise FileError(
            f"{name} of the model holds values of type {value.dtype}, which no safe file can hold: use numbers or "
            "strings, or pickle the model."
        )
    if all(isinstance(item, str) for item in value.ravel()):
        return value.astype(np.str_)
    raise FileError(
        f"{name} of the model holds objects other than strings: use numbers or strings, or pickle the model."
    )
