"""A kernel system that can judge solutions of (K + D) a = y, whoever found them.

    coefficients -> residual with its errors -> energy -> error of predictions, bounds on y'A^-1 y, a verdict

The formulas are in bounds.py; system.py finds the solutions.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.certificate.system_bounds import (
    Residual,
    certain,
    energy_by_noise,
    energy_by_trial,
    lengths,
    over,
    residual_of,
    root_mean_squares,
    value_bounds,
)
from widemargin.certificate.system_certificate import SystemCertificate, verdict
from widemargin.gram.budget import cache_budget
from widemargin.gram.tiles import KernelTiles
from widemargin.kernels.errors import ErrorTerms
from widemargin.kernels.kernel import Kernel
from widemargin.monitor.status import Status
from widemargin.parallel.tiles import resolve_n_jobs, single_threaded_blas
from widemargin.solvers.kernel_system.preconditioner import PartialFactor, Preconditioner

AIM = 0.5  # of tol: where conjugate gradients stop, to leave room for rounding errors in what is proven
AIM_WITH_BIAS = 0.25  # of tol: two solutions make up a machine with a bias, and the second counts |b| times

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Rule:
    """When to stop: bound on the error of predictions, relative to the targets, and two budgets.

    bias : whether the last target is ones, for a machine with a bias (bias.py)
    """

    tol: float = 1e-8
    max_iter: int = -1
    time_limit: float | None = None
    bias: bool = False


@dataclass
class Solved:
    """What solving a system leaves.

    Attributes
    ----------
    coefficients : (n, m)
    certificate : SystemCertificate
    residual : the one that the certificate rests on
    energy, quadratic : (m,) r'A^-1 r and y'A^-1 y as computed
    ended : how conjugate gradients ended by their own word; None for the other methods
    factor : the Cholesky factor, where one was made
    """

    coefficients: Matrix
    certificate: SystemCertificate
    residual: Residual
    energy: Vector
    quadratic: Vector
    ended: Status | None = None
    factor: Matrix | None = None


class CheckedSystem:
    """K of one set of samples, and what judges a solution: bounds on its values, residuals, certificates."""

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
        """Tiles, factors and bounds can be made again: they are not pickled."""
        state = {**self.__dict__, "_tiles": None, "_partial": None}
        state.pop("terms", None)
        return state

    @cached_property
    def exact(self) -> KernelTiles:
        """Products in float64 that keep nothing."""
        return KernelTiles(self.kernel, self.samples, np.float64, 0, self.n_threads)

    @cached_property
    def terms(self) -> ErrorTerms:
        """Bounds on the errors of entries in float64."""
        return self.kernel.errors(self.samples)

    @property
    def largest(self) -> float:
        """Bound on k(x, x) of the samples; of kernels that state none, the largest seen."""
        size = float(np.max(self.terms.size, initial=0.0))
        return size**2 if np.isfinite(size) else max(float(self.diagonal.max(initial=0.0)), 0.0)

    def preconditioner(self, noise: Vector) -> Preconditioner:
        """M of this kernel for a noise; its expensive half is kept, and made anew only for a much smaller noise."""
        level = float(np.exp(np.log(noise).mean()))
        if self._partial is None or (level < 0.1 * self._partial_noise and self._partial.rest > 0):
            self._partial = PartialFactor(self.kernel, self.samples, self.diagonal, level, self.n_threads)
            self._partial_noise = level
        with single_threaded_blas():
            return Preconditioner(self._partial, noise)

    def goal(self, targets: Matrix, noise: Vector, rule: Rule) -> Vector:
        """r'M^-1 r of each target at which conjugate gradients may stop.

        With a bias the function counts sqrt(1 / h) more (bias.py), and 1 / h <= 1'A 1 / n^2. For kernels
        not known to be positive semi-definite |r| must be small: |r|^2 <= (largest eigenvalue of M) r'M^-1 r.
        """
        n, aim = len(self), rule.tol * (AIM_WITH_BIAS if rule.bias else AIM)
        largest = max(self.largest, np.finfo(float).tiny)
        reach = np.sqrt(largest) + (np.sqrt(largest + noise.mean() / n) if rule.bias else 0.0)
        with np.errstate(over="ignore"):  # infinite where the kernel is zero: nothing can be predicted wrongly
            squares = np.square(targets).sum(axis=0)
            goal = aim**2 * squares / n / reach**2
            if not self.kernel.is_psd:
                trace = float(np.abs(self.diagonal).sum()) + float(noise.max())
                goal = np.minimum(goal, aim**2 * squares / trace)
        return goal

    def residual(
        self, noise: Vector, targets: Matrix, coefficients: Matrix, tiles: KernelTiles | None = None
    ) -> Residual:
        """y - (K + D) a with its errors, from the tiles given or on values evaluated anew in float64."""
        tiles = tiles or self.exact
        terms = self.terms if tiles.samples is self.samples else self.kernel.errors(tiles.samples)
        return residual_of(tiles, terms, noise, targets, coefficients)

    def energy(self, noise: Vector, residual: Residual, scale: Vector, enough: float) -> Vector:
        """Proven bounds on r'A^-1 r relative to the squared scale of each target, if K is positive semi-definite.

        enough : value from which on a better bound makes no difference
        """
        energy = energy_by_noise(residual, noise, scale)
        by_rounding = energy_by_noise(residual.of_rounding(), noise, scale)
        if self._partial is None or self._partial.rank == 0 or (energy <= enough).all() or by_rounding.max() > enough:
            return energy
        M = self.preconditioner(noise)
        with single_threaded_blas():
            trial = M.trial(residual.value)
        pivots, places = self._partial.pivots, (self.kernel, self.samples, self.terms)
        return np.minimum(energy, energy_by_trial(residual, noise, scale, *places, pivots, trial, self.n_threads))

    def certify(
        self,
        noise: Vector,
        targets: Matrix,
        coefficients: Matrix,
        residual: Residual,
        energy: Vector,
        rule: Rule,
        method: str,
        started: float,
        iterations: int = 0,
        rank: int = 0,
        history: list[tuple[float, float]] | None = None,
        status: Status | None = None,
        factor: Matrix | None = None,
    ) -> Solved:
        """The solution with its certificate.

        energy : r'A^-1 r of each target as the method computed it: what the answer would be without rounding errors
        status : how conjugate gradients ended; None for the other methods
        """
        scale, norms = root_mean_squares(targets), lengths(targets)
        with np.errstate(over="ignore", invalid="ignore"):
            unit = max(self.largest, np.finfo(float).tiny)
            proven = self.energy(noise, residual, scale, rule.tol**2 / unit)
            error = certain(np.sqrt(unit * proven))
            computed = np.sqrt(unit * np.maximum(energy, 0.0)) / np.where(scale > 0, scale, np.inf)
            value, lower, upper = value_bounds(targets, coefficients, residual, proven * np.square(scale))
        residuals = over(residual.norms(), norms)
        is_psd = self.kernel.is_psd
        certificate = SystemCertificate(
            lower=lower,
            upper=upper,
            error=float(error.max(initial=0.0)),
            residual=float(residuals.max(initial=0.0)),
            tol=rule.tol,
            method=method,
            iterations=iterations,
            rank=rank,
            history=np.array(history or [], float).reshape(-1, 2),
            rounding=float(over(residual.error.max(axis=0, initial=0.0), scale).max(initial=0.0)),
            is_psd=is_psd,
            seconds=time.perf_counter() - started,
        )
        about = computed if is_psd else over(lengths(residual.value), norms)
        bent = not is_psd and bool((residual.curvature < 0.0).any() or (self.diagonal < 0.0).any())
        final = verdict(certificate, float(certain(about).max(initial=0.0)), status, bent)
        return Solved(coefficients, replace(certificate, status=final), residual, energy, value, status, factor)
