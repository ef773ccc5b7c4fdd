"""NumPy's files: .npz with the arrays X and y (or a sparse matrix of SciPy), .npy with the target in one column.

Nothing is unpickled: arrays of objects are rejected, so an untrusted file cannot run code.
"""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from widemargin.io.raw_bytes import Report, most_unpacked, read_bytes, shown_name, too_much_unpacked
from widemargin.io.tables import place_of
from widemargin.linalg.sparse_structure import sound_sparse
from widemargin.storage.errors import FileError

SAMPLES, TARGETS = ("X", "x", "data"), ("y", "Y", "target", "targets", "labels")  # usual names of the arrays
SPARSE_PARTS = ("data", "indices", "indptr", "shape")


def read_arrays(
    path: str | os.PathLike,
    kind: str | None = None,
    *,
    target: str | None = None,
    n_features: int | None = None,
    report: Report | None = None,
) -> tuple[Any, NDArray | None]:
    """Samples and targets of an .npz or .npy file.

    Parameters
    ----------
    path : path or "-"
    kind : {"npz", "npy"} or None, default None
        None goes by the ending of the name.
    target : str or None, default None
        .npz: name of the array of targets; None looks for y, target or labels. .npy: place of the column of targets,
        1 the first, -1 the last; None means that there are none.
    n_features : int or None, default None
        Features of the model that the data is for; the targets may then be missing.
    report : callable or None, default None
        Called with the share of the file that has been read.

    Returns
    -------
    X : array or CSR matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,), or None

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.npz"
    >>> np.savez(path, X=np.eye(2), y=np.array(["low", "high"]))
    >>> X, y = read_arrays(path)
    >>> X.shape, y.tolist()
    ((2, 2), ['low', 'high'])
    """
    name = shown_name(path)
    kind = kind or ("npy" if str(path).lower().endswith(".npy") else "npz")
    data = read_bytes(path, report)
    try:
        if data.startswith(b"PK") and sum(part.file_size for part in _parts(data)) > most_unpacked(len(data)):
            raise too_much_unpacked(name, len(data))
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        arrays = {"": loaded} if isinstance(loaded, np.ndarray) else {part: loaded[part] for part in loaded.files}
    except FileError:
        raise
    except Exception as refused:  # zipfile and numpy raise a dozen kinds on damaged files
        if "pickle" in str(refused) and data.startswith((b"PK", b"\x93NUMPY")):
            raise FileError(
                f"{name} holds Python objects, which are not read for safety: save plain numbers."
            ) from None
        raise FileError(f"{name} is not a file of NumPy, or it is damaged: expected .{kind}.") from None
    if "" in arrays:
        X, y = _column_apart(arrays[""], None if arrays[""].shape[-1:] == (n_features,) else target, name)
    else:
        X, y = _named(arrays, target if n_features is None or target in arrays else None, name)
    if X.ndim != 2 or not X.shape[0]:
        raise FileError(f"{name}: the samples have the shape {X.shape}, expected rows and columns.")
    if X.dtype.kind not in "fiub":
        raise FileError(f"{name}: the samples have the type {X.dtype}, expected numbers.")
    if y is not None and y.shape != (X.shape[0],):
        raise FileError(f"{name}: the targets have the shape {y.shape}, expected ({X.shape[0]},), one for each row.")
    entries = X.data if isinstance(X, csr_matrix) else X
    if not np.isfinite(entries).all():
        where = "" if isinstance(X, csr_matrix) else ", row {} column {}".format(*(np.argwhere(~np.isfinite(X))[0] + 1))
        raise FileError(f"{name}{where}: a value is nan or infinite, expected finite numbers.")
    return X.astype(np.float64, copy=False) if X.dtype.kind != "f" else X, y


def _parts(data: bytes | bytearray) -> list[zipfile.ZipInfo]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.infolist()


def _column_apart(matrix: NDArray, target: str | None, name: str) -> tuple[NDArray, NDArray | None]:
    """Split a matrix into samples and the column `target`."""
    if target is None:
        return matrix, None
    width = matrix.shape[1] if matrix.ndim == 2 else 0
    column = place_of(target, width)
    if column is None:
        raise FileError(f"{name} has no column {target!r}: give a number from 1 to {width}, or -1 for the last.")
    return np.delete(matrix, column, axis=1), matrix[:, column]


def _named(arrays: dict[str, NDArray], target: str | None, name: str) -> tuple[Any, NDArray | None]:
    """Return X and y from the arrays of an .npz file."""
    targets = (target,) if target is not None else TARGETS
    y = next((arrays[label] for label in targets if label in arrays), None)
    if target is not None and y is None:
        raise FileError(f"{name} has no array {target!r}: it holds {', '.join(arrays)}.")
    if all(part in arrays for part in SPARSE_PARTS):
        try:
            matrix = csr_matrix(tuple(arrays[part] for part in SPARSE_PARTS[:3]), shape=tuple(arrays["shape"]))
            sound_sparse(matrix).sum_duplicates()
        except (ValueError, TypeError) as refused:
            raise FileError(f"{name} is not a sparse matrix in CSR form ({refused}).") from None
        return matrix, y
    X = next((arrays[label] for label in SAMPLES if label in arrays), None)
    if X is None:
        raise FileError(f"{name} holds the arrays {', '.join(arrays) or '(none)'}, expected X and y.")
    return X, y
