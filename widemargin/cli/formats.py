"""The format of a data file: as given, or by the file name's extension."""

from __future__ import annotations

import os

FORMATS = ("libsvm", "csv", "tsv", "parquet", "arrow", "npz", "npy", "fasta", "strings")
TABLES = ("csv", "tsv", "parquet", "arrow")
STRINGS = ("fasta", "strings")

BY_ENDING = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".npz": "npz",
    ".npy": "npy",
    ".fasta": "fasta",
    ".fa": "fasta",
    ".fna": "fasta",
    ".faa": "fasta",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
}


def format_of(path: str | os.PathLike, given: str | None = None, otherwise: str = "libsvm") -> str:
    """Format of a file: as given, by its extension, or `otherwise`.

    Examples
    --------
    >>> format_of("people.csv.gz"), format_of("a9a.t"), format_of("-"), format_of("-", "csv")
    ('csv', 'libsvm', 'libsvm', 'csv')
    """
    from widemargin.io.raw_bytes import without_compression

    if given is not None:
        return given
    return BY_ENDING.get(without_compression(path).suffix.lower(), otherwise)


def family(kind: str) -> str:
    """What a format holds: a table with named columns, strings, or a matrix of numbers."""
    return "table" if kind in TABLES else "strings" if kind in STRINGS else "matrix"
