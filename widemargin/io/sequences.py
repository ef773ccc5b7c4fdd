"""Strings with labels, for string kernels: FASTA, or one string per line.

FASTA     >name label=+1 ...     the label is what follows `label=` in the header, else its last word
          ACGT...                may go on over several lines
strings   label TAB string       or `label string`, cut at the first blank; all that follows belongs to the string
"""

from __future__ import annotations

import os
import re

import numpy as np
from numpy.typing import NDArray

from widemargin.io.raw_bytes import Report, read_bytes, shown_name
from widemargin.storage.errors import FileError

_LABEL = re.compile(r"\blabel\s*=\s*(\S+)", re.IGNORECASE)


def read_fasta(path: str | os.PathLike, report: Report | None = None) -> tuple[list[str], NDArray]:
    """Sequences and labels of a FASTA file.

    Parameters
    ----------
    path : path or "-"
        Plain or compressed; "-" is standard input.
    report : callable or None, default None
        Called with the share of the file that has been read.

    Returns
    -------
    strings : list of str
    labels : array of shape (n_samples,), numbers where all are, else texts

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.fa"
    >>> _ = path.write_text(">a label=+1\\nACGT\\nAC\\n>b label=-1\\nTTT\\n")
    >>> strings, labels = read_fasta(path)
    >>> strings, labels.tolist()
    (['ACGTAC', 'TTT'], [1.0, -1.0])
    """
    name = shown_name(path)
    strings: list[list[str]] = []
    labels: list[str] = []
    for number, line in enumerate(_lines(path, name, report), start=1):
        if line.startswith(">"):
            if strings and not strings[-1]:
                raise FileError(f"{name}, line {number}: the header before has no sequence, expected letters after it.")
            labels.append(_label_of(line, name, number))
            strings.append([])
        elif line.strip():
            if not strings:
                raise FileError(f"{name}, line {number}, column 1: expected a FASTA header such as '>name label=+1'.")
            strings[-1].append(line.strip())
    if not strings or not strings[-1]:
        raise FileError(f"{name} holds no sequences after its last header: expected '>name label=+1' and letters.")
    return ["".join(parts) for parts in strings], numbers_or_texts(labels)


def read_strings(path: str | os.PathLike, report: Report | None = None) -> tuple[list[str], NDArray]:
    """Strings and labels of a file with one string per line, `label TAB string` or `label string`.

    Parameters
    ----------
    path : path or "-"
        Plain or compressed; "-" is standard input.
    report : callable or None, default None
        Called with the share of the file that has been read.

    Returns
    -------
    strings : list of str
    labels : array of shape (n_samples,), numbers where all are, else texts

    Examples
    --------
    >>> import os, tempfile
    >>> from widemargin.io import read_strings
    >>> path = os.path.join(tempfile.mkdtemp(), "fruit.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("1 banana\\n2 cherry\\n")
    >>> strings, labels = read_strings(path)
    >>> strings, labels.tolist()
    (['banana', 'cherry'], [1.0, 2.0])
    """
    name = shown_name(path)
    strings, labels = [], []
    for number, line in enumerate(_lines(path, name, report), start=1):
        if not line.strip():
            continue
        label, blank, string = line.partition("\t") if "\t" in line else line.strip().partition(" ")
        if not (label.strip() and string.strip()):
            raise FileError(f"{name}, line {number}, column 1: expected a label, a tab and a string.")
        labels.append(label.strip())
        strings.append(string)
    if not strings:
        raise FileError(f"{name} holds no strings: expected lines with a label, a tab and a string.")
    return strings, numbers_or_texts(labels)


def numbers_or_texts(labels: list[str]) -> NDArray:
    """Labels as numbers where all of them are finite ones, else as texts."""
    try:
        numbers = np.array(labels, np.float64)
    except ValueError:
        return np.array(labels)
    return numbers if np.isfinite(numbers).all() else np.array(labels)


def _lines(path: str | os.PathLike, name: str, report: Report | None) -> list[str]:
    """The lines of a text; the words may be in any language."""
    data = read_bytes(path, report)
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as wrong:
        line = data[: wrong.start].count(b"\n") + 1
        column = wrong.start - data.rfind(b"\n", 0, wrong.start)
        raise FileError(f"{name}, line {line}, column {column}: bytes that are no UTF-8 text, expected text.") from None


def _label_of(header: str, name: str, number: int) -> str:
    """The label in a FASTA header."""
    found = _LABEL.search(header)
    if found:
        return found.group(1)
    words = header[1:].split()
    if not words:
        raise FileError(f"{name}, line {number}, column 2: no label in the header, expected '>name label=+1'.")
    return words[-1]
