"""Is a problem not convex, by more than its tolerance allows? The same answer for every solver, and for `verify`.

A solver meets negative curvature or does not, depending on its path. What is true of a problem depends on its matrix:
if -l < 0 is the lowest eigenvalue of K + D along directions that keep the sums of the groups, it is not convex. It is
within l of one that is, with K + D + l I, whose slopes at b differ by l |b_i|. Where that is at most tol, b is as
good as the tolerance asks, and l is usually the rounding of a precomputed matrix; beyond, the status is INDEFINITE.

Tested on at most SAMPLED samples, by a Cholesky factor: l max |b| <= tol if K + D + (tol / max |b|) I has one. Of more
samples, evenly spaced ones are tested: INDEFINITE is true, but a matrix that is indefinite elsewhere only is not
recognised, and the same samples in another order may have another verdict.
See  Berg, Christensen & Ressel (1984), chapter 3, for kernels that are conditionally positive definite: they are valid
     for models with a bias.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf

from widemargin.kernels.kernel import Kernel, Samples
from widemargin.linalg.arrays import Index, Vector
from widemargin.parallel.tiles import single_threaded_blas
from widemargin.problems.dual import SignedDual

SAMPLED = 500  # samples: a matrix of them takes a few milliseconds
OWN_ERROR = 16 * float(np.finfo(np.float64).eps)  # of a kernel value, relative to the largest: some operations


def sampled(n_samples: int) -> Index:
    """Return the places of the samples on which a problem is tested."""
    return np.linspace(0, n_samples - 1, min(n_samples, SAMPLED)).astype(np.int64)


def block_of(kernel: Kernel, samples: Samples, places: Index) -> NDArray[np.float64]:
    """Return the kernel matrix of some samples in float64."""
    part = samples.take(places)
    return kernel.block(part, part, np.empty((len(places), len(places))))


def is_indefinite(dual: SignedDual, places: Index, K: NDArray, beta: Vector, tol: float) -> bool:
    """Whether the matrix K of the samples at `places` shows that the problem is too far from a convex one at beta."""
    largest = float(np.abs(beta).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest) or not np.isfinite(K).all():
        return False
    Q = K.astype(np.float64)  # a copy; one triangle is read in the end
    size = float(np.abs(Q).max(initial=0.0))
    group = np.zeros(len(places), np.int64)
    if dual.is_plain:
        Q[np.diag_indices(len(Q))] += dual.diagonal[places]
        group = dual.group[places]
    if dual.n_groups == 1 and dual.sign is None:
        Q -= Q.mean(axis=0)
        Q -= Q.mean(axis=1, keepdims=True)
    elif dual.n_groups and dual.sign is None:
        for g in np.unique(group):
            own = group == g
            Q[own] -= Q[own].mean(axis=0)
            Q[:, own] -= Q[:, own].mean(axis=1, keepdims=True)
    Q[np.diag_indices(len(Q))] += tol / largest + 2.0 * len(Q) * OWN_ERROR * size
    with single_threaded_blas():  # threads would wait for each other longer than they work
        _, info = dpotrf(Q.T, lower=False, clean=False, overwrite_a=True)
    return info > 0
