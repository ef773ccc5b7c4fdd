"""Newton directions -H^-1 g, H = R + s X_F' diag(r) X_F, from a system of the features or one of the free samples.

features   H itself. X_F' diag(r) X_F is updated by the samples that enter and leave the free set.
samples    for many features or few free samples. With M = X_F X_F' + diag(1 / (s r)), plus tau^2 for a penalised bias,
           the Woodbury identity gives   dw = -g - X_F' p,   M p = db - X_F g;   sum p = 0 fixes db where the bias is
           not penalised (its gradient is 0).
           X_F X_F' is kept from step to step over all samples that were ever free, up to a limit; above `most_free`
           samples the system is solved by conjugate gradients with the diagonal as preconditioner.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, cg

from widemargin.problems.linear import LinearProblem, Vector
from widemargin.solvers.linear.tuning import LinearTuning

JITTER = 1e-12  # relative diagonal added where rounding makes H indefinite; multiplied by 100 until H has a factor
CG_STEPS = 250
CG_ACCURACY = 0.05  # of the gradient's norm: Newton directions need no more


class FeatureGram:
    """X_F' diag(r) X_F, updated when a direction is requested."""

    def __init__(self, problem: LinearProblem) -> None:
        self.problem = problem
        self.inside = np.zeros(problem.rows.n, bool)
        self.gram: Vector | None = None  # allocated when first needed

    def direction(self, g: Vector, free: np.ndarray, s: float) -> Vector:
        """Return -H^-1 g; without free samples an unpenalised bias is not part of H and does not change."""
        p = self.problem
        if self.gram is None:
            self.gram = np.zeros((len(g), len(g)))
        entered, left = np.flatnonzero(free & ~self.inside), np.flatnonzero(self.inside & ~free)
        for samples, sign in ((entered, 1.0), (left, -1.0)):
            if len(samples):
                p.rows.add_gram(samples, sign * p.rate[samples], self.gram)
        self.inside = free
        if len(left) and not free.any():
            self.gram[:] = 0.0  # only rounding is left
        if not np.isfinite(self.gram).all():
            return -g
        jitter = 0.0
        while np.isfinite(jitter):
            H = self.gram * s
            diagonal = np.einsum("ii->i", H)
            diagonal[:-1] += 1.0 + jitter
            diagonal[-1] += jitter + (0.0 if p.free_bias else 1.0)
            if diagonal[-1] <= 0.0:
                diagonal[-1] = 1.0
            factor, info = lapack.dpotrf(H.T, lower=0, clean=0, overwrite_a=1)  # H.T: its upper triangle is filled
            if info == 0:
                return lapack.dpotrs(factor, -g, lower=0)[0]
            jitter = max(100.0 * jitter, JITTER * (1.0 + float(np.abs(self.gram).max()) * s))
        return -g


class SampleGram:
    """Inner products of the samples that were ever free."""

    def __init__(self, problem: LinearProblem, tuning: LinearTuning) -> None:
        self.problem, self.tuning = problem, tuning
        self.place = np.full(problem.rows.n, -1, np.int64)
        self.kept = np.empty(0, np.int64)
        self.K = np.empty((0, 0))

    def direction(self, g: Vector, free: np.ndarray, s: float) -> Vector:
        """Return -H^-1 g for the free samples given as a mask."""
        F = np.flatnonzero(free)
        if len(F) == 0:
            return -g
        if len(F) > self.tuning.most_free:
            return self._conjugate_gradients(g, F, s)
        p, rows = self.problem, self.problem.rows
        M = self._among(F)
        np.einsum("ii->i", M)[:] += 1.0 / (s * p.rate[F])
        right = np.empty((len(F), 2), order="F")
        right[:, 0] = -rows.times_at(F, g)
        right[:, 1] = 1.0
        if not p.free_bias:
            M += rows.column**2
        factor, info = lapack.dpotrf(M.T, lower=0, clean=0, overwrite_a=1)
        if info != 0:
            return self._conjugate_gradients(g, F, s)
        solved = lapack.dpotrs(factor, right, lower=0)[0]
        weights, bias = solved[:, 0], 0.0
        if p.free_bias:
            bias = -weights.sum() / solved[:, 1].sum()
            weights = weights + bias * solved[:, 1]
        out = -g
        rows.add_transposed(F, -weights, out)
        if p.free_bias:
            out[-1] = bias
        return out

    def _among(self, F: np.ndarray) -> Vector:
        """Return a copy of X_F X_F', computing only new entries."""
        new = F[self.place[F] < 0]
        if len(self.kept) + len(new) > self.tuning.most_kept:
            self.place[self.kept] = -1
            self.kept, new = np.empty(0, np.int64), F
        old, count = len(self.kept), len(self.kept) + len(new)
        if count > len(self.K):
            larger = np.empty((int(1.3 * count) + 64,) * 2)
            larger[:old, :old] = self.K[:old, :old]
            self.K = larger
        if len(new):
            self.place[new] = np.arange(old, count)
            block = self.problem.rows.inner(new, np.concatenate([self.kept, new]))
            self.kept = np.concatenate([self.kept, new])
            self.K[old:count, :count] = block
            self.K[:old, old:count] = block[:, :old].T
        return self.K.take(self.place[F], 0).take(self.place[F], 1)

    def _conjugate_gradients(self, g: Vector, F: np.ndarray, s: float) -> Vector:
        """Return an approximation of -H^-1 g without forming H."""
        p = self.problem
        if 2 * len(F) > p.rows.n:  # steps of zero take less time and memory than a copy of most rows
            rows, step = p.rows, np.zeros(p.rows.n)
            step[F] = s * p.rate[F]
        else:
            rows, step = p.rows.take(F), s * p.rate[F]
        everyone = np.arange(rows.n)
        diagonal = p.penalty.copy()
        diagonal[:-1] += rows.squared_columns(step)
        diagonal[-1] += rows.column**2 * step.sum()

        def times_H(v: Vector) -> Vector:
            product = p.penalty * v
            rows.add_transposed(everyone, step * rows.times(v), product)
            return product

        H, inverse = (LinearOperator((len(g), len(g)), f) for f in (times_H, lambda v: v / diagonal))
        return cg(H, -g, rtol=CG_ACCURACY, maxiter=CG_STEPS, M=inverse)[0]
