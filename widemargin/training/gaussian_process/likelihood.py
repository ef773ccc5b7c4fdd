"""The log marginal likelihood of a Gaussian process and its gradient, exact or estimated.

    log p(y) = -1/2 y'A^-1 y - 1/2 log det A - n/2 log 2 pi,        A = K + D
    d/dtheta = 1/2 sum_ij W_ij dA_ij/dtheta,                        W = a a' - A^-1,  a = A^-1 y

(Rasmussen & Williams 2006, equations 2.30 and 5.9; several targets add up.) The sum over W is taken tile by tile, with
each tile of derivatives used as soon as it is computed.

exact       by a Cholesky factor
estimated   y'A^-1 y by conjugate gradients; the determinant by stochastic Lanczos quadrature on the preconditioned
            matrix (Ubaru, Chen & Saad 2017), log det A = log det M + tr log(M^-1/2 A M^-1/2), where conjugate gradients
            on random z ~ N(0, M) are the Lanczos process; the same runs give tr(A^-1 dA) = E[(A^-1 z)' dA (M^-1 z)]
            (Gardner et al. 2018). The error given is the standard error over the random vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal

from widemargin._sklearn import safe_indexing
from widemargin.gram.budget import cache_budget
from widemargin.linalg.arrays import Matrix, Vector
from widemargin.linalg.cholesky import factor_in_place, inverse, log_determinant, solve_factored
from widemargin.parallel.tiles import run_tiles
from widemargin.solvers.kernel_system.conjugate_gradient import descend
from widemargin.training.gaussian_process.translate import Model
from widemargin.training.kernel_system import KernelSystem, NotPositiveDefinite, Solved, SystemRule
from widemargin.training.kernel_system.system import ENDED_BY_THE_USER

FACTOR_SAMPLES = 10_000  # samples up to which "auto" uses a Cholesky factor: determinants are then exact
FACTOR_COPIES = 4  # matrices in memory while the gradient is computed
GRADIENT_TILE = 256  # samples per side: values, derivatives and weights of a tile fit the cache
PROBES = 16  # random vectors: the standard error of the determinant falls with their root
PROBE_GOAL = 1e-10  # relative to z'M^-1 z: the quadrature error is then far below the standard error


@dataclass(frozen=True)
class Likelihood:
    """Value, standard error of the value (0 if exact), and gradient (None if not requested)."""

    value: float
    error: float
    gradient: Vector | None


@dataclass(frozen=True)
class LogLikelihood:
    """The log marginal likelihood of training data as a function of theta.

    Attributes
    ----------
    model : the covariance
    X, targets : samples, and their targets of shape (n, m)
    noise : (n,) the part of D that does not depend on theta (`alpha` of the estimator)
    rule : when conjugate gradients stop
    solver, cache_size, n_jobs : as in the estimator
    """

    model: Model
    X: Any
    targets: Matrix
    noise: Vector
    rule: SystemRule
    solver: str = "auto"
    cache_size: float | None = None
    n_jobs: int | None = None

    def __call__(self, theta: Vector, gradient: bool = False) -> Likelihood:
        """Return the likelihood at theta, by the method that suits the number of samples."""
        by_factor = self.method(FACTOR_COPIES) == "cholesky"
        return self.exact(theta, gradient) if by_factor else self.estimated(theta, gradient)

    def method(self, copies: int = 1) -> str:
        """Return the method: a factor, which also gives the determinant, if `copies` of it fit in time and memory."""
        if self.solver != "auto":
            return self.solver
        n = len(self.targets)
        fits = copies * 8 * n * n <= cache_budget(self.cache_size)
        return "cholesky" if n <= FACTOR_SAMPLES and fits else "cg"

    def of_some(self, chosen: NDArray[np.int64]) -> LogLikelihood:
        """Return the likelihood of some of the samples."""
        return replace(self, X=safe_indexing(self.X, chosen), targets=self.targets[chosen], noise=self.noise[chosen])

    def system(self, theta: Vector) -> KernelSystem:
        """K at theta."""
        return KernelSystem(self.model.kernel(theta), self.X, self.cache_size, self.n_jobs)

    def diagonal(self, theta: Vector) -> Vector:
        """D at theta."""
        return self.noise + self.model.noise(theta, self.X)

    def exact(self, theta: Vector, gradient: bool) -> Likelihood:
        """Return the likelihood by a Cholesky factor; minus infinity if A is indefinite, as in scikit-learn."""
        model, system, changes = self.model, self.system(theta), None
        if model.node is None and gradient:  # a kernel of scikit-learn returns all derivatives in one array
            A, changes = model.called.clone_with_theta(theta)(self.X, eval_gradient=True)
            A[np.diag_indices_from(A)] += self.noise
        else:
            A = system.matrix()
            A[np.diag_indices_from(A)] += self.diagonal(theta)
        try:
            L = factor_in_place(A, system.blas_threads)
        except NotPositiveDefinite:
            return Likelihood(-np.inf, 0.0, np.zeros_like(theta) if gradient else None)
        a = solve_factored(L, self.targets, system.blas_threads)
        value = self._value(float((self.targets * a).sum()), log_determinant(L))
        if not gradient:
            return Likelihood(value, 0.0, None)
        W = inverse(L, system.blas_threads)
        W *= -self.targets.shape[1]
        W += a @ a.T
        if changes is not None:
            return Likelihood(value, 0.0, 0.5 * np.einsum("ij,ijk->k", W, changes))
        return Likelihood(value, 0.0, self._gradient(theta, lambda rows, columns: W[rows, columns], system.n_threads))

    def of_solution(self, theta: Vector, system: KernelSystem, solved: Solved) -> Likelihood:
        """Return the likelihood at theta from a solution of the system there."""
        if solved.factor is not None:
            quadratic = float((self.targets * solved.coefficients).sum())
            return Likelihood(self._value(quadratic, log_determinant(solved.factor)), 0.0, None)
        if solved.certificate.status in ENDED_BY_THE_USER:
            return Likelihood(float("nan"), float("inf"), None)
        return self._estimated(theta, system, solved, False)

    def estimated(self, theta: Vector, gradient: bool) -> Likelihood:
        """Return the likelihood estimated by conjugate gradients and random vectors."""
        if self.model.node is None and gradient:
            raise ValueError(
                f"The gradient for {self.model.given} needs the whole matrix of derivatives, which does not fit: use "
                "optimizer=None, n_optimizer_samples, or a kernel made of RBF, ConstantKernel and WhiteKernel."
            )
        system = self.system(theta)
        solved = system.solve(self.diagonal(theta), self.targets, self.rule, "cg")
        return self._estimated(theta, system, solved, gradient)

    def _estimated(self, theta: Vector, system: KernelSystem, solved: Solved, gradient: bool) -> Likelihood:
        """Return the estimate for known coefficients."""
        a, m = solved.coefficients, self.targets.shape[1]
        A = system.shifted(self.diagonal(theta))
        probes = A.M.draw(np.random.default_rng(0), PROBES)  # a fixed seed keeps the estimate smooth in theta
        easy_probes = A.precondition(probes)
        sizes = np.einsum("ij,ij->j", probes, easy_probes)
        run = descend(A, probes, PROBE_GOAL * sizes)
        logs = np.array([sizes[p] * _log_quadrature(run.lengths[:, p], run.turns[:, p]) for p in range(PROBES)])
        value = self._value(float(solved.quadratic.sum()), A.M.log_determinant() + float(logs.mean()))
        error = 0.5 * m * float(logs.std(ddof=1)) / np.sqrt(PROBES)

        def weights(rows: slice, columns: slice) -> Matrix:
            trace = run.solution[rows] @ easy_probes[columns].T
            trace += easy_probes[rows] @ run.solution[columns].T
            return a[rows] @ a[columns].T - (0.5 * m / PROBES) * trace

        return Likelihood(value, error, self._gradient(theta, weights, system.n_threads) if gradient else None)

    def _value(self, quadratic: float, determinant: float) -> float:
        """log p(y) from y'A^-1 y of all targets and log det A."""
        n, m = self.targets.shape
        return -0.5 * quadratic - 0.5 * m * (determinant + n * np.log(2.0 * np.pi))

    def _gradient(self, theta: Vector, weights: Callable[[slice, slice], Matrix], n_threads: int) -> Vector:
        """1/2 sum_ij W_ij dA_ij for each parameter; W symmetric, given by tiles."""
        assert self.model.node is not None
        tile = self.model.node.prepare(self.model.every(theta), self.X)
        n = len(self.targets)
        edges = [slice(start, min(n, start + GRADIENT_TILE)) for start in range(0, n, GRADIENT_TILE)]
        sums = np.zeros((len(edges), len(theta)))

        def add(number: int) -> None:
            rows = edges[number]
            for columns in edges[number:]:
                W, changes = weights(rows, columns), tile(rows, columns)[1]
                sums[number] += [(0.5 if columns is rows else 1.0) * float((W * change).sum()) for change in changes]

        run_tiles(add, len(edges), n_threads)
        return sums.sum(axis=0)


def _log_quadrature(lengths: Vector, turns: Vector) -> float:
    """e_1' log(T) e_1 for the tridiagonal T of conjugate gradients (Golub & Meurant 2010, section 4.1)."""
    used = int(np.argmin(lengths > 0)) if (lengths <= 0).any() else len(lengths)
    if used == 0:
        return 0.0  # z is an eigenvector with eigenvalue one: no steps were made
    lengths, turns = lengths[:used], turns[:used]
    diagonal = 1.0 / lengths
    diagonal[1:] += turns[:-1] / lengths[:-1]
    values, vectors = eigh_tridiagonal(diagonal, np.sqrt(turns[:-1]) / lengths[:-1])
    return float(vectors[0] ** 2 @ np.log(np.maximum(values, np.finfo(float).tiny)))
