"""Atomic writing: a file appears as a whole or not at all.

Data are written to a new file in the same folder, which is renamed only when it is safely on disk. A reader sees the
old file or the new one, never a partial one.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from widemargin.storage.errors import FileError


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream to a new file beside `path`, renamed to `path` on success and removed on failure."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        # Not tempfile: its files are readable by their owner only, and the model would keep these permissions.
        handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}.") from None
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, path)
    except BaseException as error:
        draft.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FileError(f"{path} cannot be written: {error.strerror or error}.") from None
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Write the rename to disk, on systems where folders can be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_writable(path: str | os.PathLike) -> None:
    """Raise FileError if `path` cannot be written, before the work whose result it will hold."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise FileError(f"{path} cannot be written: the folder {folder} does not exist.")
    if Path(path).is_dir():
        raise FileError(f"{path} cannot be written: it is a folder.")
    if not os.access(folder, os.W_OK):
        raise FileError(f"{path} cannot be written: the folder {folder} is read-only.")
