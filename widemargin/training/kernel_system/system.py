"""The linear system of kernel regression, (K + D) a = y with D > 0 diagonal, at every size.

cholesky        the matrix in float64, factored in place; exact up to rounding, n^3 / 3 operations
cg              conjugate gradients on tiles of K that are kept as far as the memory budget goes (tiles.py): in float64
                where all of them fit, else in float32 with the residual recomputed in float64 after each round
                (iterative refinement; Golub & Van Loan 2013, section 3.5.3), so that the answer is that of float64
plain-cg        the same without a preconditioner, as in Table 7.3 of Cristianini & Shawe-Taylor (2000): to compare
least squares   by eigenvalues, where the matrix is singular or indefinite

Whatever the method, the certificate comes from the residual of its coefficients (checked.py).

"auto" uses Cholesky for few samples. For more it tries conjugate gradients first, as long as they are expected to
finish in the time of a Cholesky factor; where a factor does not fit into memory it continues without this limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from widemargin.gram.gram import symmetric_block
from widemargin.gram.tiles import KernelTiles
from widemargin.kernels.user_function import BlockKernel, PairKernel, not_finite
from widemargin.linalg.arrays import Matrix, Vector
from widemargin.linalg.cholesky import NotPositiveDefinite, factor_in_place, solve_factored
from widemargin.monitor import clock
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status
from widemargin.monitor.stopping import Stopping
from widemargin.monitor.time_limit import EndInTime
from widemargin.parallel.tiles import single_threaded_blas
from widemargin.solvers.kernel_system.conjugate_gradient import MOST_STEPS, ShiftedKernel, descend
from widemargin.solvers.kernel_system.preconditioner import PartialFactor, Preconditioner
from widemargin.training.kernel_system.checked import CheckedSystem, Found, Solved, SystemRule

SOLVERS = ("auto", "cholesky", "cg", "plain-cg")
RESIDUAL_COST = 2.0  # of the certificate's residual, with its error bound, relative to a product of the same values
ENDED_BY_THE_USER = (Status.TIME_LIMIT, Status.INTERRUPTED, Status.STOPPED)
AS_GOOD_AS_A_FACTOR = (Status.OPTIMAL, Status.UNDECIDED, *ENDED_BY_THE_USER)


@dataclass(frozen=True)
class SystemTuning:
    """Constants for the choice of a method and for refinement: float32 tiles, a float64 residual after each round."""

    tiny_noise: float = 1e-12  # of the largest diagonal entry: below, the matrix is singular in floating point
    most_for_eigenvalues: int = 5000  # samples up to which a singular system is solved
    direct: int = 1024  # samples up to which a factor costs less than the set-up of conjugate gradients
    steps_per_factor: float = 1 / 40  # steps, per sample, that take as long as a factor
    promise: int = 15  # steps after which the rate must predict convergence within the steps of a factor ...
    lenience: float = 2.0  # ... times this, because conjugate gradients converge faster and faster
    no_better: float = 100.0  # multiple of tol: where rounding stops conjugate gradients closer, a factor is no better
    round_factor: float = 1e-8  # reduction of r'M^-1 r per round: four digits, well above the rounding of products
    least_progress: float = 0.25  # share of r'M^-1 r: a round that leaves more was stopped by rounding
    safe_share: float = 0.1  # share of the least noise that the norm of the float32 rounding matrix must not exceed


TUNING = SystemTuning()


class KernelSystem(CheckedSystem):
    """K of one set of samples, solved for any noise and targets; everything independent of them is computed once.

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
    >>> from widemargin.training.kernel_system import KernelSystem, SystemRule
    >>> X = np.linspace(0.0, 1.0, 50)[:, None]
    >>> system = KernelSystem(Gaussian(10.0), X)
    >>> answer = system.solve(np.full(50, 0.1), np.sin(X), SystemRule(tol=1e-10), solver="cg")
    >>> answer.certificate.holds, answer.certificate.error < 1e-10
    (True, True)
    """

    def release(self) -> None:
        """Free the memory of the tiles, which are recomputed when needed."""
        self._tiles = None

    # ---- pieces

    def matrix(self) -> Matrix:
        """K as a new array; ValueError if a user's function returned NaN or infinity."""
        n = len(self)
        K = symmetric_block(self.kernel, self.samples, np.empty((n, n)), self.n_threads)
        if isinstance(self.kernel, BlockKernel | PairKernel) and not np.isfinite(K).all():
            raise not_finite(self.kernel)
        return K

    def factor_fits(self, copies: int = 1) -> bool:
        """Whether this number of float64 matrices fits into the memory budget."""
        return copies * 8 * len(self) ** 2 <= self.budget

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

    def shifted(self, noise: Vector, plain: bool = False) -> ShiftedKernel:
        """K + D for conjugate gradients; `plain` has M = (least noise) I <= A, which changes no step."""
        least = float(noise.min())
        if not plain:
            return ShiftedKernel(self.tiles(least), self.preconditioner(noise), noise)
        nothing = PartialFactor(self.kernel, self.samples, self.diagonal, least, self.n_threads, rank=0)
        return ShiftedKernel(self.tiles(least), Preconditioner(nothing, np.full(len(self), least)), noise)

    def _float32_is_safe(self, least_noise: float) -> bool:
        """Whether independent rounding of the entries moves eigenvalues by much less than the noise."""
        return 2.0 * self.rounding * np.sqrt(len(self)) <= TUNING.safe_share * least_noise

    @cached_property
    def rounding(self) -> float:
        """Bound on the error of an entry in float32."""
        return self.kernel.errors(self.kernel.prepare(self.X, np.float32)).largest()

    # ---- solving

    def solve(
        self, noise: Vector, targets: Matrix, rule: SystemRule, solver: str = "auto", watch: Watch | None = None
    ) -> Solved:
        """Solve for the targets (n, m); a singular or indefinite matrix raises NotPositiveDefinite."""
        started = clock.now()
        fits = self.factor_fits()
        singular = noise.min() <= TUNING.tiny_noise * max(float(self.diagonal.max(initial=0.0)), np.finfo(float).tiny)
        direct = solver == "cholesky" or (solver == "auto" and (len(self) <= TUNING.direct or (singular and fits)))
        if not direct:
            if singular:
                raise NotPositiveDefinite("conjugate gradients need noise on the diagonal")
            trial, plain = solver == "auto" and fits, solver == "plain-cg"
            answer = self._descend(noise, targets, rule, started, watch, trial, plain)
            if solver != "auto" or not fits or answer.certificate.status in AS_GOOD_AS_A_FACTOR:
                return answer
            certificate = answer.certificate
            if certificate.status is Status.STALLED and certificate.reached <= TUNING.no_better * rule.tol:
                return answer
            self.release()
        return self._factor(noise, targets, rule, started)

    def _factor(self, noise: Vector, targets: Matrix, rule: SystemRule, started: float) -> Solved:
        """Solve by Cholesky; the certificate uses the residual on a recomputed matrix."""
        L = self.matrix()
        L[np.diag_indices_from(L)] += noise
        factor_in_place(L, self.blas_threads)
        coefficients = solve_factored(L, targets, self.blas_threads)
        residual = self.residual(noise, targets, coefficients)
        with np.errstate(over="ignore", invalid="ignore"):
            step = solve_factored(L, residual.value, self.blas_threads)
            energy = np.einsum("ij,ij->j", residual.value, step)
        found = Found("cholesky", coefficients, residual, energy, factor=L)
        return self.certify(noise, targets, rule, found, started)

    def least_squares(self, noise: Vector, targets: Matrix, rule: SystemRule, why: NotPositiveDefinite) -> Solved:
        """Return the solution of least norm, for a singular matrix or an indefinite kernel."""
        if len(self) > TUNING.most_for_eigenvalues:
            raise NotPositiveDefinite(
                f"The kernel matrix is singular or indefinite ({why}), and {len(self)} samples are too many for a "
                "solution of least squares: raise alpha, or use another kernel (rbf is always valid)."
            ) from why
        started = clock.now()
        K = self.matrix()
        K[np.diag_indices_from(K)] += noise
        with single_threaded_blas():  # its own threads busy-wait, as in linalg/cholesky.py
            values, vectors = np.linalg.eigh(K)
        usable = np.abs(values) > len(K) * np.finfo(float).eps * np.abs(values).max(initial=0.0)
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=usable)
        coefficients = vectors @ (inverse[:, None] * (vectors.T @ targets))
        residual = self.residual(noise, targets, coefficients)
        with np.errstate(over="ignore", invalid="ignore"):
            energy = (inverse[:, None] * np.square(vectors.T @ residual.value)).sum(axis=0)
        negative = not self.kernel.is_psd and bool((values[usable] < 0.0).any())
        found = Found("least squares", coefficients, residual, energy, Status.INDEFINITE if negative else None)
        return self.certify(noise, targets, rule, found, started)

    def _descend(
        self,
        noise: Vector,
        targets: Matrix,
        rule: SystemRule,
        started: float,
        watch: Watch | None,
        trial: bool,
        plain: bool,
    ) -> Solved:
        """Solve by conjugate gradients, in rounds from a recomputed residual; a trial ends once a factor is cheaper."""
        deadline = float("inf") if rule.time_limit is None else started + rule.time_limit
        allowed = rule.max_iter if rule.max_iter >= 0 else MOST_STEPS
        bargain = max(TUNING.promise, int(TUNING.steps_per_factor * len(self))) if trial else allowed
        A = self.shifted(noise, plain)
        tiles, M = A.tiles, A.M
        coefficients = np.zeros_like(targets)
        rest, error = targets, np.einsum("ij,ij->j", targets, M.solve(targets))
        # Where k(x, x) is almost zero any coefficients predict well, but the bias is computed from the coefficients.
        goal = goal_of_round = np.minimum(self.goal(targets, noise, rule), rule.tol * error)
        history: list[tuple[float, float]] = []
        begin, steps = error.copy(), 0

        def price(_: Iteration) -> float:
            """Seconds of the residual: a product with stored values, or one for which they are evaluated again."""
            return RESIDUAL_COST * (in_time.longest if tiles.dtype == np.float32 else in_time.round)

        left = None if rule.time_limit is None else deadline - clock.now()
        in_time = EndInTime(Stopping(rule.tol, time_limit=left), price, watch)

        def look(step: int, lower: Vector, errors: Vector, found: Matrix) -> bool:
            """Report a step; return True if, at the current rate of convergence, a factor is cheaper."""
            if watch is not None or rule.time_limit is not None:
                reached = rule.tol * float(np.sqrt(np.max(errors / np.where(goal > 0, goal, np.inf), initial=0.0)))
                upper = lower + np.maximum(errors, 0.0)
                in_time(
                    Iteration(
                        violation=reached,
                        tol=rule.tol,
                        iterations=steps + step,
                        rounds=steps + step,
                        n_support=len(noise),
                        seconds=clock.now() - started,
                        bounds=(float(lower[0]), float(upper[0])),
                        iterate=lambda: coefficients + found,
                    )
                )
            if not trial or steps + step < TUNING.promise:
                return False
            done = np.log(np.maximum(begin, 1e-300) / np.maximum(errors, 1e-300))
            needed = np.log(np.maximum(begin, 1e-300) / np.maximum(goal, 1e-300))
            share = float(np.min(np.where(needed > 0, done / np.where(needed > 0, needed, 1.0), 1.0)))
            return steps + step >= bargain or TUNING.lenience * share * bargain < steps + step

        with single_threaded_blas():
            while True:
                if tiles.dtype == np.float32:
                    goal_of_round = np.maximum(goal, TUNING.round_factor * error)
                lower = np.einsum("ij,ij->j", targets + rest, coefficients)
                left = allowed - steps
                run = descend(A, rest, goal_of_round, lower=lower, max_iter=left, deadline=deadline, watch=look)
                steps += run.iterations
                history += run.history
                before = error
                coefficients, status = coefficients + run.solution, run.status
                if status is Status.INTERRUPTED:
                    residual = self.residual(noise, targets, coefficients, tiles)  # immediately, from cached values
                    error = run.error
                    break
                residual = self.residual(noise, targets, coefficients, None if tiles.dtype == np.float32 else tiles)
                rest = residual.value
                error = np.maximum(np.einsum("ij,ij->j", rest, M.solve(rest)), 0.0)
                missed = error > goal
                if not np.isfinite(error).all():
                    status = Status.NOT_FINITE
                elif not missed.any():
                    status = Status.OPTIMAL
                elif status in (Status.OPTIMAL, Status.STALLED):
                    if run.iterations and (error[missed] <= TUNING.least_progress * before[missed]).all():
                        continue
                    status = Status.STALLED
                break
        found = Found("cg", coefficients, residual, error, status, steps, M.factor.rank, history)
        return self.certify(noise, targets, rule, found, started)
