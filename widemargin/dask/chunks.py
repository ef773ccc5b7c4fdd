"""What users give as X, y and weights: rows of a Dask array or dataframe, or data of this process.

Chunks of a Dask collection stay where they are; only their lengths must be known, and are counted where they are not.
Columns in several chunks are joined. y and weights come here: 8 bytes per sample.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from widemargin.dask import slabs
from widemargin.dask.cluster import Cluster, Job, Kept
from widemargin.linalg.exchange import lies_on_a_cluster


class Chunks(NamedTuple):
    """The row blocks of a Dask collection.

    blocks, lengths : the blocks, and the number of rows of each
    width, dtype : of the matrix of all of them
    names : of the columns of a dataframe, or None
    """

    blocks: list[Kept]
    lengths: list[int]
    width: int
    dtype: np.dtype
    names: Any

    def __len__(self) -> int:
        return sum(self.lengths)


def chunks_of(X: Any, cluster: Cluster) -> Chunks:
    """Return the row blocks of a Dask array or dataframe."""
    names = None
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        width, names = len(X.columns), np.asarray(X.columns, dtype=object)
        dtypes = [getattr(kind, "numpy_dtype", kind) for kind in X.dtypes]
        delayed, lengths = list(X.to_delayed()), None
    elif hasattr(X, "chunks") and hasattr(X, "rechunk"):
        if X.ndim != 2:
            raise ValueError(
                f"X must have two dimensions, (rows, features); got {X.ndim}. One feature: X.reshape(-1, 1)."
            )
        if len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        width, dtypes = X.shape[1], [X.dtype]
        delayed = list(X.to_delayed().ravel())
        lengths = None if any(np.isnan(length) for length in X.chunks[0]) else [int(n) for n in X.chunks[0]]
    else:
        raise TypeError(
            f"X is a {type(X).__module__}.{type(X).__name__}; widemargin.dask takes a Dask array or dataframe, and "
            "data of this process (NumPy, CSR, pandas). A bag: bag.to_dataframe(); a series: series.to_frame()."
        )
    strange = [str(kind) for kind in dtypes if getattr(kind, "kind", "O") not in "fiubO"]
    if strange:
        raise ValueError(f"X must hold real numbers; it has columns of {', '.join(sorted(set(strange)))}.")
    single = all(kind == np.float32 for kind in dtypes)
    blocks = [cluster.compute(block) for block in delayed]
    if lengths is None:
        jobs = [Job("count", slabs.count_rows, (block,), slab=number) for number, block in enumerate(blocks)]
        lengths = cluster.results(jobs)
    return Chunks(blocks, lengths, width, np.dtype(np.float32 if single else np.float64), names)


def brought_here(values: Any, cluster: Cluster) -> Any:
    """Return y or weights as they are in this process; a Dask array or series is computed on the cluster."""
    if not lies_on_a_cluster(values):
        return values
    blocks = values.to_delayed()
    blocks = [cluster.compute(block) for block in np.asarray(blocks, dtype=object).ravel()]
    jobs = [Job("targets", slabs.hold, (block,), slab=number) for number, block in enumerate(blocks)]
    parts = [np.asarray(part) for (part,) in cluster.results(jobs)]
    return np.concatenate(parts) if parts else np.empty(0)
