"""The linear system of kernel regression, (K + D) a = y with D > 0 diagonal, at every size.

cholesky        the matrix in float64, factored in place; exact up to rounding, n^3 / 3 operations
cg              conjugate gradients on tiles of K that are kept as far as the memory budget goes (tiles.py): in float64
                where all of them fit, else in float32 with the residual computed afresh in float64 round by round
                (iterative refinement; Golub & Van Loan 2013, section 3.5.3), so that the answer is that of float64
least squares   by eigenvalues, where the matrix is singular or indefinite

"auto" takes Cholesky for few samples; for more it tries conjugate gradients first, as long as they promise to be done
in the time of a Cholesky factor, and goes on without limit where a factor does not fit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.cholesky import NotPositiveDefinite, factor_in_place, solve_factored
from widemargin.gram.budget import cache_budget
from widemargin.gram.gram import symmetric_block
from widemargin.kernel_system.certificate import SystemCertificate
from widemargin.kernel_system.conjugate_gradient import descend
from widemargin.kernel_system.preconditioner import PartialFactor, Preconditioner
from widemargin.kernel_system.tiles import KernelTiles
from widemargin.kernels.kernel import Kernel
from widemargin.solvers.solution import Status
from widemargin.threads import resolve_n_jobs, single_threaded_blas

SOLVERS = ("auto", "cholesky", "cg")
ENDED_BY_THE_USER = (Status.TIME_LIMIT, Status.INTERRUPTED, Status.STOPPED)

DIRECT = 1024  # samples up to which a factor costs less than the preparations of conjugate gradients
STEPS_PER_FACTOR = 1 / 40  # steps, per sample, that were measured to take as long as a factor
PROMISE = 15  # steps after which the rate so far must promise an end within the steps of a factor ...
LENIENCE = 2.0  # ... times this, because conjugate gradients converge faster and faster
MOST_STEPS = 5000  # of conjugate gradients by default where no factor fits
ROUND_FACTOR = 1e-8  # of r'M^-1 r per round of float32 steps: four digits, safely above the rounding of the products
LEAST_PROGRESS = 0.25  # of r'M^-1 r: a round that leaves more than this was stopped by rounding
SAFE_SHARE = 0.1  # of the least noise: float32 tiles are used while their rounding, as a matrix, stays below
NO_BETTER = 100.0  # of tol: conjugate gradients stopped by rounding so close to it leave a factor nothing to improve
TINY_NOISE = 1e-12  # of the largest diagonal entry: below, the matrix is singular in floating point

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Rule:
    """When to stop: bound on the error of predictions, relative to the targets, and two budgets."""

    tol: float = 1e-8
    max_iter: int = -1
    time_limit: float | None = None


@dataclass
class Solved:
    """Coefficients (n, m), their certificate, and the Cholesky factor where one was made."""

    coefficients: Matrix
    certificate: SystemCertificate
    factor: Matrix | None = None


class KernelSystem:
    """K of one set of samples, solved for any noise and targets; what does not depend on them is made once.

    Parameters
    ----------
    kernel : Kernel
    X : samples, as the kernel takes them
    cache_size : float or None
        Megabytes for the matrix or its tiles; None takes a share of the free memory.
    n_jobs : int or None

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels import Gaussian
    >>> from widemargin.kernel_system import KernelSystem, Rule
    >>> X = np.linspace(0.0, 1.0, 50)[:, None]
    >>> system = KernelSystem(Gaussian(10.0), X)
    >>> answer = system.solve(np.full(50, 0.1), np.sin(X), Rule(tol=1e-10), solver="cg")
    >>> answer.certificate.holds, answer.certificate.error < 1e-10
    (True, True)
    """

    def __init__(self, kernel: Kernel, X: Any, cache_size: float | None = None, n_jobs: int | None = None) -> None:
        self.kernel, self.X = kernel, X
        self.n_threads = resolve_n_jobs(n_jobs) if kernel.releases_gil else 1
        self.blas_threads = resolve_n_jobs(n_jobs)
        self.samples = kernel.prepare(X, np.float64)
        self.diagonal = kernel.diag(self.samples)
        self.budget = cache_budget(cache_size)
        self._tiles: KernelTiles | None = None
        self._partial: PartialFactor | None = None
        self._partial_noise = 0.0

    def __len__(self) -> int:
        return len(self.samples)

    def __getstate__(self) -> dict[str, Any]:
        """Tiles and factors can be made again: they are not pickled."""
        return {**self.__dict__, "_tiles": None, "_partial": None}

    def release(self) -> None:
        """Give the memory of tiles back; they are made again when needed."""
        self._tiles = None

    # ---- pieces

    def matrix(self) -> Matrix:
        """K as a new array."""
        n = len(self)
        return symmetric_block(self.kernel, self.samples, np.empty((n, n)), self.n_threads)

    def factor_fits(self, copies: int = 1) -> bool:
        """Whether so many float64 matrices stay within the memory budget."""
        return copies * 8 * len(self) ** 2 <= self.budget

    @cached_property
    def exact(self) -> KernelTiles:
        """Products in float64 that keep nothing."""
        return KernelTiles(self.kernel, self.samples, np.float64, 0, self.n_threads)

    def tiles(self, least_noise: float) -> KernelTiles:
        """The operator for conjugate gradients, in the precision that the memory and the noise allow."""
        if self._tiles is None or (self._tiles.dtype == np.float32 and not self._float32_is_safe(least_noise)):
            n, double = len(self), np.dtype(np.float64)
            if KernelTiles.bytes_needed(n, double) > self.budget and self._float32_is_safe(least_noise):
                single = self.kernel.prepare(self.X, np.float32)
                self._tiles = KernelTiles(self.kernel, single, np.float32, self.budget, self.n_threads)
            else:
                self._tiles = KernelTiles(self.kernel, self.samples, double, self.budget, self.n_threads)
        return self._tiles

    def _float32_is_safe(self, least_noise: float) -> bool:
        """Whether rounding of the entries, independent of each other, moves eigenvalues by much less than the noise."""
        return 2.0 * self.rounding * np.sqrt(len(self)) <= SAFE_SHARE * least_noise

    @cached_property
    def rounding(self) -> float:
        """Bound on the error of an entry in float32."""
        return self.kernel.rounding(self.kernel.prepare(self.X, np.float32))

    def preconditioner(self, noise: Vector) -> Preconditioner:
        """M of this kernel for a noise; its expensive half is kept, and made anew only for a much smaller noise."""
        level = float(np.exp(np.log(noise).mean()))
        if self._partial is None or (level < 0.1 * self._partial_noise and self._partial.rest > 0):
            self._partial = PartialFactor(self.kernel, self.samples, self.diagonal, level, self.n_threads)
            self._partial_noise = level
        with single_threaded_blas():
            return Preconditioner(self._partial, noise)

    # ---- solving

    def solve(
        self,
        noise: Vector,
        targets: Matrix,
        rule: Rule,
        solver: str = "auto",
        watch: Callable[[dict[str, Any]], Any] | None = None,
    ) -> Solved:
        """Solve for the targets (n, m); a singular or indefinite matrix raises NotPositiveDefinite."""
        started = time.perf_counter()
        fits = self.factor_fits()
        singular = noise.min() <= TINY_NOISE * max(float(self.diagonal.max(initial=0.0)), np.finfo(float).tiny)
        direct = solver == "cholesky" or (solver == "auto" and (len(self) <= DIRECT or (singular and fits)))
        if not direct:
            if singular:
                raise NotPositiveDefinite("conjugate gradients need noise on the diagonal")
            answer = self._descend(noise, targets, rule, started, watch, trial=solver == "auto" and fits)
            if solver == "cg" or not fits or answer.certificate.status in (Status.OPTIMAL, *ENDED_BY_THE_USER):
                return answer
            if answer.certificate.status is Status.STALLED and answer.certificate.error <= NO_BETTER * rule.tol:
                return answer
            self.release()
        return self._factor(noise, targets, rule, started)

    def _factor(self, noise: Vector, targets: Matrix, rule: Rule, started: float) -> Solved:
        """By Cholesky; the certificate comes from the residual on a matrix evaluated anew."""
        L = self.matrix()
        L[np.diag_indices_from(L)] += noise
        factor_in_place(L, self.blas_threads)
        coefficients = solve_factored(L, targets, self.blas_threads)
        residual = self.residual(noise, targets, coefficients)
        step = solve_factored(L, residual, self.blas_threads)
        certificate = self.certify(
            noise, targets, coefficients, residual, np.einsum("ij,ij->j", residual, step), rule, "cholesky", started
        )
        return Solved(coefficients, certificate, L)

    def _descend(
        self,
        noise: Vector,
        targets: Matrix,
        rule: Rule,
        started: float,
        watch: Callable[[dict[str, Any]], Any] | None,
        trial: bool,
    ) -> Solved:
        """By conjugate gradients, in rounds that begin with a fresh residual; a trial gives up if it is no bargain."""
        deadline = float("inf") if rule.time_limit is None else started + rule.time_limit
        allowed = rule.max_iter if rule.max_iter >= 0 else MOST_STEPS
        bargain = max(PROMISE, int(STEPS_PER_FACTOR * len(self))) if trial else allowed
        tiles = self.tiles(float(noise.min()))
        M = self.preconditioner(noise)
        coefficients = np.zeros_like(targets)
        residual, error = targets, np.einsum("ij,ij->j", targets, M.solve(targets))
        # Where k(x, x) is next to nothing any coefficients predict well, but a bias is made of the coefficients.
        goal = goal_of_round = np.minimum(self.goal(targets, rule.tol), rule.tol * error)
        history: list[tuple[float, float]] = []
        steps, status = 0, Status.OPTIMAL

        def multiply(V: Matrix) -> Matrix:
            out = tiles.product(V)
            out += noise[:, None] * V
            return out

        def show(step: int, lower: Vector, errors: Vector, found: Matrix) -> None:
            if watch is not None:
                seconds = time.perf_counter() - started
                reached = rule.tol * float(np.sqrt(np.max(errors / np.where(goal > 0, goal, np.inf), initial=0.0)))
                upper = lower + np.maximum(errors, 0.0)
                watch(
                    {"violation": reached, "tol": rule.tol, "lower": float(lower[0]), "upper": float(upper[0])}
                    | {"iterations": steps + step, "rounds": steps + step, "n_support": len(noise), "seconds": seconds}
                    | {"iterate": lambda: coefficients + found}
                )

        begin = error.copy()

        def hopeless(step: int, errors: Vector) -> bool:
            """Whether the rate of convergence so far would need more steps than a factor is worth."""
            if steps + step < PROMISE:
                return False
            done = np.log(np.maximum(begin, 1e-300) / np.maximum(errors, 1e-300))
            needed = np.log(np.maximum(begin, 1e-300) / np.maximum(goal, 1e-300))
            share = float(np.min(np.where(needed > 0, done / np.where(needed > 0, needed, 1.0), 1.0)))
            return steps + step >= bargain or LENIENCE * share * bargain < steps + step

        with single_threaded_blas():
            while True:
                if tiles.dtype == np.float32:
                    goal_of_round = np.maximum(goal, ROUND_FACTOR * error)
                lower = np.einsum("ij,ij->j", targets + residual, coefficients)
                run = descend(
                    multiply,
                    M.solve,
                    residual,
                    goal_of_round,
                    lower=lower,
                    max_iter=allowed - steps,
                    deadline=deadline,
                    watch=show if watch is not None else None,
                    hopeless=hopeless if trial else None,
                )
                steps += run.iterations
                history += run.history
                before = error
                coefficients = coefficients + run.solution
                if run.status is Status.INTERRUPTED:
                    residual = self.residual(noise, targets, coefficients, tiles)  # at once, from what is kept
                    error, status = run.error, run.status
                    break
                residual = self.residual(noise, targets, coefficients, None if tiles.dtype == np.float32 else tiles)
                error = np.maximum(np.einsum("ij,ij->j", residual, M.solve(residual)), 0.0)
                status = run.status
                if (error <= goal).all():
                    status = Status.OPTIMAL
                    break
                if status not in (Status.OPTIMAL, Status.STALLED):
                    break
                if (error[error > goal] > LEAST_PROGRESS * before[error > goal]).any():
                    status = Status.STALLED
                    break
        certificate = self.certify(
            noise, targets, coefficients, residual, error, rule, "cg", started, steps, M.factor.rank, history, status
        )
        return Solved(coefficients, certificate)

    # ---- checking

    def goal(self, targets: Matrix, tol: float) -> Vector:
        """r'M^-1 r of each target at which predictions err by no more than tol times the target's root mean square."""
        largest = max(float(self.diagonal.max(initial=0.0)), np.finfo(float).tiny)
        with np.errstate(over="ignore"):  # infinite where the kernel is zero: nothing can be predicted wrongly
            return tol**2 * np.mean(targets**2, axis=0) / largest

    def residual(
        self, noise: Vector, targets: Matrix, coefficients: Matrix, tiles: KernelTiles | None = None
    ) -> Matrix:
        """y - (K + D) a in float64."""
        product = (tiles or self.exact).product(coefficients)
        product += noise[:, None] * coefficients
        return targets - product

    def certify(
        self,
        noise: Vector,
        targets: Matrix,
        coefficients: Matrix,
        residual: Matrix,
        error: Vector,
        rule: Rule,
        method: str,
        started: float,
        iterations: int = 0,
        rank: int = 0,
        history: list[tuple[float, float]] | None = None,
        status: Status | None = None,
    ) -> SystemCertificate:
        """Bounds from a residual and r'M^-1 r (or r'A^-1 r) of each target."""
        lower = np.einsum("ij,ij->j", targets + residual, coefficients)
        error = np.maximum(error, 0.0)
        unit = self.goal(targets, 1.0)
        relative = float(np.sqrt(np.max(error / np.where(unit > 0, unit, 1.0), initial=0.0)))
        norms = np.linalg.norm(targets, axis=0)
        residuals = np.linalg.norm(residual, axis=0) / np.where(norms > 0, norms, 1.0)
        if status is None:
            status = Status.OPTIMAL if relative <= rule.tol else Status.STALLED
        return SystemCertificate(
            lower=lower,
            upper=lower + error,
            error=relative,
            residual=float(residuals.max(initial=0.0)),
            tol=rule.tol,
            method=method,
            iterations=iterations,
            rank=rank,
            history=np.array(history or [], float).reshape(-1, 2),
            status=status,
            seconds=time.perf_counter() - started,
        )
