"""One call of `fit` or `resume`: its limits, its starting point and its listeners.

Listeners are the progress bar (`verbose`), the history (`trace`) and scikit-learn's callbacks. All receive
the same `watch` of the solvers (monitor/progress.py), and nothing listens unless it was asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.monitor.callbacks import Steps, attributes_set
from widemargin.monitor.progress import ProgressBar, tell_all
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import levels_of, scan_groups
from widemargin.training.fit import Task, Trained, Training, Watch

#: multipliers and levels of one problem
Answer = tuple[NDArray[np.float64], NDArray[np.float64]]
#: exposes the answers to all problems as fitted attributes of a machine
Show = Callable[[Any, Sequence[Answer]], None]


@dataclass
class Run:
    """One call of `fit` or `resume`.

    Attributes
    ----------
    stopping : when to stop
    cancelled : set by Ctrl-C, or by a callback that asks to stop
    steps : the report to scikit-learn's callbacks, None where there are none
    before : the machine as it was, where training goes on from it
    """

    stopping: Stopping
    cancelled: threading.Event
    steps: Steps | None = None
    before: Any = None

    def train(self, machine: Any, training: Training, tasks: Sequence[Task], show: Show) -> list[Trained]:
        """Train, with all requested listeners."""
        listeners: list[Watch] = []
        history = None
        if machine.trace:
            from widemargin.monitor.history import History

            history = History()
            listeners.append(history)
        half_trained = None
        if self.steps is not None:
            half_trained = HalfTrained(self.steps, machine, training, tasks, show, self.cancelled)
            listeners.append(half_trained)
        name = type(machine).__name__
        with ProgressBar(name, always=machine.verbose > 1) if machine.verbose else nullcontext() as bar:
            if bar is not None:
                listeners.append(bar)
            trained = training.train(tasks, self.stopping, tell_all(listeners))
        if history is not None:
            machine.history_ = history.table()
        if half_trained is not None and half_trained.stopped:
            for answer in trained:
                if answer.solution.status is Status.INTERRUPTED:
                    answer.solution.status = Status.STOPPED
                    answer.certificate = replace(answer.certificate, status=Status.STOPPED)
        return trained


class HalfTrained:
    """Listener that hands scikit-learn's callbacks a machine as if the fit had stopped here."""

    def __init__(
        self,
        steps: Steps,
        machine: Any,
        training: Training,
        tasks: Sequence[Task],
        show: Show,
        cancelled: threading.Event,
    ) -> None:
        self.steps, self.machine, self.training, self.show = steps, machine, training, show
        self.cancelled = cancelled
        self.stopped = False
        starts = [task.dual.start if task.start is None else task.start for task in tasks]
        self.answers = [(start, np.zeros(max(1, task.dual.n_groups))) for start, task in zip(starts, tasks)]

    def __call__(self, info: dict[str, Any]) -> None:
        """Take one call of `watch`, possibly from several threads."""
        if "point" not in info:
            return
        beta, function = info["point"]()
        level = _levels(info["dual"], beta, function)
        _, level = self.training.hand_over_bias(beta, function, level)
        self.answers[info["task"]] = (beta.copy(), level)
        if self.steps.done(self.attributes):
            self.stopped = True
            self.cancelled.set()
            raise KeyboardInterrupt  # how `watch` tells a solver to end with what it has

    def attributes(self) -> dict[str, Any]:
        """The fitted attributes of the machine as far as it is."""
        return attributes_set(self.machine, lambda shadow: self.show(shadow, list(self.answers)))


def _levels(dual: SignedDual, beta: NDArray[np.float64], function: NDArray[np.float64]) -> NDArray[np.float64]:
    """Levels of the groups at a point with F = K b."""
    f = dual.gradient(beta, function)
    table = scan_groups(f, beta, dual.lower, dual.upper, dual.epsilon, dual.group_starts, dual.n_groups, 0.0)
    return levels_of(table, dual.n_groups)
