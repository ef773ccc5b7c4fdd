"""Variables that will hardly move again are left out for a while, and their gradient is brought up to date once.

Solves   the signed dual for its active variables alone, the others held where they are
Given    a gradient and its thresholds
Returns  which variables are active, and the problem of those
Why      near the end a few variables move in every round, and each time rows of full length are evaluated for them.
         With the active variables alone rows are short; at the end each variable that moved is added once to the
         gradient of the others, however often it moved. Measured with 10,000 to 50,000 samples: 1.1 to 1.6 times as
         fast where support vectors are few, no difference on covtype, where they are most.
Rule     a variable at a bound whose slope is on the right side of its threshold by half of the present violation is
         left out. Hardly any of those moved later; one that would is found by the scan over all that follows.
See      Joachims (1999) for shrinking; here the variables return all at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.gram.gram import Gram
from widemargin.monitor.iteration import Iteration
from widemargin.problems.dual import SignedDual, Vector


@dataclass(frozen=True, eq=False)
class ActivePart(SignedDual):
    """The problem of some variables; the function it is given also holds what the others contribute.

    before : multipliers, gradient and objective where this part was taken out
    """

    before: tuple[Vector, Vector, float] = None  # type: ignore[assignment]

    def objective(self, beta: Vector, function: Vector) -> float:
        """Of the whole problem: a quadratic changes by the step times the mean of its gradients at both ends."""
        beta0, gradient0, objective0 = self.before
        smooth = 0.5 * float((beta - beta0) @ (self.gradient(beta, function) + gradient0))
        return objective0 + smooth + float(self.epsilon @ (np.abs(beta) - np.abs(beta0)))


def active_part(
    dual: SignedDual, active: NDArray[np.int64], beta: Vector, gradient: Vector, objective: float
) -> ActivePart:
    """The problem of the active variables, from the present point on."""
    return ActivePart(
        linear_term=dual.linear_term[active],
        lower=dual.lower[active],
        upper=dual.upper[active],
        start=beta[active],
        diagonal=dual.diagonal[active],
        epsilon=dual.epsilon[active],
        group=dual.group[active],
        n_groups=dual.n_groups,
        before=(beta[active], gradient[active], objective),
    )


class Shrunk:
    """A point of the whole problem, its active variables, and the Gram of those.

    Parameters
    ----------
    gram, part : of all samples, and of the active ones
    active : numbers of the active variables, one per sample
    beta, function : of the whole problem, where the part is taken out
    """

    def __init__(self, gram: Gram, part: Gram, active: NDArray[np.int64], beta: Vector, function: Vector) -> None:
        self.gram, self.part, self.active = gram, part, active
        self.beta, self.function = beta, function
        outside = np.ones(len(beta), np.bool_)
        outside[active] = False
        self.others = np.flatnonzero(outside)

    def joined(self, beta_part: Vector, function_part: Vector) -> tuple[Vector, Vector]:
        """Beta and F of all variables: rows of the active ones that moved, evaluated at the others."""
        beta, function = self.beta.copy(), self.function.copy()
        beta[self.active], function[self.active] = beta_part, function_part
        moved = np.flatnonzero(beta != self.beta)
        function[self.others] += self.gram.sum_at(self.others, moved, beta[moved] - self.beta[moved])
        return beta, function

    @property
    def rows_computed(self) -> int:
        """Rows evaluated for the part, by their length."""
        return round(self.part.rows_computed * len(self.part) / len(self.gram))

    def report(self, now: Iteration, before: Iteration) -> Iteration:
        """Progress report of a round of the part, given the last report on the whole."""
        point, rows_before = now.point, before.rows_computed
        assert point is not None and rows_before is not None
        return replace(
            now,
            rounds=now.rounds + before.rounds,
            iterations=now.iterations + before.iterations,
            seconds=now.seconds + before.seconds,
            n_support=now.n_support + int(np.count_nonzero(self.beta[self.others])),
            rows_computed=rows_before + self.rows_computed,
            point=lambda: self.joined(*point()),
        )


@jit
def active_variables(f, beta, lower, upper, epsilon, starts, thresholds, distance):
    """Variables whose slope violates the threshold of their group, or is nearer to it than `distance`."""
    active = np.empty(f.shape[0], np.int64)
    count = 0
    for g in range(thresholds.shape[0]):
        for t in range(starts[g], starts[g + 1]):
            b = beta[t]
            rise = f[t] + (epsilon[t] if b >= 0.0 else -epsilon[t])
            fall = f[t] + (epsilon[t] if b > 0.0 else -epsilon[t])
            may_rise = (b < upper[t]) & (rise < thresholds[g] + distance)
            may_fall = (b > lower[t]) & (fall > thresholds[g] - distance)
            active[count] = t  # and overwritten by the next unless it counts: no branches
            count += 1 if may_rise | may_fall else 0
    return active[:count]
