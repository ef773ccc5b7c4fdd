"""F = K b computed afresh from the support vectors, for certificates.

Large problems were solved with float32 rows. To check them in float64 throughout would cost more than the fit. But only
the samples at the edge can decide the violation: with |error of a kernel value| <= d every F_i of a float32 pass is
within e = d sum |b| of the truth, so a sample whose slope is more than 2e away from the extreme slope of its group
cannot be the extreme. The few that remain are evaluated in float64; the violation that follows is the float64 one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin._jit import jit
from widemargin.gram.gram import kernel_product
from widemargin.kernels.kernel import Kernel, Samples
from widemargin.problems.dual import SignedDual
from widemargin.solvers.optimality import scan_groups


def fresh_function(
    kernel: Kernel,
    at: Samples,
    vectors: Samples,
    coefficients: NDArray[np.float64],
    dtype: DTypeLike,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """F = sum_k coefficients[k] k(., vectors_k) on the samples `at`; `dtype` is the precision both were prepared in."""
    if not len(vectors):
        return np.zeros(len(at))
    return kernel_product(kernel, at, vectors, coefficients, np.dtype(dtype), n_threads)


def decisive_samples(dual: SignedDual, beta: NDArray, function: NDArray, error: float) -> NDArray[np.int64]:
    """Samples whose slope, known to within `error`, could be an extreme of its group."""
    f = dual.gradient(beta, function)
    table = scan_groups(f, beta, dual.lo, dual.hi, dual.kink, dual.group_starts, dual.n_groups, 0.0)
    low, high = table[:, 0] + 2.0 * error, table[:, 1] - 2.0 * error
    if dual.n_groups == 0:  # slopes are compared with zero: what is clearly on the right side of it decides nothing
        low, high = np.maximum(low, 0.0), np.minimum(high, 0.0)
    group = dual.group if dual.n_groups else np.zeros(len(dual), np.int64)
    near = _near(f, beta, dual.lo, dual.hi, dual.kink, group, low, high)
    variables = np.flatnonzero(near)
    return variables if dual.row is None else np.unique(dual.row[variables])


@jit
def _near(f, beta, lo, hi, kink, group, low, high):
    """Variables that can rise with a slope below `low` of their group, or fall with one above `high`."""
    near = np.zeros(f.shape[0], np.bool_)
    for t in range(f.shape[0]):
        b = beta[t]
        rise = f[t] + kink[t] if b >= 0.0 else f[t] - kink[t]
        fall = f[t] + kink[t] if b > 0.0 else f[t] - kink[t]
        near[t] = (b < hi[t] and rise <= low[group[t]]) or (b > lo[t] and fall >= high[group[t]])
    return near
