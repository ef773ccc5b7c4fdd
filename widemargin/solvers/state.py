"""Sub-problems: restrict a problem at its point to some variables, solve for these, join the answer.

Working sets, active sets and small problems as a whole are all built by `restrict`, and `join` inserts their answers.
These two are the only place where K b is updated from one point to the next, with a bound on its error:

    |Kb - K beta|  <=  error at the start  +  bound on what rounding and errors of rows have added since

which needs the sizes of all changes of each coefficient that went into K b, and the number of rows (gram/scores.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.gram.gram import Gram
from widemargin.gram.scores import Scores
from widemargin.linalg.arrays import Index, Vector
from widemargin.problems.dual import SignedDual
from widemargin.problems.optimality import evaluate_dual


class Origin(NamedTuple):
    """The start of a restricted problem: multipliers, gradient, and the value of the whole problem."""

    beta: Vector
    gradient: Vector
    value: float


class State:
    """A problem on its Gram at a point.

    Attributes
    ----------
    beta : multipliers, one per variable
    Kb : K b, one value per sample; in a restricted problem it includes the contribution of all other variables
    start : K b where this state began, with its error; None if the error is not tracked
    moved, rows_added : sizes of all changes of the coefficients that went into K b since, and the number of rows
    origin : of a restricted problem
    """

    def __init__(
        self, dual: SignedDual, gram: Gram, beta: Vector, start: Scores | Vector, origin: Origin | None = None
    ) -> None:
        self.dual, self.gram, self.beta, self.origin = dual, gram, beta, origin
        self.start = start if isinstance(start, Scores) else None
        self.Kb: Vector = self.start.values if self.start is not None else start  # type: ignore[assignment]
        self.moved = np.zeros(len(gram))
        self.rows_added = 0

    @classmethod
    def at(cls, dual: SignedDual, gram: Gram, beta: Vector | None, known: Scores | Vector | None) -> State:
        """Return the state at `beta` (None: the start of the dual); `known` is K b there, computed if it is None."""
        beta = np.array(dual.start if beta is None else beta, dtype=np.float64)
        if known is None:
            zero = Scores(np.zeros(len(gram)), np.zeros(len(gram)))
            known = gram.scores(dual.per_sample(beta)) if beta.any() else zero
        if not isinstance(known, Scores):
            known = Scores.untracked(np.array(known, dtype=np.float64))
        return cls(dual, gram, beta, known)

    def evaluate(self) -> tuple[Vector, Vector, float]:
        """Gradient, thresholds of the groups, and the value of the (whole) dual."""
        dual, begin = self.dual, self.origin
        f, thresholds, value = evaluate_dual(dual.terms, self.beta, dual.per_variable(self.Kb))
        if begin is not None:  # a quadratic changes by the step times the mean of the gradients at both ends
            smooth = 0.5 * float((self.beta - begin.beta) @ (f + begin.gradient))
            value = begin.value + smooth + float(dual.epsilon @ (np.abs(self.beta) - np.abs(begin.beta)))
        return f, thresholds, value

    def restrict(self, variables: Index, gram: Gram, origin: Origin | None = None) -> State:
        """Return the problem of some variables, with all others fixed; `gram` is their kernel matrix, signed."""
        part = self.dual.restricted(variables, self.beta)
        return State(part, gram, self.beta[variables], self.dual.per_variable(self.Kb)[variables], origin)

    def join(self, part: State, variables: Index, keep: NDArray[np.bool_] | None = None) -> Index:
        """Insert the answer of a part: K b is updated by the rows of what moved. Returns the samples that moved.

        Values of K b that the part has kept up to date for its own samples are copied; other samples need rows.
        keep : per variable, rows that are likely to be needed again
        """
        dual = self.dual
        moved = np.flatnonzero(part.beta != self.beta[variables])
        if not len(moved):
            return moved
        beta, Kb = self.beta.copy(), self.Kb.copy()  # replaced together: an interrupt leaves the old pair
        beta[variables] = part.beta
        numbers = variables[moved]
        index, change = numbers, beta[numbers] - self.beta[numbers]
        if dual.sign is not None:
            change *= dual.sign[numbers]
        if dual.row is not None:  # several variables may share a sample
            index, inverse = np.unique(dual.row[numbers], return_inverse=True)
            change = np.bincount(inverse, weights=change, minlength=len(index)).astype(np.float64)
            keep = None if keep is None else np.ones(len(index), np.bool_)
        elif keep is not None:
            keep = keep[moved]
        if part.rows_added:
            outside = np.ones(len(Kb), np.bool_)
            outside[variables] = False
            others = np.flatnonzero(outside)
            Kb[variables] = part.Kb
            Kb[others] += self.gram.sum_at(others, index, change)
            self.moved[variables] += part.moved
            self.rows_added += part.rows_added + len(variables)
        else:
            self.gram.add_rows(index, change, Kb, keep)
            self.moved[index] += np.abs(change)
            self.rows_added += len(index)
        self.beta, self.Kb = beta, Kb
        return index

    def recompute(self) -> None:
        """Recompute K b from rows, without the rounding errors of many updates."""
        coefficients = self.dual.per_sample(self.beta)
        support = np.flatnonzero(coefficients)
        Kb = np.zeros(len(self.gram))
        self.gram.add_rows(support, coefficients[support], Kb)
        self.Kb, self.moved, self.rows_added = Kb, np.abs(coefficients), len(support)
        if self.start is not None:
            self.start = Scores(np.zeros(len(Kb)), np.zeros(len(Kb)))

    @property
    def error(self) -> Vector | None:
        """Bound on the error of K b; None if it is not tracked."""
        return None if self.start is None else self.start.error_after(self.gram.errors, self.moved, self.rows_added)
