"""LIBSVM text: one sample per line, `label index:value index:value ...`, indices ascending, zeros left out.

    +1 1:0.5 3:-2.25      # a comment may follow
    -1 2:1

Indices count from 1; a file in which index 0 occurs counts from 0. Files ending in .gz, .bz2 or .xz are decompressed on
the way, and "-" reads standard input. The quick parser of scikit-learn reads the file; only when it refuses is the text
looked at line by line, to say which line is wrong and what was expected there.

See     https://www.csie.ntu.edu.tw/~cjlin/libsvm/  (the format is described in its README)
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import os
import sys
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.datasets import load_svmlight_file

from widemargin.io.errors import FileError

OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".lzma": lzma.open}
DAMAGED = (EOFError, lzma.LZMAError, gzip.BadGzipFile, OSError)  # what the decompressors raise on a broken archive
BUFFER_BYTES = (
    1 << 20
)  # the parser reads line by line: without a large buffer each line is a call into the decompressor
LARGEST_INDEX = 2**31 - 1  # the parser's integers have 32 bits
LONGEST_QUOTE = 40  # characters of a wrong token shown in an error


def read_libsvm(path: str | os.PathLike, n_features: int | None = None) -> tuple[csr_matrix, NDArray[np.float64]]:
    """Read a LIBSVM text file.

    Parameters
    ----------
    path : path or "-"
        Plain text, or compressed as .gz, .bz2, .xz; "-" is standard input.
    n_features : int or None, default None
        Number of columns wanted: columns that the file does not reach are empty. None takes the largest index.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_features), float64
    y : float64 array of shape (n_samples,)

    Raises
    ------
    FileError
        The file cannot be read, or a line is wrong; the message names file and line and says what was expected.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.txt"
    >>> _ = path.write_text("+1 1:0.5 3:-2\\n-1 2:1\\n")
    >>> X, y = read_libsvm(path)
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, -2.0], [0.0, 1.0, 0.0]], [1.0, -1.0])
    """
    whole = sys.stdin.buffer.read() if str(path) == "-" else None  # kept, since explaining an error takes a second look
    name = str(path) if whole is None else "standard input"
    try:
        with _open(path, whole, name) as text:
            X, y = load_svmlight_file(text)
    except FileError:
        raise
    except (ValueError, OverflowError, IndexError, *DAMAGED) as refused:
        raise _explain(path, whole, name, refused) from None
    if not len(y):
        raise FileError(f"{name} holds no samples: expected lines such as '+1 1:0.5 3:-2'.")
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise _explain(path, whole, name, ValueError("a value is not finite"))
    return _with_columns(X, n_features, name), y


def _open(path: str | os.PathLike, whole: bytes | None, name: str) -> BinaryIO:
    """A stream of decompressed bytes, or a sentence that says why there is none."""
    if whole is not None:
        return io.BytesIO(whole)
    if os.path.isdir(path):
        raise FileError(f"{name} is a folder: expected a file of LIBSVM text.")
    opener = OPENERS.get(Path(path).suffix.lower(), open)
    try:
        return cast(BinaryIO, io.BufferedReader(opener(path, "rb"), BUFFER_BYTES))  # type: ignore[operator]
    except FileNotFoundError:
        raise FileError(f"{name} does not exist: check the path.") from None
    except OSError as error:
        raise FileError(f"{name} cannot be read: {error.strerror or error}.") from None


def _with_columns(X: csr_matrix, n_features: int | None, name: str) -> csr_matrix:
    """Give X the number of columns wanted, and indices of 32 bits where they suffice: half the memory."""
    wanted = X.shape[1] if n_features is None else n_features
    if X.shape[1] > wanted:
        raise FileError(
            f"{name} has feature {X.shape[1]}, but {wanted} features were expected: "
            "give a larger number of features, or another file."
        )
    indices, indptr = X.indices, X.indptr
    if len(indices) <= LARGEST_INDEX:
        indices, indptr = indices.astype(np.int32), indptr.astype(np.int32)
    return csr_matrix((X.data, indices, indptr), shape=(X.shape[0], wanted))


def _explain(path: str | os.PathLike, whole: bytes | None, name: str, refused: Exception) -> FileError:
    """Find the first line that is not LIBSVM text."""
    try:
        with _open(path, whole, name) as lines:
            for number, line in enumerate(lines, start=1):
                wrong = wrong_with(line)
                if wrong:
                    return FileError(f"{name}, line {number}: {wrong}.")
    except DAMAGED as damage:
        return FileError(f"{name} is damaged or not what its ending says ({damage}): make or fetch it anew.")
    return FileError(f"{name} is not LIBSVM text ({refused}): expected lines such as '+1 1:0.5 3:-2'.")


def wrong_with(line: bytes) -> str | None:
    """What is wrong with one line and what was expected, or None.

    Examples
    --------
    >>> wrong_with(b"+1 3:0.5 2:1")
    'index 2 comes after 3, expected ascending indices without repetition'
    >>> wrong_with(b"+1 1:0.5 3:1  # fine") is None
    True
    """
    try:
        tokens = line.split(b"#", 1)[0].decode("ascii").split()
    except UnicodeDecodeError:
        return "bytes that are no ASCII text, expected 'label index:value index:value ...'"
    if not tokens:
        return None
    if ":" in tokens[0]:
        return f"no label before {_quote(tokens[0])}, expected 'label index:value index:value ...'"
    if not _is_finite_number(tokens[0]):
        return f"the label {_quote(tokens[0])} is not a finite number, expected for example +1, -1 or 2.5"
    last = -1
    for token in tokens[1:]:
        index, colon, value = token.partition(":")
        if index == "qid" and colon:
            continue
        if not colon:
            return f"{_quote(token)} has no colon, expected index:value such as 3:0.5"
        if not (index.isdigit() and index.isascii()):
            return f"the index in {_quote(token)} is not a whole number from 0 up, expected index:value such as 3:0.5"
        if not _is_finite_number(value):
            return f"the value in {_quote(token)} is not a finite number, expected index:value such as 3:0.5"
        if int(index) > LARGEST_INDEX:
            return f"index {index} is too large, expected at most {LARGEST_INDEX}"
        if int(index) <= last:
            return f"index {int(index)} comes after {last}, expected ascending indices without repetition"
        last = int(index)
    return None


def _is_finite_number(text: str) -> bool:
    """float() also takes "nan", "inf" and underscores, which no LIBSVM program writes or reads."""
    try:
        return math.isfinite(float(text)) and "_" not in text
    except ValueError:
        return False


def _quote(token: str) -> str:
    """A token as shown in errors, shortened where a binary or wrongly separated file makes it endless."""
    return repr(token if len(token) <= LONGEST_QUOTE else token[:LONGEST_QUOTE] + "...")
