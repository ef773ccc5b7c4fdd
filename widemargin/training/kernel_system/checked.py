"""A kernel system that certifies solutions of (K + D) a = y found by any method.

    coefficients -> residual with its errors -> energy -> error of predictions, bounds on y'A^-1 y, a verdict

The formulas are in certificate/system_bounds.py; system.py finds the solutions.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from widemargin.gram.tiles import KernelTiles, bounded_cross_product, cross_block
from widemargin.kernels.errors import ErrorTerms
from widemargin.kernels.kernel import Kernel
from widemargin.linalg.arrays import Matrix, Vector
from widemargin.monitor import clock
from widemargin.monitor.status import Status
from widemargin.parallel.tiles import resolve_n_jobs, single_threaded_blas
from widemargin.solvers.kernel_system.preconditioner import PartialFactor, Preconditioner

AIM = 0.5  # share of tol at which conjugate gradients stop; the rest allows for rounding in the proof


@dataclass(frozen=True)
class SystemRule:
    """When to stop: bound on the error of predictions, relative to the targets, and two budgets.

    bias : whether the last target is all ones, for a model with a bias (bias.py)
    """

    tol: float = 1e-8
    max_iter: int = -1
    time_limit: float | None = None
    bias: bool = False


@dataclass(frozen=True)
class Found:
    """Result of a method before it is certified.

    Attributes
    ----------
    method : "cholesky", "cg" or "least squares"
    coefficients : (n, m)
    residual : of these coefficients
    energy : (m,) r'A^-1 r as the method computed it: what the answer would be without rounding errors
    ended : status of conjugate gradients; None for the other methods, unless they found the kernel indefinite
    iterations, rank, history : of conjugate gradients, as in SystemCertificate
    factor : the Cholesky factor, where one was made
    """

    method: str
    coefficients: Matrix
    residual: Residual
    energy: Vector
    ended: Status | None = None
    iterations: int = 0
    rank: int = 0
    history: Sequence[tuple[float, float]] = ()
    factor: Matrix | None = None


@dataclass(frozen=True, kw_only=True)
class Solved(Found):
    """A result with its certificate, and y'A^-1 y of each target as computed."""

    certificate: SystemCertificate
    quadratic: Vector


class CheckedSystem:
    """K of one set of samples with the means of a proof: bounds on its values, residuals, certificates."""

    def __init__(self, kernel: Kernel, X: Any, cache_size: float | None = None, n_jobs: int | None = None) -> None:
        self.kernel, self.X = kernel, X
        self.n_threads = resolve_n_jobs(n_jobs) if kernel.releases_gil else 1
        self.blas_threads = resolve_n_jobs(n_jobs)
        self.samples = kernel.prepare(X, np.float64)
        self.diagonal = kernel.diag(self.samples)
        self.budget = cache_budget(cache_size)
        self._tiles: KernelTiles | None = None
        self._partial: PartialFactor | None = None

    def __len__(self) -> int:
        return len(self.samples)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without tiles, factors and bounds, which can be recomputed."""
        state = {**self.__dict__, "_tiles": None, "_partial": None}
        return {name: value for name, value in state.items() if name not in ("terms", "exact")}

    def rows(self, chosen: NDArray[np.int64]) -> Matrix:
        """Rows of K as a new array."""
        return cross_block(self.kernel, self.samples.take(chosen), self.samples, self.n_threads)

    @cached_property
    def exact(self) -> KernelTiles:
        """Tiles for products in float64 that store nothing."""
        return KernelTiles(self.kernel, self.samples, np.float64, 0, self.n_threads)

    @cached_property
    def terms(self) -> ErrorTerms:
        """Bounds on the errors of entries in float64."""
        return self.kernel.errors(self.samples)

    @property
    def largest(self) -> float:
        """Bound on k(x, x) of the samples; for kernels without a bound, the largest value computed."""
        size = float(np.max(self.terms.size, initial=0.0))
        return size**2 if np.isfinite(size) else max(float(self.diagonal.max(initial=0.0)), 0.0)

    def preconditioner(self, noise: Vector) -> Preconditioner:
        """Return M for a noise; its partial factor is cached, and recomputed only for a much smaller noise."""
        level = float(np.exp(np.log(noise).mean()))
        if self._partial is None or (level < 0.1 * self._partial.noise and self._partial.rest > 0):
            self._partial = PartialFactor(self.kernel, self.samples, self.diagonal, level, self.n_threads)
        with single_threaded_blas():
            return Preconditioner(self._partial, noise)

    def goal(self, targets: Matrix, noise: Vector, rule: SystemRule) -> Vector:
        """r'M^-1 r of each target at which conjugate gradients may stop.

        With a bias the bound on the error has an additional term sqrt(1 / h) (bias.py), and 1 / h <= 1'A 1 / n^2. For
        kernels not known to be positive semi-definite |r| must be small: |r|^2 <= (largest eigenvalue of M) r'M^-1 r.
        """
        n, aim = len(self), AIM * rule.tol
        aim *= 0.5 if rule.bias else 1.0  # such a model combines two solutions, and the second counts |b| times
        largest = max(self.largest, np.finfo(float).tiny)
        reach = np.sqrt(largest) + (np.sqrt(largest + noise.mean() / n) if rule.bias else 0.0)
        with np.errstate(over="ignore"):  # infinite where the kernel is zero: every prediction is exact
            squares = np.square(targets).sum(axis=0)
            goal = aim**2 * squares / n / reach**2
            if not self.kernel.is_psd:
                trace = float(np.abs(self.diagonal).sum()) + float(noise.max())
                goal = np.minimum(goal, aim**2 * squares / trace)
        return goal

    def residual(
        self, noise: Vector, targets: Matrix, coefficients: Matrix, tiles: KernelTiles | None = None
    ) -> Residual:
        """Return y - (K + D) a with its errors, from the given tiles or from recomputed float64 values."""
        tiles = tiles or self.exact
        terms = self.terms if tiles.samples is self.samples else self.kernel.errors(tiles.samples)
        return residual_of(tiles, terms, noise, targets, coefficients)

    def energy(self, noise: Vector, residual: Residual, scale: Vector, enough: float) -> Vector:
        """Return bounds on r'A^-1 r relative to each target's squared scale, proven if K is positive semi-definite.

        enough : value below which a better bound makes no difference
        """
        energy = energy_by_noise(residual, noise, scale)
        by_rounding = energy_by_noise(residual.of_rounding(), noise, scale)
        if self._partial is None or self._partial.rank == 0 or (energy <= enough).all() or by_rounding.max() > enough:
            return energy
        M, pivots = self.preconditioner(noise), self._partial.pivots
        with single_threaded_blas():
            trial = M.trial(residual.value)
        with np.errstate(over="ignore", invalid="ignore"):
            products = bounded_cross_product(
                self.kernel, self.samples, self.samples.take(pivots), trial, self.n_threads
            )
        return np.minimum(energy, energy_by_trial(residual, noise, scale, self.terms, pivots, trial, *products))

    def certify(self, noise: Vector, targets: Matrix, rule: SystemRule, found: Found, started: float) -> Solved:
        """The solution with its certificate."""
        scale, norms = root_mean_squares(targets), lengths(targets)
        residual, is_psd = found.residual, self.kernel.is_psd
        with np.errstate(over="ignore", invalid="ignore"):
            unit = max(self.largest, np.finfo(float).tiny)
            proven = self.energy(noise, residual, scale, rule.tol**2 / unit)
            error = certain(np.sqrt(unit * proven))
            computed = np.sqrt(unit * np.maximum(found.energy, 0.0)) / np.where(scale > 0, scale, np.inf)
            value, lower, upper = value_bounds(targets, found.coefficients, residual, proven * np.square(scale))
        certificate = SystemCertificate(
            lower=lower,
            upper=upper,
            error=largest_of(error),
            residual=largest_of(over(residual.norms(), norms)),
            tol=rule.tol,
            method=found.method,
            iterations=found.iterations,
            rank=found.rank,
            history=np.array(found.history, float).reshape(-1, 2),
            rounding=largest_of(over(residual.error.max(axis=0, initial=0.0), scale)),
            is_psd=is_psd,
            seconds=clock.now() - started,
        )
        about = computed if is_psd else over(lengths(residual.value), norms)
        bent = not is_psd and bool((residual.curvature < 0.0).any() or (self.diagonal < 0.0).any())
        final = verdict(certificate, largest_of(certain(about)), found.ended, bent)
        return Solved(**vars(found), certificate=replace(certificate, status=final), quadratic=value)


def largest_of(bounds: Vector) -> float:
    """The largest over the targets, 0 for none."""
    return float(bounds.max(initial=0.0))
