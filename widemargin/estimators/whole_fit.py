"""Decorator of `fit`, `partial_fit` and `resume`: the estimator is trained, or it is as it was before the call.

An error or a KeyboardInterrupt may come between any two assignments of a fit, and an estimator that had been fitted on
other data would be left with attributes of both. Attributes are therefore assigned, never changed in place, and a call
that fails takes them back. Three calls end by an exception and leave their model: one that Ctrl-C ended after all
attributes were set (`FitInterrupted`), one that had lost its cluster (`FitEnded`), and one whose ConvergenceWarning
was turned into an error when the model was certified already.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from sklearn.exceptions import ConvergenceWarning

from widemargin._sklearn import fit_context
from widemargin.monitor.interrupt import FitEnded, FitInterrupted

Method = TypeVar("Method", bound=Callable[..., Any])


def whole_fit(method: Method) -> Method:
    """Add scikit-learn's context of a fit (parameters checked, callbacks torn down), and undo a call that fails."""

    @wraps(method)
    def train(self: Any, *data: Any, **options: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *data, **options)
        except FitInterrupted:
            raise KeyboardInterrupt from None  # of that very class, by which Python knows why a script ended
        except BaseException as error:
            is_certified = vars(self).get("certificate_") is not before.get("certificate_")
            if isinstance(error, ConvergenceWarning | FitEnded) and is_certified:
                raise
            to_tear_down = {name: value for name, value in vars(self).items() if "callback" in name}
            self.__dict__ = {**before, **to_tear_down}
            if isinstance(error, SystemError) and _is_interrupt(error):
                raise KeyboardInterrupt from error
            raise

    return fit_context(prefer_skip_nested_validation=True)(train)


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether an error was caused by Ctrl-C: compiled code that unpacks its results turns that into a SystemError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None
