"""Certificate of the solution of a kernel system, from a recomputed residual, independent of the method.

For (K + D) a = y the exact value Q = y'(K + D)^-1 y lies between two numbers, and every prediction of the model lies
within a known distance of the exact one: bounds.py has the formulas and counts the rounding errors in them. Both rest
on K being positive semi-definite, which follows from the formulas of most kernels, but not from those of sigmoid,
precomputed and user-defined kernels. For these only the residual is proven.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from widemargin.certificate.tables import Shown
from widemargin.linalg.arrays import Vector
from widemargin.monitor.status import Status

IF_PSD = "if the kernel is positive semi-definite"


@dataclass(frozen=True)
class SystemCertificate(Shown):
    """Distance of a solution from the exact one; all bounds hold in floating-point arithmetic.

    Attributes
    ----------
    lower, upper : float arrays of shape (n_targets,)
        Bounds on y'(K + D)^-1 y for each target.
    error : float
        Bound on |f(x) - f*(x)| at any sample with k(x, x) no larger than in training, relative to the root mean
        square of the targets. f is the function of the coefficients as stored; its evaluation is rounded once more.
    residual : float
        Bound on |y - (K + D) a| / |y|, the largest over the targets. Models with a bias: |y - (K + D) a - b| / |y|,
        or |sum a| / sum |a| where that is larger.
    tol : float
        Limit on `error`, or on `residual` for kernels not known to be positive semi-definite.
    method : "cholesky", "cg" or "least squares"
    iterations : int
        Steps of conjugate gradients; 0 for other methods.
    rank : int
        Samples in the preconditioner.
    history : float array of shape (n_steps, 2)
        Lower and upper bound of the first target after each step, as computed. Where tiles are float32 these are
        the bounds of the rounded matrix; `lower` and `upper` are always those of the exact one.
    status : Status
    seconds : float
    rounding : float
        Largest bound on the rounding error of an entry of the residual, relative to the targets' root mean square.
    is_psd : bool
        Whether the kernel is known to be positive semi-definite. If not, `error`, `lower` and `upper` are bounds only
        if it is, and `holds` refers to `residual`.
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
    rounding: float = float("inf")
    is_psd: bool = False

    @property
    def holds(self) -> bool:
        """Whether what is proven meets the tolerance: about predictions, or the residual if the kernel may be
        indefinite; never after negative curvature."""
        return self.status is not Status.INDEFINITE and bool(self.reached <= self.tol)

    @property
    def reached(self) -> float:
        """The quantity that `tol` limits: `error`, or `residual` for kernels not known to be positive semi-definite."""
        return self.error if self.is_psd else self.residual

    @property
    def gap(self) -> float:
        """Largest (upper - lower) / upper over the targets."""
        with np.errstate(invalid="ignore"):
            width = np.divide(self.upper - self.lower, self.upper, out=np.zeros_like(self.upper), where=self.upper > 0)
        return float(np.where(np.isnan(width), np.inf, width).max(initial=0.0))

    def __str__(self) -> str:
        condition = "" if self.is_psd else f", {IF_PSD}"
        tolerance = f"   (tol {self.tol:.1e})"
        holds = "holds" if self.is_psd else "holds for the residual"
        error = f"<= {self.error:.1e} of the targets' root mean square"
        rows = [
            ("certificate", holds if self.holds else "DOES NOT HOLD"),
            ("error of predictions", error + (tolerance if self.is_psd else condition)),
            (
                "y'(K + D)^-1 y",
                f"{self.lower[0]:.12g} to {self.upper[0]:.12g}   (relative gap {self.gap:.1e}){condition}",
            ),
            ("relative residual", f"<= {self.residual:.1e}" + ("" if self.is_psd else tolerance)),
            ("rounding of residual", f"<= {self.rounding:.1e} of the targets' root mean square"),
            ("method", self.method + (f", {self.iterations} steps, rank {self.rank}" if self.method == "cg" else "")),
            ("seconds", f"{self.seconds:.3g}"),
        ]
        if self.status is not Status.OPTIMAL:
            rows.append(("status", self.status.value))
        return "\n".join(f"{name:<22} {value}" for name, value in rows)


def verdict(certificate: SystemCertificate, computed: float, ended: Status | None, indefinite: bool) -> Status:
    """Return the status of a solution, given what is proven.

    computed : what `reached` is without rounding errors
    ended : status reported by the method; None for direct methods
    indefinite : whether negative curvature was seen
    """
    if indefinite:
        return Status.INDEFINITE
    if ended is Status.INDEFINITE and certificate.is_psd:  # only rounding can give such a kernel negative curvature
        ended = Status.STALLED
    if ended not in (None, Status.OPTIMAL, Status.STALLED, Status.MAX_ITER):
        return ended
    if certificate.reached <= certificate.tol:
        return Status.OPTIMAL
    if computed <= certificate.tol:
        return Status.UNDECIDED
    return ended if ended is Status.MAX_ITER else Status.STALLED
