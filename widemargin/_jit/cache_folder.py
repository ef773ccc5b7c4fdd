"""Which folder compiled functions are kept in: the first of these that can be written and that is safe to load from.

    $NUMBA_CACHE_DIR             if it is set
    __pycache__                  beside the source
    the user's cache directory   ~/.cache/widemargin, or what the system has in its place
    widemargin-<uid>             in the directory for temporary files

The first that applies is read as well where only an administrator can write it.

Loading a compiled function runs code, and so does reading its index, which is a pickle: whoever can write to the folder
can run programs as the user. A folder is safe if it and the files in it belong to the user or to root, if nobody else
can write them, and if nobody else can put another folder in its place: folders above it belong to the user or root,
and one that others can write is sticky, as /tmp is. Folders above __pycache__ are not checked: whoever can replace
those can replace the sources. The group of the user's own name counts as the user (umask 002). On Windows folders are
not checked; a user's folders are private there.
"""

from __future__ import annotations

import hashlib
import logging
import multiprocessing
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.misc.appdirs import AppDirs

WRITABLE_BY_GROUP, WRITABLE_BY_OTHERS = stat.S_IWGRP, stat.S_IWOTH
BESIDE = "__pycache__"
CACHED = (".nbi", ".nbc")  # index and machine code of a function
logger = logging.getLogger("widemargin")


@cache
def say_once(sentence: str) -> None:
    """Log a sentence, once per process and not in worker processes, whose parent's user would read it n times."""
    if multiprocessing.parent_process() is None:
        logger.warning(sentence)


def open_cache(function: Any) -> FunctionCache:
    """Return Numba's cache of a function in the first suitable folder; raise RuntimeError if there is none."""
    return _FunctionCache(function)


def open_shared_cache(function: Any, own: str) -> FunctionCache | None:
    """Return the cache in the preferred folder, filled by an administrator, to be read before that in `own`."""
    folder = preferred_folder(function.__code__.co_filename)
    if folder is None or own == str(folder) or not folder.is_dir() or not is_safe(folder):
        return None
    return _SharedFunctionCache(function)


# ---- folders


def folder_of(source: str) -> Path | None:
    """Return the first suitable folder for the functions of a source file; None if there is none."""
    return next((folder for folder in map(Path.resolve, folders(source)) if is_usable(folder)), None)


def preferred_folder(source: str) -> Path | None:
    """Return the first of the folders for a source file, suitable or not."""
    return next(map(Path.resolve, folders(source)), None)


def folders(source: str) -> Iterator[Path]:
    """Folders to try for the functions of a source file, best first."""
    of_source = Path(source).parent.absolute()
    part = f"{of_source.name}_{hashlib.blake2b(str(of_source).encode(), digest_size=16).hexdigest()}"
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR, part)
    yield _beside(source)
    of_user = Path(AppDirs("widemargin", appauthor=False).user_cache_dir)
    if of_user.is_absolute():  # a user without a home is given "~"
        yield of_user / part
    if hasattr(os, "getuid"):
        with suppress(FileNotFoundError):  # no directory for temporary files can be written
            yield Path(tempfile.gettempdir(), f"widemargin-{os.getuid()}", part)


def _beside(source: str) -> Path:
    return Path(source).parent / BESIDE


@cache
def is_usable(folder: Path) -> bool:
    """Whether a folder, made if it is missing, can be written and is safe."""
    try:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        for path in reversed(missing):
            # folders of one's own are private; those of an installation are for all who use it
            path.mkdir(0o755 if folder.name == BESIDE or config.CACHE_DIR else 0o700, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    if is_safe(folder):
        return True
    say_once(
        f"widemargin: compiled functions are not kept in {folder}, which others than you and root can write or own, or "
        "could replace: what they put there would run as you. Another folder is used (`widemargin info`); remove this "
        "one, or make it yours (chown, chmod go-w)."
    )
    return False


@cache
def is_safe(folder: Path) -> bool:
    """Whether nobody but the user and root can change, or could have written, what is in a folder."""
    if not hasattr(os, "getuid"):
        return True
    try:
        own, above = folder.stat(), () if folder.name == BESIDE else folder.parents
        if not _is_ours(own) or any(_is_replaceable(path.stat()) for path in above):
            return False
        closed = not own.st_mode & 0o077  # modes of files do not matter where nobody else can enter
        with os.scandir(folder) as files:
            found = [file.stat(follow_symlinks=False) for file in files if file.name.endswith(CACHED)]
    except OSError:
        return False
    return all(stat.S_ISREG(file.st_mode) and _is_ours(file, closed) for file in found)


def _is_ours(found: os.stat_result, closed: bool = False) -> bool:
    """Whether a file or folder belongs to the user or root, and nobody else can write it."""
    return found.st_uid in (os.getuid(), 0) and (closed or not _is_open(found))


def _is_open(found: os.stat_result) -> bool:
    """Whether others than the owner can write."""
    if found.st_mode & WRITABLE_BY_OTHERS:
        return True
    return bool(found.st_mode & WRITABLE_BY_GROUP) and not _is_private_group(found.st_gid)


def _is_replaceable(above: os.stat_result) -> bool:
    """Whether others can rename what is in this folder: its owner always can."""
    return above.st_uid not in (os.getuid(), 0) or (_is_open(above) and not above.st_mode & stat.S_ISVTX)


@cache
def _is_private_group(group: int) -> bool:
    """Whether a group is the user's own: of the same number and name, with nobody else in it."""
    import grp
    import pwd

    try:
        user, entry = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(group)
    except KeyError:  # a user or group without a name
        return False
    return group == os.getgid() and entry.gr_name == user and set(entry.gr_mem) <= {user}


# ---- Numba's cache in such a folder


class _Locator:
    """Where the files of a function are, in the interface of Numba's locators."""

    def __init__(self, function: Any, source: str, folder: Path) -> None:
        self.source, self.line, self.folder = source, function.__code__.co_firstlineno, folder

    @classmethod
    def from_function(cls, function: Any, source: str) -> _Locator | None:
        folder = folder_of(source)
        return None if folder is None else cls(function, source, folder)

    def get_cache_path(self) -> str:
        return str(self.folder)

    def get_source_stamp(self) -> str:
        return _digest(self.source)

    def get_disambiguator(self) -> str:
        return str(self.line)

    def ensure_cache_path(self) -> None:
        if not self.folder.is_dir():
            raise FileNotFoundError(f"{self.folder} was removed")


class _SharedLocator(_Locator):
    """The preferred folder, which need not be writable."""

    @classmethod
    def from_function(cls, function: Any, source: str) -> _SharedLocator | None:
        folder = preferred_folder(source)
        return None if folder is None else cls(function, source, folder)


@cache
def _digest(source: str) -> str:
    return hashlib.blake2b(Path(source).read_bytes(), digest_size=16).hexdigest()


class _Impl(CompileResultCacheImpl):
    _locator_classes = [_Locator]


class _SharedImpl(CompileResultCacheImpl):
    _locator_classes = [_SharedLocator]


class _FunctionCache(FunctionCache):
    _impl_class = _Impl


class _SharedFunctionCache(FunctionCache):
    _impl_class = _SharedImpl
