"""Predictive variances and covariances of a Gaussian process.

    cov(x, z) = k(x, z) - k(x)'A^-1 k(z),        A = K + D

(Rasmussen & Williams 2006, equation 2.24.) With a Cholesky factor k'A^-1 k = |L^-1 k|^2. Without one, conjugate
gradients solve for a few dozen samples at a time and give a lower bound on k'A^-1 k: the variance may be too
large, by VARIANCE_SHARE of k(x, x) at most, but never too small.
"""

from __future__ import annotations

import numpy as np

from widemargin.gram.tiles import cross_block
from widemargin.kernels.kernel import Samples
from widemargin.linalg.arrays import Matrix, Vector
from widemargin.linalg.cholesky import solve_lower
from widemargin.solvers.kernel_system.conjugate_gradient import ShiftedKernel, descend
from widemargin.training.kernel_system import KernelSystem

FACTORED_CHUNK = 1024  # new samples per batch with a factor
DESCENT_CHUNK = 64  # new samples per batch by conjugate gradients
VARIANCE_SHARE = 1e-6  # accuracy of variances by conjugate gradients, relative to k(x, x)


class Posterior:
    """Posterior covariances of new samples, given the training samples.

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
        """Return k(x)'A^-1 k(x) of each new sample; both sets must be prepared in the same way."""
        out = np.empty(len(new))
        chunk = FACTORED_CHUNK if self.factor is not None else DESCENT_CHUNK
        for start in range(0, len(new), chunk):
            stop = min(len(new), start + chunk)
            columns = self._columns(train, new.tile(start, stop))
            if self.factor is not None:
                half = solve_lower(self.factor, columns, self.system.blas_threads)
                out[start:stop] = np.einsum("ij,ij->j", half, half)
            else:
                A, solved = self._descend(columns)
                out[start:stop] = np.einsum("ij,ij->j", solved, 2.0 * columns - A.multiply(solved))
        return out

    def explained_together(self, train: Samples, new: Samples) -> Matrix:
        """k(x)'A^-1 k(z) of all pairs of new samples."""
        columns = self._columns(train, new)
        if self.factor is not None:
            half = solve_lower(self.factor, columns, self.system.blas_threads)
            return half.T @ half
        chunks = [columns[:, start : start + DESCENT_CHUNK] for start in range(0, len(new), DESCENT_CHUNK)]
        product = columns.T @ np.hstack([self._descend(np.ascontiguousarray(chunk))[1] for chunk in chunks])
        return 0.5 * (product + product.T)

    def _columns(self, train: Samples, new: Samples) -> Matrix:
        """k(x) of new samples."""
        return cross_block(self.system.kernel, train, new, self.system.n_threads)

    def _descend(self, columns: Matrix) -> tuple[ShiftedKernel, Matrix]:
        """Return A, and A^-1 times the columns by conjugate gradients."""
        A = self.system.shifted(self.noise)
        goal = np.full(columns.shape[1], VARIANCE_SHARE * float(self.system.diagonal.max()))
        return A, descend(A, columns, goal).solution
