"""The log marginal likelihood of a Gaussian process and its gradient, exact or estimated.

    log p(y) = -1/2 y'A^-1 y - 1/2 log det A - n/2 log 2 pi,        A = K + D
    d/dtheta = 1/2 sum_ij W_ij dA_ij/dtheta,                        W = a a' - A^-1,  a = A^-1 y

(Rasmussen & Williams 2006, equations 2.30 and 5.9; several targets add up.) The sum over W is taken tile by tile, with
each tile of derivatives used up as soon as it is made.

exact       by a Cholesky factor
estimated   y'A^-1 y by conjugate gradients; the determinant by stochastic Lanczos quadrature on the preconditioned
            matrix (Ubaru, Chen & Saad 2017), log det A = log det M + tr log(M^-1/2 A M^-1/2), where conjugate gradients
            on random z ~ N(0, M) are the Lanczos process; the same runs give tr(A^-1 dA) = E[(A^-1 z)' dA (M^-1 z)]
            (Gardner et al. 2018). The error given is the standard error over the random vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal

from widemargin.linalg.cholesky import factor_in_place, inverse, log_determinant, solve_factored
from widemargin.parallel.tiles import run_tiles
from widemargin.solvers.kernel_system.conjugate_gradient import descend
from widemargin.training.gaussian_process.covariance import Tiles
from widemargin.training.gaussian_process.translate import Model
from widemargin.training.kernel_system import KernelSystem, NotPositiveDefinite, Rule

GRADIENT_TILE = 256  # samples per side: values, derivatives and weights of a tile stay in cache
PROBES = 16  # random vectors: the standard error of the determinant falls with their root
PROBE_GOAL = 1e-10  # of z'M^-1 z: the quadrature error is then far below the standard error
PROBE_STEPS = 1000  # of conjugate gradients per evaluation

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Likelihood:
    """Value, standard error of the value (0 if exact), and gradient (None if not asked for)."""

    value: float
    error: float
    gradient: Vector | None


def exact_likelihood(
    model: Model, theta: Vector, X: Any, targets: Matrix, noise: Vector, gradient: bool, n_jobs: int | None
) -> Likelihood:
    """By a Cholesky factor; minus infinity where A is not positive definite, as in scikit-learn.

    noise : the part of D that does not depend on theta (`alpha` of the estimator)
    """
    system = KernelSystem(model.kernel(theta), X, None, n_jobs)
    n, m = targets.shape
    A, changes = _matrix(model, theta, X, system, gradient)
    A[np.diag_indices_from(A)] += noise if model.node is None and gradient else noise + model.noise(theta, X)
    if model.node is None and gradient and model.extra is not None:
        A[np.diag_indices_from(A)] += np.exp(theta[-1])
    try:
        L = factor_in_place(A, system.blas_threads)
    except NotPositiveDefinite:
        return Likelihood(-np.inf, 0.0, np.zeros_like(theta) if gradient else None)
    a = solve_factored(L, targets, system.blas_threads)
    value = -0.5 * float((targets * a).sum()) - 0.5 * m * (log_determinant(L) + n * np.log(2.0 * np.pi))
    if not gradient:
        return Likelihood(value, 0.0, None)
    W = inverse(L, system.blas_threads)
    W *= -m
    W += a @ a.T
    if changes is not None:
        own = 0.5 * np.einsum("ij,ijk->k", W, changes)
    else:
        assert model.node is not None
        tiles = model.node.prepare(model.every(theta), X)
        own = weigh(tiles, n, len(theta) - (model.extra is not None), lambda r, c: W[r, c], system.n_threads)
    return Likelihood(value, 0.0, _with_extra(own, model, theta, float(np.trace(W))))


def _matrix(model: Model, theta: Vector, X: Any, system: KernelSystem, gradient: bool) -> tuple[Matrix, Matrix | None]:
    """K, and for a kernel that must be called its derivatives, which it gives only all at once."""
    if model.node is None and gradient:
        kernel = model.rebuilt(theta)
        return kernel(X, eval_gradient=True)
    return system.matrix(), None


def _with_extra(own: Vector, model: Model, theta: Vector, trace: float) -> Vector:
    """The gradient with that of the separate noise variance behind it."""
    return own if model.extra is None else np.append(own, 0.5 * trace * np.exp(theta[-1]))


def weigh(tiles: Tiles, n: int, count: int, weights: Callable[[slice, slice], Matrix], n_threads: int) -> Vector:
    """1/2 sum_ij W_ij dA_ij for each of `count` parameters; W symmetric, given by tiles."""
    edges = [(start, min(n, start + GRADIENT_TILE)) for start in range(0, n, GRADIENT_TILE)]
    rows = np.zeros((len(edges), count))

    def add(number: int) -> None:
        top, bottom = edges[number]
        for left, right in edges[number:]:
            changes = tiles.tile(top, bottom, left, right)[1]
            W = weights(slice(top, bottom), slice(left, right))
            rows[number] += [(1.0 if left > top else 0.5) * float((W * change).sum()) for change in changes]

    run_tiles(add, len(edges), n_threads)
    return rows.sum(axis=0)


def estimated_likelihood(
    model: Model,
    theta: Vector,
    X: Any,
    targets: Matrix,
    noise: Vector,
    gradient: bool,
    *,
    rule: Rule,
    cache_size: float | None,
    n_jobs: int | None,
    system: KernelSystem | None = None,
    quadratic: tuple[Matrix, Vector] | None = None,
) -> Likelihood:
    """By conjugate gradients and random vectors.

    quadratic : coefficients a and y'A^-1 y of each target, where they are known already
    """
    if model.node is None and gradient:
        raise ValueError(
            f"The gradient for {model.given} needs the whole matrix of derivatives, which does not fit: use "
            "optimizer=None, n_optimizer_samples, or a kernel made of RBF, ConstantKernel and WhiteKernel."
        )
    system = system or KernelSystem(model.kernel(theta), X, cache_size, n_jobs)
    n, m = targets.shape
    total = noise + model.noise(theta, X)
    if quadratic is None:
        solved = system.solve(total, targets, rule, "cg")
        quadratic = solved.coefficients, solved.quadratic
    a, values = quadratic
    tiles, M = system.tiles(float(total.min())), system.preconditioner(total)
    probes = M.draw(np.random.default_rng(0), PROBES)  # the same in every evaluation: the surface stays smooth

    def multiply(V: Matrix) -> Matrix:
        out = tiles.product(V)
        out += total[:, None] * V
        return out

    sizes = np.einsum("ij,ij->j", probes, M.solve(probes))
    run = descend(
        multiply, M.solve, probes, PROBE_GOAL * sizes, lower=np.zeros(PROBES), max_iter=PROBE_STEPS, keep=True
    )
    logs = np.array([sizes[p] * _log_quadrature(run.lengths[:, p], run.turns[:, p]) for p in range(PROBES)])
    determinant = M.log_determinant() + float(logs.mean())
    error = 0.5 * m * float(logs.std(ddof=1)) / np.sqrt(PROBES)
    value = -0.5 * float(values.sum()) - 0.5 * m * (determinant + n * np.log(2.0 * np.pi))
    if not gradient:
        return Likelihood(value, error, None)
    inverse_probes, easy_probes = run.solution, M.solve(probes)

    def weights(rows: slice, columns: slice) -> Matrix:
        trace = inverse_probes[rows] @ easy_probes[columns].T
        trace += easy_probes[rows] @ inverse_probes[columns].T
        return a[rows] @ a[columns].T - (0.5 * m / PROBES) * trace

    assert model.node is not None
    parts = model.node.prepare(model.every(theta), X)
    own = weigh(parts, n, len(theta) - (model.extra is not None), weights, system.n_threads)
    trace = float((a * a).sum()) - m / PROBES * float((inverse_probes * easy_probes).sum())
    return Likelihood(value, error, _with_extra(own, model, theta, trace))


def _log_quadrature(lengths: Vector, turns: Vector) -> float:
    """e_1' log(T) e_1 for the tridiagonal T of conjugate gradients (Golub & Meurant 2010, section 4.1)."""
    used = int(np.argmin(lengths > 0)) if (lengths <= 0).any() else len(lengths)
    if used == 0:
        return 0.0  # z is an eigenvector of eigenvalue one: nothing was left to do
    lengths, turns = lengths[:used], turns[:used]
    diagonal = 1.0 / lengths
    diagonal[1:] += turns[:-1] / lengths[:-1]
    values, vectors = eigh_tridiagonal(diagonal, np.sqrt(turns[:-1]) / lengths[:-1])
    return float(vectors[0] ** 2 @ np.log(np.maximum(values, np.finfo(float).tiny)))
