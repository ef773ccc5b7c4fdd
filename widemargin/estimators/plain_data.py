"""Reading data: arrays that need no conversion skip scikit-learn's validation, which costs more than a small fit.

The checks of general validation are made here as well: two dimensions, at least one sample and one feature, real
floating point, no NaN or infinity, targets of the right length. Data that do not pass these checks go to
`validate_data`, which converts them or raises an error. Indices of sparse data are checked in both cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from widemargin._sklearn import VisualBlock
from widemargin.certificate.tables import certificate_block, verdict
from widemargin.estimators import shared_arrays
from widemargin.linalg.exchange import as_numpy
from widemargin.linalg.sparse_structure import sound_sparse, structure_damage
from widemargin.monitor.callbacks import CallbackMixin, StepListener, Steps, iterate_of
from widemargin.monitor.interrupt import FitInterrupted, ends_loops
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.progress import watching
from widemargin.monitor.status import Status

FLOATS = (np.float64, np.float32)  # float32 is not converted, which would need a second copy of the data
INTEGERS = frozenset("iub")  # kinds of dtype whose values need no further check as class labels


class ReadsData(CallbackMixin, BaseEstimator):
    """Base of all estimators: validated data, the listeners of a fit, Ctrl-C, and the certificate in notebooks."""

    verbose: Any
    status_: Status
    on_interrupt: str
    _is_clone = False

    def __sklearn_clone__(self) -> Any:
        """Mark clones: the loop that made one must end with an interrupted fit (monitor/interrupt.py)."""
        copy = super().__sklearn_clone__()
        copy._is_clone = True
        return copy

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        return tags

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Cache the parameter names per class: inspecting the signature takes a tenth of a small fit."""
        return super()._get_param_names()

    def __getstate__(self) -> dict[str, Any]:
        return shared_arrays.cut(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(shared_arrays.join(state))

    def __copy__(self) -> Any:
        """Return a second estimator with the same attributes, not made by way of a pickle."""
        twin: Any = object.__new__(type(self))
        twin.__dict__.update(vars(self))
        return twin

    def _html_repr(self) -> str:
        """scikit-learn's diagram, and the certificate of a fitted estimator."""
        return super()._html_repr() + certificate_block(getattr(self, "certificate_", None))

    def _sk_visual_block_(self) -> VisualBlock:
        """The box of this estimator in its own diagram and in those of pipelines and searches, with the verdict."""
        certificate = getattr(self, "certificate_", None)
        caption = None if certificate is None else verdict(certificate)
        return VisualBlock("single", self, names=type(self).__name__, name_details=str(self), name_caption=caption)

    def _takes_sparse(self) -> bool:
        return True

    # ---- data

    def _validated(self, X: Any, y: Any, plain_targets: Any = None, **checks: Any) -> tuple[Any, Any]:
        """Samples and targets of a fit.

        `plain_targets(y, n)` returns whether y can be used without conversion; None means there are no targets.
        `checks` are passed to scikit-learn's validation of all other data.
        """
        X, y = as_numpy(X), as_numpy(y)
        if self._is_plain(X) and (plain_targets is None or plain_targets(y, X.shape[0])):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return X, y
        targets = {} if plain_targets is None else {"y": y, **checks}
        X = sound_sparse(X)
        checked = validate_data(self, X, dtype=FLOATS, accept_sparse=self._takes_sparse() and "csr", **targets)
        return checked if targets else (checked, None)

    def _validated_to_predict(self, X: Any) -> Any:
        """Return validated new samples; plain arrays of the right width pass, unless feature names must be compared."""
        X = as_numpy(X)
        same_width = self._is_plain(X) and X.shape[1] == getattr(self, "n_features_in_", None)
        if same_width and "feature_names_in_" not in self.__dict__:
            return X
        X = sound_sparse(X)
        return validate_data(self, X, dtype=FLOATS, accept_sparse=self._takes_sparse() and "csr", reset=False)

    def _is_plain(self, X: Any) -> bool:
        return is_plain_matrix(X) or (self._takes_sparse() and is_plain_sparse(X))

    # ---- listeners and Ctrl-C

    def _raise_if_interrupted(self, pressed: bool = False) -> None:
        """Raise FitInterrupted after a fit that Ctrl-C ended, or `pressed` too late, if a loop must end too."""
        pressed = pressed or getattr(self, "status_", None) is Status.INTERRUPTED
        if pressed and ends_loops(self.on_interrupt, self._is_clone):
            raise FitInterrupted

    def _watching(
        self,
        steps: Steps | None,
        expose: Callable[[Any, list[Any]], None],
        start: Sequence[Any] = (None,),
        answer_of: Callable[[Iteration], Any] = iterate_of,
        others: Sequence[Watch] = (),
    ) -> AbstractContextManager[Watch | None]:
        """Context manager yielding the listener of a fit, or None: progress bar, callbacks (`StepListener`), others.

        The fit sets `status_` before it leaves the context.
        """
        callbacks = [] if steps is None else [StepListener(steps, self, expose, start, answer_of)]
        return watching(type(self).__name__, self.verbose, [*others, *callbacks], self._has_converged)

    def _has_converged(self) -> bool:
        """Whether the fit that has just ended reached its tolerance; its status is set while it is still watched."""
        return self.status_.converged


def is_plain_matrix(X: Any) -> bool:
    """Whether X is an ordinary float array of samples with finite entries."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in FLOATS and X.size > 0 and _is_finite(X)


def is_plain_sparse(X: Any) -> bool:
    """Whether X is a CSR matrix of samples with finite float entries and indices within its shape."""
    return (
        type(X) in (sparse.csr_matrix, sparse.csr_array)
        and X.dtype in FLOATS
        and X.indices.dtype == np.int32
        and X.ndim == 2
        and min(X.shape) > 0
        and not structure_damage(X)
        and _is_finite(X.data)
    )


def are_plain_labels(y: Any, n_samples: int) -> bool:
    """Whether y is an array of whole numbers (also as floats) or strings, one per sample."""
    if type(y) is not np.ndarray or y.shape != (n_samples,):
        return False
    if y.dtype == np.float64:
        return _is_finite(y) and bool((np.rint(y) == y).all())
    return y.dtype.kind in INTEGERS or y.dtype.kind == "U"


def are_plain_targets(y: Any, n_samples: int) -> bool:
    """Whether y is an array of finite floats, one per sample."""
    return type(y) is np.ndarray and y.shape == (n_samples,) and y.dtype == np.float64 and _is_finite(y)


def _is_finite(values: np.ndarray) -> bool:
    """Whether the sum is finite, and so every entry; after an overflow general validation checks the entries."""
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(values.sum())
