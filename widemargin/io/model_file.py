"""Save and load a fitted estimator without pickle: a model file may come from an untrusted source.

    header      format and package version, kind of estimator, parameters, preparation of the data, fitted attributes,
                certificates; of a pipeline also its steps before the estimator
    arrays      support vectors (dense or CSR), coefficients, classes, ...

Every public fitted attribute is kept, that is every one whose name ends with an underscore; those that no estimator has
(KINDS of estimators/restored.py) are refused. An estimator can
say two things more about itself, both optional:

    _kept_private   names of private fitted attributes to be kept too
    _rebuild()      makes what is not kept, such as prepared support vectors, and raises ValueError where the
                    attributes do not fit together

`preparation_` says how columns of a file become features (scaling, one-hot): any JSON-able dict, kept as it is.

See     archive.py for the container, packing.py for the values
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

import widemargin.estimators
from widemargin import __version__
from widemargin.estimators.registry import ESTIMATORS
from widemargin.estimators.restored import KINDS, check_attributes
from widemargin.inspection.pipelines import unwrap
from widemargin.io.packing import Arrays, pack, unpack
from widemargin.io.transformers import try_transform
from widemargin.storage.archive import read_archive, write_archive
from widemargin.storage.errors import FileError

FORMAT, FORMAT_VERSION = "widemargin model", 2  # 2: with the steps of a pipeline; files without any are of version 1
SAVED = tuple(name for name, entry in ESTIMATORS.items() if entry.in_files)
ATTRIBUTE = re.compile(r"[a-zA-Z]\w*_")  # the only names, with an estimator's _kept_private, that a file may set
PREPARATION = "preparation_"
OF_THIS_MACHINE = {"checkpoint"}  # parameters that no file holds: a path, to which a model of others could write
MISFITS = (
    ImportError, KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError,
    MemoryError,
)  # fmt: skip


def save(model: Any, path: str | os.PathLike) -> None:
    """Save a fitted estimator to a file that is safe to exchange.

    Parameters
    ----------
    model : fitted estimator of widemargin, any but GaussianProcessRegressor, or a pipeline or search around one
        Of a pipeline all steps are kept: scalers, encoders, imputers, PCA, column transformers (`transformers.py` lists
        them). Of a search only its best estimator is.
    path : path of the file; an existing file is replaced as a whole or not at all
        Links are followed, permissions stay, pipes and devices are written to (`storage/atomic.py`).

    Raises
    ------
    FileError
        The file cannot be written, or the model holds something no safe file can (a function of your own as kernel
        or transformer, dates as labels).

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
    whole, (model, before) = model, unwrap(model)
    kind = type(model).__name__
    if kind not in SAVED or not type(model).__module__.startswith("widemargin."):
        raise FileError(
            f"A model file holds {', '.join(SAVED)} of widemargin; {type(model).__module__}.{kind} is none."
        )
    arrays: Arrays = {}
    kept = getattr(model, "_kept_private", ())
    fitted = {
        name: pack(name, value, arrays)
        for name, value in vars(model).items()
        if (name in kept or ATTRIBUTE.fullmatch(name)) and name != PREPARATION
    }
    unknown = sorted(fitted.keys() - KINDS)
    if unknown:
        raise FileError(f"{unknown[0]} is no attribute that {kind} has after fit: delete it before the model is saved.")
    parameters = model.get_params(deep=False).items()
    header = {
        "format": FORMAT,
        "format_version": 1 if before is None else FORMAT_VERSION,
        "package_version": __version__,
        "machine": kind,
        "parameters": {name: pack(name, value, arrays) for name, value in parameters if name not in OF_THIS_MACHINE},
        "preparation": _json_as_it_is(getattr(model, PREPARATION, None)),
        "fitted": fitted,
    }
    if before is not None:
        steps = getattr(getattr(whole, "best_estimator_", whole), "steps", [(kind.lower(), model)])
        header |= {"before": pack("before", before, arrays), "name": steps[-1][0]}
    write_archive(path, header, arrays)


def load(path: str | os.PathLike) -> Any:
    """Load an estimator saved by `save`.

    Parameters
    ----------
    path : path of the file

    Returns
    -------
    model : fitted estimator or pipeline, ready to predict

    Raises
    ------
    FileError
        The file is missing, damaged, of another kind, or written by a newer version.

    Examples
    --------
    >>> import os, tempfile
    >>> from widemargin import SVC
    >>> from widemargin.io import load, save
    >>> path = os.path.join(tempfile.mkdtemp(), "small.model")
    >>> save(SVC(kernel="linear").fit([[-1.0], [1.0]], ["low", "high"]), path)
    >>> load(path).predict([[0.5]]).tolist()
    ['high']
    """
    header, arrays = read_archive(path)
    machine = header.get("machine")
    if header.get("format") != FORMAT or not isinstance(machine, str) or machine not in SAVED:
        raise FileError(f"{path} does not hold a widemargin model.")
    try:
        if not isinstance(header["parameters"], dict) or not isinstance(header["fitted"], dict):
            raise ValueError("parameters and attributes must have names")
        if header["format_version"] > FORMAT_VERSION:
            raise FileError(
                f"{path} was written by widemargin {header['package_version']} in a newer format than this version "
                f"({__version__}) can read: pip install --upgrade widemargin."
            )
        model = _restored(getattr(widemargin.estimators, machine), header, arrays)
        if header.get("before") is None:
            return model
        before = unpack(header["before"], arrays)
        from sklearn.pipeline import Pipeline  # imported here, because it is slow to import

        if not isinstance(before, Pipeline):
            raise ValueError("the steps before the estimator must be a pipeline")
        try_transform(before)
        return Pipeline([*before.steps, (str(header["name"]), model)])
    except FileError as error:
        raise (
            error if str(path) in str(error) else FileError(f"{path} cannot be used: {str(error).rstrip('.')}.")
        ) from None
    except MISFITS as error:
        reason = str(error) or type(error).__name__
        raise FileError(
            f"{path} holds a {machine} that does not fit together ({reason}): save the model anew."
        ) from None


def _restored(kind: type, header: dict[str, Any], arrays: Arrays) -> Any:
    """An estimator with the parameters and attributes of the file; FileError or one of MISFITS if they are wrong.

    Parameters that are not in the file, such as those that an older version did not have, take their defaults.
    """
    known = set(kind._get_param_names()) - OF_THIS_MACHINE  # type: ignore[attr-defined]
    unknown = sorted(set(header["parameters"]) - known)
    if unknown:
        raise FileError(
            f"it has the parameter {unknown[0]}, which widemargin {__version__} does not know; it was written by "
            f"{header['package_version']}: pip install --upgrade widemargin"
        )
    model = kind(**{name: unpack(value, arrays) for name, value in header["parameters"].items()})
    model._validate_params()
    kept = getattr(model, "_kept_private", ())
    for name, value in header["fitted"].items():
        if not (name in kept or ATTRIBUTE.fullmatch(name)):
            raise FileError(f"it sets {name!r}, which is no fitted attribute, so it was not written by widemargin")
        setattr(model, name, unpack(value, arrays))
    model.preparation_ = header.get("preparation")
    check_attributes(model)
    if hasattr(model, "_rebuild"):
        model._rebuild()
    model._loaded_certificate = getattr(model, "certificate_", None)  # stated by the file, not computed here
    return model


def _json_as_it_is(preparation: Any) -> Any:
    """The preparation, if JSON gives it back unchanged; tuples and numeric keys, for example, would change."""
    try:
        if preparation is None or json.loads(json.dumps(preparation, allow_nan=False)) == preparation:
            return preparation
    except (TypeError, ValueError):
        pass
    raise FileError(
        f"{PREPARATION} must be a dict of strings, finite numbers, lists and dicts, which JSON can hold; got "
        f"{preparation!r}."
    )
