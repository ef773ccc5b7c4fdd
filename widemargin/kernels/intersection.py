"""The histogram intersection kernel: what two histograms have in common.

    k(x, z) = sum_j min(x_j, z_j),    x, z >= 0

It is an inner product: write a bar of height x_j as the function that is 1 up to x_j and 0 above; the integral of the
product of two such functions is min(x_j, z_j).

Source: Barla, Odone & Verri (2003), Histogram intersection kernel for image classification, ICIP. This file is the
kernel class of the tutorial docs/your-own-kernel.md, which shows the source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from widemargin._jit import REASSOCIATE, jit
from widemargin.kernels.errors import SECOND_ORDER, ErrorTerms, bounded, multiplicative, unit_of
from widemargin.kernels.kernel import Kernel, RepresentationMismatch, Samples
from widemargin.kernels.row_view import flat_rows, writable
from widemargin.kernels.samples.dense import DenseRows, dense_rows
from widemargin.kernels.samples.raw import as_dense, check_features, read_matrix


@dataclass(frozen=True)
class Intersection(Kernel):
    """k(x, z) = sum_j min(x_j, z_j) for histograms, whose entries are not negative.

    Examples
    --------
    >>> from widemargin.kernels import Intersection
    >>> Intersection()([[3.0, 1.0, 0.0]], [[2.0, 2.0, 5.0]]).tolist()
    [[3.0]]
    """

    is_psd = True

    def prepare(self, X: Any, dtype: DTypeLike = np.float64, like: Samples | None = None) -> DenseRows:
        matrix = read_matrix(X)
        if like is not None:
            if not isinstance(like, DenseRows):
                raise RepresentationMismatch(f"Histograms cannot follow {type(like).__name__}.")
            check_features(matrix, like.n_features)
            dtype = like.dtype
        samples = dense_rows(as_dense(matrix), dtype)
        if samples.values.size and samples.values.min() < 0:
            raise ValueError("Histograms have no negative entries: Intersection is a kernel on values >= 0 only.")
        return samples

    def block(self, left: Samples, right: Samples, out: NDArray) -> NDArray:
        one, two = cast(DenseRows, left), cast(DenseRows, right)
        if out.size:
            add_minima(writable(one.values), writable(two.values), *flat_rows(out))
        return out

    def diag(self, samples: Samples) -> NDArray[np.float64]:
        return cast(DenseRows, samples).values.sum(axis=1, dtype=np.float64)

    def errors(self, samples: Samples) -> ErrorTerms:
        """n_terms numbers are rounded once each and then added up; the sum is at most sqrt(k(x, x) k(z, z))."""
        rows = cast(DenseRows, samples)
        unit, smallest = unit_of(rows.dtype), float(np.finfo(rows.dtype).tiny)
        size = SECOND_ORDER * (np.sqrt(self.diag(samples)) + np.sqrt(smallest / unit))
        count = rows.n_terms + 2
        return multiplicative(count * unit, bounded(size, count, rows.dtype), size)


@jit(fastmath=REASSOCIATE)
def add_minima(left, right, flat, step):
    """flat[i * step + j] = sum of the smaller entries of left[i] and right[j]."""
    for i in range(left.shape[0]):
        x = left[i]
        for j in range(right.shape[0]):
            z = right[j]
            total = left.dtype.type(0.0)
            for k in range(x.shape[0]):
                total += min(x[k], z[k])
            flat[i * step + j] = total
