"""The bytes of a file: plain, .gz, .bz2, .xz, or "-" for standard input.

What a file is compressed with is seen from its first bytes; its name only has to agree where it claims something. What
can go wrong on the way (no such file, a folder, no permission, a truncated archive) is a sentence. A few bytes can
unpack to gigabytes, so how much a file may unpack to depends on its size.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from widemargin.storage.errors import FileError

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".lzma": lzma.open}
MAGIC = ((b"\x1f\x8b", ".gz"), (b"BZh", ".bz2"), (b"\xfd7zXZ\x00", ".xz"), (b"\x5d\x00\x00", ".lzma"))
ZSTANDARD = b"\x28\xb5\x2f\xfd"
LEAST_LIMIT = 1 << 26  # bytes to which any file may unpack
MOST_EXPANSION = 100  # times its size to which a larger file may unpack: text of data sets shrinks to a third to 1/30
BLOCK_BYTES = 1 << 22  # between two reports of progress: some 10 ms of decompressing
DAMAGE = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, OSError)  # of the decompressors on a broken archive

#: Called with the share of the file that has been read, from 0 to 1.
Report = Callable[[float], None]


def shown_name(path: str | os.PathLike) -> str:
    """A file's name in messages."""
    return "standard input" if str(path) == "-" else str(path)


def without_compression(path: str | os.PathLike) -> Path:
    """The name without the ending of a compression.

    Examples
    --------
    >>> without_compression("sets/a9a.t.xz").name
    'a9a.t'
    """
    given = Path(path)
    return given.with_suffix("") if given.suffix.lower() in OPENERS else given


def read_bytes(path: str | os.PathLike, report: Report | None = None) -> bytearray:
    """All bytes of a file, decompressed. A bytearray, because the parser of numbers works on it without a copy."""
    name = shown_name(path)
    if str(path) == "-":
        return _decompressed(io.BytesIO(sys.stdin.buffer.read()), "", name, None)
    if os.path.isdir(path):
        raise FileError(f"{name} is a folder: expected a file.")
    try:
        with open(path, "rb") as stream:
            return _decompressed(stream, Path(path).suffix.lower(), name, report)
    except FileNotFoundError:
        raise FileError(f"{name} does not exist: check the path.") from None
    except OSError as error:
        raise FileError(f"{name} cannot be read: {error.strerror or error}.") from None


def most_unpacked(size: int) -> int:
    """Bytes to which a file of this size may unpack."""
    return max(LEAST_LIMIT, MOST_EXPANSION * size)


def too_much_unpacked(name: str, size: int) -> FileError:
    return FileError(
        f"{name} has {size:,} bytes and would unpack to more than {most_unpacked(size):,}, which no ordinary data do: "
        "unpack it yourself and read the result, if that is what it should be."
    )


def _decompressed(stream: BinaryIO, ending: str, name: str, report: Report | None) -> bytearray:
    """Return a stream through the decompressor that its first bytes indicate."""
    if not stream.seekable():  # a pipe, as in `train <(zcat a9a.gz)`
        stream = io.BytesIO(stream.read())
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    begin = stream.read(6)
    stream.seek(0)
    if begin.startswith(ZSTANDARD):
        raise FileError(f"{name} is compressed with Zstandard, which is not read here: decompress it with `unzstd`.")
    packed = next((kind for magic, kind in MAGIC if begin.startswith(magic)), "")
    if ending in OPENERS and not packed:
        raise FileError(f"{name} is damaged or not what its ending says (no {ending} archive): make or fetch it anew.")
    source = OPENERS[packed](stream, "rb") if packed else stream
    data = bytearray()
    try:
        while block := source.read(BLOCK_BYTES):
            data += block
            if packed and len(data) > most_unpacked(size):
                raise too_much_unpacked(name, size)
            if report is not None:
                report(stream.tell() / max(size, 1))
    except DAMAGE as damage:
        raise FileError(f"{name} is damaged or not what its ending says ({damage}): make or fetch it anew.") from None
    return data
