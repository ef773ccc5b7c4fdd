"""The disk cache of compiled functions: which entries are valid, and which process compiles a missing one.

Numba's disk cache checks only the file that defines a function. A function compiled into its caller from another file
is not checked, so after an upgrade old machine code could be used. Here the stamp of every cache entry contains a
digest of all sources of compiled code: after an edit of any of them everything is recompiled.

Several processes that meet an empty cache (a search with n_jobs=2) share the work: a function is compiled by the one
that locks it, the others wait and load it. The stamp uses two private attributes of Numba; if they disappear, the disk
cache is not used.

Files that cannot be read (truncated, overwritten, of another version of a class) are replaced: the function is compiled
and stored again. Where nothing can be written, functions are compiled in memory. `cache_folder` chooses the folder.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from widemargin._jit.cache_folder import open_cache, open_shared_cache, say_once

try:
    import fcntl
except ImportError:  # not on Windows: there each process compiles for itself
    fcntl = None  # type: ignore[assignment]

LOCK = "widemargin.lock"  # file in each cache folder; its bytes are locked, one per function and signature
POLL = 0.01  # seconds between two attempts to lock: short beside 40 ms, which the smallest function takes to compile
UNSUPPORTED = "this version of Numba does not support it"
LONGEST_WAIT = 60.0  # seconds for another process, which may be stopped or on a machine that no longer answers

#: A search for patterns that begin with plain letters is ten times faster than for patterns anchored to the line.
_IMPORTS = (re.compile(rb"from (widemargin[\w.]*) import ([\w, ]*)"), re.compile(rb"import (widemargin[\w.]*)()"))


def imports_of(text: bytes) -> list[str]:
    """Return the modules of the package that a source imports, and the names imported from them, possibly modules."""
    found = []
    for pattern in _IMPORTS:
        for match in pattern.finditer(text):
            line_start = text.rfind(b"\n", 0, match.start()) + 1
            if not text[line_start : match.start()].strip(b" "):
                source, names = (part.decode() for part in match.groups())
                found += [source, *(f"{source}.{name.strip()}" for name in names.split(","))]
    return found


def compiled_sources(root: Path) -> dict[str, bytes]:
    """Return name and text of every module with compiled functions, and of all modules that these import in turn.

    All other modules (estimators, command line, plots) can be edited without recompilation.
    """
    texts = {}
    for path in sorted(root.rglob("*.py")):
        parts = (root.name, *path.relative_to(root).with_suffix("").parts)
        texts[".".join(parts).removesuffix(".__init__")] = path.read_bytes()
    waiting = [name for name, text in texts.items() if b"widemargin._jit import" in text]
    found: dict[str, bytes] = {}
    while waiting:
        name = waiting.pop()
        if name not in texts or name in found:
            continue
        found[name] = texts[name]
        waiting += imports_of(texts[name])
    return found


@functools.cache
def package_digest() -> str:
    """Return the digest of the sources of compiled code, part of the stamp of each cache entry."""
    digest = hashlib.blake2b(digest_size=16)
    for name, text in sorted(compiled_sources(Path(__file__).parents[1]).items()):
        digest.update(name.encode())
        digest.update(text)
    return digest.hexdigest()


class DiskCache:
    """A function's cache on disk, opened when the function is first used: opening all at import takes 30 ms."""

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher, self.none = dispatcher, dispatcher._cache
        self.opened: Any = None
        self.shared: Any = None  # the cache of the installation, if it can only be read
        self.refusal = ""  # why nothing can be kept, if so
        self.other_cpu = ""  # for which the version on disk was compiled, if there is none for this CPU

    def open(self) -> Any:
        """Return Numba's disk cache of the function, or an empty cache if there is no reliable one."""
        if self.opened is None:
            function = self.dispatcher.py_func
            try:
                self.opened = open_cache(function)
                if not stamp(self.opened):
                    self.refuse(UNSUPPORTED)
            except (RuntimeError, OSError):  # "no locator available"
                self.refuse("neither the installation nor a cache folder of the user can be written")
            if self.refusal != UNSUPPORTED:
                self.shared = open_shared_cache(function, str(self.cache_path))
                if self.shared is not None:
                    stamp(self.shared)
        return self.opened

    def refuse(self, reason: str) -> None:
        """Use no disk cache."""
        self.opened, self.refusal = self.none, reason

    def load_overload(self, signature: Any, target: Any) -> Any:
        cache = self.open()
        for readable in (self.shared, cache):
            found = None if readable is None else self._load(readable, signature, target)
            if found is not None:
                return found
        if not self.refusal:
            self.other_cpu = cpu_on_disk(cache, signature, target)
        return None

    def _load(self, cache: Any, signature: Any, target: Any) -> Any:
        """Load a function; None if the cache does not have it or cannot be read."""
        try:
            return cache.load_overload(signature, target)
        except Exception as error:  # a damaged pickle raises anything
            if not isinstance(error, ImportError | AttributeError):  # a class of a signature was moved or renamed
                say_once(
                    f"widemargin: compiled functions in {cache.cache_path} cannot be read ({type(error).__name__}: "
                    f"{error}); those are compiled again" + (" and replaced." if cache is self.opened else ".")
                )
            if cache is self.opened:
                self._forget()
            else:
                self.shared = None
            return None

    def _forget(self) -> None:
        """Remove the index of the function, so that none of its files is used any more."""
        try:
            os.unlink(self.opened._cache_file._index_path)
        except (FileNotFoundError, AttributeError):  # Numba's internals differ
            pass
        except OSError as error:
            self.refuse(f"{self.opened.cache_path} cannot be written ({error.strerror or error})")

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Store a function. Numba writes the index first: without the file it names, an older one would be loaded."""
        cache = self.open()
        try:
            cache.save_overload(signature, compiled)
        except Exception as error:  # the disk is full, the folder was removed, another process damaged the index
            reason = getattr(error, "strerror", None) or error
            say_once(f"widemargin: compiled functions cannot be kept in {cache.cache_path} ({reason}).")
            self._forget()
            self.refuse(f"{cache.cache_path} cannot be written ({reason})")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.open(), name)

    def folder(self) -> Path | None:
        """Return the folder below which the functions of this installation are kept; None if they are not kept."""
        path = self.open().cache_path
        if path is None:
            return None
        own = Path(path)  # of this function's module
        return Path(__file__).parents[1] if own.name == "__pycache__" else own.parent

    @contextmanager
    def locked(self, signature: Any, on_wait: Callable[[], None]) -> Iterator[None]:
        """Context in which no other process compiles the function for this signature; `on_wait` is called meanwhile.

        Where locks do not work, the context is empty, and two processes may do the same work.
        """
        path = self.open().cache_path
        if path is None or fcntl is None:
            yield
            return
        key = f"{self.dispatcher.py_func.__module__}.{self.dispatcher.py_func.__qualname__} {signature}"
        place = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=7).digest())
        file = _lock_file(path)
        if file is None:
            yield
            return
        has_lock = False
        give_up = time.monotonic() + LONGEST_WAIT
        while not has_lock and time.monotonic() < give_up:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
                has_lock = True
            except (BlockingIOError, PermissionError):  # EAGAIN or EACCES: locked by another process
                on_wait()
                time.sleep(POLL)
            except OSError:  # a file system without locks
                break
        try:
            yield
        finally:
            if has_lock:
                fcntl.lockf(file, fcntl.LOCK_UN, 1, place)


@functools.cache
def _lock_file(folder: str) -> int | None:
    """Return the lock file of a cache folder, opened for the life of the process: closing it would drop all locks."""
    try:
        return os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT, 0o644)
    except OSError:
        return None


def stamp(cache: Any) -> bool:
    """Add the package digest to the source stamp of a cache; return False if Numba's internals differ."""
    cache_file = getattr(cache, "_cache_file", None)
    if cache_file is None or not hasattr(cache_file, "_source_stamp"):
        return False
    cache_file._source_stamp = (cache_file._source_stamp, package_digest())
    return True


def cpu_on_disk(cache: Any, signature: Any, target: Any) -> str:
    """Return the CPU for which a function was compiled, if the version on disk is for another one than this; else ''.

    An index maps (signature, (architecture, CPU, its features), digests) to files.
    """
    try:
        kept = {key[1] for key in cache._cache_file._load_index() if key[0] == signature}
        mine = target.codegen().magic_tuple()
        others = sorted(cpu for _, cpu, _ in kept - {mine})
    except (AttributeError, TypeError, ValueError, OSError):  # Numba's internals differ
        return ""
    return others[0] if others else ""
