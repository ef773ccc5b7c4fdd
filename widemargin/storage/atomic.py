"""Atomic writing: a file appears as a whole or not at all.

Data are written to a draft in the same folder, `.NAME.xxxxxxxx.part`, which is renamed only when it is safely on disk.
A reader sees the old file or the new one, never a partial one.

    symbolic link             followed: its target is replaced, the link stays
    regular file              replaced; owner (where permitted) and permissions stay; a read-only file is refused
    device, pipe, terminal    written to directly, once the data are complete

A writer holds a lock on its draft. The system releases it when the process ends, however it ends, so the next writer of
the same name can tell drafts that were left behind from drafts in progress, also those of other containers.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from widemargin.storage.errors import FileError

try:
    import fcntl
except ImportError:  # Windows, which has no such locks: drafts that a killed process leaves there stay
    fcntl = None  # type: ignore[assignment]

ANYBODY_WRITES = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream whose content becomes that of `path` on success; on failure `path` is left as it was."""
    target = check_writable(path)
    try:
        if target.exists() and not target.is_file():
            with tempfile.TemporaryFile() as draft:  # the writer may need to seek, which a pipe cannot
                yield draft
                draft.seek(0)
                with open(os.open(target, os.O_WRONLY), "wb") as stream:
                    shutil.copyfileobj(draft, stream)
        else:
            with _draft_of(target) as stream:
                yield stream
            _sync_folder(target.parent)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}.") from None


def check_writable(path: str | os.PathLike) -> Path:
    """Return the file that writing to `path` would replace, links followed; raise FileError if that is impossible.

    Called before the work whose result the file will hold.
    """

    def refused(reason: str) -> FileError:
        return FileError(f"{path} cannot be written: {reason}.")

    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = 0
    except OSError as error:  # a loop of links, a name too long
        raise refused(error.strerror or str(error)) from None
    if stat.S_ISDIR(mode):
        raise refused("it is a folder")
    if mode and not (mode & ANYBODY_WRITES and os.access(path, os.W_OK)):  # root may write everything
        raise refused("it is read-only; remove it, or make it writable")
    if mode and not stat.S_ISREG(mode):
        return Path(path)
    target = Path(os.path.realpath(path))
    folder = target.parent if os.path.islink(path) else Path(path).parent
    if not folder.is_dir():
        raise refused(f"the folder {folder} does not exist")
    if not os.access(folder, os.W_OK):
        raise refused(f"the folder {folder} is read-only")
    return target


@contextmanager
def _draft_of(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream to a new file beside `path`, renamed to `path` on success and removed on failure."""
    _remove_abandoned(path)
    draft, handle = _new_draft(path)
    try:
        with open(handle, "wb") as stream:
            yield stream
            stream.flush()
            _keep_permissions(path, draft)
            os.fsync(stream.fileno())
            if fcntl:
                os.replace(draft, path)  # while the lock is held
        if not fcntl:
            os.replace(draft, path)  # Windows renames closed files only
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _new_draft(path: Path) -> tuple[Path, int]:
    """Create and lock a draft; another one in the rare case that somebody removed it before it was locked."""
    while True:
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        # Not tempfile: its files are readable by their owner only, and the model would keep these permissions.
        handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
        if fcntl is None:
            return draft, handle
        with suppress(OSError):  # file systems without locks: drafts are never removed there
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return draft, handle
        os.close(handle)


def _remove_abandoned(path: Path) -> None:
    """Remove drafts of `path` whose writer has gone."""
    if fcntl is None:
        return
    name = re.compile(re.escape(f".{path.name}.") + r"[0-9a-f]{8}\.part")
    for draft in path.parent.iterdir():
        if name.fullmatch(draft.name):
            with suppress(OSError), open(os.open(draft, os.O_WRONLY | os.O_NOFOLLOW), "wb") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its writer is there
                draft.unlink()


def _keep_permissions(path: Path, draft: Path) -> None:
    """Give a draft the owner and the permissions of the file that it will replace."""
    with suppress(FileNotFoundError):
        known = path.stat()
        if hasattr(os, "chown"):
            with suppress(PermissionError):
                os.chown(draft, known.st_uid, known.st_gid)
        draft.chmod(stat.S_IMODE(known.st_mode))


def _sync_folder(folder: Path) -> None:
    """Write the rename to disk, on systems where folders can be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
