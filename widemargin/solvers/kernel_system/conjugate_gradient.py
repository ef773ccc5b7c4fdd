"""Conjugate gradients with converging lower and upper bounds.

Solves   A a = y for A = K + D, several right-hand sides at once, each with its own recursion and one product per step
Given    products with A, the preconditioner M <= A, a start
Step     Cristianini & Shawe-Taylor (2000), Table 7.3, preconditioned; z = M^-1 r takes the place of the gradient r;
         with M = (least noise) I the steps are exactly those of the table: a constant factor of z changes nothing
Bounds   Q = y'A^-1 y, the part of the evidence that depends on y. With the residual r = y - A a of any vector a

             Q  =  2 y'a - a'A a  +  r'A^-1 r,     so that     lower = 2 y'a - a'A a   <=   Q   <=   lower + r'M^-1 r,

         because M <= A. The lower bound grows by exactly (step length) r'z in a step, and r'z is the number that the
         method computes anyway. Skilling (1993) and Gibbs & MacKay (1997, section 4) run a second iteration for
         their upper bound; here the preconditioner gives it.
Error    The same number bounds every prediction f(x) = k(x)'a: by Cauchy and Schwarz, with A >= K,

             |f(x) - f*(x)|  <=  sqrt( k(x, x) r'M^-1 r ).

         These are the bounds of exact arithmetic, and they decide when to stop; certificate/system_bounds.py proves
         them for the coefficients that were found, with rounding errors counted.
Ends     when r'M^-1 r is small enough for every right-hand side; at max_iter, at the deadline (also within a product:
         the answer is then that of the last whole step), on Ctrl-C; or STALLED
         when rounding stops progress, INDEFINITE when a direction of zero or negative curvature shows that K is
         not positive semi-definite
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from widemargin.gram.tiles import KernelTiles
from widemargin.linalg.arrays import Matrix, Vector
from widemargin.monitor import clock
from widemargin.monitor.interrupt import status_of
from widemargin.monitor.status import Status
from widemargin.solvers.kernel_system.preconditioner import Preconditioner

MOST_STEPS = 5000  # by default
PATIENCE = 60  # steps without a new best error after which rounding is assumed to be the limit


@dataclass
class Descent:
    """Result of a run of conjugate gradients.

    Attributes
    ----------
    solution : (n, m) best vectors found
    error : (m,) r'M^-1 r of each, by the recursion
    history : per step, (lower, upper) of the first right-hand side
    lengths, turns : (iterations, m) lambda and gamma of Table 7.3, zero once a right-hand side is done
    """

    solution: Matrix
    error: Vector
    status: Status
    iterations: int
    history: list[tuple[float, float]]
    lengths: Matrix
    turns: Matrix


class ShiftedKernel:
    """A = K + D with its preconditioner M, as conjugate gradients use it."""

    def __init__(self, tiles: KernelTiles, M: Preconditioner, noise: Vector) -> None:
        self.tiles, self.M, self.noise = tiles, M, noise
        self.precondition = M.solve

    def multiply(self, V: Matrix, deadline: float = float("inf")) -> Matrix:
        """A V; raises StopRequested at the deadline."""
        out = self.tiles.product(V, deadline)
        out += self.noise[:, None] * V
        return out


def descend(
    A: ShiftedKernel,
    residual: Matrix,
    goal: Vector,
    *,
    lower: Vector | None = None,
    max_iter: int = MOST_STEPS,
    deadline: float = float("inf"),
    watch: Callable[[int, Vector, Vector, Matrix], bool | None] | None = None,
) -> Descent:
    """Minimise the energy from a start whose residual is given; return the correction to the start.

    goal : (m,) r'M^-1 r at which a right-hand side is done
    lower : (m,) lower bounds at the start, zero where it is left out
    watch : called with the step, lower bounds, errors, and the current answer, which the next step changes; True ends
        the run as MAX_ITER, in favour of another method
    """
    r = residual.copy()
    z = A.precondition(r)
    direction = z.copy()
    rho = np.einsum("ij,ij->j", r, z)
    a = np.zeros_like(r)
    best, best_error, waited = a.copy(), rho.copy(), 0
    lower = np.zeros(len(goal)) if lower is None else lower.copy()
    history = [(float(lower[0]), float(lower[0] + max(rho[0], 0.0)))]
    lengths: list[Vector] = []
    turns: list[Vector] = []
    status, step, enough = Status.MAX_ITER, 0, False
    try:
        while True:
            if (best_error <= goal).all():
                status = Status.OPTIMAL
                break
            if enough or step >= max_iter:
                break
            if clock.now() > deadline:
                status = Status.TIME_LIMIT
                break
            if waited > PATIENCE:
                status = Status.STALLED
                break
            along = A.multiply(direction, deadline)
            curvature = np.einsum("ij,ij->j", direction, along)
            open_ = best_error > goal  # finished right-hand sides would only accumulate rounding errors
            if not np.isfinite(curvature).all():
                status = Status.NOT_FINITE
                break
            if (curvature[open_] <= 0.0).any() or (rho[open_] < 0.0).any():
                status = Status.INDEFINITE
                break
            length = np.divide(rho, curvature, out=np.zeros_like(rho), where=(curvature > 0.0) & open_)
            a += length * direction
            r -= length * along
            lower += length * rho
            z = A.precondition(r)
            before, rho = rho, np.einsum("ij,ij->j", r, z)
            turn = np.divide(rho, before, out=np.zeros_like(rho), where=(before > 0.0) & open_)
            direction *= turn
            direction += z
            step += 1
            lengths.append(length)
            turns.append(np.maximum(turn, 0.0))
            improved = (rho < best_error) & open_
            best[:, improved], best_error[improved] = a[:, improved], rho[improved]
            waited = 0 if improved.any() else waited + 1
            history.append((float(lower[0]), float(lower[0] + max(rho[0], 0.0))))
            if watch is not None:
                enough = bool(watch(step, lower, best_error, a))
    except KeyboardInterrupt as interrupt:
        status = status_of(interrupt)
    if status in (Status.MAX_ITER, Status.TIME_LIMIT, Status.STOPPED):
        # Every step lowers the true error |a - a*|_A, even if its bound rises temporarily: the last is the best.
        best, best_error = a, rho
    shape = (len(lengths), len(goal))
    kept = np.array(lengths).reshape(shape), np.array(turns).reshape(shape)
    return Descent(best, best_error, status, step, history, *kept)
