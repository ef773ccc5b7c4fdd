"""The kernel perceptron: the mistake-driven relative of the algorithms that maximise the margin.

Solves   nothing of the dual: it looks for any hyperplane without mistakes, for two classes, with fixed bias
Given    a Gram, in blocks and rows; labels are read off the linear term, c = -y
Returns  a Solution: b_i counts the mistakes on point i times rate y_i, kept inside the box.
         Ends with OWN_RULE at the first pass without a mistake, since such a hyperplane need not have the widest margin
         (or when the box holds all multipliers back), and with MAX_ITER after max_passes on data that are not separable
Step     if y_i F_i <= 0:  b_i <- b_i + rate y_i        gradient descent on sum max(0, -y_i F_i), point by point (Remark
         7.9)
Bound    at most (R / margin)^2 mistakes on separable data (Novikoff), whatever the order
Use      to compare: its solution costs few passes and has no guaranteed margin.
See      Cristianini & Shawe-Taylor (2000), Remark 7.9; Ng & Ma, CS229 notes, parts V-VI; Freund & Schapire (1999).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from widemargin._jit import jit
from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual
from widemargin.solvers.reference.passes import PASS, SLICE, Passes, ReferenceSolver, Run
from widemargin.solvers.reference.variables import block_of, move
from widemargin.solvers.reference.visits import chunks_of, refuse_groups


@jit
def correct_mistakes(K, F, beta, label, lower, upper, rate, max_steps):
    """One look at every point of a block; F and beta change in place. Returns the number of mistakes."""
    q = F.shape[0]
    mistakes = 0
    for t in range(q):
        if label[t] * F[t] > 0.0 or mistakes >= max_steps:
            continue
        mistakes += 1
        new = min(max(beta[t] + rate * label[t], lower[t]), upper[t])
        step = new - beta[t]
        beta[t] = new
        for k in range(q):
            F[k] += step * K[t, k]
    return mistakes


@dataclass(frozen=True)
class Perceptron(ReferenceSolver):
    """Kernel perceptron on the machine's kernel; with a linear kernel, Rosenblatt's perceptron.

    Parameters
    ----------
    rate : float, default 1.0
        Multiplier added per mistake; a box smaller than it holds the multipliers at C.
    max_passes : int, default 1,000

    Examples
    --------
    >>> import numpy as np
    >>> import warnings
    >>> from widemargin import SVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> with warnings.catch_warnings():  # it warns that this is not the widest margin
    ...     warnings.simplefilter("ignore")
    ...     SVC(kernel="linear", C=np.inf, solver="perceptron").fit(X, [0, 0, 1, 1]).predict(X).tolist()
    [0, 0, 1, 1]
    """

    rate: float = 1.0
    max_passes: int = field(default=1_000, kw_only=True)

    fixed_bias: ClassVar[bool] = True
    keeps_going: ClassVar[bool] = True

    def check(self, dual: SignedDual) -> None:
        if np.any(np.abs(dual.linear_term) != 1.0) or np.any(dual.epsilon) or np.any(dual.diagonal):
            raise ValueError(
                "solver='perceptron' learns two classes with the hinge loss only (SVC with loss='hinge'); for this "
                "machine use solver='auto'."
            )
        refuse_groups(dual, "perceptron")

    def passes(self, run: Run) -> Passes:
        dual = run.dual
        label = -dual.linear_term
        everything = np.arange(len(dual), dtype=np.int64)
        pieces = [(piece, block_of(run, piece) if len(dual) <= len(piece) else None) for piece in chunks_of(everything)]
        while True:
            mistakes = moved = 0
            for piece, kept in pieces:
                before = run.beta[piece]
                beta, F = before.copy(), dual.per_variable(run.function)[piece]
                block = kept if kept is not None else block_of(run, piece)
                box = dual.lower[piece], dual.upper[piece]
                mistakes += correct_mistakes(block, F, beta, label[piece], *box, self.rate, run.steps_left())
                moved += int(np.count_nonzero(beta != before))
                move(run, piece, beta)
                yield SLICE
            run.iterations += mistakes
            if not mistakes or not moved:
                return Status.OWN_RULE
            yield PASS
