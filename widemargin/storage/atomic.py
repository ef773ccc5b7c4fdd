"""Atomic writing: a file appears as a whole or not at all.

Data are written to a draft in the same folder, `.wm-HASH.xxxxxxxx.part` with a hash of the name, which may be as long
as names can be. The draft is renamed only when it is safely on disk: a reader sees the old file or the new one, never
a partial one.

    symbolic link             followed: its target is replaced, the link stays
    regular file              replaced; owner, group and permissions stay where permitted; a read-only file is refused
    device, pipe, terminal    written to directly, once the data are complete
    /dev/stdout, /dev/fd/N    likewise, also if it is a file: `>> log` appends to the log

A writer holds a lock on its draft. The system releases it when the process ends, however it ends, so the next writer of
the same name can tell drafts that were left behind from drafts in progress, also those of other containers.

The owner of the folder can exchange the draft for a link to somebody else's file. So permissions are those of the open
file, never of the path, and a draft that is no longer the open file is not renamed.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
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
MOST_LINKS = 40  # one after the other, as in Linux
STANDARD_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
DESCRIPTOR = re.compile(r"/dev/fd/(\d+)|/proc/(?:\d+|self)(?:/task/\d+)?/fd/(\d+)")


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream whose content becomes that of `path` on success; on failure `path` is left as it was."""
    target = _target_of(path)
    try:
        if target is None:
            with tempfile.TemporaryFile() as draft:  # the writer may need to seek, which a pipe cannot
                yield draft
                draft.seek(0)
                with open(_open_directly(path), "wb") as stream:
                    shutil.copyfileobj(draft, stream)
        else:
            with _draft_of(target) as stream:
                yield stream
            _sync_folder(target.parent)
    except OSError as error:
        raise _refused(path, error.strerror or str(error)) from None


def check_writable(path: str | os.PathLike) -> None:
    """FileError if `path` cannot be written; called before the work whose result the file will hold."""
    target = _target_of(path)
    if target is None:
        return
    try:
        draft, handle = _new_draft(target)
    except OSError as error:
        raise _refused(path, error.strerror or str(error)) from None
    os.close(handle)
    draft.unlink(missing_ok=True)


def _refused(path: str | os.PathLike, reason: str) -> FileError:
    return FileError(f"{path} cannot be written: {reason}.")


def _target_of(path: str | os.PathLike) -> Path | None:
    """Return the regular file to replace, links followed; None if `path` is written to directly.

    FileError if neither is possible, as far as that can be seen without trying.
    """
    try:
        known = os.stat(path)
    except FileNotFoundError:
        known = None
    except OSError as error:  # a loop of links, a name too long
        raise _refused(path, error.strerror or str(error)) from None
    if known is not None:
        if stat.S_ISDIR(known.st_mode):
            raise _refused(path, "it is a folder")
        if not (known.st_mode & ANYBODY_WRITES and os.access(path, os.W_OK)):  # root may write everything
            raise _refused(path, "it is read-only; remove it, or make it writable")
        if not stat.S_ISREG(known.st_mode) or _descriptor(path) is not None:
            return None
    target = Path(os.path.realpath(path))
    folder = target.parent if os.path.islink(path) else Path(path).parent
    if not folder.is_dir():
        raise _refused(path, f"the folder {folder} does not exist")
    if not os.access(folder, os.W_OK):
        raise _refused(path, f"the folder {folder} is read-only")
    if known is not None and hasattr(os, "geteuid"):
        about = folder.stat()
        if about.st_mode & stat.S_ISVTX and os.geteuid() not in (0, known.st_uid, about.st_uid):
            raise _refused(path, f"it belongs to another user, and only its owner may replace it in {folder}")
    return target


def _descriptor(path: str | os.PathLike) -> tuple[str, int] | None:
    """Return folder and number of the open file that a path such as /dev/stdout or /proc/self/fd/1 stands for, or None.

    Such a path looks like a link to the open file, which may be a regular one, but opens that file itself.
    """
    name = os.fspath(path)
    for _ in range(MOST_LINKS):
        folder = os.path.realpath(os.path.dirname(name))
        name = os.path.join(folder, os.path.basename(name))
        if name in STANDARD_STREAMS:
            return folder, STANDARD_STREAMS[name]
        if found := DESCRIPTOR.fullmatch(name):
            return folder, int(found[1] or found[2])
        if not os.path.islink(name):
            break
        name = os.path.join(folder, os.readlink(name))
    return None


def _open_directly(path: Path) -> int:
    """Open a pipe, a device or an open file; one of this process is shared, so that its later output comes after."""
    found = _descriptor(path)
    if found is None:
        return os.open(path, os.O_WRONLY)
    folder, number = found
    if folder not in ("/dev", "/dev/fd", os.path.realpath("/proc/self/fd")):
        return os.open(path, os.O_WRONLY | os.O_APPEND)
    if sys.stdout is not None:
        sys.stdout.flush()  # what was written before comes before
    return os.dup(number)


@contextmanager
def _draft_of(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream to a new file beside `path`, renamed to `path` on success and removed on failure."""
    _remove_abandoned(path)
    draft, handle = _new_draft(path)
    try:
        with open(handle, "wb") as stream:
            yield stream
            stream.flush()
            _keep_permissions(path, handle)
            os.fsync(handle)
            if fcntl:
                if not os.path.samestat(os.fstat(handle), os.lstat(draft)):
                    raise OSError(f"its draft {draft.name} was exchanged by another process")
                os.replace(draft, path)  # while the lock is held
        if not fcntl:
            os.replace(draft, path)  # Windows renames closed files only
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _draft_prefix(path: Path) -> str:
    return f".wm-{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}."


def _new_draft(path: Path) -> tuple[Path, int]:
    """Create and lock a draft; another one in the rare case that somebody removed it before it was locked."""
    while True:
        draft = path.with_name(f"{_draft_prefix(path)}{secrets.token_hex(4)}.part")
        # A new file gets the usual permissions. What may be secret is not readable before it has those of its file.
        mode = 0o600 if path.exists() else 0o666
        handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), mode)
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
    name = re.compile(re.escape(_draft_prefix(path)) + r"[0-9a-f]{8}\.part")
    with suppress(OSError):  # a folder that may be written to but not listed
        for draft in path.parent.iterdir():
            if name.fullmatch(draft.name):
                with suppress(OSError):
                    _remove_if_abandoned(draft)


def _remove_if_abandoned(draft: Path) -> None:
    """Remove a draft; OSError if its writer is there."""
    flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe of that name must not be waited for
    with open(os.open(draft, flags), "wb") as stream:
        if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            draft.unlink()


def _keep_permissions(path: Path, handle: int) -> None:
    """Give an open draft owner, group and permissions of the file that it will replace.

    Only root may give a file to another owner. Where not even the group can be kept, the permissions that it had are
    not given to another group.
    """
    if not hasattr(os, "fchown"):  # Windows, where a file that may be replaced has no other permissions
        return
    try:
        known = path.stat()
    except FileNotFoundError:
        return
    mode = stat.S_IMODE(known.st_mode) & 0o777
    try:
        os.fchown(handle, known.st_uid, known.st_gid)
    except PermissionError:
        try:
            os.fchown(handle, -1, known.st_gid)
        except PermissionError:
            mode &= ~stat.S_IRWXG
    os.fchmod(handle, mode)


def _sync_folder(folder: Path) -> None:
    """Write the rename to disk, on systems where folders can be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
