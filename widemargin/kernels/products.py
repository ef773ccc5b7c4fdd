"""Inner products of prepared samples, whatever their representation, and the error they carry.

Error       summing d products in precision u (the unit roundoff) gives |error| <= d u |x| |z| at worst, and about
            sqrt(d) u |x| |z| as a rule, since rounding errors are as often up as down (Higham & Mary 2019, Theorem 3.1).
            The bound below is the second with a factor of safety. Rounding the data to the precision adds 2 u |x| |z|.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.kernel import Samples
from widemargin.kernels.samples.dense import DenseRows

SAFETY = 4.0  # standard deviations allowed for: one entry in 16,000 lies outside if errors were independent


def inner_products(left: Samples, right: Samples, out: NDArray) -> NDArray:
    """Fill out[i, j] = left_i' right_j."""
    if isinstance(left, DenseRows) and isinstance(right, DenseRows):
        return np.matmul(left.values, right.values.T, out=out)
    raise TypeError(f"No inner products between {type(left).__name__} and {type(right).__name__}.")


def squared_norms(samples: Samples) -> NDArray[np.float64]:
    """|x|^2 of each sample, in float64."""
    return samples.squares  # type: ignore[attr-defined]


def largest_square(samples: Samples) -> float:
    """The largest |x|^2, infinite when it cannot be told."""
    largest = float(np.max(squared_norms(samples), initial=0.0))
    return largest if np.isfinite(largest) else float("inf")


def product_error(samples: Samples) -> float:
    """Bound on the error of an inner product of two of these samples."""
    unit = float(np.finfo(samples.dtype).eps) / 2  # type: ignore[attr-defined]
    return (SAFETY * np.sqrt(samples.n_features) + 2.0) * unit * largest_square(samples)  # type: ignore[attr-defined]
