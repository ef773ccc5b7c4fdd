"""One call of `fit` or `resume`: its limits, its starting point and its listeners.

Listeners are the progress bar (`verbose`), the history (`trace`) and scikit-learn's callbacks. All receive
the same `watch` of the solvers (monitor/iteration.py), and nothing listens unless it was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.monitor.callbacks import Steps
from widemargin.monitor.history import History
from widemargin.monitor.interrupt import StopSignal
from widemargin.monitor.iteration import Iteration
from widemargin.monitor.stopping import Stopping
from widemargin.problems.optimality import scan_groups, thresholds_of
from widemargin.training.fit import Training
from widemargin.training.task import Task, Trained

#: multipliers and thresholds of one problem
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
    cancelled: StopSignal
    steps: Steps | None = None
    before: Any = None

    def train(
        self,
        machine: Any,
        training: Training,
        tasks: Sequence[Task],
        show: Show,
        classes: Sequence[NDArray[np.int64]] = (),
    ) -> list[Trained]:
        """Train, with all requested listeners; `classes` are the samples of each class, for tasks about class pairs."""
        history = History() if machine.trace else None
        own = [task for task in tasks if task.neighbour is None]
        starts = [task.dual.start if task.start is None else task.start for task in own]
        answers = [(start, np.zeros(max(1, task.dual.n_groups))) for start, task in zip(starts, own)]
        others = [] if history is None else [history.note]
        with machine._watching(self.steps, show, answers, partial(answer_of, training), others) as watch:
            trained = training.train(tasks, self.stopping, watch, classes)
        if history is not None:
            machine.history_ = history.table()
        return trained


def answer_of(training: Training, iteration: Iteration) -> Answer | None:
    """Multipliers and thresholds of a problem at this moment of the fit; None where a solver does not report them."""
    if iteration.point is None:
        return None
    (beta, Kb), dual = iteration.point(), iteration.dual
    gradient = dual.gradient(beta, Kb)
    table = scan_groups(gradient, beta, dual.lower, dual.upper, dual.epsilon, dual.group_starts, dual.n_groups)
    _, thresholds = training.split_bias(beta, Kb, thresholds_of(table, dual.n_groups))
    return beta.copy(), thresholds
