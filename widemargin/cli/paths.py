"""Paths among the options of a command: files to read and files to write, which must be different files.

A command that wrote over its own input would destroy it, since a model in place of the data still is a success.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import combinations, product

import click

from widemargin.storage.atomic import check_writable
from widemargin.storage.errors import FileError

STREAM = "-"  # standard input or output


class OutputPath(click.Path):
    """Type of a path that the command writes to."""


FILE = click.Path()  # files are checked by their readers; the type is for shell completion
OUTPUT = OutputPath()


def check_paths(inputs: Iterable[str | None], outputs: Iterable[str | None]) -> None:
    """FileError if an output cannot be written, or is the same file as an input or as another output."""
    read = [path for path in inputs if path not in (None, STREAM)]
    written = [path for path in outputs if path not in (None, STREAM)]
    for path in written:
        check_writable(path)
    for source, path in product(read, written):
        if _is_same(source, path):
            raise FileError(f"{path} would be written over {source}, which this command reads: choose another name.")
    for first, second in combinations(written, 2):
        if _is_same(first, second):
            raise FileError(f"{first} and {second} are one file, for two results: choose another name for one of them.")


def _is_same(first: str, second: str) -> bool:
    """Whether two paths are one regular file, or will be; several results may go to one pipe or device."""
    try:
        return os.path.samefile(first, second) and os.path.isfile(first)
    except OSError:  # one does not exist
        return os.path.realpath(first) == os.path.realpath(second)
