"""Models of LIBSVM: read as fitted estimators, and fitted estimators written for LIBSVM.

    decision value      LIBSVM   sum coefficient k(x, x_i) - rho      positive for the first label of the file
                        ours     sum coefficient k(x, x_i) + b        two classes: positive for the second of classes_
    order of classes    LIBSVM   as they came in the training data    ours     ascending

Reading sorts the classes (`reorder`); where they were in another order, `tie_order_` keeps it, because a tie of
votes goes to the first label in LIBSVM's order, and svm-predict writes probabilities in that order. What a file does
not hold is set so that it agrees with the rest: the model looks as if it had been trained on its support vectors alone,
and C is the largest coefficient.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

import widemargin.estimators
from widemargin.estimators.registry import LIBSVM_TYPES
from widemargin.io.libsvm_model_text import KERNEL_PARAMETERS, LibsvmModel, format_model, parse_model
from widemargin.kernels import Gaussian, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from widemargin.storage.atomic import replacing
from widemargin.storage.errors import FileError

KERNEL_NAMES = {"polynomial": "poly"}  # all others have the same name
KERNEL_TYPES = dict(zip((Linear, Polynomial, Gaussian, Sigmoid, Precomputed), KERNEL_PARAMETERS))


def read_libsvm_model(path: str | os.PathLike, n_features: int | None = None) -> Any:
    """Read a model file of LIBSVM as a fitted estimator.

    Decision values are those of LIBSVM up to rounding, except that of two classes the second is the positive one.

    Parameters
    ----------
    path : path of the file
    n_features : int or None, default None
        Features of the data that will be predicted; of a precomputed kernel, number of training samples. None takes
        the largest that occurs in the file, which is too few if no support vector has the last feature.

    Returns
    -------
    model : fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Without `certificate_`, since the file does not hold the data it is about.

    Raises
    ------
    FileError
        The file cannot be read, or is no model of LIBSVM; the message names the line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from widemargin.io import read_libsvm_model
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.model"
    >>> _ = path.write_text(
    ...     "svm_type c_svc\\nkernel_type linear\\nnr_class 2\\ntotal_sv 2\\nrho 0\\nlabel 1 -1\\nnr_sv 1 1\\nSV\\n"
    ...     "0.5 1:1\\n-0.5 1:-1\\n"
    ... )
    >>> read_libsvm_model(path).decision_function([[3.0]])
    array([3.])
    """
    text = parse_model(path)
    name = next(name for name, word in LIBSVM_TYPES.items() if word == text.head["svm_type"])
    model = getattr(widemargin.estimators, name)(**_parameters(text))
    if text.classifies:
        _set_classes(model, text)
    else:
        model.n_support_ = np.array([text.coefficients.shape[1]], np.int32)
        if "probA" in text.head:
            model.probA_ = text.head["probA"]
        if "prob_density_marks" in text.head:
            model._density_marks = text.head["prob_density_marks"]
    _set_expansion(model, text, n_features, path)
    if name == "OneClassSVM":
        model.offset_ = -model.intercept_
    model.fit_status_ = 0
    try:
        model._rebuild()
    except ValueError as error:  # such as a negative gamma
        raise FileError(f"{path} holds no model: {error}") from error
    return model


def write_libsvm_model(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted estimator as a model file of LIBSVM.

    Parameters
    ----------
    model : fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM of widemargin
        With a kernel that LIBSVM has (linear, polynomial, Gaussian, sigmoid, precomputed), whole numbers as labels,
        and, for more than two classes, a model for each pair of them.
    path : path of the file; an existing file is replaced as a whole or not at all

    Raises
    ------
    FileError
        LIBSVM has no such model, or the file cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from widemargin import SVC
    >>> from widemargin.io import write_libsvm_model
    >>> model = SVC(kernel="linear", C=1.0).fit([[-1.0], [1.0]], [-1, 1])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.model"
    >>> write_libsvm_model(model, path)
    >>> path.read_text().splitlines()[-2:]
    ['0.5 1:-1', '-0.5 1:1']
    """
    check_is_fitted(model)
    model = model.to_machine() if hasattr(model, "to_machine") else model  # of SVCCV, SVRCV
    kind = LIBSVM_TYPES.get(type(model).__name__)
    if kind is None or not type(model).__module__.startswith("widemargin."):
        raise FileError(f"LIBSVM has {', '.join(LIBSVM_TYPES)}, no {type(model).__name__}.")
    kernel = model._expansion.kernel
    kernel_type = _kernel_type(kernel)
    coefficients = model._expansion.coefficients
    head = {"svm_type": kind, "kernel_type": kernel_type, "nr_class": 2, "total_sv": coefficients.shape[1]}
    head |= {name: getattr(kernel, name) for name in KERNEL_PARAMETERS[kernel_type]}
    vectors = model.support_ if kernel_type == "precomputed" else _sparse(model.support_vectors_)
    text = LibsvmModel(head, coefficients, vectors)
    if text.classifies:
        _fill_classes(text, model)
    else:
        head["rho"] = -model.intercept_
        for name, attribute in (("probA", "probA_"), ("prob_density_marks", "_density_marks")):
            if getattr(model, attribute, None) is not None:
                head[name] = np.asarray(getattr(model, attribute), np.float64)
    with replacing(Path(path)) as stream:
        stream.write(format_model(text))


# ---- both ways -------------------------------------------------------------------------------------------------------


def reorder(text: LibsvmModel, order: NDArray[np.int64]) -> None:
    """Put class order[a] of a classifier's file into place a.

    For classes i < j the model (i, j) answers with a positive value for class i. Support vectors are sorted by class,
    and one of class i carries n_classes - 1 coefficients: row j - 1 for its model with j > i, row j for that with
    j < i (the layout of LIBSVM; Chang & Lin 2011, section 7). Where two classes change places in the order, their
    model turns round: coefficients and rho change sign, and so does B of its sigmoid 1 / (1 + exp(A f + B)).
    """
    head, counts = text.head, text.head["nr_sv"]
    n_classes = len(counts)
    starts = np.concatenate([[0], np.cumsum(counts)])
    taken = np.concatenate([np.arange(starts[old], starts[old + 1]) for old in order])
    coefficients = np.empty_like(text.coefficients)
    begin = 0
    for a, old in enumerate(order):
        own = slice(starts[old], starts[old + 1])
        new = slice(begin, begin + counts[old])
        begin = new.stop
        for b, other in enumerate(order):
            if a != b:
                turned = -1.0 if (a < b) != (old < other) else 1.0
                coefficients[b - (b > a), new] = turned * text.coefficients[other - (other > old), own]
    text.coefficients, text.vectors = coefficients, text.vectors[taken]
    first, second = np.triu_indices(n_classes, 1)
    number = np.zeros((n_classes, n_classes), np.int64)
    number[first, second] = number[second, first] = np.arange(len(first))
    pair = number[order[first], order[second]]
    sign = np.where(order[first] < order[second], 1.0, -1.0)
    head |= {"label": head["label"][order], "nr_sv": counts[order], "rho": sign * head["rho"][pair]}
    if len(text.numbers("probA")):
        head |= {"probA": head["probA"][pair], "probB": sign * head["probB"][pair]}


# ---- from LIBSVM -----------------------------------------------------------------------------------------------------


def _parameters(text: LibsvmModel) -> dict[str, Any]:
    """Parameters of the estimator as far as the file holds them."""
    head = text.head
    kernel_type = head["kernel_type"]
    parameters: dict[str, Any] = {"kernel": KERNEL_NAMES.get(kernel_type, kernel_type)}
    parameters |= {"degree": head.get("degree", 3), "coef0": head.get("coef0", 0.0)}
    if "gamma" in KERNEL_PARAMETERS[kernel_type]:
        parameters["gamma"] = head.get("gamma", 0.0)
    if head["svm_type"] in ("c_svc", "epsilon_svr", "nu_svr"):
        parameters["C"] = float(np.abs(text.coefficients).max(initial=0.0)) or 1.0
    if text.classifies and "probA" in head:
        parameters["probability"] = True
    return parameters


def _set_classes(model: Any, text: LibsvmModel) -> None:
    """Sort the classes, and turn two of them to our sign."""
    order = np.argsort(text.head["label"])
    reorder(text, order)
    model.classes_ = text.head["label"]
    model.class_weight_ = np.ones(len(order))
    model.n_support_ = text.head["nr_sv"].astype(np.int32)
    model._probA, model._probB = text.numbers("probA"), text.numbers("probB")
    if len(order) == 2:
        text.coefficients, text.head["rho"] = -text.coefficients, -text.head["rho"]
    if not np.array_equal(order, np.arange(len(order))):
        model.tie_order_ = np.argsort(order)


def _set_expansion(model: Any, text: LibsvmModel, n_features: int | None, path: Any) -> None:
    """Support vectors, dense where that is no larger than sparse, coefficients, and scikit-learn's other attributes."""
    vectors, precomputed = text.vectors, model.kernel == "precomputed"
    largest = int(vectors.max(initial=0)) + 1 if precomputed else vectors.shape[1]
    if n_features is not None and n_features < largest:
        raise FileError(f"{path} has support vectors up to index {largest}, more than n_features={n_features}.")
    model.n_features_in_ = n_features or largest
    model._gamma = model.gamma if isinstance(model.gamma, float) else 0.0
    model.dual_coef_, model.intercept_ = text.coefficients, -text.head["rho"]
    if precomputed:
        model.support_, model.support_vectors_ = vectors, np.empty((0, 0))
        model.shape_fit_ = (model.n_features_in_, model.n_features_in_)
        return
    vectors.resize(vectors.shape[0], model.n_features_in_)
    if vectors.data.nbytes + vectors.indices.nbytes >= math.prod(vectors.shape) * vectors.data.itemsize:
        vectors = vectors.toarray()
    else:
        model.dual_coef_ = sp.csr_matrix(text.coefficients)
    model.support_, model.support_vectors_ = np.arange(vectors.shape[0]), vectors
    model.shape_fit_ = vectors.shape


# ---- to LIBSVM -------------------------------------------------------------------------------------------------------


def _kernel_type(kernel: Kernel) -> str:
    """LIBSVM's name of a kernel."""
    if type(kernel) not in KERNEL_TYPES:
        raise FileError(
            f"LIBSVM has the kernels {', '.join(KERNEL_TYPES.values())}, no {kernel!r}: save the model with "
            "widemargin.io.save instead."
        )
    return KERNEL_TYPES[type(kernel)]


def _fill_classes(text: LibsvmModel, model: Any) -> None:
    """Labels, counts and sigmoids of a classifier, in the order in which it breaks ties."""
    n_classes = len(model.classes_)
    if n_classes > 2 and model.multi_class != "ovo":
        raise FileError(
            f"LIBSVM has a machine for each pair of classes; this one has one for each of {n_classes} classes: train "
            "with multi_class='ovo'."
        )
    sign = -1.0 if n_classes == 2 else 1.0
    text.coefficients = sign * text.coefficients
    text.head |= {"nr_class": n_classes, "rho": -sign * model.intercept_, "label": _whole_numbers(model.classes_)}
    text.head |= {"probA": model.probA_, "probB": model.probB_, "nr_sv": np.asarray(model.n_support_, np.int64)}
    reorder(text, np.asarray(getattr(model, "tie_order_", np.arange(n_classes))))


def _whole_numbers(classes: NDArray) -> NDArray[np.int64]:
    """The labels as LIBSVM needs them."""
    with np.errstate(invalid="ignore"):  # labels beyond 64 bits
        whole = classes.astype(np.int64) if classes.dtype.kind in "iufb" else None
    if whole is None or not np.array_equal(whole, classes):
        raise FileError(
            f"The labels of a LIBSVM model are whole numbers, these are {list(classes[:3])} ...: encode them before "
            "training, for example with sklearn.preprocessing.LabelEncoder."
        )
    return whole


def _sparse(vectors: Any) -> sp.csr_matrix:
    """Support vectors as CSR rows in float64, indices ascending, without stored zeros."""
    rows = sp.csr_matrix(vectors, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows
