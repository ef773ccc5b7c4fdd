"""Single kernel values, as the algorithms of 1998 use them: from points, or from a matrix in memory.

Points are kept in one of Platt's three forms (1998, section 3): dense vectors, sparse ones (indices and values), and
sparse binary ones (indices only). Every dot product is taken between a stored point and a dense working vector `work`,
into which the other point was loaded: dense 300 multiplications, sparse as many as there are non-zeros, binary as many
additions.

    linear x'z        Gaussian exp(-gamma (|x|^2 + |z|^2 - 2 x'z))        polynomial (gamma x'z + coef0)^degree

Other kernels are read from their whole matrix, which has to fit into memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin._jit import CONTRACT, REASSOCIATE, jit
from widemargin.gram.full import FullGram
from widemargin.gram.gram import Gram
from widemargin.kernels.gaussian import Gaussian
from widemargin.kernels.inner_product import Linear, Polynomial
from widemargin.kernels.kernel import Samples
from widemargin.kernels.samples.binary import BinaryRows
from widemargin.kernels.samples.dense import DenseColumns, DenseRows
from widemargin.kernels.samples.sparse import SparseRows
from widemargin.linalg.arrays import Index, Vector

MATRIX, DENSE, SPARSE, BINARY = range(4)  # forms in which values or points are held
LINEAR, GAUSSIAN, POLYNOMIAL = range(3)
FORMS = {"dense": DENSE, "sparse": SPARSE, "binary": BINARY}
KINDS: dict[Any, int] = {Linear: LINEAR, Gaussian: GAUSSIAN, Polynomial: POLYNOMIAL}
LARGEST_MATRIX = 2**30  # bytes: largest matrix that is computed only for a reference solver


class KernelValues(NamedTuple):
    """Data for compiled loops that evaluate k(x_i, x_j); unused parts are empty."""

    form: int
    matrix: NDArray = np.empty((0, 0))
    dense: Vector = np.empty((0, 0))
    starts: Index = np.empty(0, np.int64)
    features: Index = np.empty(0, np.int64)
    data: Vector = np.empty(0)
    squares: Vector = np.empty(0)
    n_features: int = 0
    kernel: int = LINEAR
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 1


@jit
def add_point(values, i, step, vector):
    """vector += step x_i: equation (22) for the weights; step 1 loads the point into a working vector of zeros."""
    if values.form == DENSE:
        for k in range(vector.shape[0]):
            vector[k] += step * values.dense[i, k]
    elif values.form != MATRIX:
        for k in range(values.starts[i], values.starts[i + 1]):
            vector[values.features[k]] += step if values.form == BINARY else step * values.data[k]


@jit
def unload(values, i, work):
    """Reset the working vector to zero."""
    if values.form == DENSE:
        for k in range(work.shape[0]):
            work[k] = 0.0
    elif values.form != MATRIX:
        for k in range(values.starts[i], values.starts[i + 1]):
            work[values.features[k]] = 0.0


@jit(fastmath=REASSOCIATE)
def product(values, work, j):
    """Return x_j'work, in the form of the stored points."""
    total = 0.0
    if values.form == DENSE:
        row = values.dense[j]
        for k in range(row.shape[0]):
            total += row[k] * work[k]
    elif values.form == SPARSE:
        for k in range(values.starts[j], values.starts[j + 1]):
            total += values.data[k] * work[values.features[k]]
    else:
        for k in range(values.starts[j], values.starts[j + 1]):
            total += work[values.features[k]]
    return total


@jit(fastmath=CONTRACT)
def kernel_value(values, work, i, j):
    """k(x_i, x_j), with point i loaded into `work`."""
    if values.form == MATRIX:
        return float(values.matrix[i, j])
    dot = product(values, work, j)
    if values.kernel == LINEAR:
        return dot
    if values.kernel == GAUSSIAN:
        return np.exp(-values.gamma * max(0.0, values.squares[i] + values.squares[j] - 2.0 * dot))
    return (values.gamma * dot + values.coef0) ** values.degree


def values_of(gram: Gram, form: str = "auto") -> KernelValues:
    """Return the kernel values of a Gram, from points if its kernel is one of the three, else from its matrix.

    form : "auto" takes the points as the Gram holds them, a Gram with its matrix in memory is read as it is unless the
        kernel is linear; "dense", "sparse" and "binary" insist on a form of the points, "matrix" on the matrix.
    """
    kernel, samples = getattr(gram, "kernel", None), getattr(gram, "samples", None)
    kind = KINDS.get(type(kernel)) if samples is not None else None
    if form == "matrix" or kind is None or (form == "auto" and isinstance(gram, FullGram) and kind != LINEAR):
        if form in FORMS:
            raise ValueError(
                f"form={form!r} needs the points themselves and a linear, Gaussian or polynomial kernel; "
                "use form='auto'."
            )
        return _from_matrix(gram)
    given = {name: getattr(kernel, name) for name in ("gamma", "coef0", "degree") if hasattr(kernel, name)}
    return _from_points(samples, form)._replace(kernel=kind, **given)


def _from_matrix(gram: Gram) -> KernelValues:
    """Return all values in memory; raise ValueError if they do not fit."""
    n = len(gram)
    size = n * n * gram.dtype.itemsize
    if not isinstance(gram, FullGram) and size > LARGEST_MATRIX:
        raise ValueError(
            f"This solver reads kernel values one at a time; with this kernel it needs the whole matrix, "
            f"{size / 2**30:.1f} GB for {n} samples, and takes at most {LARGEST_MATRIX / 2**30:.0f} GB. "
            "Use solver='block' or 'osuna'."
        )
    return KernelValues(MATRIX, gram.block(np.arange(n)))


def _from_points(samples: Samples | None, form: str) -> KernelValues:
    """Return the points in one of the three forms."""
    rows: Any = _rows(samples)
    if form == "auto":
        binary = isinstance(samples, BinaryRows) and samples.values == (0.0, 1.0)
        form = "binary" if binary else "sparse" if sparse.issparse(rows) else "dense"
    if form == "dense":
        dense = np.ascontiguousarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
        squares = np.einsum("ij,ij->i", dense, dense)
        return KernelValues(DENSE, dense=dense, squares=squares, n_features=rows.shape[1])
    listed = sparse.csr_array(rows, dtype=np.float64)
    listed.eliminate_zeros()
    if form == "binary" and np.any(listed.data != 1.0):
        raise ValueError("form='binary' needs features that are all 0 or 1; use form='sparse'.")
    return KernelValues(
        FORMS[form],
        starts=listed.indptr.astype(np.int64),
        features=listed.indices.astype(np.int64),
        data=listed.data,
        squares=np.asarray(listed.multiply(listed).sum(axis=1)).ravel(),
        n_features=rows.shape[1],
    )


def _rows(samples: Samples | None) -> NDArray | sparse.csr_array:
    """Return the points of prepared samples, one per row; a shift of the origin does not affect distances."""
    if isinstance(samples, DenseRows):
        return samples.values
    if isinstance(samples, DenseColumns):
        return samples.view().T
    if isinstance(samples, BinaryRows):
        words = np.ascontiguousarray(samples.words[:, samples.start : samples.stop].T)
        bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, : samples.n_features]
        low, high = samples.values
        return np.where(bits, high, low) if low else sparse.csr_array(high * bits)
    if isinstance(samples, SparseRows):
        store, part = samples.store, slice(samples.start, samples.stop)
        dense = sparse.csr_array(store.frequent)
        columns = store.frequent_columns[dense.indices]
        frequent = sparse.csr_array((dense.data, columns, dense.indptr), shape=store.rare.shape)
        return sparse.csr_array(store.rare + frequent)[part]
    raise TypeError(f"No points can be read from {type(samples).__name__}.")
