"""Fitted estimators to and from `sklearn.svm`: the same function, with the attributes of the other library.

Public attributes have the same names, shapes and signs in both. scikit-learn keeps a second, private copy for LIBSVM's
code: of two classes the first is its positive one, so coefficients and intercept have the other sign there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

import widemargin
import widemargin.estimators
from widemargin._sklearn import safe_indexing
from widemargin.estimators.registry import LIBSVM_TYPES, SKLEARN_COUNTERPARTS
from widemargin.kernels import Gaussian, Linear, Polynomial, Precomputed, Sigmoid
from widemargin.storage.errors import ModelError

NAMES: dict[type, str] = {
    Linear: "linear", Polynomial: "poly", Gaussian: "rbf", Sigmoid: "sigmoid", Precomputed: "precomputed",
}  # fmt: skip
SHARED = ("class_weight_", "classes_", "feature_names_in_", "fit_status_", "n_features_in_", "n_iter_", "offset_")
WEIGHTS = ("coef_", "intercept_")  # of linear models, which predict from nothing else
EXPANSION = ("support_vectors_", "n_support_", "dual_coef_", "intercept_", "shape_fit_")
TRAINING_DATA = "_BaseLibSVM__Xfit"  # where scikit-learn keeps X for a kernel function


def from_sklearn(fitted: Any) -> Any:
    """An estimator of widemargin that computes the same function as a fitted one of `sklearn.svm`.

    Parameters
    ----------
    fitted : fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC or LinearSVR of scikit-learn

    Returns
    -------
    model : fitted estimator of the same name, with the same parameters
        Without `certificate_`, which needs the training data: `widemargin.verify(model, X, y)`.

    Raises
    ------
    TypeError
        `fitted` is something else.

    Examples
    --------
    >>> import sklearn.svm
    >>> from widemargin.io import from_sklearn
    >>> theirs = sklearn.svm.SVC(kernel="linear").fit([[-1.0], [1.0]], [0, 1])
    >>> from_sklearn(theirs).decision_function([[0.5]])
    array([0.5])
    """
    import sklearn.svm  # imported here, because it takes longer than all of widemargin

    name = _name_of(fitted, "sklearn.svm", sklearn.svm)
    check_is_fitted(fitted)
    kind = getattr(widemargin.estimators, name)
    if name not in LIBSVM_TYPES:  # weights of the features instead of support vectors
        return counterpart(fitted, kind, WEIGHTS)
    model = counterpart(fitted, kind, EXPANSION)
    model.support_ = fitted.support_.astype(np.int64)
    if callable(fitted.kernel):
        model.support_vectors_ = safe_indexing(getattr(fitted, TRAINING_DATA), fitted.support_)
    elif fitted.kernel == "precomputed":
        model.support_vectors_ = np.empty((0, 0))
    model._gamma = float(fitted._gamma)
    if hasattr(model, "classes_"):
        model._probA, model._probB = fitted._probA, fitted._probB  # the public names warn in 1.9
    model._rebuild()
    return model


def to_sklearn(model: Any) -> Any:
    """A fitted estimator of `sklearn.svm` that computes the same function as an estimator of widemargin.

    Parameters that only widemargin has are left out. A kernel that scikit-learn lacks is handed over as a function,
    which then needs widemargin to predict. Ties of votes go to the first of the classes in ascending order, as always
    in scikit-learn, even if the model was read from a LIBSVM file with another order.

    Parameters
    ----------
    model : fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC or LinearSVR of widemargin

    Returns
    -------
    fitted : estimator of the same name

    Raises
    ------
    TypeError
        `model` is something else.
    ValueError
        scikit-learn has no such model: one for each of several classes (multi_class="ovr").

    Examples
    --------
    >>> from widemargin import SVC
    >>> from widemargin.io import to_sklearn
    >>> ours = SVC(kernel="linear").fit([[-1.0], [1.0]], [0, 1])
    >>> to_sklearn(ours).decision_function([[0.5]])
    array([0.5])
    """
    import sklearn.svm

    name = _name_of(model, "widemargin", widemargin)
    check_is_fitted(model)
    model = model.to_machine() if hasattr(model, "to_machine") else model  # of SVCCV, SVRCV
    if name not in LIBSVM_TYPES:  # weights of the features instead of support vectors
        return counterpart(model, getattr(sklearn.svm, name), WEIGHTS)
    n_classes = len(getattr(model, "classes_", ()))
    if n_classes > 2 and model.multi_class != "ovo":
        raise ValueError(
            "scikit-learn has a machine for each pair of classes and this one has one for each class: train with "
            "multi_class='ovo'."
        )
    expansion = model._expansion
    fitted = counterpart(model, getattr(sklearn.svm, name), ("shape_fit_",), **_kernel_parameters(model))
    named = isinstance(fitted.kernel, str)
    fitted.support_ = model.support_.astype(np.int32)
    fitted.fit_status_ = getattr(model, "fit_status_", 0)
    fitted._gamma = float(getattr(expansion.kernel, "gamma", 0.0)) if named else 0.0
    fitted._sparse = named and sp.issparse(model.support_vectors_)
    fitted.support_vectors_ = _vectors_of(model, fitted)
    if not named:  # the support vectors replace the training data: no other samples are evaluated
        setattr(fitted, TRAINING_DATA, model.support_vectors_)
        fitted.support_ = np.arange(len(model.support_), dtype=np.int32)
        fitted.shape_fit_ = (len(model.support_),)
    counts = np.asarray(model.n_support_, np.int32)
    fitted._n_support = counts if n_classes else np.array([counts[0], 0], np.int32)
    fitted.dual_coef_ = _all_stored(expansion.coefficients, fitted._sparse)
    fitted.intercept_ = expansion.intercept.copy()
    sign = -1.0 if n_classes == 2 else 1.0
    fitted._dual_coef_ = _all_stored(sign * expansion.coefficients, fitted._sparse)
    fitted._intercept_ = sign * fitted.intercept_
    fitted._probA, fitted._probB = (model.probA_, model.probB_) if n_classes else (np.empty(0), np.empty(0))
    fitted._effective_probability = len(fitted._probA) > 0
    fitted._num_iter = np.atleast_1d(getattr(model, "n_iter_", 0))
    return fitted


def counterpart(model: Any, kind: type, attributes: tuple[str, ...] = (), **parameters: Any) -> Any:
    """An estimator of another library, with the parameters that both have and, of a fitted model, some attributes."""
    given = model.get_params(deep=False) | parameters
    if given.get("cache_size", 0) is None:
        del given["cache_size"]  # our default depends on the free memory, scikit-learn's is a number
    known = kind._get_param_names()  # type: ignore[attr-defined]
    made = kind(**{key: value for key, value in given.items() if key in known})
    for attribute in (*SHARED, *attributes):
        if hasattr(model, attribute):
            setattr(made, attribute, getattr(model, attribute))
    return made


def _name_of(model: Any, library: str, module: Any) -> str:
    """Return the class of the library that a model is an instance of, or derived from."""
    name = next((name for name in SKLEARN_COUNTERPARTS if isinstance(model, getattr(module, name))), None)
    if name is None:
        raise ModelError(f"Expected a fitted {', '.join(SKLEARN_COUNTERPARTS)} of {library}; got {type(model)}.")
    return name


def _kernel_parameters(model: Any) -> dict[str, Any]:
    """The kernel as scikit-learn takes it: a name with its numbers, or a function."""
    kernel = model._expansion.kernel
    if type(kernel) not in NAMES:
        return {"kernel": kernel}
    if isinstance(model.kernel, str):
        return {"kernel": model.kernel}
    numbers = {key: getattr(kernel, key) for key in ("gamma", "degree", "coef0") if hasattr(kernel, key)}
    return {"kernel": NAMES[type(kernel)], **numbers}


def _vectors_of(model: Any, fitted: Any) -> Any:
    """Support vectors as LIBSVM's code reads them: float64, in rows; none for a function or a matrix."""
    if fitted.kernel == "precomputed" or callable(fitted.kernel):
        return np.empty((0, 0))
    vectors = model.support_vectors_
    if not sp.issparse(vectors):
        return np.ascontiguousarray(vectors, np.float64)
    rows = vectors.astype(np.float64)
    rows.sort_indices()
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return rows


def _all_stored(coefficients: Any, sparse: bool) -> Any:
    """Coefficients of a sparse model as CSR with its zeros stored, because LIBSVM's code reads them by place."""
    if not sparse:
        return np.ascontiguousarray(coefficients)
    stored = sp.csr_matrix(np.ones(coefficients.shape))
    stored.data = coefficients.ravel()
    return stored
