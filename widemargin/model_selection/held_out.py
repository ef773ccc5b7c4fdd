"""Held-out answers of many related fits: one cell per candidate and split.

Cells are trained together where that is possible (cells.py); each of the others is a fit of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from widemargin._sklearn import safe_split
from widemargin.certificate import Certificate
from widemargin.model_selection.cells import NotTogether, Search, predictions, suits
from widemargin.model_selection.one_cell import Cell, Split
from widemargin.monitor import clock
from widemargin.monitor.interrupt import StopSignal


class HeldOut(NamedTuple):
    """Answers of the estimator of one candidate and split for the split's test rows.

    decision : (n_test, n_outputs), decision values as `_decision_values` returns them
    prediction : (n_test,), labels or target values
    certificate : certificate of the fit
    """

    decision: NDArray[np.float64]
    prediction: NDArray
    certificate: Certificate


class Until(StopSignal):
    """A signal that is also set when another one is, or when a time of `monitor.clock` has come."""

    def __init__(self, cancelled: StopSignal | None, deadline: float | None) -> None:
        super().__init__()
        self.cancelled, self.deadline = cancelled, deadline

    def is_set(self) -> bool:
        is_cancelled = self.cancelled is not None and self.cancelled.is_set()
        return super().is_set() or is_cancelled or (self.deadline is not None and clock.now() >= self.deadline)


def held_out(
    estimator: Any,
    X: Any,
    y: Any,
    candidates: Sequence[Mapping[str, float]],
    splits: Sequence[tuple[NDArray, NDArray]],
    sample_weight: NDArray[np.float64] | None = None,
    cancelled: StopSignal | None = None,
    deadline: float | None = None,
    on_cell: Callable[[int, int, HeldOut], None] | None = None,
) -> list[list[HeldOut | None]]:
    """Train every candidate on the training rows of every split, and answer its test rows.

    Parameters
    ----------
    estimator : unfitted SVC or SVR
    X, y, sample_weight : the data, validated, without samples of weight zero
    candidates : parameters to set, such as {"C": 1.0, "gamma": 0.1}
    splits : rows to train on and rows to answer
    cancelled : ends the work when set
    deadline : time of `monitor.clock` at which the work ends
    on_cell : called with the number of the candidate, of the split, and the cell, on any thread

    Returns
    -------
    cells : a list per candidate with a cell per split; None where it was not finished
    """
    cells: list[list[HeldOut | None]] = [[None] * len(splits) for _ in candidates]
    wanted = [(number, split) for number in range(len(candidates)) for split in range(len(splits))]
    until = Until(cancelled, deadline)

    def keep(place: int, answer: HeldOut) -> None:
        number, split = wanted[place]
        cells[number][split] = answer
        if on_cell is not None:
            on_cell(number, split, answer)

    def take(place: int, cell: Cell) -> None:
        if cell.certificate.holds:
            keep(place, HeldOut(cell.decision, predictions(cell.machine, cell.decision), cell.certificate))

    if suits(estimator):
        try:
            search = Search(estimator, X, y, [Split(*split) for split in splits], sample_weight)
            search.train([dict(candidate) for candidate in candidates], wanted, until, take)
        except NotTogether:
            pass
    for place, (number, split) in enumerate(wanted):
        if until.is_set():
            break
        if cells[number][split] is None:
            alone = fitted_alone(clone(estimator).set_params(**candidates[number]), X, y, splits[split], sample_weight)
            if not until.is_set():
                keep(place, alone)
    return cells


def fitted_alone(
    machine: Any, X: Any, y: Any, split: tuple[NDArray, NDArray], sample_weight: NDArray[np.float64] | None
) -> HeldOut:
    """Return the answers of an estimator fitted on the training rows of a split."""
    train, test = split
    weight = None if sample_weight is None else sample_weight[train]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the certificate says it
        machine.fit(*safe_split(machine, X, y, train), sample_weight=weight)
    tested, _ = safe_split(machine, X, y, test, train)
    return HeldOut(machine._decision_values(tested), machine.predict(tested), machine.certificate_)
