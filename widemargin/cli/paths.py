"""Paths among the options of a command: files to read and files to write, which must be different files.

A command that wrote over its own input would destroy it, since a model in place of the data still is a success.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import combinations, product
from typing import Any

import click

from widemargin.storage.atomic import check_writable
from widemargin.storage.errors import FileError

STREAM = "-"  # standard input or output
STANDARD_INPUT = 0  # its descriptor


class OutputPath(click.Path):
    """Type of a path that the command writes to; "-" is standard output where `may_stream`, and refused elsewhere."""

    def __init__(self, *, may_stream: bool = False) -> None:
        super().__init__()
        self.may_stream = may_stream

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if value == STREAM and not self.may_stream:
            self.fail("this result needs a file: give a name, or /dev/stdout", parameter, context)
        return super().convert(value, parameter, context)


FILE = click.Path()  # files are checked by their readers; the type is for shell completion
OUTPUT = OutputPath()
OUTPUT_OR_STREAM = OutputPath(may_stream=True)


def one_output(positional: str | None, option: str | None) -> str | None:
    """Return the output that was given; UsageError if it was given in both ways."""
    if positional is not None and option is not None:
        raise click.UsageError(f"There are two names for one result, {positional} and -o {option}: give one of them.")
    return option if positional is None else positional


def check_paths(inputs: Iterable[str | None], outputs: Iterable[str | None]) -> None:
    """FileError if an output cannot be written, or is the same file as an input or as another output."""
    read = [STANDARD_INPUT if path == STREAM else path for path in inputs if path is not None]
    written = [path for path in outputs if path not in (None, STREAM)]
    for path in written:
        check_writable(path)
    for source, path in product(read, written):
        if _is_same(source, path):
            name = "standard input" if source == STANDARD_INPUT else source
            raise FileError(f"{path} would be written over {name}, which this command reads: choose another name.")
    for first, second in combinations(written, 2):
        if _is_same(first, second):
            raise FileError(f"{first} and {second} are one file, for two results: choose another name for one of them.")


def _is_same(first: str | int, second: str) -> bool:
    """Whether two paths are one regular file, or will be; several results may go to one pipe or device."""
    try:
        return os.path.samefile(first, second) and os.path.isfile(first)
    except OSError:  # one does not exist
        return not isinstance(first, int) and os.path.realpath(first) == os.path.realpath(second)
