"""Inner products of prepared samples, whatever their representation, and where they are exact.

Counts of 0/1 features are exact, and so are sparse whole numbers (counts of words, of k-mers) as long as |x| |z| is
below 1 / u: every partial sum is then a whole number that the precision can hold. All others err as kernels/errors.py
says.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.errors import ErrorTerms, inner_product, unit_of
from widemargin.kernels.fused_rows import fill_block
from widemargin.kernels.kernel import Samples
from widemargin.kernels.popcount import Common
from widemargin.kernels.row_view import flat_rows
from widemargin.kernels.samples.binary import BinaryRows
from widemargin.kernels.samples.dense import DenseColumns, DenseRows
from widemargin.kernels.samples.sparse import SparseRows
from widemargin.kernels.scatter import PRODUCT, add_common

VectorSamples = DenseRows | DenseColumns | SparseRows | BinaryRows


def inner_products(left: Samples, right: Samples, out: NDArray) -> NDArray:
    """Fill out[i, j] = left_i' right_j."""
    if isinstance(left, DenseRows) and isinstance(right, DenseRows):
        with np.errstate(over="ignore", invalid="ignore"):  # `errors` are infinite for data that overflow
            return np.matmul(left.values, right.values.T, out=out)
    if isinstance(left, SparseRows) and isinstance(right, SparseRows):
        return _sparse_products(left, right, out)
    if isinstance(left, BinaryRows) and isinstance(right, BinaryRows):
        return fill_block(Common(np.arange(left.n_features + 1, dtype=out.dtype)), left, right, out)
    raise TypeError(
        f"No inner products between {type(left).__name__} and {type(right).__name__}: prepare one with like= the other."
    )


def scatter_common(left: SparseRows, right: SparseRows, term: int, out: NDArray) -> None:
    """Add to `out` the terms of the rare features that sparse samples have in common."""
    if not out.size:
        return
    spans = (left.start, left.stop), (right.start, right.stop)
    add_common(left.store.lists, spans[0], right.store.inverted_index, spans[1], term, *flat_rows(out))


def _sparse_products(left: SparseRows, right: SparseRows, out: NDArray) -> NDArray:
    """The frequent features by a matrix product, the rare ones by the inverted index."""
    if len(left.store.frequent_columns):
        with np.errstate(over="ignore", invalid="ignore"):
            np.matmul(left.frequent, right.frequent.T, out=out)
    else:
        out[...] = 0.0
    scatter_common(left, right, PRODUCT, out)
    return out


def squared_norms(samples: Samples) -> NDArray[np.float64]:
    """|x|^2 of each sample, in float64."""
    return cast(VectorSamples, samples).squares


def exact_samples(samples: Samples) -> NDArray[np.bool_]:
    """Return the samples whose inner products with each other are exact: counts, and integers below a limit."""
    unit = unit_of(cast(VectorSamples, samples).dtype)
    whole = samples.store.whole if isinstance(samples, SparseRows) else isinstance(samples, BinaryRows)
    return (squared_norms(samples) < 1 / unit) & whole


def is_rounded(samples: Samples) -> bool:
    """Whether samples may differ from the data given, by rounding to their precision or by moving them to an origin."""
    return cast(VectorSamples, samples).dtype != np.float64 or getattr(samples, "origin", None) is not None


def product_errors(samples: Samples) -> ErrorTerms:
    """Bounds on the errors of inner products of these samples."""
    dtype, norms = cast(VectorSamples, samples).dtype, np.sqrt(squared_norms(samples))
    return inner_product(n_terms_of(samples), norms, dtype, is_rounded(samples), exact_samples(samples))


def n_roundings_of_norms(samples: Samples) -> int:
    """Roundings of |x|^2 and |x|_1 in units of the samples' precision: sums in float64 are exact to float32."""
    if isinstance(samples, BinaryRows):
        return 4
    vectors = cast(DenseRows | SparseRows, samples)
    return vectors.n_terms + 1 if vectors.dtype == np.float64 else 1


def n_terms_of(samples: Samples) -> int:
    """Return the largest number of roundings of a term of an inner product of these samples."""
    if isinstance(samples, BinaryRows):  # counts
        return 0 if samples.n_features < 1 / unit_of(samples.dtype) else samples.n_features
    return cast(DenseRows | SparseRows, samples).n_terms + isinstance(samples, SparseRows)
