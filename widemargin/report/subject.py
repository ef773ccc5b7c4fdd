"""The subject of a report: a fitted model, samples and their correct answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin._sklearn import num_samples
from widemargin.estimators.fitted import is_training_data
from widemargin.inspection.pipelines import names_after, unwrap
from widemargin.io.preparation import names_of_fit


@dataclass(frozen=True, eq=False)
class Subject:
    """A model and the data of its report.

    Attributes
    ----------
    model : fitted estimator; of a pipeline its last step
    given : the samples as `predict` of the estimator takes them, after the steps before it
    X : the same as an array or a CSR matrix where they are numbers, as they are otherwise
    y : the right answers, or None
    names : of the features
    before : the steps before the estimator, or None
    raw, raw_names : samples and names as a person knows them, before those steps, where they are numbers
    """

    model: Any
    given: Any
    X: Any
    y: Any
    names: list[str]
    before: Any
    raw: Any
    raw_names: list[str]

    @property
    def trains_scaled(self) -> str:
        """How to train the estimator on scaled features: in the words of the command line if that trained it."""
        made = {"table": "with --scale standard", "libsvm": "on what `widemargin scale` makes of the data"}
        given = (getattr(self.model, "preparation_", None) or {}).get("format")
        return made.get(str(given), f"make_pipeline(StandardScaler(), {self.machine}(...))")

    @property
    def machine(self) -> str:
        """Name of the estimator."""
        return type(self.model).__name__

    @property
    def kernel(self) -> Any:
        """The kernel of the fit; None for models that are not kernel expansions."""
        return getattr(getattr(self.model, "_expansion", None), "kernel", None)

    @property
    def is_numeric(self) -> bool:
        """Whether the samples are vectors of numbers."""
        return is_numeric(self.X)

    @property
    def n_samples(self) -> int:
        """Number of samples in the report."""
        return num_samples(self.X)

    @property
    def is_from_file(self) -> bool:
        """Whether the model's certificate was loaded from a file, and not computed by a fit since."""
        stated = getattr(self.model, "certificate_", None)
        return stated is not None and stated is getattr(self.model, "_loaded_certificate", None)

    @property
    def n_training(self) -> int | None:
        """Number of training samples; None if it is not known, as of models from LIBSVM's files, which hold no others
        than support vectors.
        """
        size = getattr(self.model, "shape_fit_", (None,))[0]
        only_support = size == len(getattr(self.model, "support_", ())) and not hasattr(self.model, "certificate_")
        return None if only_support else size

    @property
    def n_support(self) -> int | None:
        """Number of support vectors; None for models without any."""
        return int(np.sum(self.model.n_support_)) if hasattr(self.model, "n_support_") else None

    @cached_property
    def is_training_data(self) -> bool | None:
        """Whether the model's support vectors are the rows of X at `support_`; None if that cannot be checked."""
        known = self.n_training is not None and hasattr(self.model, "support_")
        return is_training_data(self.model, self.X) if known else None


def subject_of(model: Any, X: Any, y: Any, feature_names: Any) -> Subject:
    """Read what a report is about: an estimator, or a pipeline or search around one."""
    machine, before = unwrap(model)
    raw = as_matrix(X)
    named = feature_names if feature_names is not None else getattr(X, "columns", None)
    if before is None:
        names = names_of(machine, raw, named)
        return Subject(machine, X, raw, y, names, None, raw, names)
    given = before.transform(X)
    matrix = as_matrix(given)
    names = names_of(machine, matrix, names_after(before))
    if not is_numeric(raw):
        return Subject(machine, given, matrix, y, names, before, matrix, names)
    raw_names = names_of(before, raw, named)
    if raw.shape[1] == len(names) and feature_names is not None:  # a scaler gives its features numbers only
        names = raw_names
    return Subject(machine, given, matrix, y, names, before, raw, raw_names)


def is_numeric(X: Any) -> bool:
    """Whether samples are vectors of numbers."""
    return sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f")


def as_matrix(X: Any) -> Any:
    """The samples as an array or a CSR matrix where they are numbers, as they are otherwise."""
    if sp.issparse(X):
        return X.tocsr()
    try:
        array = np.asarray(X)
    except ValueError:
        return X
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        return X
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def names_of(model: Any, X: Any, given: Any) -> list[str]:
    """Names of the columns: those given, those of the file or the fit, or x1, x2, ..."""
    n_features = X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else 0
    given = names_of_fit(model) if given is None else given
    if given is None:
        return [f"x{number + 1}" for number in range(n_features)]
    names = [str(name) for name in given]
    if len(names) != n_features:
        raise ValueError(f"There are {len(names)} feature names for {n_features} features: give one for each.")
    return names
