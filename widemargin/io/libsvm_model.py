"""Models of LIBSVM: read as fitted machines, and fitted machines written for LIBSVM.

    decision value      LIBSVM   sum coefficient k(x, x_i) - rho      positive for the first label of the file
                        ours     sum coefficient k(x, x_i) + b        two classes: positive for the second of classes_
    order of classes    LIBSVM   as they came in the training data    ours     ascending

Reading sorts the classes (pair_order.py); where they were in another order, `tie_order_` keeps it, because a tie of
votes goes to the first label in LIBSVM's order. What a file does not hold is set so that it agrees with the rest: the
model looks as if it had been trained on its support vectors alone, and C is the largest coefficient.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from widemargin.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from widemargin.io.libsvm_model_text import LibsvmModel, format_model, parse_model
from widemargin.io.pair_order import Pairs
from widemargin.kernels import Gaussian, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from widemargin.storage.atomic import replacing
from widemargin.storage.errors import FileError

MACHINES: dict[str, type] = {
    "c_svc": SVC,
    "nu_svc": NuSVC,
    "one_class": OneClassSVM,
    "epsilon_svr": SVR,
    "nu_svr": NuSVR,
}
KERNEL_NAMES = {"linear": "linear", "polynomial": "poly", "rbf": "rbf", "sigmoid": "sigmoid"}
KERNEL_TYPES: dict[type, str] = {
    Linear: "linear",
    Polynomial: "polynomial",
    Gaussian: "rbf",
    Sigmoid: "sigmoid",
    Precomputed: "precomputed",
}
SPARSE_ENTRY = 1.5  # size of a stored entry of a CSR matrix (value and index) in units of a dense one


def read_libsvm_model(path: str | os.PathLike, n_features: int | None = None) -> Any:
    """Read a model file of LIBSVM as a fitted machine.

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
    model = MACHINES[text.svm_type](**_parameters(text))
    vectors = _widened(text.vectors, n_features, text.kernel_type == "precomputed", path)
    pairs = Pairs(text.nr_sv, vectors, text.coefficients, -text.rho, text.probA, text.probB)
    if text.classifies:
        pairs = _set_classes(model, text, pairs)
    else:
        model.n_support_ = np.array([text.coefficients.shape[1]], np.int32)
        if len(text.probA):
            model.probA_ = text.probA
        if len(text.marks):
            model._density_marks = text.marks
    _set_expansion(model, pairs, n_features)
    if text.svm_type == "one_class":
        model.offset_ = -model.intercept_
    model.fit_status_ = 0
    model._rebuild()
    return model


def write_libsvm_model(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted machine as a model file of LIBSVM.

    Parameters
    ----------
    model : fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM of widemargin
        With a kernel that LIBSVM has (linear, polynomial, Gaussian, sigmoid, precomputed), whole numbers as labels,
        and, for more than two classes, a machine for each pair of them.
    path : path of the file; an existing file is replaced as a whole or not at all

    Raises
    ------
    FileError
        LIBSVM has no such machine, or the file cannot be written.

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
    kind = next((name for name, machine in MACHINES.items() if type(model) is machine), None)
    if kind is None:
        raise FileError(f"LIBSVM has SVC, NuSVC, SVR, NuSVR and OneClassSVM, no {type(model).__name__}.")
    kernel = model._expansion.kernel
    precomputed = isinstance(kernel, Precomputed)
    vectors = model.support_ if precomputed else _sparse(model.support_vectors_)
    coefficients = model._expansion.coefficients
    text = LibsvmModel(kind, _kernel_type(kernel), -model.intercept_, coefficients, vectors)
    for name in ("degree", "gamma", "coef0"):
        if hasattr(kernel, name):
            setattr(text, name, getattr(kernel, name))
    if text.classifies:
        _fill_classes(text, model)
    else:
        text.probA = np.asarray(getattr(model, "probA_", ()), np.float64)
        marks = getattr(model, "_density_marks", None)
        text.marks = np.empty(0) if marks is None else np.asarray(marks, np.float64)
    with replacing(Path(path)) as stream:
        stream.write(format_model(text))


# ---- from LIBSVM -----------------------------------------------------------------------------------------------------


def _parameters(text: LibsvmModel) -> dict[str, Any]:
    """Parameters of the estimator as far as the file tells them."""
    kernel = KERNEL_NAMES.get(text.kernel_type, "precomputed")
    parameters: dict[str, Any] = {"kernel": kernel, "degree": text.degree, "coef0": text.coef0}
    if kernel in ("poly", "rbf", "sigmoid"):
        parameters["gamma"] = text.gamma
    if text.svm_type in ("c_svc", "epsilon_svr", "nu_svr"):
        parameters["C"] = float(np.abs(text.coefficients).max(initial=0.0)) or 1.0
    if text.classifies and len(text.probA):
        parameters["probability"] = True
    return parameters


def _widened(vectors: Any, n_features: int | None, precomputed: bool, path: Any) -> Any:
    """Support vectors with as many columns as were asked for, dense where that is no larger than sparse."""
    largest = int(vectors.max(initial=0)) + 1 if precomputed else vectors.shape[1]
    if n_features is not None and n_features < largest:
        raise FileError(f"{path} has support vectors up to index {largest}, more than n_features={n_features}.")
    if precomputed:
        return vectors
    rows, columns = vectors.shape[0], n_features or largest
    vectors = sp.csr_matrix((vectors.data, vectors.indices, vectors.indptr), shape=(rows, columns))
    return vectors if SPARSE_ENTRY * vectors.nnz < rows * columns else vectors.toarray()


def _set_classes(model: Any, text: LibsvmModel, pairs: Pairs) -> Pairs:
    """Sort the classes, and turn two of them to our sign."""
    order = np.argsort(text.label)
    pairs = pairs.reordered(order)
    model.classes_ = text.label[order]
    model.class_weight_ = np.ones(len(order))
    model.n_support_ = pairs.counts.astype(np.int32)
    model._probA, model._probB = pairs.slope, pairs.offset
    if len(order) > 2 and not np.array_equal(order, np.arange(len(order))):
        model.tie_order_ = np.argsort(order)
    if len(order) > 2:
        return pairs
    return Pairs(pairs.counts, pairs.vectors, -pairs.coefficients, -pairs.intercept, pairs.slope, pairs.offset)


def _set_expansion(model: Any, pairs: Pairs, n_features: int | None) -> None:
    """Support vectors, coefficients and what scikit-learn says beside them."""
    n_support = pairs.coefficients.shape[1]
    model._gamma = model.gamma if isinstance(model.gamma, float) else 0.0
    model.dual_coef_, model.intercept_ = pairs.coefficients, pairs.intercept
    if model.kernel == "precomputed":
        model.support_ = pairs.vectors
        model.support_vectors_ = np.empty((0, 0))
        model.n_features_in_ = n_features or int(pairs.vectors.max(initial=0)) + 1
        model.shape_fit_ = (model.n_features_in_, model.n_features_in_)
        return
    model.support_ = np.arange(n_support)
    model.support_vectors_ = pairs.vectors
    if sp.issparse(pairs.vectors):
        model.dual_coef_ = sp.csr_matrix(pairs.coefficients)
    model.n_features_in_ = pairs.vectors.shape[1]
    model.shape_fit_ = pairs.vectors.shape


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
    label = _whole_numbers(model.classes_)
    order = np.asarray(getattr(model, "tie_order_", np.arange(n_classes)))
    sign = -1.0 if n_classes == 2 else 1.0
    given = Pairs(
        np.asarray(model.n_support_, np.int64),
        text.vectors,
        sign * text.coefficients,
        sign * np.asarray(model.intercept_),
        model.probA_,
        model.probB_,
    )
    pairs = given.reordered(order)
    text.label, text.nr_sv = label[order], pairs.counts
    text.coefficients, text.rho, text.vectors = pairs.coefficients, -pairs.intercept, pairs.vectors
    text.probA, text.probB = pairs.slope, pairs.offset


def _whole_numbers(classes: NDArray) -> NDArray[np.int64]:
    """The labels as LIBSVM needs them."""
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
