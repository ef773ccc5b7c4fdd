"""Bound on the mistakes of a perceptron: at most R^2 / margin^2 on separable data, for any number of passes.

    R = max |phi(x_i)|,    margin = min y_i u'phi(x_i) for some u of length one

Any u with a positive margin proves a bound; the hard-margin SVM without bias has the largest margin and so proves
the smallest. The margin used here is that of the computed model, not of the exact optimum: the bound is therefore
certain, and as small as the tolerance allows.

See  Novikoff (1962); Cristianini & Shawe-Taylor (2000), Theorem 2.3; Ng & Ma, CS229 notes, on the perceptron.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.kernel import Kernel
from widemargin.monitor.stopping import Stopping
from widemargin.problems.classification import hinge
from widemargin.training.fit import Training
from widemargin.training.task import Task

TOL = 1e-6  # of the hard-margin SVM: about the relative accuracy of the margin


@dataclass(frozen=True)
class MistakeBound:
    """Novikoff's bound on the mistakes of a perceptron, and the number of mistakes made.

    Attributes
    ----------
    radius : float
        Length of the longest feature vector.
    margin : float
        Distance of the closest sample from the hyperplane of the hard-margin SVM through the origin; 0 if there is
        none.
    bound : float
        (radius / margin)^2, infinite where the data are not separable.
    mistakes : int
        Mistakes made in training.
    """

    radius: float
    margin: float
    bound: float
    mistakes: int

    @property
    def holds(self) -> bool:
        """Whether the number of mistakes is within the bound, as it must be on the training data."""
        return self.mistakes <= self.bound

    def __str__(self) -> str:
        if not np.isfinite(self.bound):
            return f"{self.mistakes} mistakes; no bound, since no hyperplane separates the classes"
        return (
            f"{self.mistakes} mistakes of at most {self.bound:.6g} = (R / margin)^2, "
            f"R = {self.radius:.6g}, margin = {self.margin:.6g}"
        )


def bound_mistakes(
    kernel: Kernel, X: Any, sign: NDArray[np.float64], mistakes: int, n_jobs: int | None, time_limit: float | None
) -> MistakeBound:
    """Return the bound by the hard-margin SVM with the same kernel, without a bias."""
    radius = float(np.sqrt(kernel.diag(kernel.prepare(X, np.float64)).max(initial=0.0)))
    dual = replace(hinge(sign, np.full(len(sign), np.inf)), n_groups=0)
    stopping = Stopping(TOL, time_limit=time_limit)
    solution = Training(kernel, X, n_jobs=n_jobs).train([Task(dual)], stopping)[0].solution
    length = float(np.sqrt(max(0.0, float(solution.beta @ solution.Kb))))
    smallest = float((sign * solution.Kb).min())
    margin = smallest / length if length > 0 and smallest > 0 else 0.0
    return MistakeBound(radius, margin, (radius / margin) ** 2 if margin > 0 else float("inf"), mistakes)
