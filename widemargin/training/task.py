"""The problems of a fit and their answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.certificate import Certificate
from widemargin.gram.source import ClassPair, Index
from widemargin.problems.dual import SignedDual
from widemargin.solvers import Solution


@dataclass(frozen=True, eq=False)
class Task:
    """One problem of a fit.

    dual : the problem
    index : its samples: None for all, an index array, or two classes of the fit
    start : a feasible beta
    neighbour : number of a task on the same samples whose answer, moved into this task's box, is the start
    """

    dual: SignedDual
    index: Index | ClassPair | None = None
    start: NDArray[np.float64] | None = None
    neighbour: int | None = None


@dataclass(frozen=True, eq=False)
class Trained:
    """The solution of a task and its certificate, which have the same status."""

    solution: Solution
    certificate: Certificate
