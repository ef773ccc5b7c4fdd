"""LIBSVM text: one sample per line, `label index:value index:value ...`, indices ascending, zeros left out.

    +1 1:0.5 3:-2.25      # a comment may follow
    -1 2:1

Indices count from 1; a file in which index 0 occurs counts from 0. Compressed files are decompressed on the way, and
"-" reads standard input. The compiled parser reads the bytes in parallel chunks; only when it refuses is a line looked
at in plain Python, to say what is wrong there and what was expected.

See     https://www.csie.ntu.edu.tw/~cjlin/libsvm/  (the format is described in its README)
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from widemargin.io.decimal_number import NUMBER, TOO_LONG
from widemargin.io.libsvm_parser import WrongLine, parse
from widemargin.io.raw_bytes import Report, read_bytes, shown_name
from widemargin.parallel.tiles import resolve_n_jobs
from widemargin.storage.errors import FileError

LONGEST_QUOTE = 40  # characters of a wrong token shown in an error
EXPECTED = "expected 'label index:value index:value ...'"
UTF8_MARK, UTF16_MARKS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")  # byte order marks that editors write

_TOKEN = re.compile(rb"[^ \t\v\f\r]+")


def read_libsvm(
    path: str | os.PathLike,
    n_features: int | None = None,
    *,
    zero_based: bool | None = None,
    n_jobs: int | None = None,
    report: Report | None = None,
) -> tuple[csr_matrix, NDArray[np.float64]]:
    """Read a LIBSVM text file.

    Parameters
    ----------
    path : path or "-"
        Plain text, or compressed as .gz, .bz2, .xz; "-" is standard input.
    n_features : int or None, default None
        Number of columns wanted: columns that the file does not reach are empty. None takes the largest index.
    zero_based : bool or None, default None
        Whether indices count from 0. None means: if index 0 occurs.
    n_jobs : int or None, default None
        Threads; None means all cores.
    report : callable or None, default None
        Called with the share of the file that has been read, between 0 and 1.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_features), float64
    y : float64 array of shape (n_samples,)

    Raises
    ------
    FileError
        The file cannot be read, or a line is wrong; the message names file, line and column and says what was expected.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.txt"
    >>> _ = path.write_text("+1 1:0.5 3:-2\\n-1 2:1\\n")
    >>> X, y = read_libsvm(path)
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, -2.0], [0.0, 1.0, 0.0]], [1.0, -1.0])
    """
    data = read_bytes(path, report)
    X, y, _ = matrix_from_text(data, shown_name(path), n_features, zero_based=zero_based, n_jobs=n_jobs)
    return X, y


def matrix_from_text(
    data: bytes | bytearray,
    name: str,
    n_features: int | None = None,
    *,
    zero_based: bool | None = None,
    n_jobs: int | None = None,
) -> tuple[csr_matrix, NDArray[np.float64], bool]:
    """As `read_libsvm`, for bytes in memory; the third value is whether indices count from 0.

    A bytearray is used as it is, without a copy, and gets a newline added.
    """
    text = data if isinstance(data, bytearray) else bytearray(data)
    if text.startswith(UTF8_MARK):
        del text[: len(UTF8_MARK)]
    text += b"\n"  # so that the parser needs no test for the end
    try:
        labels, values, indices, row_starts = parse(text, resolve_n_jobs(n_jobs))
    except WrongLine as wrong:
        raise _explained(text, wrong.args[0], name) from None
    if not len(labels):
        raise FileError(f"{name} holds no samples: expected lines such as '+1 1:0.5 3:-2'.")
    has_zero = indices.min(initial=1) == 0
    if zero_based is None:
        zero_based = bool(has_zero)
    elif has_zero and not zero_based:
        raise FileError(f"{name} has feature 0, but indices were expected to count from 1: add 1 to every index.")
    if not zero_based:
        indices -= 1
    reached = int(indices.max(initial=-1)) + 1
    wanted = reached if n_features is None else n_features
    if reached > wanted:
        raise FileError(
            f"{name} has feature {reached - zero_based}, but {wanted} features were expected: "
            "give a larger number of features, or another file."
        )
    X = csr_matrix((values, indices, row_starts), shape=(len(labels), wanted))
    X.has_sorted_indices = X.has_canonical_format = True  # the parser rejects anything else, so no check is needed
    return X, labels, zero_based


def write_libsvm(X: Any, y: NDArray, stream: TextIO, *, zero_based: bool = False, digits: int | None = None) -> None:
    """Write samples as LIBSVM text.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    stream : text stream to write to
    zero_based : bool, default False
        Count features from 0 instead of 1.
    digits : int or None, default None
        Significant digits of the values. None writes the fewest that read back to the same float64.

    Examples
    --------
    >>> import sys
    >>> write_libsvm(np.array([[0.5, 0.0, -2.0]]), np.array([1.0]), sys.stdout)
    1 1:0.5 3:-2
    """
    X = csr_matrix(X)
    X.sort_indices()
    first = 0 if zero_based else 1
    write = shortest if digits is None else f"{{:.{digits}g}}".format
    for row, label in enumerate(y):
        part = slice(X.indptr[row], X.indptr[row + 1])
        entries = zip(X.indices[part].tolist(), X.data[part].tolist())
        words = [f"{index + first}:{write(value)}" for index, value in entries if value != 0.0]
        stream.write(" ".join([shortest(float(label)), *words]) + "\n")


def shortest(number: float) -> str:
    """A number in the fewest digits that read back to it, whole numbers without a point.

    Examples
    --------
    >>> shortest(1.0), shortest(0.1), shortest(1e300)
    ('1', '0.1', '1e+300')
    """
    return f"{number:.0f}" if number.is_integer() and abs(number) < 2**53 else repr(number)


def _explained(text: bytearray, place: int, name: str) -> FileError:
    """Return the error for the line that contains byte `place`."""
    begin = text.rfind(b"\n", 0, place) + 1
    line = bytes(text[begin : text.index(b"\n", begin)])
    number = text.count(b"\n", 0, begin) + 1
    if number == 1 and line.startswith(UTF16_MARKS):
        return FileError(f"{name} is UTF-16 text: save it as UTF-8 or ASCII; {EXPECTED}.")
    column, what = wrong_with(line) or (place - begin + 1, f"not LIBSVM text, {EXPECTED}")
    return FileError(f"{name}, line {number}, column {column}: {what}.")


def wrong_with(line: bytes) -> tuple[int, str] | None:
    """Column of the first mistake in one line and a sentence about it, or None.

    Examples
    --------
    >>> wrong_with(b"+1 3:0.5 2:1")
    (10, 'index 2 comes after 3, expected ascending indices without repetition')
    >>> wrong_with(b"+1 1:0.5 3:1  # fine") is None
    True
    """
    return next(_mistakes(line.rstrip(b"\n").split(b"#", 1)[0]), None)


def _mistakes(line: bytes) -> Iterator[tuple[int, str]]:
    """Every mistake of a line without its comment, in order; the grammar is that of `libsvm_parser`."""
    last = -1
    for position, match in enumerate(_TOKEN.finditer(line)):
        column = match.start() + 1
        if position > 0 and match.group().startswith(b"qid:"):  # skipped, whatever it holds
            continue
        try:
            token = match.group().decode("ascii")
        except UnicodeDecodeError:
            yield column, f"bytes that are no ASCII text, {EXPECTED}"
            return
        if "\0" in token:
            yield column, f"a zero byte, as in binary files, {EXPECTED}"
            return
        index, colon, value = token.partition(":")
        if position == 0:
            if colon:
                yield column, f"no label before {quote(token)}, {EXPECTED}; write 0 where it is not known"
            elif not _is_finite_number(token):
                yield column, f"the label {quote(token)} is not a finite number, expected for example +1, -1 or 2.5"
            continue
        if not colon:
            yield column, f"{quote(token)} has no colon, expected index:value such as 3:0.5"
        elif not re.fullmatch(r"\d+", index, re.ASCII):
            yield column, f"the index in {quote(token)} is not a whole number from 0 up, such as the 3 in 3:0.5"
        elif int(index) >= TOO_LONG:
            yield column, f"index {quote(index)} is too large, expected at most {TOO_LONG - 1}"
        elif int(index) <= last:
            yield column, f"index {int(index)} comes after {last}, expected ascending indices without repetition"
        elif not _is_finite_number(value):
            where = column + len(index) + 1
            yield where, f"the value in {quote(token)} is not a finite number, expected index:value such as 3:0.5"
        else:
            last = int(index)


def _is_finite_number(text: str) -> bool:
    """float() also takes "nan", "inf", blanks and underscores, which no LIBSVM program writes or reads."""
    return NUMBER.fullmatch(text.encode()) is not None and math.isfinite(float(text))


def quote(token: str) -> str:
    """A token as shown in errors, shortened where a binary or wrongly separated file makes it endless."""
    return repr(token if len(token) <= LONGEST_QUOTE else token[:LONGEST_QUOTE] + "...")
