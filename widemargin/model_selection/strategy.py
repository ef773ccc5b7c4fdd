"""Which cells of a search to try next, from the scores of those tried: coarse grid, extend at edges, refine.

    coarse      all combinations of the first values of every axis
    line        the values of an axis `along_best` (epsilon) at the best cell only, since its influence is small
    extend      while the end of an axis scores better than all its other values, by SMALLEST_GAIN standard errors: one
                value more beyond that end, beside the best cell and its neighbours; at most MAX_EXTENSIONS per end
    refine      the neighbours of the best cell at half the step; at most MAX_REFINEMENTS times, and no more after one
                that gained less than SMALLEST_GAIN standard errors

More effort hardly pays: on 115 data sets finer and cleverer searches were no better (Wainer & Fonseca 2021, Artificial
Intelligence Review 54). An axis with values given by the user is searched as it is.

All functions are pure. `next_round` replays the search from its beginning on a table of scores, so that a search that
was cut continues wherever its table ends, and a table can be written by hand.

A candidate is a tuple with the value of each axis, in the order of the axes; a table maps candidates to the scores of
their folds. A candidate that is not in the table has not been tried, one with a score of nan never is the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

MAX_EXTENSIONS = 3  # per end of an axis: three steps of ten are far outside any range that makes sense
MAX_REFINEMENTS = 2  # to a quarter of the step: from 10 to 1.8
LARGEST_STEP = 10.0  # ratio of an extension: a grid of two values has larger steps, which lead nowhere
SMALLEST_GAIN = 0.1  # standard errors: a smaller gain is chance

Candidate = tuple[float, ...]
Scores = Mapping[Candidate, ArrayLike]
LARGER_IS_SIMPLER = ("epsilon",)  # fewer support vectors; of C and gamma smaller values are simpler


class Axis(NamedTuple):
    """A parameter and its first values, ascending.

    is_free : whether the search may go beyond and between these values
    along_best : whether its values are tried at the best cell only
    """

    name: str
    values: tuple[float, ...]
    is_free: bool = True
    along_best: bool = False

    @property
    def ratio(self) -> float:
        """Quotient of neighbouring values."""
        return (self.values[-1] / self.values[0]) ** (1.0 / (len(self.values) - 1)) if len(self.values) > 1 else 10.0

    @property
    def middle(self) -> float:
        return self.values[len(self.values) // 2]


class End(NamedTuple):
    """An end of an axis: its number, and -1 for the lower or +1 for the upper one."""

    axis: int
    side: int


@dataclass
class Round:
    """The next cells of a search.

    candidates : all cells of the round; those already in the table need not be tried again; empty at the end
    stage : "coarse", "line", "extend" or "refine"; "done" at the end
    extensions : how often each end has been extended before or in this round
    tried : cells of all rounds up to and including this one, in the order in which they were proposed
    """

    candidates: list[Candidate]
    stage: str
    extensions: dict[End, int] = field(default_factory=dict)
    tried: list[Candidate] = field(default_factory=list)


# ---- what a table says -----------------------------------------------------------------------------------------------


def mean(scores: Scores, candidate: Candidate) -> float:
    """Mean score of a candidate; -inf if it was not tried or failed."""
    value = float(np.mean(np.asarray(scores[candidate], np.float64))) if candidate in scores else -np.inf
    return -np.inf if np.isnan(value) else value


def standard_error(scores: Scores, candidate: Candidate) -> float:
    """Standard error of a candidate's mean score over its folds; 0 with one fold."""
    folds = np.asarray(scores[candidate], np.float64)
    return float(np.std(folds, ddof=1) / np.sqrt(len(folds))) if len(folds) > 1 else 0.0


def simplicity(axes: Sequence[Axis], candidate: Candidate) -> Candidate:
    """Sort key: the simplest candidate first, by the smallest C, then the smallest gamma, then the largest epsilon."""
    return tuple(-value if axis.name in LARGER_IS_SIMPLER else value for axis, value in zip(axes, candidate))


def best(axes: Sequence[Axis], scores: Scores, among: Iterable[Candidate] | None = None) -> Candidate | None:
    """The candidate with the highest mean, of equals the simplest; None if none was scored."""
    scored = [one for one in (scores if among is None else among) if mean(scores, one) > -np.inf]
    return min(scored, key=lambda one: (-mean(scores, one), simplicity(axes, one)), default=None)


def one_se(axes: Sequence[Axis], scores: Scores, among: Iterable[Candidate] | None = None) -> Candidate | None:
    """The simplest candidate whose mean is within one standard error of the best (Breiman et al. 1984)."""
    scored = list(scores if among is None else among)
    first = best(axes, scores, scored)
    if first is None:
        return None
    enough = mean(scores, first) - standard_error(scores, first)
    return min((one for one in scored if mean(scores, one) >= enough), key=lambda one: simplicity(axes, one))


SELECTIONS: dict[str, Callable[..., Candidate | None]] = {"best": best, "one_se": one_se}


def open_ends(axes: Sequence[Axis], scores: Scores, among: Iterable[Candidate] | None = None) -> list[End]:
    """Ends of axes at which the score is higher than at all other values of the axis, by more than SMALLEST_GAIN."""
    scored = [one for one in (scores if among is None else among) if mean(scores, one) > -np.inf]
    first = best(axes, scores, scored)
    chance = SMALLEST_GAIN * standard_error(scores, first) if first is not None else 0.0
    found = []
    for number in range(len(axes)):
        values = sorted({one[number] for one in scored})
        if len(values) < 2:
            continue
        at = {value: max(mean(scores, one) for one in scored if one[number] == value) for value in values}
        for side, end in ((-1, values[0]), (1, values[-1])):
            if at[end] > chance + max(score for value, score in at.items() if value != end):
                found.append(End(number, side))
    return found


# ---- what to try next ------------------------------------------------------------------------------------------------


def next_round(axes: Sequence[Axis], scores: Scores) -> Round:
    """The first round of the search with cells that are not in the table, or one of stage "done"."""
    extensions: dict[End, int] = {}
    tried: list[Candidate] = []

    def proposed(candidates: list[Candidate], stage: str) -> Round | None:
        """Take note of a round; return it if it has cells to try."""
        tried.extend(one for one in candidates if one not in tried)
        is_new = any(one not in scores for one in candidates)
        return Round(candidates, stage, dict(extensions), list(tried)) if is_new else None

    if found := proposed(coarse(axes), "coarse"):
        return found
    lines = [number for number, axis in enumerate(axes) if axis.along_best and len(axis.values) > 1]
    centre = best(axes, scores, tried)
    for number in lines:
        if centre is None:
            break
        if found := proposed([_at(centre, number, value) for value in axes[number].values], "line"):
            return found
        centre = best(axes, scores, tried)
    refinements = 0
    while centre is not None and any(axis.is_free for axis in axes):
        before = centre
        ends = [
            end
            for end in open_ends(axes, scores, tried)
            if axes[end.axis].is_free and extensions.get(end, 0) < MAX_EXTENSIONS
        ]
        if ends and refinements == 0:  # refinements do not go back to the edge
            for end in ends:
                extensions[end] = extensions.get(end, 0) + 1
            found = proposed(beyond(axes, tried, centre, ends), "extend")
        elif refinements < MAX_REFINEMENTS:
            refinements += 1
            found = proposed(around(axes, centre, 0.5**refinements), "refine")
        else:
            break
        if found:
            return found
        centre = best(axes, scores, tried) or before  # it has a score, so there is a best
        gain = mean(scores, centre) - mean(scores, before)
        if refinements and gain <= SMALLEST_GAIN * standard_error(scores, before):
            break
    return Round([], "done", dict(extensions), list(tried))


def coarse(axes: Sequence[Axis]) -> list[Candidate]:
    """All combinations of the first values, those of axes `along_best` in their middle."""
    return list(product(*[(axis.middle,) if axis.along_best else axis.values for axis in axes]))


def beyond(axes: Sequence[Axis], tried: Iterable[Candidate], centre: Candidate, ends: Sequence[End]) -> list[Candidate]:
    """Cells one step outside the searched range at the given ends, beside the best cell and its neighbours."""
    tried = list(tried)
    near: list[list[float]] = []
    for number, axis in enumerate(axes):
        values = sorted({one[number] for one in tried})
        sides = [end.side for end in ends if end.axis == number]
        if sides:
            edge = values[0] if sides[0] < 0 else values[-1]
            near.append([centre[number], rounded(edge * min(axis.ratio, LARGEST_STEP) ** sides[0])])
        elif axis.along_best:
            near.append([centre[number]])
        else:
            place = values.index(centre[number])
            near.append(values[max(0, place - 1) : place + 2])
    cells = product(*near)
    outside = {(end.axis, near[end.axis][1]) for end in ends}
    return [one for one in cells if any((number, value) in outside for number, value in enumerate(one))]


def around(axes: Sequence[Axis], centre: Candidate, share: float) -> list[Candidate]:
    """The neighbours of a cell at a share of the step, along all free axes; along axes `along_best` one at a time."""
    near: list[list[float]] = []
    alone: list[Candidate] = []
    for number, (axis, value) in enumerate(zip(axes, centre)):
        step = axis.ratio**share
        sides = [rounded(value / step), value, rounded(value * step)] if axis.is_free else [value]
        if axis.along_best:
            alone += [_at(centre, number, side) for side in sides]
            sides = [value]
        near.append(sides)
    return [*product(*near), *(one for one in alone if one != centre)]


def rounded(value: float) -> float:
    """Three significant digits."""
    return float(f"{value:.3g}")


def _at(candidate: Candidate, number: int, value: float) -> Candidate:
    """The candidate with another value on one axis."""
    return (*candidate[:number], value, *candidate[number + 1 :])
