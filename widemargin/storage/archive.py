"""A file of named arrays and one JSON header: a zip that numpy alone can read, checked as a whole, written atomically.

    header.json        what the arrays mean
    arrays/NAME.npy    numbers and fixed-width strings; objects are rejected, so reading a file never runs code from it
    checksum           BLAKE2 of header and arrays, in the order of their names

Members are stored without compression and may not overlap, and an array is as long as its bytes: a file cannot unpack
to more than its own size. JSON can, since a value of two bytes becomes an object of 60, so the number of values in a
header is limited. Writing is atomic (atomic.py).
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.storage.atomic import replacing
from widemargin.storage.errors import FileError

HEADER, CHECKSUM, ARRAYS, ENDING = "header.json", "checksum", "arrays/", ".npy"
PLAIN_KINDS = "biufUS"  # booleans, integers, floats, strings
MOST_VALUES = 5_000_000  # in a header, which then takes some hundred MB; a model of a million strings has as many
READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def write_archive(path: str | os.PathLike, header: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> None:
    """Write header and arrays to `path`, atomically."""
    members = {HEADER: json.dumps(header, indent=1, allow_nan=False).encode()}
    for name in sorted(arrays):
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.ascontiguousarray(arrays[name]), allow_pickle=False)
        members[f"{ARRAYS}{name}{ENDING}"] = buffer.getvalue()
    members[CHECKSUM] = _checksum(members).encode()
    with replacing(Path(path)) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)  # dated 1980: the same model gives the same bytes on any day


def is_archive(path: str | os.PathLike) -> bool:
    """Whether a file looks as if `write_archive` had written it."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {HEADER, CHECKSUM} <= set(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


def read_archive(path: str | os.PathLike) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Return header and arrays of a file written by `write_archive`; raise FileError for any damage."""
    members = _members(path)
    checksum = members.pop(CHECKSUM, None)
    if checksum is None or HEADER not in members:
        raise FileError(f"{path} is a zip, but not a widemargin model file.")
    if checksum.decode("ascii", "replace") != _checksum(members):
        raise FileError(
            f"{path} was changed or damaged after it was saved (its checksum differs): save the model anew."
        )
    try:
        text = members.pop(HEADER)
        if text.count(b",") + text.count(b"[") + text.count(b"{") > MOST_VALUES:
            raise ValueError(f"its header has more than {MOST_VALUES:,} values")
        header = json.loads(text)
        if not isinstance(header, dict):
            raise ValueError("its header is no JSON object")
        arrays = {name.removeprefix(ARRAYS).removesuffix(ENDING): _array(data) for name, data in members.items()}
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} was not written by widemargin: {error}. Save the model anew.") from None
    return header, arrays


def _members(path: str | os.PathLike) -> dict[str, bytes]:
    """Return the members of a zip by name, none of them larger in memory than in the file."""
    try:
        with zipfile.ZipFile(path) as archive:
            if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
                raise FileError(f"{path} has compressed members, which no model file has: save the model anew.")
            if sum(member.file_size for member in archive.infolist()) > os.path.getsize(path):
                raise FileError(f"{path} has members that overlap, which no model file has: save the model anew.")
            return {name: archive.read(name) for name in archive.namelist()}
    except FileNotFoundError:
        raise FileError(f"{path} does not exist: check the path.") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None
    # NotImplementedError and RuntimeError: damage that reads as an unknown method of compression, or as a password
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError, struct.error) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{path} is not a widemargin model file, or it is damaged: {_advice(path)}.") from None


def _advice(path: str | os.PathLike) -> str:
    """Return advice for a file that is not one of our models; LIBSVM models are recognised by their first word."""
    with suppress(OSError), open(path, "rb") as stream:
        if stream.read(9) == b"svm_type ":
            return "it looks like a model of LIBSVM, for which there is widemargin.io.read_libsvm_model"
    return "train and save the model anew"


def _array(data: bytes) -> NDArray:
    """Return an array in numpy's format; numbers, strings and booleans only, and not more than there are bytes."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version not in READERS:
        raise ValueError(f"an array is in version {version} of numpy's format")
    shape, _, dtype = READERS[version](stream)
    if dtype.kind not in PLAIN_KINDS:
        raise ValueError(f"an array holds values of type {dtype}")
    if dtype.itemsize * math.prod(shape) != len(data) - stream.tell():
        raise ValueError(f"an array of shape {shape} and type {dtype} does not fill its {len(data)} bytes")
    array = np.load(io.BytesIO(data), allow_pickle=False)
    return array.astype(dtype.newbyteorder("="), copy=False)


def _checksum(members: Mapping[str, bytes]) -> str:
    """Digest of all members; lengths go in too, so that bytes cannot move from one member to the next unnoticed."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(members):
        digest.update(f"{name}\n{len(members[name])}\n".encode())
        digest.update(members[name])
    return digest.hexdigest()
