"""One variable at a time, in a given order: the step that Adatron, fixed-threshold SMO and coordinate ascent share.

    b_i <- clip( b_i - omega (f_i + e_i) / (K_ii + D_i),  lower_i, upper_i )        f += (change of b_i) K_i

With omega = 1 this is the exact maximum along the axis: kernel-Adatron with rate 1 / K_ii (Cristianini & Shawe-Taylor
2000, Table 7.1), eq. (23) of Platt (1998) and the coordinate ascent of CS229 are the same step (Remark 7.16) and differ
in the order.

A pass is cut into chunks of the order. Inside a chunk only its own block of K is needed, because the gradients of later
chunks are brought up to date before they are visited: the iterates are exactly those of the plain loop, for any n.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.problems.dual import SignedDual
from widemargin.solvers.reference.pair_move import ETA_FLOOR, LARGEST, open_slopes
from widemargin.solvers.reference.passes import SLICE, Run, Vector
from widemargin.solvers.reference.variables import block_of, diagonal_of, move

WHOLE = 2048  # variables up to which a pass is one chunk
CHUNK = 512  # variables of a chunk otherwise: its block is a small part of the rows that a pass computes


def refuse_groups(dual: SignedDual, name: str) -> None:
    """Variables that move alone cannot keep a sum."""
    if dual.n_groups:
        raise ValueError(
            f"solver={name!r} moves one multiplier at a time, so it needs a machine without equality constraint (fixed "
            "bias: problems.without_bias and the kernel K + tau^2, which SVC and SVR set up by themselves); this "
            "machine keeps a sum of its multipliers. Use solver='block' or 'chunking'."
        )


@jit
def visit(K, f, beta, lower, upper, epsilon, diagonal, total_diagonal, omega, tol, max_steps):
    """Steps on the variables of a block, first to last; f and beta change in place. Returns steps and lowest K_ii.

    Only variables that violate their condition by more than tol are moved; tol = 0 moves every one that can gain.
    """
    q = f.shape[0]
    steps = 0
    lowest = 0.0
    largest = 0.0
    for t in range(q):
        largest = max(largest, abs(total_diagonal[t]))
    floor = max(ETA_FLOOR * largest, 1e-300)
    for t in range(q):
        if steps >= max_steps:
            break
        rise, fall = open_slopes(f[t], beta[t], lower[t], upper[t], epsilon[t])
        if fall > tol and fall >= -rise:
            slope, end = fall, (0.0 if epsilon[t] > 0.0 and beta[t] > 0.0 else lower[t])
        elif -rise > tol:
            slope, end = rise, (0.0 if epsilon[t] > 0.0 and beta[t] < 0.0 else upper[t])
        else:
            continue
        lowest = min(lowest, total_diagonal[t])
        new = beta[t] - omega * slope / max(total_diagonal[t], floor)
        if (slope > 0.0 and new < end) or (slope < 0.0 and new > end) or total_diagonal[t] <= 0.0 and np.isfinite(end):
            new = end
        step = new - beta[t]
        if step == 0.0 or not abs(new) < LARGEST / max(1.0, largest):
            continue
        beta[t] = new
        f[t] += step * diagonal[t]
        row = K[t]
        for k in range(q):
            f[k] += step * row[k]
        steps += 1
    return steps, lowest


def chunks_of(order: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The pieces of an order that are worked on with one block of K."""
    size = WHOLE if len(order) <= WHOLE else CHUNK
    return [order[first : first + size] for first in range(0, len(order), size)]


class Visitor:
    """Passes over chosen variables of a run."""

    def __init__(self, run: Run, omega: float = 1.0) -> None:
        self.run, self.omega = run, omega
        self.total_diagonal: Vector = diagonal_of(run)
        self.changed = 0  # steps of the last pass
        # The block of the last pass that was a single chunk: it is often asked for again.
        self._kept: tuple[NDArray[np.int64], NDArray] | None = None

    def visit(self, order: NDArray[np.int64], tol: float):  # type: ignore[no-untyped-def]
        """Generator: visit the variables in order, chunk by chunk; `changed` then holds the number of steps."""
        run, dual = self.run, self.run.dual
        self.changed = 0
        pieces = chunks_of(order)
        for piece in pieces:
            block = self._block(piece, len(pieces) == 1)
            f = run.gradient()[piece]
            beta = run.beta[piece]
            steps, lowest = visit(
                block, f, beta, dual.lower[piece], dual.upper[piece], dual.epsilon[piece], dual.diagonal[piece],
                self.total_diagonal[piece], self.omega, tol, run.steps_left(),
            )  # fmt: skip
            move(run, piece, beta)
            run.iterations += steps
            run.lowest_curvature = min(run.lowest_curvature, lowest)
            self.changed += steps
            yield SLICE

    def _block(self, piece: NDArray[np.int64], keep: bool) -> NDArray:
        if self._kept is not None and np.array_equal(self._kept[0], piece):
            return self._kept[1]
        block = block_of(self.run, piece)
        if keep:
            self._kept = (piece.copy(), block)
        return block

    def non_bound(self) -> NDArray[np.int64]:
        """Variables strictly inside their box and off the kink."""
        beta, dual = self.run.beta, self.run.dual
        return np.flatnonzero((beta > dual.lower) & (beta < dual.upper) & ((beta != 0.0) | (dual.epsilon == 0.0)))
