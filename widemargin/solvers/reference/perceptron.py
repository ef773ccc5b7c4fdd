"""The kernel perceptron: the mistake-driven relative of the algorithms that maximise the margin.

Solves   not the dual: it finds any hyperplane without mistakes, for two classes, with fixed bias
Given    a Gram, in blocks and rows; labels are taken from the linear term, c = -y
Returns  a Solution: b_i counts the mistakes on point i times rate y_i, kept inside the box.
         Ends with OWN_RULE at the first pass without a mistake, since such a hyperplane need not have the widest margin
         (or when the box holds all multipliers back), and with MAX_PASSES on data that are not separable
Step     if y_i F_i <= 0:  b_i <- b_i + rate y_i        gradient descent on sum max(0, -y_i F_i), point by point (Remark
         7.9)
Bound    at most (R / margin)^2 mistakes on separable data (Novikoff), whatever the order
Use      to compare: its solution costs few passes and has no guaranteed margin.
See      Cristianini & Shawe-Taylor (2000), Remark 7.9; Ng & Ma, CS229 notes, parts V-VI; Freund & Schapire (1999).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from widemargin._jit import jit
from widemargin.monitor.status import Status
from widemargin.problems.dual import SignedDual
from widemargin.solvers.reference.passes import PASS, SLICE, Passes, Run
from widemargin.solvers.reference.visits import SingleSolver, chunks_of
from widemargin.solvers.reference.working_set import improve


@jit
def correct_mistakes(at, F, label, rate, max_steps):
    """Visit every point of a working set once; F and beta change in place. Returns the number of mistakes."""
    mistakes = 0
    for t in range(F.shape[0]):
        if label[t] * F[t] > 0.0 or mistakes >= max_steps:
            continue
        mistakes += 1
        before = at.beta[t]
        at.beta[t] = min(max(before + rate * label[t], at.lower[t]), at.upper[t])
        for k in range(F.shape[0]):
            F[k] += (at.beta[t] - before) * at.K[t, k]
    return mistakes


@dataclass(frozen=True)
class Perceptron(SingleSolver):
    """Kernel perceptron on the model's kernel; with a linear kernel, Rosenblatt's perceptron.

    Parameters
    ----------
    rate : float, default 1.0
        Multiplier added per mistake; a box smaller than it holds the multipliers at C.
    tau : float or None, default None
        The fixed bias; see `Adatron`.
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

    keeps_going = True

    def check(self, dual: SignedDual) -> None:
        if np.any(np.abs(dual.linear_term) != 1.0) or np.any(dual.epsilon) or np.any(dual.diagonal):
            raise ValueError(
                "solver='perceptron' learns two classes with the hinge loss only (SVC with loss='hinge'); for this "
                "machine use solver='auto'."
            )
        super().check(dual)

    def passes(self, run: Run) -> Passes:
        label = -run.dual.linear_term
        while True:
            mistakes, before = 0, run.beta
            for chunk in chunks_of(np.arange(len(label))):
                F = run.dual.per_variable(run.Kb)[chunk]
                mistakes += improve(run, chunk, correct_mistakes, F, label[chunk], self.rate, run.steps_left())
                yield SLICE
            if not mistakes or np.array_equal(run.beta, before):
                return Status.OWN_RULE
            yield PASS
