"""A file of named arrays and one JSON header: a zip that numpy alone can read, checked as a whole, written atomically.

    header.json        what the arrays mean
    arrays/NAME.npy    numbers and fixed-width strings; objects are refused, so reading a file never runs code from it
    checksum           BLAKE2 of header and arrays, in the order of their names

Members are stored without compression: a file cannot unpack to more than its own size.
Writing goes to a new file in the same folder, which takes the final name only when it is safely on disk. Whoever reads
the name sees the old file or the new one, never half of one.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from widemargin.io.errors import FileError

HEADER, CHECKSUM, ARRAYS, ENDING = "header.json", "checksum", "arrays/", ".npy"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date a zip can hold: the same model gives the same bytes on any day


def write_archive(path: str | os.PathLike, header: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> None:
    """Write header and arrays to `path`, atomically."""
    members = {HEADER: json.dumps(header, indent=1, allow_nan=False).encode()}
    for name in sorted(arrays):
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.ascontiguousarray(arrays[name]), allow_pickle=False)
        members[f"{ARRAYS}{name}{ENDING}"] = buffer.getvalue()
    members[CHECKSUM] = _checksum(members).encode()
    with _replacing(Path(path)) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), data)


def read_archive(path: str | os.PathLike) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Header and arrays of a file written by `write_archive`; any damage is a FileError."""
    try:
        with zipfile.ZipFile(path) as archive:
            if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
                raise FileError(f"{path} has compressed members, which no model file has: save the model anew.")
            members = {name: archive.read(name) for name in archive.namelist()}
    except FileNotFoundError:
        raise FileError(f"{path} does not exist: check the path.") from None
    except zipfile.BadZipFile:
        raise FileError(
            f"{path} is not a widemargin model file, or it is damaged: train and save the model anew."
        ) from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None
    checksum = members.pop(CHECKSUM, None)
    if checksum is None or HEADER not in members:
        raise FileError(f"{path} is a zip, but not a widemargin model file.")
    if checksum.decode("ascii", "replace") != _checksum(members):
        raise FileError(
            f"{path} was changed or damaged after it was saved (its checksum differs): save the model anew."
        )
    header = json.loads(members.pop(HEADER))
    arrays = {
        name.removeprefix(ARRAYS).removesuffix(ENDING): np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
        for name, data in members.items()
    }
    return header, arrays


def check_writable(path: str | os.PathLike) -> None:
    """Raise FileError now if `path` cannot be written, rather than after the work whose result it is to take."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise FileError(f"{path} cannot be written: the folder {folder} does not exist.")
    if Path(path).is_dir():
        raise FileError(f"{path} cannot be written: it is a folder.")
    if not os.access(folder, os.W_OK):
        raise FileError(f"{path} cannot be written: the folder {folder} is read-only.")


def _checksum(members: Mapping[str, bytes]) -> str:
    """Digest of all members; lengths go in too, so that bytes cannot move from one member to the next unnoticed."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(members):
        digest.update(f"{name}\n{len(members[name])}\n".encode())
        digest.update(members[name])
    return digest.hexdigest()


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A stream to a new file beside `path`, renamed to `path` when the block ends well and removed when it does not."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        # Not tempfile: its files are readable by their owner only, and a model would keep that for ever.
        handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}.") from None
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise FileError(f"{path} cannot be written: {error.strerror or error}.") from None
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Put the rename itself on disk, where the system lets folders be opened."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
