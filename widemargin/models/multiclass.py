"""Many classes from two-class models: the samples of each model, and the layout of their coefficients.

one against one   a model for each pair i < j on the samples of the two classes, class i positive; votes decide
one against rest  a model for each class k on all samples, class k positive; the largest decision value decides
                  (Cristianini & Shawe-Taylor 2000, section 5.1)
two classes       one model on all samples, class 1 positive

Support vectors are ordered by class, in the order of the data within a class. One against one follows LIBSVM's layout
(Chang & Lin 2011, section 7): a support vector of class i has n_classes - 1 coefficients, the one against class j in
row j - 1 if j > i and in row j if j < i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin._sklearn import ovr_decision_function
from widemargin.linalg.arrays import Vector

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TwoClass:
    """One two-class problem: its samples (None: all, in order), their signs, and the two classes (rest: -1)."""

    index: Indices | None
    sign: Vector
    positive: int
    negative: int

    def of(self, values: NDArray) -> NDArray:
        """Select the values of the samples of this problem."""
        return values if self.index is None else values[self.index]


class ClassPairs(Sequence[TwoClass]):
    """The two-class problems of all pairs i < j, each created on access.

    members : samples of each class
    first, second : the two classes of each pair
    sizes : number of samples of each pair
    """

    def __init__(self, labels: Indices, n_classes: int) -> None:
        self.order = np.argsort(labels, kind="stable").astype(np.int64)
        self.class_starts = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=n_classes))])
        self.members = np.split(self.order, self.class_starts[1:-1])
        self.first, self.second = np.triu_indices(n_classes, 1)
        in_class = np.diff(self.class_starts)
        self.sizes = in_class[self.first] + in_class[self.second]

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[k] for k in range(*number.indices(len(self)))]
        i, j = self.first[number], self.second[number]
        sign = np.concatenate([np.ones(len(self.members[i])), -np.ones(len(self.members[j]))])
        return TwoClass(np.concatenate([self.members[i], self.members[j]]), sign, int(i), int(j))

    def variables(self, first: int = 0, last: int | None = None) -> Variables:
        """Return the samples of pairs first:last, one pair after another, as arrays."""
        pairs = np.stack([self.first[first:last], self.second[first:last]], axis=1)
        begin, sizes = self.class_starts[pairs.ravel()], np.diff(self.class_starts)[pairs.ravel()]
        segment_starts = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(segment_starts[-1]) + np.repeat(begin - segment_starts[:-1], sizes)
        sign = np.repeat(np.tile([1.0, -1.0], len(pairs)), sizes)
        row = np.repeat((pairs[:, ::-1] - np.array([1, 0])).ravel(), sizes)
        return Variables(self.order[places], sign, segment_starts[::2], row)


class Variables(NamedTuple):
    """Samples and signs of several two-class problems in a row.

    starts : the boundaries of the problems
    row : row of a variable's coefficient in LIBSVM's layout
    """

    samples: Indices
    sign: Vector
    starts: Indices
    row: Indices


@dataclass(frozen=True, eq=False)
class Layout:
    """The coefficients of all two-class problems in one matrix.

    Attributes
    ----------
    support : samples with a nonzero coefficient in any problem, class by class
    n_support : number of them per class
    coefficients : (n_classes - 1, n_SV) one against one, (n_classes, n_SV) one against rest, (1, n_SV) for two classes
    class_starts : where each class begins among the support vectors; None unless one against one of several classes
    """

    support: Indices
    n_support: NDArray[np.int32]
    coefficients: Vector
    class_starts: Indices | None


def two_class_problems(labels: Indices, n_classes: int, scheme: str) -> Sequence[TwoClass]:
    """Cut a problem with labels 0 ... n_classes - 1 into two-class problems; `scheme` is "ovo" or "ovr"."""
    if n_classes == 2:
        return [TwoClass(None, np.where(labels == 1, 1.0, -1.0), 1, 0)]
    if scheme == "ovr":
        return [TwoClass(None, np.where(labels == k, 1.0, -1.0), k, -1) for k in range(n_classes)]
    return ClassPairs(labels, n_classes)


def lay_out(problems: Sequence[TwoClass], beta: Vector, labels: Indices, n_classes: int) -> Layout:
    """Gather the signed multipliers of all problems, one after the other, into one coefficient matrix."""
    if isinstance(problems, ClassPairs):
        variables = problems.variables()
        given = np.zeros((n_classes - 1, len(labels)))
        given[variables.row, variables.samples] = beta
    else:
        given = beta.reshape(len(problems), len(labels))
    used = np.flatnonzero(given.any(axis=0))
    support = used[np.argsort(labels[used], kind="stable")]
    n_support = np.bincount(labels[support], minlength=n_classes).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(n_support)]) if isinstance(problems, ClassPairs) else None
    return Layout(support, n_support, np.ascontiguousarray(given[:, support]), starts)


def read_out(problems: Sequence[TwoClass], support: Indices, coefficients: Vector, labels: Indices) -> list[Vector]:
    """The inverse of `lay_out`: the signed multipliers of each problem from a fitted coefficient matrix."""
    given = np.zeros((len(coefficients), len(labels)))
    given[:, support] = coefficients
    if not isinstance(problems, ClassPairs):
        return list(given)
    variables = problems.variables()
    return np.split(given[variables.row, variables.samples], variables.starts[1:-1])


def votes(values: Vector, n_classes: int, tie_order: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
    """Class with the most votes one against one; a value of zero goes to class j.

    A tie goes to the first of the classes, or to the first in `tie_order`, for models with another order of classes.
    """
    wins = values > 0
    count = _count(wins, ~wins, n_classes)
    if tie_order is not None:
        return tie_order[count[:, tie_order].argmax(axis=1)]
    return count.argmax(axis=1)


def sure_votes(
    values: Vector, errors: Vector, n_classes: int, tie_order: NDArray[np.intp] | None = None
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the class that `votes` gives for all values within `errors` of the given ones, and where there is one.

    It is certain where the certain votes of the class exceed the possible votes of any other class. Votes are compared
    together with the position in the order of ties.
    """
    first, second = values > errors, values < -errors
    place = np.arange(n_classes)
    if tie_order is not None:
        place[tie_order] = np.arange(n_classes)
    least = n_classes * _count(first, second, n_classes) - place
    found = least.argmax(axis=1)
    certain = np.asarray((first | second).all(axis=1))
    doubtful = np.flatnonzero(~certain)
    if len(doubtful):
        lost = _count(second[doubtful], first[doubtful], n_classes)
        most = n_classes * (n_classes - 1 - lost) - place
        chosen, rows = found[doubtful], np.arange(len(doubtful))
        most[rows, chosen] = -n_classes
        certain[doubtful] = least[doubtful, chosen] > most.max(axis=1)
    return found, certain


def sure_sign(values: Vector, errors: Vector) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """1 for a positive value and 0 for a negative one, of shape (n, 1), and where the sign is certain."""
    return (values[:, 0] > 0).astype(np.intp), np.abs(values[:, 0]) > errors[:, 0]


def sure_largest(values: Vector, errors: Vector) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The column of the largest value, and where it is the largest for all values within `errors`."""
    found = values.argmax(axis=1)
    rows = np.arange(len(values))
    with np.errstate(invalid="ignore"):  # differences of infinite values and bounds
        least, most = (values - errors)[rows, found], values + errors
    most[rows, found] = -np.inf
    return found, least > most.max(axis=1)


def _count(first: NDArray[np.bool_], second: NDArray[np.bool_], n_classes: int) -> NDArray[np.int32]:
    """Count the votes of each class; `first` and `second` mark the pairs won by their first and second class."""
    count = np.zeros((n_classes, len(first)), np.int32)
    won, lost = first.T.astype(np.int32, order="C"), second.T.astype(np.int32, order="C")
    start = 0
    for k in range(n_classes - 1):  # the pairs of k with all later classes are adjacent
        stop = start + n_classes - 1 - k
        count[k] += won[start:stop].sum(axis=0, dtype=np.int32)
        count[k + 1 :] += lost[start:stop]
        start = stop
    return count.T


def one_against_rest_confidence(values: Vector, n_classes: int) -> Vector:
    """One score per class from one-against-one values: votes, and below one vote the squashed sum of the margins.

    scikit-learn's convention: votes + s / (3 (|s| + 1)), s the sum of the margins in favour of the class, so that
    margins only break ties.
    """
    with np.errstate(invalid="ignore"):  # infinite margins
        return ovr_decision_function(values < 0, -values, n_classes)
