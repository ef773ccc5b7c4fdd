"""Variables that will hardly move again are left out for a while, and their gradient is brought up to date once.

Solves   the signed dual for its active variables alone, the others held where they are
Given    a gradient and its thresholds
Returns  which variables are active, and the problem of those
Why      near the end a few variables move in every round, and each time rows of full length are evaluated for them.
         With the active variables alone rows are short; at the end each variable that moved is added once to the
         gradient of the others, however often it moved. Measured: 1.1 to 1.6 times as fast from 10,000 samples on.
Rule     a variable at a bound whose slope is on the right side of its threshold by half of the present violation is
         left out. Hardly any of those moved later; one that would is found by the scan over all that follows.
See      Joachims (1999) for shrinking; here the variables return all at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
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
        return objective0 + smooth + float(self.kink @ (np.abs(beta) - np.abs(beta0)))


def active_part(
    dual: SignedDual, active: NDArray[np.int64], beta: Vector, gradient: Vector, objective: float
) -> ActivePart:
    """The problem of the active variables, from the present point on."""
    return ActivePart(
        shift=dual.shift[active],
        lo=dual.lo[active],
        hi=dual.hi[active],
        start=beta[active],
        ridge=dual.ridge[active],
        kink=dual.kink[active],
        group=dual.group[active],
        n_groups=dual.n_groups,
        before=(beta[active], gradient[active], objective),
    )


@jit
def active_variables(f, beta, lo, hi, kink, starts, thresholds, distance):
    """Variables whose slope violates the threshold of their group, or is nearer to it than `distance`."""
    active = np.empty(f.shape[0], np.int64)
    count = 0
    for g in range(thresholds.shape[0]):
        for t in range(starts[g], starts[g + 1]):
            b = beta[t]
            rise = f[t] + kink[t] if b >= 0.0 else f[t] - kink[t]
            fall = f[t] + kink[t] if b > 0.0 else f[t] - kink[t]
            if (b < hi[t] and rise < thresholds[g] + distance) or (b > lo[t] and fall > thresholds[g] - distance):
                active[count] = t
                count += 1
    return active[:count]
