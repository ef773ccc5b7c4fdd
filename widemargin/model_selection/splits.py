"""The splits of a search: rows to train on and rows to hold out, as numbers of the samples of positive weight."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from widemargin.estimators.training_set import TrainingSet

FOLDS = 5  # of cv=None, as in scikit-learn, where there are as many samples

Splits = list[tuple[NDArray[np.intp], NDArray[np.intp]]]


def splits_of(cv: Any, data: TrainingSet, y: NDArray, *, stratified: bool, seed: Any) -> Splits:
    """Return the splits that `cv` asks for.

    A number of folds or a splitter sees the samples of positive weight only, so that weight zero equals the sample left
    out; rows that the user lists are those of the data given to fit.

    cv : None, number of folds, splitter, or iterable of pairs of rows
    stratified : whether folds have equal shares of the classes
    seed : folds are shuffled unless it is None
    """
    if cv is None:
        rarest = np.unique(y, return_counts=True)[1].min() if stratified else len(y) // 2  # R^2 needs two samples
        cv = min(FOLDS, max(2, int(rarest)))
    if isinstance(cv, Integral):
        kind = StratifiedKFold if stratified else KFold
        cv = kind(int(cv), shuffle=seed is not None, random_state=seed)
    if hasattr(cv, "split"):
        splits = [(np.asarray(train), np.asarray(test)) for train, test in cv.split(np.zeros((len(data), 1)), y)]
    else:
        splits = [(_kept(data, train), _kept(data, test)) for train, test in cv]
    if not splits:
        raise ValueError("cv has no splits: give a number of folds, a splitter, or pairs of rows (train, test).")
    for number, (train, test) in enumerate(splits):
        if len(train) == 0 or len(test) == 0:
            raise ValueError(
                f"Split {number} of cv has {len(train)} samples to train on and {len(test)} to hold out, of positive "
                "weight: both need at least one. Use fewer folds, or other rows."
            )
        if stratified and (y[train] == y[train[0]]).all():
            raise ValueError(
                f"Split {number} of cv trains on samples of one class only: each class needs at least two samples, in "
                "different folds. Use random_state to shuffle, or other splits."
            )
    return splits


def _kept(data: TrainingSet, rows: Any) -> NDArray[np.intp]:
    """Numbers among the samples of positive weight of rows (numbers or a mask) of the data given."""
    rows = np.asarray(rows)
    rows = np.arange(data.n_given)[rows if len(rows) else rows.astype(np.intp)]
    if data.kept is None:
        return rows
    place = np.full(data.n_given, -1)
    place[data.kept] = np.arange(len(data.kept))
    return place[rows][place[rows] >= 0]
