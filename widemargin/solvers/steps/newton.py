"""A Newton step on the free variables of a block, for the hard cases (large C) where pair steps are slow.

Solves   min 1/2 d'(K_FF + D + delta I) d + g'd  over the free variables F, the sums of the groups kept, each variable
         within its segment (the box, cut at zero where epsilon > 0): one Cholesky factor, then a primal-dual active
         set on top of it
Given    a Block, whose f and beta are changed in place when the step lowers the objective
Returns  whether it did
How      With u = -M^-1 g, V = M^-1 A (A: indicators of the groups) and W = M^-1 E_C for the variables C put on a bound,
         the minimiser is d = u - V nu - W mu, where (nu, mu) solve the small system of the constraints A'd = 0 and
         d_C = c. Variables that leave their segment join C, those with a multiplier of the wrong sign leave it.
See      Hintermueller, Ito & Kunisch (2003), SIAM J. Optim. 13, for the active set; Scheinberg (2006), JMLR 7, for
         support vector machines
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from widemargin.costs import COSTS
from widemargin.gram.full import FullGram, gather_block_of
from widemargin.gram.memory import ThreadMemory
from widemargin.problems.optimality import free_variables
from widemargin.solvers.steps.block import Block

REGULARISATION = {"f": 1e-5, "d": 1e-10}  # of the mean diagonal, by precision; K_FF is often singular
ROUNDS = 12  # active-set rounds; releases stop four rounds before the end so that it settles
LARGEST_ACTIVE = 0.25  # share of the free variables at bounds above which pair steps are better
LARGEST_FREE = 6656  # variables, the largest block: its factor takes about 0.7 s
SHORTEST = 1e-6  # length of a step that is worth its factor
SHORTEST_FULL = 0.7  # length of the lowest point above which the full step is made: it moves variables to their bounds,
# and still has four fifths of the gain
REPAIRS = 30  # repairs of a group's sum: each moves some variables to a bound


def newton_cost(n_free: int) -> float:
    """Estimate the nanoseconds that a step takes."""
    return COSTS.newton_step + COSTS.newton_cube * n_free**3


def newton_step(block: Block, n_threads: int = 1, memory: ThreadMemory | None = None) -> bool:
    """Try one step on the block; see the module's header. The factor lies in `memory`, if it is given."""
    f, beta, terms = block.f, block.beta, block.terms
    free = free_variables(terms, beta)
    m = len(free)
    if m < 2 or m > LARGEST_FREE:
        return False
    b = beta[free]
    g = f[free].astype(np.float64) + terms.epsilon[free] * np.sign(b)
    split = terms.epsilon[free] > 0.0
    lowest = np.where(split & (b > 0.0), 0.0, terms.lower[free])
    highest = np.where(split & (b < 0.0), 0.0, terms.upper[free])
    low, high = lowest - b, highest - b
    A = np.zeros((m, terms.n_groups))
    for group, (first, last) in enumerate(zip(terms.starts[: terms.n_groups], terms.starts[1:])):
        A[(free >= first) & (free < last), group] = 1.0
    A = A[:, A.any(axis=0)]
    solve = _factor(block.K, free, terms.diagonal[free], n_threads, memory or ThreadMemory())
    d = None if solve is None else _active_set(solve, g, A, low, high)
    d = None if d is None else _onto_segment(d, A, low, high)
    if d is None:
        return False
    slope = float(g @ d)
    if not slope < 0.0:
        return False
    change = np.zeros(len(f))
    FullGram(block.K, n_threads).add_rows(free, d, change)
    curvature = float(d @ (change[free] + terms.diagonal[free] * d))
    best = -slope / curvature if curvature > 0.0 else np.inf  # length of the lowest point
    length = 1.0 if best >= SHORTEST_FULL else best
    if length < SHORTEST:
        return False
    moved = b + length * d
    if length == 1.0:  # bounds are assigned, never added up to
        moved = np.where(d <= low, lowest, np.where(d >= high, highest, moved))
    f += (length * change).astype(f.dtype)
    f[free] += ((moved - b) * terms.diagonal[free]).astype(f.dtype)
    beta[free] = moved
    return True


def _factor(  # type: ignore[no-untyped-def]
    block: NDArray, free: NDArray[np.int64], diagonal: NDArray[np.float64], n_threads: int, memory: ThreadMemory
):
    """Return a solver of M x = y by a Cholesky factor of K_FF + D + delta I, or None if there is no factor."""
    m = len(free)
    M = gather_block_of(block, free, memory.array(m, m, block.dtype), n_threads)
    kind = M.dtype
    M[np.diag_indices_from(M)] += (diagonal + REGULARISATION[kind.char] * max(float(np.trace(M)) / m, 1e-30)).astype(
        kind
    )
    factorise, back = (lapack.spotrf, lapack.spotrs) if kind == np.float32 else (lapack.dpotrf, lapack.dpotrs)
    if factorise(M.T, lower=0, clean=0, overwrite_a=1)[1] != 0:  # on one thread, to which a fit limits BLAS
        return None
    return lambda y: back(M.T, np.asfortranarray(y, dtype=kind), lower=0)[0].astype(np.float64)


def _active_set(solve, g, A, low, high) -> NDArray[np.float64] | None:  # type: ignore[no-untyped-def]
    """Return the minimiser of the step within its segments, or None if too many variables reach a bound."""
    m, groups = A.shape
    both = solve(np.column_stack([-g, A]))
    u, V = both[:, 0], both[:, 1:]
    active = np.empty(0, np.int64)
    value = np.empty(0)
    W = np.empty((m, 0))
    d = u
    for turn in range(ROUNDS):
        k = len(active)
        basis = np.column_stack([V, W])
        system = np.vstack([A.T @ basis, basis[active]])
        target = np.concatenate([A.T @ u, u[active] - value])
        try:
            multipliers = np.linalg.solve(system, target) if groups + k else target
        except np.linalg.LinAlgError:
            return None
        d = u - basis @ multipliers
        mu = multipliers[groups:]
        below, above = d < low, d > high
        below[active] = above[active] = False
        leaving = np.zeros(k, np.bool_)
        if turn < ROUNDS - 4:
            at_high = value >= high[active]
            leaving = np.where(at_high, mu < 0.0, mu > 0.0)
        joining = np.flatnonzero(below | above)
        if not len(joining) and not leaving.any():
            break
        if k + len(joining) > max(LARGEST_ACTIVE * m, 20):
            return None
        active, value, W = active[~leaving], value[~leaving], W[:, ~leaving]
        if len(joining):
            units = np.zeros((m, len(joining)))
            units[joining, np.arange(len(joining))] = 1.0
            W = np.column_stack([W, solve(units)])
            value = np.concatenate([value, np.where(above[joining], high[joining], low[joining])])
            active = np.concatenate([active, joining])
    d[active] = value  # exactly, so that a variable at a bound does not count as free
    return d


def _onto_segment(d: NDArray, A: NDArray, low: NDArray, high: NDArray) -> NDArray | None:
    """Clip to the segments and repair each group's sum on the variables left inside; None if there is no room."""
    d = np.clip(d, low, high)
    for group in range(A.shape[1]):
        here = np.flatnonzero(A[:, group])
        part, l, h = d[here], low[here], high[here]
        for _ in range(REPAIRS):
            excess = part.sum()
            inside = (part > l) & (part < h)
            if abs(excess) <= 1e-15 * np.abs(part).sum() or not inside.any():
                break
            part[inside] = np.clip(part[inside] - excess / np.count_nonzero(inside), l[inside], h[inside])
        if abs(part.sum()) > 1e-12 * np.abs(part).sum():
            return None
        d[here] = part
    return d
