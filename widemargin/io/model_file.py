"""Save a fitted machine and load it again, without pickle: a model file may come from anyone.

The header holds the kind of machine, its parameters, its small fitted attributes and its certificates; arrays (support
vectors dense or CSR, coefficients, ...) stand beside it. Every public fitted attribute is kept, that is every one whose
name ends with an underscore. What can be computed from them, such as the prepared support vectors, is not.

See     archive.py for the container
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from widemargin import __version__
from widemargin.certificate import Certificate
from widemargin.expansion import Expansion
from widemargin.io.archive import read_archive, write_archive
from widemargin.io.errors import FileError
from widemargin.io.kernel_text import kernel_from_text
from widemargin.kernels import Kernel, make_kernel
from widemargin.solvers.solution import Status

FORMAT, FORMAT_VERSION = "widemargin model", 1
MACHINES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
PRIVATE = ("_gamma", "_probA", "_probB")  # fitted values that public properties and the kernel are made from
ATTRIBUTE = re.compile(r"[a-zA-Z]\w*_")  # the only names, with PRIVATE, that a file may set
SPARSE_PARTS = ("data", "indices", "indptr")


def save(model: Any, path: str | os.PathLike) -> None:
    """Save a fitted machine to a file that is safe to exchange.

    Parameters
    ----------
    model : fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM of widemargin
    path : path of the file; an existing file is replaced as a whole or not at all

    Raises
    ------
    FileError
        The file cannot be written, or the model holds something no safe file can (a kernel function of your own).

    Examples
    --------
    >>> import tempfile, os
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVC
    >>> from widemargin.io import load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> path = os.path.join(tempfile.mkdtemp(), "iris.model")
    >>> model = SVC().fit(X, y)
    >>> save(model, path)
    >>> bool((load(path).predict(X) == model.predict(X)).all())
    True
    """
    check_is_fitted(model)
    kind = type(model).__name__
    if kind not in MACHINES or not type(model).__module__.startswith("widemargin."):
        raise FileError(
            f"A model file holds {', '.join(MACHINES)} of widemargin; {type(model).__module__}.{kind} is none."
        )
    arrays: dict[str, NDArray] = {}
    fitted = {}
    for name, value in vars(model).items():
        if name in PRIVATE or ATTRIBUTE.fullmatch(name):
            fitted[name] = _pack(name, value, arrays)
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": __version__,
        "machine": kind,
        "parameters": {name: _pack_parameter(name, value) for name, value in model.get_params(deep=False).items()},
        "fitted": fitted,
    }
    write_archive(path, header, arrays)


def load(path: str | os.PathLike) -> Any:
    """Load a machine saved by `save`.

    Parameters
    ----------
    path : path of the file

    Returns
    -------
    model : fitted estimator, ready to predict

    Raises
    ------
    FileError
        The file is missing, damaged, of another kind, or written by a newer version.
    """
    header, arrays = read_archive(path)
    if header.get("format") != FORMAT or header.get("machine") not in MACHINES:
        raise FileError(f"{path} does not hold a widemargin model.")
    if header["format_version"] > FORMAT_VERSION:
        raise FileError(
            f"{path} was written by widemargin {header['package_version']} in a newer format than this version "
            f"({__version__}) can read: pip install --upgrade widemargin."
        )
    import widemargin.estimators

    parameters = {name: _unpack(value, arrays) for name, value in header["parameters"].items()}
    model = getattr(widemargin.estimators, header["machine"])(**parameters)
    for name, value in header["fitted"].items():
        if not (name in PRIVATE or ATTRIBUTE.fullmatch(name)):
            raise FileError(f"{path} sets {name!r}, which is no fitted attribute: it was not written by widemargin.")
        setattr(model, name, _unpack(value, arrays))
    _rebuild_expansion(model, path)
    return model


def _rebuild_expansion(model: Any, path: Any) -> None:
    """The function of the machine, from the attributes that define it."""
    coefficients = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    kernel = make_kernel(model.kernel, gamma=model._gamma, degree=model.degree, coef0=model.coef0)
    precomputed = model.kernel == "precomputed"
    vectors = model.support_ if precomputed else model.support_vectors_
    if not len(model.support_) == vectors.shape[0] == coefficients.shape[1]:
        raise FileError(
            f"{path} has {vectors.shape[0]} support vectors and {coefficients.shape[1]} coefficients, which must be as "
            "many: save the model anew."
        )
    class_starts = None
    if len(getattr(model, "classes_", ())) > 2 and model.multi_class == "ovo":
        class_starts = np.concatenate([[0], np.cumsum(model.n_support_)])
    model._expansion = Expansion(kernel, vectors, coefficients, model.intercept_, class_starts)


# ---- values to JSON and back: {"kind": ...} marks what JSON does not have --------------------------------------------


def _pack_parameter(name: str, value: Any) -> Any:
    """Parameters are the user's objects: say which one cannot be kept."""
    if isinstance(value, Kernel):
        return {"kind": "kernel", "text": repr(value)}
    if name == "random_state" and not isinstance(value, int | None):
        return None  # the state of a random generator; training is over
    if callable(value):
        raise FileError(
            f"A model file holds data, no functions, so {name}={value!r} cannot be saved: train on a precomputed "
            "kernel matrix, or use pickle for files that only you load."
        )
    return _pack(name, value, {})


def _pack(name: str, value: Any, arrays: dict[str, NDArray]) -> Any:
    """A value as JSON, with arrays put aside under the attribute's name."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"kind": "float", "text": repr(value)}
    if isinstance(value, Status):
        return {"kind": "status", "name": value.name}
    if isinstance(value, Certificate):
        items = {field.name: getattr(value, field.name) for field in fields(value)}  # asdict would open nested ones
        return {"kind": "certificate", "items": _pack(name, items, arrays)}
    if isinstance(value, Mapping):
        return {"kind": "dict", "items": [[_pack(name, k, arrays), _pack(name, v, arrays)] for k, v in value.items()]}
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {"kind": kind, "items": [_pack(name, item, arrays) for item in value]}
    if isinstance(value, np.ndarray):
        arrays[name] = _plain_array(name, value)
        return {"kind": "array", "name": name, "object": value.dtype.hasobject}
    if sp.issparse(value):
        matrix = value.tocsr()
        for part in SPARSE_PARTS:
            arrays[f"{name}.{part}"] = getattr(matrix, part)
        return {"kind": "csr", "name": name, "shape": list(matrix.shape), "matrix": isinstance(value, sp.spmatrix)}
    raise FileError(f"{name} of the model is a {type(value).__name__}, which no safe file can hold: use pickle for it.")


def _plain_array(name: str, value: NDArray) -> NDArray:
    """Labels and feature names may come as objects: kept where they are all strings."""
    if not value.dtype.hasobject:
        return value
    if all(isinstance(item, str) for item in value.ravel()):
        return value.astype(np.str_)
    raise FileError(
        f"{name} of the model holds objects other than strings: use numbers or strings, or pickle the model."
    )


def _unpack(value: Any, arrays: Mapping[str, NDArray]) -> Any:
    """The value that `_pack` put into JSON."""
    if not isinstance(value, dict):
        return value
    match value["kind"]:
        case "float":
            return float(value["text"])
        case "status":
            return Status[value["name"]]
        case "certificate":
            known = {field.name for field in fields(Certificate)}
            items = _unpack(value["items"], arrays)
            return Certificate(**{name: item for name, item in items.items() if name in known})
        case "dict":
            return {_unpack(k, arrays): _unpack(v, arrays) for k, v in value["items"]}
        case "tuple" | "list":
            items = [_unpack(item, arrays) for item in value["items"]]
            return tuple(items) if value["kind"] == "tuple" else items
        case "array":
            array = arrays[value["name"]]
            return array.astype(object) if value["object"] else array
        case "csr":
            make = sp.csr_matrix if value["matrix"] else sp.csr_array
            return make(tuple(arrays[f"{value['name']}.{part}"] for part in SPARSE_PARTS), shape=tuple(value["shape"]))
        case "kernel":
            return kernel_from_text(value["text"])
    raise FileError(f"The file holds a value of kind {value['kind']!r}, unknown to this version: upgrade widemargin.")
