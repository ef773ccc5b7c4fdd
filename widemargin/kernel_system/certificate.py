"""How good the solution of a kernel system is: from a fresh float64 residual, outside the method that found it.

For (K + D) a = y the exact value Q = y'(K + D)^-1 y lies between two numbers, and every prediction of the model lies
within a known distance of the exact one; see conjugate_gradient.py for both formulas.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from widemargin.solvers.solution import Status

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class SystemCertificate:
    """Distance of a solution from the exact one.

    Attributes
    ----------
    lower, upper : float arrays of shape (n_targets,)
        Bounds on y'(K + D)^-1 y for each target.
    error : float
        Bound on the error of any prediction at a sample with k(x, x) no larger than in training, relative to the root
        mean square of the targets.
    residual : float
        |y - (K + D) a| / |y|, the largest over the targets.
    tol : float
        What `error` was to reach.
    method : "cholesky", "cg" or "least squares"
    iterations : int
        Steps of conjugate gradients; 0 for the others.
    rank : int
        Samples in the preconditioner.
    history : float array of shape (n_steps, 2)
        Lower and upper bound of the first target while they close in. Where tiles are float32 these are the bounds
        of the rounded matrix; `lower` and `upper` are always those of the float64 one.
    status : Status
    seconds : float
    """

    lower: Vector
    upper: Vector
    error: float
    residual: float
    tol: float
    method: str
    iterations: int = 0
    rank: int = 0
    history: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 2)), repr=False)
    status: Status = Status.OPTIMAL
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether the bound on the error meets the tolerance."""
        return bool(self.error <= self.tol)

    @property
    def gap(self) -> float:
        """Largest (upper - lower) / upper over the targets."""
        width = np.divide(self.upper - self.lower, self.upper, out=np.zeros_like(self.upper), where=self.upper > 0)
        return float(width.max(initial=0.0))

    def __str__(self) -> str:
        rows = [
            ("certificate", "holds" if self.holds else "DOES NOT HOLD"),
            ("error of predictions", f"<= {self.error:.1e} of the targets' root mean square   (tol {self.tol:.1e})"),
            ("y'(K + D)^-1 y", f"{self.lower[0]:.12g} to {self.upper[0]:.12g}   (relative gap {self.gap:.1e})"),
            ("relative residual", f"{self.residual:.1e}"),
            ("method", self.method + (f", {self.iterations} steps, rank {self.rank}" if self.method == "cg" else "")),
            ("seconds", f"{self.seconds:.3g}"),
        ]
        if self.status is not Status.OPTIMAL:
            rows.append(("status", self.status.value))
        return "\n".join(f"{name:<22} {value}" for name, value in rows)
