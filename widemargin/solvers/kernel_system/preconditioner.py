"""A cheap preconditioner M <= A = K + D for conjugate gradients, which also bounds the error of their result.

    M = F F' + D,        F F' = K_:S K_SS^-1 K_S:        for a few chosen samples S

F is a partial Cholesky factor of K. Its pivots are drawn in rounds, at random in proportion to what is left of the
diagonal, several per round so that the work is in matrix products: RPCholesky (Chen, Epperly, Tropp & Webber 2025,
"Randomly pivoted Cholesky"), blocked as in Epperly, Tropp & Webber (2024, "Embrace rejection").

Whatever the pivots, F F' <= K in the order of positive semi-definite matrices, so that

    M <= A      hence      r'A^-1 r  <=  r'M^-1 r       for every vector r,

the upper bound on the remaining error that conjugate gradients can compute at no extra cost (conjugate_gradient.py).
M^-1 r comes from Woodbury's identity with the small matrix I + F'D^-1 F.

In floating point F is rounded and M <= A is true only approximately. The proof does not use it: with F = K_:S L'^-1,
L lower triangular, the coefficients v = L'^-1 c on the samples S, c = (I + F'D^-1 F)^-1 F'D^-1 r, give the same number

    v'K v + (r - K v)'D^-1 (r - K v)  =  |c|^2 + (r - F c)'D^-1 (r - F c)  =  r'M^-1 r,

and the left side is an upper bound on r'A^-1 r for any v, however it was found (certificate/system_bounds.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from widemargin.gram.tiles import cross_block
from widemargin.linalg.arrays import Matrix, Vector
from widemargin.parallel.tiles import single_threaded_blas

if TYPE_CHECKING:
    from widemargin.kernels.kernel import Kernel, Samples


@dataclass(frozen=True)
class FactorTuning:
    """Size of a partial factor, and constants for computing it."""

    largest_rank: int = 1024  # applying F is then cheaper than a product with K
    rank_per_root: float = 4.0  # of sqrt(n): making F costs n rank^2, about as much as one or two products with K
    rounds: int = 10  # in which pivots are drawn
    good_enough: float = 0.5  # of the noise: if the remaining trace is below, eigenvalues of M^-1 A are in [1, 1.5]
    jitter: float = 1e-13  # of the trace of a block: keeps its factor real; F F' only shrinks, so M <= A holds
    strip: int = 4096  # rows of F scaled at a time


TUNING = FactorTuning()


class PartialFactor:
    """F, its pivots S and L of F L' = K_:S; it does not depend on the noise, so that several noises share it."""

    def __init__(
        self, kernel: Kernel, samples: Samples, diagonal: Vector, noise: float, n_threads: int, rank: int | None = None
    ) -> None:
        n, self.noise = len(samples), noise
        usual = min(TUNING.largest_rank, max(32, int(TUNING.rank_per_root * np.sqrt(n))))
        limit = min(n, usual if rank is None else rank)
        rest = np.maximum(diagonal, 0.0)  # negative only for an indefinite kernel, which the solvers detect
        rng = np.random.default_rng(0)  # any seed gives a valid M; a fixed one gives the same answer every time
        F = np.empty((n, limit), order="F")
        lower = np.zeros((limit, limit))
        chosen: list[NDArray[np.int64]] = []
        used = 0
        with single_threaded_blas():
            while used < limit and rest.sum() > TUNING.good_enough * noise:
                pivots = self._draw(rng, rest, min(-(-limit // TUNING.rounds), limit - used))
                columns = cross_block(kernel, samples, samples.take(pivots), n_threads)
                if used:
                    columns -= F[:, :used] @ F[pivots, :used].T
                block = columns[pivots]
                size = float(np.trace(block))
                if not size > 0.0:
                    break
                block[np.diag_indices_from(block)] += TUNING.jitter * size
                try:
                    corner = cholesky(block, lower=True, check_finite=False)
                except LinAlgError:  # near copies among the pivots, or an indefinite kernel: use the pivots so far
                    break
                new = solve_triangular(corner, columns.T, lower=True, check_finite=False).T
                lower[used : used + len(pivots), :used] = F[pivots, :used]
                lower[used : used + len(pivots), used : used + len(pivots)] = corner
                F[:, used : used + len(pivots)] = new
                chosen.append(pivots)
                used += len(pivots)
                rest = np.maximum(rest - np.einsum("ij,ij->i", new, new), 0.0)
                rest[pivots] = 0.0
        self.F = F[:, :used]
        self.lower = lower[:used, :used]
        self.pivots = np.concatenate(chosen) if chosen else np.empty(0, np.int64)
        self.rest = float(rest.sum())

    @staticmethod
    def _draw(rng: np.random.Generator, rest: Vector, count: int) -> NDArray[np.int64]:
        """Draw distinct samples with probability proportional to the remaining diagonal."""
        share = rest / rest.sum()
        possible = int(np.count_nonzero(share))
        return np.sort(rng.choice(len(rest), min(count, possible), replace=False, p=share))

    @property
    def rank(self) -> int:
        return self.F.shape[1]


class Preconditioner:
    """M = F F' + D for the noise D > 0 of each sample."""

    def __init__(self, factor: PartialFactor, noise: Vector) -> None:
        self.factor, self.noise = factor, noise
        small = np.eye(factor.rank)
        for start in range(0, len(noise), TUNING.strip):  # D^-1 F as a whole would double the memory
            part = factor.F[start : start + TUNING.strip]
            small += part.T @ (part / noise[start : start + TUNING.strip, None])
        self.corner = cholesky(small, lower=True, check_finite=False)

    def solve(self, R: Matrix) -> Matrix:
        """M^-1 R = D^-1 (R - F (I + F'D^-1 F)^-1 F'D^-1 R)."""
        scaled = R / self.noise[:, None]
        inner = cho_solve((self.corner, True), self.factor.F.T @ scaled, check_finite=False)
        return scaled - (self.factor.F @ inner) / self.noise[:, None]

    def trial(self, R: Matrix) -> Matrix:
        """Return v on the pivots with v'K v + (R - K v)'D^-1 (R - K v) close to R'M^-1 R, shape (rank, m)."""
        inner = cho_solve((self.corner, True), self.factor.F.T @ (R / self.noise[:, None]), check_finite=False)
        return solve_triangular(self.factor.lower, inner, lower=True, trans="T", check_finite=False)

    def log_determinant(self) -> float:
        """log det M."""
        return float(np.log(self.noise).sum()) + 2.0 * float(np.log(np.diagonal(self.corner)).sum())

    def draw(self, rng: np.random.Generator, count: int) -> Matrix:
        """Draw vectors with covariance M, for stochastic traces."""
        white = rng.standard_normal((len(self.noise), count))
        return self.factor.F @ rng.standard_normal((self.factor.rank, count)) + np.sqrt(self.noise)[:, None] * white
