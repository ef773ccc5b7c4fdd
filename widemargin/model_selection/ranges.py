"""Ranges of C, gamma and epsilon, from the data alone.

gamma       k = exp(-gamma d): 1 / q90 to 1 / q10, where q are quantiles of the distances d between samples (Caputo et
            al. 2002, "Appearance-based object recognition using SVMs: which kernel should I use?"; sigest of the R
            package kernlab). Distances are squared Euclidean ones for the Gaussian kernel, sums of absolute
            differences for the Laplacian one, chi-squared ones for that. The range is stretched downwards by
            SMOOTHER, since a smoother kernel with a larger C is often as good, up to the limit of a linear
            machine (Keerthi & Lin 2003), and steps are at least SMALLEST_STEP.
            poly, sigmoid: k depends on gamma x'z, so that gamma is measured in units of 1 / mean of |x|^2.
C           in units of 1 / s^2, with s^2 = mean of k(x, x) - mean of k(x, z), the variance of the samples in feature
            space (Chapelle & Zien 2005); s^2 is taken as 1 for kernels with k(x, x) = 1.
C of SVR    the same in units of the standard deviation of y: coefficients are at most C and have to reach the targets.
            Cherkassky & Ma (2004, Neural Networks 17) take max |mean(y) +- 3 sd(y)|, 3 of our units once
            the bias has taken the mean.
epsilon     3 sd(noise) sqrt(ln n / n) (Cherkassky & Ma 2004), with the noise from the residuals r of
            nearest neighbours: variance = n^(1/5) k / (n^(1/5) k - 1) mean r^2, k = 3 (the same).

Quantiles come from all pairs of at most SAMPLE samples, drawn with a seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import additive_chi2_kernel, euclidean_distances, manhattan_distances

from widemargin._sklearn import num_samples, safe_indexing
from widemargin.estimators.kernel_estimator import WITHOUT_GAMMA
from widemargin.kernels.names import is_precomputed, make_kernel
from widemargin.linalg.arrays import Vector

SAMPLE = 500  # samples whose distances are looked at: 125,000 pairs, quantiles to about one per cent
SMOOTHER = 10.0  # factor by which the range of gamma goes below 1 / q90
SMALLEST_STEP = 2.0  # ratio of neighbouring values of gamma; with fewer the scores hardly differ
C_ENDS = (0.1, 1000.0)  # in the units above
GAMMA_ENDS = (0.1, 10.0)  # of poly and sigmoid, in units of 1 / mean of |x|^2
EPSILON_STEP = 4.0  # ratio of neighbouring values of epsilon
COPIES = 1e-12  # relative distance up to which samples count as equal: rounding, since |x|^2 + |z|^2 - 2 x'z is not 0
NEIGHBOURS = 3  # k of the estimate of the noise
EPSILON_ENDS = (1e-3, 0.5)  # of the standard deviation of y: beyond, the tube is nothing or swallows the data

_DISTANCES: dict[str, Callable[[Any], NDArray]] = {
    "rbf": lambda X: euclidean_distances(X, squared=True),
    "laplacian": manhattan_distances,
    "chi2": lambda X: -additive_chi2_kernel(X.toarray() if hasattr(X, "toarray") else X),
}


def has_gamma(kernel: Any) -> bool:
    """Whether the kernel is one by name that has a parameter gamma."""
    return isinstance(kernel, str) and kernel not in WITHOUT_GAMMA


def draw(X: Any, kernel: Any, seed: Any = 0) -> tuple[Any, NDArray[np.intp]]:
    """At most SAMPLE samples of X, and their numbers; of a precomputed kernel their square matrix."""
    n_samples = num_samples(X)
    rows = np.arange(n_samples)
    if n_samples > SAMPLE:
        rows = np.sort(np.random.RandomState(seed).choice(n_samples, SAMPLE, replace=False))
    return (X[np.ix_(rows, rows)] if is_precomputed(kernel) else safe_indexing(X, rows)), rows


def geometric(low: float, high: float, count: int) -> Vector:
    """`count` values from low to high with a constant ratio; of one value their geometric mean.

    Examples
    --------
    >>> geometric(0.1, 1000.0, 5).tolist(), geometric(1.0, 100.0, 1).tolist()
    ([0.1, 1.0, 10.0, 100.0, 1000.0], [10.0])
    """
    if count == 1:
        return np.array([_rounded(np.sqrt(low * high))])
    return np.array([_rounded(value) for value in np.geomspace(low, high, count)])


def gamma_values(sample: Any, kernel: str, count: int, weight: Vector | None = None) -> Vector:
    """`count` values of gamma for a kernel by name; weights of samples count as repetitions.

    Examples
    --------
    >>> import numpy as np
    >>> gamma_values(np.array([[0.0], [1.0], [2.0]]), "rbf", 3).tolist()
    [0.025, 0.158, 1.0]
    """
    weight = np.ones(num_samples(sample)) if weight is None else weight
    if kernel not in _DISTANCES:
        squares = sample.power(2) if hasattr(sample, "power") else np.square(sample)
        norm = float(weight @ np.asarray(squares.sum(axis=1)).ravel())
        unit = weight.sum() / norm if norm > 0 else 1.0
        return geometric(GAMMA_ENDS[0] * unit, GAMMA_ENDS[1] * unit, count)
    pairs = np.triu_indices(num_samples(sample), 1)
    distances, weight = _DISTANCES[kernel](sample)[pairs], weight[pairs[0]] * weight[pairs[1]]
    apart = distances > COPIES * distances.max(initial=0.0)  # copies of a sample say nothing about scale
    if not apart.any():
        return geometric(GAMMA_ENDS[0], GAMMA_ENDS[1], count)
    near, far = weighted_quantiles(distances[apart], weight[apart], [0.1, 0.9])
    low, high = 1.0 / (SMOOTHER * far), 1.0 / near
    narrow = SMALLEST_STEP ** (count - 1) / (high / low)
    return geometric(low / max(1.0, narrow) ** 0.5, high * max(1.0, narrow) ** 0.5, count)


def weighted_quantiles(values: Vector, weight: Vector, shares: list[float]) -> Vector:
    """The smallest values that, with all smaller ones, have at least these shares of the weight.

    Examples
    --------
    >>> weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0]), [0.5, 0.9]).tolist()
    [1.0, 3.0]
    """
    order = np.argsort(values)
    upto = np.cumsum(weight[order])
    rounding = 1.0 - 1e-12  # of the sums, so that weights equal repetition
    return values[order][np.searchsorted(upto, np.array(shares) * upto[-1] * rounding)]


def C_values(sample: Any, kernel: Any, count: int, gamma: float = 1.0, spread: float = 1.0, **options: Any) -> Vector:
    """`count` values of C; `spread` is the standard deviation of the targets of a regression.

    Examples
    --------
    >>> C_values(None, "rbf", 5).tolist()
    [0.1, 1.0, 10.0, 100.0, 1000.0]
    """
    unit = spread / variance_in_feature_space(sample, kernel, gamma, **options)
    return geometric(C_ENDS[0] * unit, C_ENDS[1] * unit, count)


def variance_in_feature_space(sample: Any, kernel: Any, gamma: float = 1.0, **options: Any) -> float:
    """Mean of k(x, x) minus mean of k(x, z); 1 where k(x, x) is 1 by definition, or where it is not positive."""
    if kernel in ("rbf", "laplacian", "chi2", "cosine"):
        return 1.0
    K = sample if is_precomputed(kernel) else make_kernel(kernel, gamma=gamma, **options)(sample)
    variance = float(np.trace(K) / len(K) - K.mean())
    return variance if np.isfinite(variance) and variance > 0 else 1.0


def spread_of(y: Vector) -> float:
    """Standard deviation of the targets; 1 if they are constant."""
    largest = float(np.abs(y).max(initial=0.0)) or 1.0  # squares of large targets would overflow
    deviation = largest * float(np.std(y / largest))
    return deviation if np.isfinite(deviation) and deviation > 0 else 1.0


def epsilon_values(sample: Any, y: Vector, kernel: Any, count: int, n_samples: int, **options: Any) -> Vector:
    """`count` values of epsilon around that of Cherkassky & Ma; `sample` and `y` are those drawn of `n_samples`.

    Where there are no vectors, near means near in feature space: k(x, x) + k(z, z) - 2 k(x, z).
    """
    if isinstance(kernel, str) and kernel in _DISTANCES:
        distances = _DISTANCES[kernel](sample)
    else:
        K = sample if is_precomputed(kernel) else make_kernel(kernel, **options)(sample)
        distances = np.diag(K)[:, None] + np.diag(K) - 2.0 * K
    unit = spread_of(y)
    noise = noise_of(distances, y)
    centre = 3.0 * noise * np.sqrt(np.log(max(n_samples, 2)) / n_samples)
    centre = float(np.clip(centre, EPSILON_ENDS[0] * unit, EPSILON_ENDS[1] * unit))
    reach = EPSILON_STEP ** ((count - 1) / 2)
    return geometric(centre / reach, centre * reach, count)


def noise_of(distances: NDArray, y: Vector) -> float:
    """Standard deviation of the noise, from the mean of each sample's nearest neighbours, itself among them."""
    n, k = len(y), min(NEIGHBOURS, len(y))
    nearest = np.argpartition(distances, k - 1, axis=1)[:, :k]
    residual = y - y[nearest].mean(axis=1)
    factor = n**0.2 * k
    return float(np.sqrt(factor / max(factor - 1.0, 1.0) * np.mean(residual**2)))


def _rounded(value: float) -> float:
    """Three digits: nobody wants to read more of a value on a grid with steps of ten."""
    return float(f"{value:.3g}")
