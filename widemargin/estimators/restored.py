"""Attributes of a fitted estimator that come from a file: each is what its name says, before sizes are compared.

A file can hold any JSON and any arrays under the names of fitted attributes. KINDS lists every name that estimators
use, and no file sets another; `_rebuild` of an estimator compares them with each other (CONTRIBUTING.md). The indices
of sparse matrices were checked when they were read (io/packing.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import is_classifier

from widemargin._sklearn import num_samples
from widemargin.certificate.certificate import Certificate, CertificateTable
from widemargin.certificate.system_certificate import SystemCertificate
from widemargin.kernels import Kernel
from widemargin.kernels.names import is_precomputed, takes_objects
from widemargin.models.perceptron_history import History
from widemargin.monitor.status import Status
from widemargin.solvers.evidence import SparseModel


def is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_index(value: Any) -> bool:
    """Whether a value is a vector of whole numbers that are not negative."""
    is_vector = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu"
    return is_vector and bool((value >= 0).all())


def is_finite(value: Any) -> bool:
    """Whether a value is a finite number, or an array or sparse matrix of finite floats."""
    if sp.issparse(value):
        value = value.data
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and bool(np.isfinite(value).all())
    return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))


def are_samples(value: Any) -> bool:
    """Whether a value is a matrix of finite numbers, or strings; other objects are in no file."""
    if isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "UO"):
        return all(isinstance(item, str) for item in value)
    if not (sp.issparse(value) or isinstance(value, np.ndarray)):
        return False
    entries = value.data if sp.issparse(value) else value
    return value.ndim == 2 and (entries.dtype.kind in "iub" or is_finite(entries))


def are_classes(value: Any) -> bool:
    """Whether a value is a vector of at least two different labels."""
    if not (isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biufUSO"):
        return False
    return 2 <= len(value) == len(set(value.tolist())) and (value.dtype.kind != "f" or is_finite(value))


def are_texts(value: Any) -> bool:
    is_vector = isinstance(value, np.ndarray) and value.ndim == 1
    return is_vector and all(isinstance(item, str) for item in value.tolist())


def is_list_of(is_item: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A function that tells whether a value is a list of such items."""
    return lambda value: isinstance(value, list) and all(map(is_item, value))


def is_vector(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and is_finite(value)


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0 and is_finite(value)


def is_certificate(value: Any) -> bool:
    return value is None or isinstance(value, Certificate | SystemCertificate)


def are_numbers(value: Any) -> bool:
    """Whether a value is a number or an array of floats, which may be nan where nothing is known."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number or (isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim > 0)


def are_named_numbers(value: Any) -> bool:
    """Whether a value is a dict of texts and numbers."""
    return isinstance(value, dict) and all(isinstance(k, str) and isinstance(v, Real) for k, v in value.items())


def are_edges(value: Any) -> bool:
    """Whether a value is a dict of texts and pairs of whole numbers."""
    return isinstance(value, dict) and all(
        isinstance(name, str) and isinstance(pair, list) and len(pair) == 2 and all(map(is_whole, pair))
        for name, pair in value.items()
    )


def are_results(value: Any) -> bool:
    """Whether a value is a table of a search: vectors of numbers, and the parameters of each row."""
    if not isinstance(value, dict) or not is_list_of(are_named_numbers)(value.get("params")):
        return False
    columns = [column for name, column in value.items() if name != "params"]
    is_column = [isinstance(one, np.ndarray) and one.ndim == 1 and one.dtype.kind in "fi" for one in columns]
    return all(isinstance(name, str) for name in value) and all(is_column)


FINITE = (
    "coef_", "intercept_", "dual_coef_", "offset_", "class_weight_", "epsilon_", "learning_rate_", "residual_",
    "noise_variance_", "_gamma", "_coefficients", "_probA", "_probB",
)  # fmt: skip
SEARCHED = ("C_", "gamma_", "Cs_", "gammas_", "epsilons_", "scores_", "oof_decision_", "best_score_")
INDICES = ("support_", "n_support_", "relevance_", "mistakes_", "tie_order_")
SAMPLES = ("support_vectors_", "X_fit_", "relevance_vectors_", "_vectors")
KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(FINITE, (is_finite, "finite numbers")),
    **dict.fromkeys(SEARCHED, (are_numbers, "numbers")),
    "best_params_": (are_named_numbers, "named numbers"),
    "best_index_": (lambda value: is_whole(value) and value >= 0, "a whole number, 0 or more"),
    "n_splits_": (lambda value: is_whole(value) and value > 0, "a whole number above 0"),
    "edges_": (are_edges, "named pairs of whole numbers"),
    "search_complete_": (lambda value: isinstance(value, bool), "true or false"),
    "cv_results_": (are_results, "a table of columns of numbers, with params"),
    **dict.fromkeys(INDICES, (is_index, "a vector of whole numbers, 0 or more")),
    **dict.fromkeys(SAMPLES, (are_samples, "samples")),
    "n_features_in_": (lambda value: is_whole(value) and value > 0, "a whole number above 0"),
    "shape_fit_": (
        lambda value: isinstance(value, tuple) and 0 < len(value) < 3 and all(map(is_whole, value)),
        "a shape",
    ),
    "classes_": (are_classes, "two or more different labels"),
    "n_iter_": (lambda value: is_whole(value) or is_index(value), "whole numbers"),
    "fit_status_": (is_whole, "a whole number"),
    "status_": (lambda value: isinstance(value, Status), "a status"),
    "diagnosis_": (lambda value: isinstance(value, str), "a text"),
    "certificate_": (is_certificate, "a certificate"),
    "certificates_": (
        lambda value: (
            isinstance(value, CertificateTable) or (isinstance(value, list | tuple) and all(map(is_certificate, value)))
        ),
        "certificates",
    ),
    "_fitted_kernel": (lambda value: isinstance(value, Kernel), "a kernel"),
    "_kept": (lambda value: value is None or is_index(value), "a vector of whole numbers, or nothing"),
    "_columns": (lambda value: value is None or is_index(value), "a vector of whole numbers, or nothing"),
    "_density_marks": (lambda value: value is None or (is_finite(value) and np.shape(value) == (10,)), "ten numbers"),
    "probA_": (lambda value: is_vector(value) and len(value) <= 1, "a vector of one number, or none"),
    "errors_": (is_list_of(is_finite), "a list of finite numbers"),
    "feature_names_in_": (are_texts, "a vector of texts"),
    "preparation_": (lambda value: value is None or isinstance(value, dict), "named values, or nothing"),
    "_histories": (is_list_of(lambda item: isinstance(item, History)), "a list of histories"),
    "_models": (is_list_of(lambda item: isinstance(item, SparseModel)), "a list of sparse models"),
    "_used": (is_list_of(is_index), "a list of vectors of whole numbers, 0 or more"),
    "_multipliers": (is_list_of(is_array), "a list of arrays of finite numbers"),
    "_single": (lambda value: isinstance(value, bool), "true or false"),
}


def check_attributes(model: Any) -> None:
    """Raise ValueError unless every fitted attribute has a known name and is of the kind that it should be."""
    for name in vars(model).keys() - set(model._get_param_names()):
        if name not in KINDS:
            raise ValueError(f"{name} is unknown to this version")
        is_kind, expected = KINDS[name]
        value = getattr(model, name)
        if not is_kind(value):
            raise ValueError(f"{name} must be {expected}, got {_shown(value)}")
    kernel = getattr(model, "_fitted_kernel", None)
    if kernel is not None and kernel.accepts_objects != takes_objects(model.kernel):
        raise ValueError("kernel and _fitted_kernel are for samples of different kinds")
    if is_classifier(model) and not hasattr(model, "classes_"):
        raise ValueError("a classifier has classes_")
    names = getattr(model, "feature_names_in_", None)
    if names is not None and len(names) != model.n_features_in_:
        raise ValueError(f"feature_names_in_ must be {model.n_features_in_} texts, one for each feature")


def check_samples(model: Any, samples: Any, count: int, what: str) -> None:
    """Raise ValueError unless a fitted model has `count` samples of its number of features."""
    if is_precomputed(model.kernel):
        return
    if not are_samples(samples) or num_samples(samples) != count:
        raise ValueError(f"there must be {count} {what}, one for each coefficient")
    if not takes_objects(model.kernel) and (np.ndim(samples) != 2 or samples.shape[1] != model.n_features_in_):
        raise ValueError(f"the {what} do not have {model.n_features_in_} features")


def check_shape(name: str, values: Any, shape: Sequence[int]) -> None:
    """Raise ValueError unless values are finite and have a shape."""
    if not is_finite(values) or np.shape(values) != tuple(shape):
        raise ValueError(f"{name} must be finite numbers of shape {tuple(shape)}, got {_shown(values)}")


def check_places(name: str, places: Any, size: int) -> NDArray[np.int64]:
    """Return a vector of places below `size`; raise ValueError if it is anything else."""
    if not is_index(places) or (places >= size).any():
        raise ValueError(f"{name} must hold whole numbers from 0 to {size - 1}")
    return places


def _shown(value: Any) -> str:
    """A value as shown in messages."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"an array of {value.dtype} of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
