"""Sparse Bayesian learning: the fast marginal-likelihood algorithm, which adds basis functions one by one.

Model    t = Phi w + noise of precision beta (regression), or P(t = 1) = sigmoid(Phi w) (classification), with a prior
         N(0, 1 / alpha_m) on every weight; alpha_m = infinity leaves basis function m out
Measures of every basis function, in the model or not, with  Sigma = (diag(alpha) + Phi'B Phi)^-1:

         S_m = phi_m'B phi_m - phi_m'B Phi Sigma Phi'B phi_m      how much of it the model has already
         Q_m = phi_m'B (t - Phi mu)                               how well it fits what the model leaves over
         s_m, q_m = the same without m itself: alpha (S_m, Q_m) / (alpha - S_m) for those in the model

Step     The evidence as a function of one alpha_m has its maximum at s^2 / (q^2 - s) if q^2 > s, else at infinity. Add,
         re-estimate or delete, whichever raises the evidence most.
Noise    1 / beta = |t - Phi mu|^2 / (n - sum_m (1 - alpha_m Sigma_mm)), after every step
Ends     when nothing is to be added or deleted and no log(alpha) would change by more than tol
Classes  B = diag(p (1 - p)) at the mode of the weights, found by Newton's method (the Laplace approximation)
See      Tipping & Faul (2003), "Fast marginal likelihood maximisation for sparse Bayesian models"; Tipping (2001).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky
from scipy.special import expit

from widemargin.linalg.arrays import Matrix, Vector
from widemargin.monitor import clock
from widemargin.monitor.interrupt import status_of
from widemargin.monitor.iteration import Iteration, Watch
from widemargin.monitor.status import Status

FIRST_NOISE = 0.1  # of the targets' standard deviation: initial noise
LEAST_NOISE = 1e-6  # of the targets' standard deviation: below, rounding dominates the evidence
NEWTON_STEPS = 25  # for the mode of the weights, started close to it
LEAST_CURVATURE = 1e-12  # p (1 - p) of samples far from the boundary, where it would underflow
NEWTON_TOL = 1e-8  # of the norm of the gradient
ALIGNED = 1e-9  # share of a basis function that the model must not contain: near copies make Sigma singular
PATIENCE = 3  # deletions after which a basis function stays out: at the floor of the noise, rounding would add it again


@dataclass
class SparseModel:
    """Result: the active basis functions in the order of their numbers.

    Attributes
    ----------
    active : int array of shape (k,)
    mean, covariance : of the weights' posterior, shapes (k,) and (k, k)
    alpha : precisions of the prior, shape (k,)
    beta : precision of the noise; 1 for classification
    iterations : steps of the algorithm
    """

    active: NDArray[np.int64]
    mean: Vector
    covariance: Matrix
    alpha: Vector
    beta: float
    iterations: int
    status: Status


class Evidence(ABC):
    """State of the algorithm: the active basis functions and the measures of all."""

    beta = 1.0  # precision of the noise

    def __init__(self, Phi: Matrix, targets: Vector, centre: float = 0.0) -> None:
        self.Phi, self.t = Phi, targets
        squares = np.square(Phi).sum(axis=0)
        fit = np.divide((Phi.T @ (targets - centre)) ** 2, squares, out=np.zeros(Phi.shape[1]), where=squares > 0)
        first = int(np.argmax(fit))
        self.active = [first]
        self.deleted = np.zeros(Phi.shape[1], int)  # number of deletions of each function
        # The evidence of the first function alone has its maximum here (Tipping & Faul 2003, equation 26).
        gain = fit[first] / max(squares[first], np.finfo(float).tiny) - 1.0 / (self.beta * squares[first])
        self.alpha = np.array([1.0 / max(gain, 1e-3) if gain > 0 else 1e3])
        self.mean = np.zeros(1)
        self.refresh()

    @abstractmethod
    def posterior(self, basis: Matrix) -> tuple[Matrix, Vector, Vector]:
        """Set mean and covariance of the weights of the active functions.

        Returns Phi'B basis, phi_m'B phi_m of every function, and B (t - Phi mu), or t - p of a classifier.
        """

    def update_noise(self) -> float:
        """Re-estimate the precision of the noise; return the change of its logarithm."""
        return 0.0

    def refresh(self) -> None:
        """Posterior of the active weights, then S and Q of every basis function."""
        cross, self.own, error = self.posterior(self.Phi[:, self.active])
        self.S = self.own - ((cross @ self.covariance) * cross).sum(axis=1)
        self.Q = self.Phi.T @ error
        # For active functions, formulas without cancellation that follow from the definitions of Sigma and mu.
        self.S[self.active] = self.alpha * (1.0 - self.alpha * np.diagonal(self.covariance))
        self.Q[self.active] = self.alpha * self.mean

    def invert(self, cross: Matrix) -> None:
        """Set the covariance, the inverse of diag(alpha) + basis'B basis."""
        precision = cross[self.active] + np.diag(self.alpha)
        corner = cholesky(precision, lower=True, check_finite=False)
        self.covariance = cho_solve((corner, True), np.eye(len(precision)), check_finite=False)

    def best_step(self, tol: float) -> tuple[str, int, float] | None:
        """Return the step of largest gain in evidence: ("add" | "change" | "delete", function, new alpha), or None."""
        s, q = self.S.copy(), self.Q.copy()
        at = np.array(self.active)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            own = np.diagonal(self.covariance)
            s[at], q[at] = (1.0 - self.alpha * own) / own, self.mean / own
            relevant = q * q > s
            target = np.where(relevant, s * s / (q * q - s), np.inf)
            outside = np.ones(len(s), bool)
            outside[at] = False
            gain = np.full(len(s), -np.inf)
            may_add = outside & relevant & (ALIGNED * self.own < self.S) & (self.deleted < PATIENCE)
            ratio = self.Q[may_add] ** 2 / self.S[may_add]
            gain[may_add] = 0.5 * (ratio - 1.0 - np.log(ratio))
            stay = relevant[at]
            change = 1.0 / target[at] - 1.0 / self.alpha
            S, Q = self.S[at], self.Q[at]
            moved = 0.5 * (Q * Q * change / (S * change + 1.0) - np.log1p(S * change))
            gone = 0.5 * (Q * Q / (S - self.alpha) - np.log(1.0 - S / self.alpha))
        moved = np.where(np.abs(np.log(target[at]) - np.log(self.alpha)) > tol, moved, -np.inf)
        gone = gone if len(at) > 1 else np.full(1, -np.inf)
        gain[at] = np.where(stay, moved, gone)
        gain[~np.isfinite(gain)] = -np.inf
        m = int(np.argmax(gain))
        if not gain[m] > 0.0:
            return None
        if outside[m]:
            return "add", m, float(target[m])
        return ("change", m, float(target[m])) if relevant[m] else ("delete", m, np.inf)

    def apply(self, kind: str, m: int, alpha: float) -> None:
        """Make a step of `best_step`."""
        if kind == "add":
            self.active.append(m)
            self.alpha, self.mean = np.append(self.alpha, alpha), np.append(self.mean, 0.0)
        else:
            place = self.active.index(m)
            if kind == "change":
                self.alpha[place] = alpha
            else:
                del self.active[place]
                self.deleted[m] += 1
                self.alpha, self.mean = np.delete(self.alpha, place), np.delete(self.mean, place)

    def model(self, iterations: int, status: Status) -> SparseModel:
        """Return the result, sorted by the number of the basis function."""
        order = np.argsort(self.active)
        active = np.array(self.active, np.int64)[order]
        covariance = self.covariance[np.ix_(order, order)]
        return SparseModel(active, self.mean[order], covariance, self.alpha[order], self.beta, iterations, status)


class RegressionEvidence(Evidence):
    """Evidence with Gaussian noise, whose precision is estimated in every step."""

    def __init__(self, Phi: Matrix, targets: Vector) -> None:
        size = float(np.abs(targets).max())
        spread = float(targets.std())
        if spread <= np.finfo(float).eps * size:  # constant targets: their size is the only scale
            spread = size or 1.0
        self.floor = (LEAST_NOISE * spread) ** 2
        self.beta = 1.0 / (FIRST_NOISE * spread) ** 2
        self.squares = np.square(Phi).sum(axis=0)
        self.products: dict[int, Vector] = {}  # Phi'phi_m of functions that were active
        super().__init__(Phi, targets)

    def posterior(self, basis: Matrix) -> tuple[Matrix, Vector, Vector]:
        for place, m in enumerate(self.active):
            if m not in self.products:
                self.products[m] = self.Phi.T @ basis[:, place]
        cross = self.beta * np.column_stack([self.products[m] for m in self.active])
        self.invert(cross)
        self.mean = self.beta * (self.covariance @ (basis.T @ self.t))
        return cross, self.beta * self.squares, self.beta * (self.t - basis @ self.mean)

    def update_noise(self) -> float:
        """Re-estimate the precision of the noise; return the change of its logarithm."""
        error = self.t - self.Phi[:, self.active] @ self.mean
        determined = len(self.alpha) - float(self.alpha @ np.diagonal(self.covariance))
        variance = float(error @ error) / max(len(self.t) - determined, 1.0)
        before, self.beta = self.beta, 1.0 / max(variance, self.floor)
        return abs(np.log(self.beta / before))


class ClassificationEvidence(Evidence):
    """Evidence by the Laplace approximation at the mode of the weights."""

    def __init__(self, Phi: Matrix, targets: Vector) -> None:
        self.squared = Phi * Phi
        super().__init__(Phi, targets, centre=0.5)

    def posterior(self, basis: Matrix) -> tuple[Matrix, Vector, Vector]:
        self.mean = self._mode(basis)
        p = expit(basis @ self.mean)
        B = np.maximum(p * (1.0 - p), LEAST_CURVATURE)
        cross = self.Phi.T @ (basis * B[:, None])
        self.invert(cross)
        return cross, B @ self.squared, self.t - p

    def _mode(self, basis: Matrix) -> Vector:
        """Return the most likely weights of the classifier, by Newton's method with step halving."""
        w = self.mean

        def energy(w: Vector) -> float:
            z = basis @ w
            return float(np.logaddexp(0.0, z).sum() - self.t @ z + 0.5 * self.alpha @ (w * w))

        value = energy(w)
        for _ in range(NEWTON_STEPS):
            p = expit(basis @ w)
            gradient = basis.T @ (self.t - p) - self.alpha * w
            if np.linalg.norm(gradient) <= NEWTON_TOL * len(self.t):
                break
            curvature = (basis * np.maximum(p * (1.0 - p), LEAST_CURVATURE)[:, None]).T @ basis + np.diag(self.alpha)
            step = np.linalg.solve(curvature, gradient)
            if not np.isfinite(step).all():
                break
            while not energy(w + step) <= value and np.abs(step).max() >= 1e-12:
                step *= 0.5
            w = w + step
            value = energy(w)
        return w


def maximise_evidence(
    Phi: Matrix, targets: Vector, *, classify: bool, tol: float, max_iter: int, deadline: float, watch: Watch | None
) -> SparseModel:
    """Run the algorithm on basis functions Phi (n, M); targets are numbers, or 0 and 1 with `classify`."""
    started = clock.now()
    state = (ClassificationEvidence if classify else RegressionEvidence)(Phi, targets)
    answer = state.model(0, Status.MAX_ITER)
    try:
        for iteration in range(1, max_iter + 1):
            step = state.best_step(tol)
            if step is not None:
                state.apply(*step)
                state.refresh()
            change = state.update_noise()
            if change > 0.0:
                state.refresh()
            answer = state.model(iteration, Status.MAX_ITER)
            seconds = clock.now() - started
            if watch is not None:
                iterate = partial(replace, answer)
                watch(Iteration(1.0, tol, n_support=len(state.active), seconds=seconds, iterate=iterate))
            if step is None and change <= tol:
                return replace(answer, status=Status.OPTIMAL)
            if started + seconds > deadline:
                return replace(answer, status=Status.TIME_LIMIT)
    except LinAlgError:  # the last step made Sigma singular: return the model before it
        return replace(answer, status=Status.STALLED)
    except KeyboardInterrupt as interrupt:
        return replace(answer, status=status_of(interrupt))
    return answer
