"""scikit-learn's callbacks (`sklearn.callback`, new in 1.9) for iterative estimators: one mixin, two calls.

    class Machine(CallbackMixin, BaseEstimator):
        @_fit_context(prefer_skip_nested_validation=True)   # tears callbacks down, whatever happens
        def fit(self, X, y, sample_weight=None):
            with self._reporting(X, y, sample_weight) as steps:  # None unless the user has set callbacks
                for ...:
                    if steps is not None and steps.done(lambda: {"coef_": w, "intercept_": b}):
                        break                               # a callback asks to stop

Each step is a task of the fit. The function given to `done` returns the fitted attributes of a half-trained model; it
is called only if a callback wants one (ScoringMonitor does). With an older scikit-learn the mixin does nothing.

Where the loop is a solver's, a `StepListener` among its listeners (monitor/iteration.py) makes the calls of `done`.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.monitor.interrupt import StopRequested
from widemargin.monitor.iteration import Iteration

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """No callbacks there: `set_callbacks` does not exist, and nothing is ever reported."""


Attributes = dict[str, Any]


class CallbackMixin(CallbackSupportMixin):
    """Gives an estimator `set_callbacks`, and its fit the means to report."""

    @contextmanager
    def _reporting(self, X: Any, y: Any = None, sample_weight: Any = None) -> Iterator[Steps | None]:
        """Context of a fit that the callbacks follow; yields None where there are none, which costs nothing."""
        if not getattr(self, "_skl_callbacks", None):
            yield None
            return
        steps = Steps(self, X, y, sample_weight)
        yield steps
        steps.finish()


class Steps:
    """The running report of one fit; may be called from several threads. `stopped` once a callback asked to stop."""

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        metadata = {"sample_weight": sample_weight} if np.ndim(sample_weight) else None  # one weight for all is none
        self._common = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._lock = threading.Lock()
        self.stopped = False
        self._root = estimator._init_callback_context(max_subtasks=None)
        self._root.call_on_fit_task_begin(**self._common)

    def done(self, attributes: Callable[[], Attributes] | None = None) -> bool:
        """Report a finished step; True if a callback asks to stop."""
        with self._lock:
            step = self._root.subcontext(task_name="step")
            step.call_on_fit_task_begin(**self._common)
            asked = bool(step.call_on_fit_task_end(**self._common, reconstruction_attributes=attributes))
            self.stopped = self.stopped or asked
            return asked

    def finish(self) -> None:
        """Report that the fit is done; the estimator itself is the trained one."""
        self._root.call_on_fit_task_end(**self._common, reconstruction_attributes=dict)


def iterate_of(iteration: Iteration) -> Any:
    """The answer so far of a solver that reports it; None from one that does not."""
    return None if iteration.iterate is None else iteration.iterate()


@dataclass(eq=False)
class StepListener:
    """Listener that reports every round as a step of the fit, and raises StopRequested where a callback asks to stop.

    steps : the report of the fit; model : the estimator that is fitted
    expose : sets the fitted attributes of the model it is given, for the answers so far, one per problem
    start : the answers of problems that have not begun
    answer_of : returns the answer so far; a round where it is None is not reported
    """

    steps: Steps
    machine: Any
    expose: Callable[[Any, list[Any]], None]
    start: Sequence[Any]
    answer_of: Callable[[Iteration], Any]

    def __post_init__(self) -> None:
        self.answers = list(self.start)

    def __call__(self, iteration: Iteration) -> None:
        """Take one call of `watch`, possibly from several threads; once stopped, all problems end at their next."""
        answer = None if self.steps.stopped else self.answer_of(iteration)
        if answer is not None:
            self.answers[iteration.task] = answer
            self.steps.done(self.attributes)
        if self.steps.stopped:
            raise StopRequested

    def attributes(self) -> Attributes:
        """The fitted attributes of the model as if the fit had stopped here."""
        return attributes_set(self.machine, lambda shadow: self.expose(shadow, list(self.answers)))


def attributes_set(machine: Any, expose: Callable[[Any], None]) -> Attributes:
    """Return the attributes that `expose` sets, computed on a copy: the model itself is still being fitted."""
    shadow = copy.copy(machine)
    expose(shadow)
    own = vars(machine)
    return {name: value for name, value in vars(shadow).items() if name not in own or own[name] is not value}
