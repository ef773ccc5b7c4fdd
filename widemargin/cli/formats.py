"""The format of a data file: as given, or by the file name's extension."""

from __future__ import annotations

import os

TABLES = {"csv": (".csv",), "tsv": (".tsv", ".tab"), "parquet": (".parquet", ".pq"), "arrow": (".arrow", ".feather")}
ARRAYS = {"npz": (".npz",), "npy": (".npy",)}
STRINGS = {"fasta": (".fasta", ".fa", ".fna", ".faa"), "strings": ()}
#: Formats with the endings of their files.
FORMATS = {"libsvm": (".libsvm", ".svm", ".svmlight"), **TABLES, **ARRAYS, **STRINGS}


def format_of(path: str | os.PathLike, given: str | None = None, otherwise: str = "libsvm") -> str:
    """Format of a file: as given, by its extension, or `otherwise`.

    Examples
    --------
    >>> format_of("people.csv.gz"), format_of("a9a.t"), format_of("-"), format_of("-", "csv")
    ('csv', 'libsvm', 'libsvm', 'csv')
    """
    from widemargin.io.raw_bytes import without_compression

    ending = without_compression(path).suffix.lower()
    return given or next((kind for kind, endings in FORMATS.items() if ending in endings), otherwise)


def family(kind: str) -> str:
    """What a format holds: a table with named columns, strings, or a matrix of numbers."""
    return "table" if kind in TABLES else "strings" if kind in STRINGS else "matrix"
