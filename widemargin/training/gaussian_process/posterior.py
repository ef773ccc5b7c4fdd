"""Predictive variances and covariances of a Gaussian process.

    cov(x, z) = k(x, z) - k(x)'A^-1 k(z),        A = K + D

(Rasmussen & Williams 2006, equation 2.24.) With a Cholesky factor k'A^-1 k = |L^-1 k|^2. Without one, conjugate
gradients solve for a few dozen samples at a time and give a lower bound on k'A^-1 k: the variance can come out too
large, by VARIANCE_SHARE of k(x, x) at most, but never too small.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.gram.tiles import cross_block
from widemargin.kernels.kernel import Samples
from widemargin.linalg.cholesky import solve_lower
from widemargin.solvers.kernel_system.conjugate_gradient import descend
from widemargin.training.kernel_system import KernelSystem

FACTORED_CHUNK = 1024  # new samples at a time with a factor
DESCENT_CHUNK = 64  # new samples at a time by conjugate gradients
VARIANCE_SHARE = 1e-6  # of k(x, x): accuracy of variances by conjugate gradients
MOST_STEPS = 2000  # of conjugate gradients for variances

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class Posterior:
    """What training samples tell about new ones.

    Parameters
    ----------
    system : KernelSystem
        The training samples and their kernel.
    noise : float array of shape (n,)
        The whole diagonal D.
    factor : Cholesky factor of A, or None
    """

    def __init__(self, system: KernelSystem, noise: Vector, factor: Matrix | None) -> None:
        self.system, self.noise, self.factor = system, noise, factor

    def explained(self, train: Samples, new: Samples) -> Vector:
        """k(x)'A^-1 k(x) of each new sample; both sets prepared alike."""
        out = np.empty(len(new))
        chunk = FACTORED_CHUNK if self.factor is not None else DESCENT_CHUNK
        for start in range(0, len(new), chunk):
            stop = min(len(new), start + chunk)
            columns = cross_block(self.system.kernel, train, new.tile(start, stop), self.system.n_threads)
            if self.factor is not None:
                half = solve_lower(self.factor, columns, self.system.blas_threads)
                out[start:stop] = np.einsum("ij,ij->j", half, half)
            else:
                solved = self._descend(columns)
                out[start:stop] = np.einsum("ij,ij->j", solved, columns + self._residual(columns, solved))
        return out

    def explained_together(self, train: Samples, new: Samples) -> Matrix:
        """k(x)'A^-1 k(z) of all pairs of new samples."""
        columns = cross_block(self.system.kernel, train, new, self.system.n_threads)
        if self.factor is not None:
            half = solve_lower(self.factor, columns, self.system.blas_threads)
            return half.T @ half
        chunks = [slice(start, start + DESCENT_CHUNK) for start in range(0, len(new), DESCENT_CHUNK)]
        solved = np.hstack([self._descend(np.ascontiguousarray(columns[:, chunk])) for chunk in chunks])
        product = columns.T @ solved
        return 0.5 * (product + product.T)

    def _descend(self, columns: Matrix) -> Matrix:
        """A^-1 columns by conjugate gradients."""
        tiles = self.system.tiles(float(self.noise.min()))
        M = self.system.preconditioner(self.noise)

        def multiply(V: Matrix) -> Matrix:
            out = tiles.product(V)
            out += self.noise[:, None] * V
            return out

        goal = np.full(columns.shape[1], VARIANCE_SHARE * float(self.system.diagonal.max()))
        none = np.zeros(columns.shape[1])
        return descend(multiply, M.solve, columns, goal, lower=none, max_iter=MOST_STEPS).solution

    def _residual(self, columns: Matrix, solved: Matrix) -> Matrix:
        tiles = self.system.tiles(float(self.noise.min()))
        return columns - tiles.product(solved) - self.noise[:, None] * solved
