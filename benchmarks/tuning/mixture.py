"""TorchKM's simulated data, its bandwidth and its folds, from their formulas.

Centres     m_k ~ N(0, I_p) for k = 1..10; the five of class -1 are shifted by 2 in the first p // 2 coordinates, the
            five of class +1 by 2 in the others.
Samples     y = +1 or -1 with probability 1/2; x = m_k + 3 z, z ~ N(0, I_p), k one of the five of y, equally likely;
            then every feature has mean 0 and standard deviation 1 (n - 1 degrees of freedom).
Bandwidth   sigma = (1/q90 + 1/q10) / 2, q the quantiles of ||x_i - x_j||^2 > 0 over n // 2 random pairs. TorchKM's
            kernel is exp(-2 sigma ||x - z||^2), so gamma = 2 sigma.
Folds       row i is in fold pi(i) mod 10, pi a random permutation.

These are the mixture of `torchkm.data_gen(n, 5, p, p // 2, p // 2, 2., 3., seed)`, `sigest` and the folds of TorchKM
4.3.2 (arXiv 2606.06742), with NumPy's random numbers. `in_torch.py --check` compares the two generators.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

PER_CLASS = 5  # centres
SHIFT = 2.0
DEVIATION = 3.0
FOLDS = 10


def centres(p: int, rng: np.random.Generator) -> NDArray:
    """The ten centres, those of class -1 first."""
    found = rng.standard_normal((2 * PER_CLASS, p))
    found[:PER_CLASS, : p // 2] += SHIFT
    found[PER_CLASS:, p // 2 :] += SHIFT
    return found


def draw(n: int, means: NDArray, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    """n samples about these centres, and their classes."""
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    k = rng.integers(PER_CLASS, size=n) + np.where(y > 0, PER_CLASS, 0)
    return means[k] + DEVIATION * rng.standard_normal((n, means.shape[1])), y


def mixture(n: int, p: int, seed: int = 0) -> tuple[NDArray, NDArray]:
    """Standardised samples and their classes."""
    rng = np.random.default_rng(seed)
    X, y = draw(n, centres(p, rng), rng)
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y


def bandwidth(X: Any, seed: int = 0) -> float:
    """sigma of random pairs of rows, an array or CSR."""
    n = X.shape[0]
    first, second = np.random.default_rng(seed).integers(n, size=(2, n // 2))
    difference = X[first] - X[second]
    squares = difference.multiply(difference) if sp.issparse(difference) else difference**2
    distances = np.asarray(squares.sum(axis=1)).ravel()
    low, high = np.quantile(distances[distances > 0], [0.1, 0.9])
    return float((1.0 / high + 1.0 / low) / 2.0)


def folds(n: int, seed: int = 0) -> NDArray:
    """The fold of each row, 0 to 9."""
    return np.random.default_rng(seed).permutation(n) % FOLDS
