"""The same problem without some of its samples, from the answer with all of them: the folds behind probabilities.

Solves   the signed dual with the boxes of the samples held out empty, and group sums smaller by their share of the box
Given    the answer to the whole problem and its function F, and the kernel rows that were needed for it
Returns  the change of beta; F then holds the values of the samples held out under a machine that has not seen them
How      only variables with a row take part: the support vectors, and whatever came near to being one. Their block of
         the kernel is gathered once for all folds. What the others would violate is for the caller to look at.
See      DeCoste & Wagstaff (2000), KDD, for starting a fold from the answer to the whole (alpha seeding).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit
from widemargin.gram.full import FullGram
from widemargin.gram.gram import Gram
from widemargin.gram.pair import ABSENT, PairGram
from widemargin.problems.dual import SignedDual
from widemargin.restart import nearest_feasible, sums_of
from widemargin.solvers.packed import key_limits
from widemargin.solvers.pair_steps import solve_pairs
from widemargin.solvers.solution import Solution

LARGEST_FULL = 2048  # variables up to which a whole matrix is used as it is
STEPS = 100_000  # of a fold; what has not ended by then is near enough

Vector = NDArray[np.float64]


def emptied(dual: SignedDual, away: NDArray[np.bool_]) -> tuple[Vector, Vector, Vector]:
    """Box and group sums of a problem without the variables in `away`.

    Sums that are not zero (nu-machines) shrink with the box that is left, and to what its smallest group can hold.
    """
    lo, hi = np.where(away, 0.0, dual.lo), np.where(away, 0.0, dual.hi)
    sums = sums_of(dual)
    if sums.any():
        starts = dual.group_starts[:-1]
        room = np.add.reduceat(hi - lo, starts)
        share = room.sum() / np.sum(dual.hi - dual.lo)
        smallest = float(np.min(room / np.abs(sums)))
        sums = sums * min(share, smallest)
    return lo, hi, sums


class Without:
    """The block of the variables with rows, made once, and folds solved on it.

    `training.Training` uses it, and its general solver where `fits` says no.
    """

    def __init__(self, dual: SignedDual, gram: Gram, whole: Solution) -> None:
        self.dual, self.whole = dual, whole
        if isinstance(gram, PairGram):
            self.active = np.flatnonzero(gram.slot != ABSENT)
            self.block = gram.block(self.active)
        else:
            self.active = np.arange(len(dual), dtype=np.int64)
            self.block = gram.matrix  # type: ignore[attr-defined]
        self.diag = gram.diag[self.active] + dual.ridge[self.active]
        self.limits = key_limits(len(self.active), self.block.dtype)

    @staticmethod
    def fits(dual: SignedDual, gram: Gram) -> bool:
        """Whether a problem can be solved here: one variable per sample, groups, and rows at hand."""
        small = isinstance(gram, PairGram) or (isinstance(gram, FullGram) and len(dual) <= LARGEST_FULL)
        return small and dual.row is None and dual.sign is None and dual.n_groups > 0 and len(dual) > 0

    def change(self, lo: Vector, hi: Vector, sums: Vector, tol: float) -> Vector | None:
        """New beta minus that of the whole problem; None where only the general solver can help."""
        dual, whole = self.dual, self.whole
        change = np.empty(len(dual))
        found = solve_active(
            self.block, self.diag.astype(self.block.dtype), self.active, whole.function, whole.beta, dual.shift, lo, hi,
            dual.ridge, dual.kink, dual.group_starts, sums, whole.level, tol, STEPS, *self.limits, change,
        )  # fmt: skip
        return change if found else None


@jit
def solve_active(
    K: Any, diagonal: Any, active: Any, F: Any, whole: Any, shift: Any, lo: Any, hi: Any, ridge: Any, kink: Any,
    starts: Any, sums: Any, level: Any, tol: float, max_steps: int, position: Any, limits: Any, change: Any,
) -> bool:  # fmt: skip
    """Fill `change`; False if the start needs a variable without a row, or a step has no end."""
    n, q, n_groups = whole.shape[0], active.shape[0], sums.shape[0]
    beta = np.empty(n)
    if not nearest_feasible(whole, 1.0, lo, hi, sums, starts, beta):
        return False
    moved = 0
    for t in range(n):
        change[t] = 0.0
        moved += beta[t] != whole[t]
    f = np.empty(q, K.dtype)
    inner = np.empty((5, q))  # beta, lo, hi, kink and ridge of the block
    inner_starts = np.zeros(n_groups + 1, np.int64)
    shifted = np.empty(q)
    g = 0
    for k in range(q):
        t = active[k]
        while t >= starts[g + 1]:
            g += 1
            inner_starts[g] = k
        inner[0, k], inner[1, k], inner[2, k], inner[3, k], inner[4, k] = beta[t], lo[t], hi[t], kink[t], ridge[t]
        shifted[k] = F[t] + ridge[t] * beta[t] + shift[t] - level[g]
        moved -= beta[t] != whole[t]
    if moved:
        return False
    for later in range(g + 1, n_groups + 1):
        inner_starts[later] = q
    for k in range(q):
        step = inner[0, k] - whole[active[k]]
        if step != 0.0:
            row = K[k]
            for m in range(q):
                shifted[m] += step * row[m]
    for k in range(q):
        f[k] = shifted[k]
    solve_pairs(
        K, f, inner[0], inner[1], inner[2], inner[3], inner[4], diagonal, inner_starts, tol, max_steps, position, limits
    )
    for k in range(q):
        if not np.isfinite(inner[0, k]):
            return False
        change[active[k]] = inner[0, k] - whole[active[k]]
    return True
