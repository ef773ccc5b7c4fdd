"""The one door to Numba: every compiled function of the package is made by `jit` below.

Why a door. Numba's disk cache looks only at the file that defines a function. A function compiled into its caller from
another file is not looked at, so after an upgrade the old machine code could answer. Here the stamp of every cache
entry carries a digest of all sources that compiled code is made from: edit any of them and all is compiled anew.

What it gives: no GIL, C division, the disk cache where a folder for it can be written, and plain compilation in memory
where none can (a read-only installation). The stamp uses two private attributes of Numba; should they vanish, the disk
cache is not used rather than trusted.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import config
from numba.core.registry import CPUDispatcher

#: Fast-math for reductions. Without "nnan" and "ninf": infinities are sentinels in the solvers.
REASSOCIATE = frozenset({"reassoc", "contract", "arcp", "nsz", "afn"})

#: Fast-math that keeps the order of sums: products and sums may fuse, nothing else changes.
CONTRACT = frozenset({"contract", "nsz"})

INTERPRETED = bool(config.DISABLE_JIT)  # NUMBA_DISABLE_JIT=1: functions run as plain Python, for coverage and debugging


#: Patterns that begin with plain letters are searched for ten times faster than ones anchored to the line.
_IMPORTS = (re.compile(rb"from (widemargin[\w.]*) import ([\w, ]*)"), re.compile(rb"import (widemargin[\w.]*)()"))


def imports_of(text: bytes) -> list[str]:
    """Modules of the package that a source imports, and the names it imports from them, which may be modules too."""
    found = []
    for pattern in _IMPORTS:
        for match in pattern.finditer(text):
            line_start = text.rfind(b"\n", 0, match.start()) + 1
            if not text[line_start : match.start()].strip(b" "):
                source, names = (part.decode() for part in match.groups())
                found += [source, *(f"{source}.{name.strip()}" for name in names.split(","))]
    return found


def compiled_sources(root: Path) -> dict[str, bytes]:
    """Module name and text of every source with compiled functions, and of whatever those import in turn.

    The rest (estimators, command line, pictures) can be edited without compiling anything anew.
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
    """Digest of the sources that compiled code comes from, part of the stamp of each cache entry."""
    digest = hashlib.blake2b(digest_size=16)
    for name, text in sorted(compiled_sources(Path(__file__).parent).items()):
        digest.update(name.encode())
        digest.update(text)
    return digest.hexdigest()


def jit(
    function: Callable | None = None,
    *,
    fastmath: frozenset[str] = frozenset(),
    cache: bool = True,
    inner: bool = False,
) -> Any:
    """Compile `function` on its first call with each signature; usable bare or with options.

    The entry from C, which Numba adds to every function, is not used here and left out: 20 ms for ten arguments.
    So is the one from Python where a function is `inner`, called by compiled ones only: five of them take 0.3 of the
    5.4 s of a first fit.
    """
    if function is None:
        return functools.partial(jit, fastmath=fastmath, cache=cache, inner=inner)
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": set(fastmath) or False}
    options["no_cfunc_wrapper"] = True
    options["no_cpython_wrapper"] = inner
    if inner and not fastmath:  # into the callers, whose flags of fast-math would apply as well
        options["inline"] = "always"
    dispatcher = numba.njit(**options)(function)
    if inner and not INTERPRETED:
        dispatcher.__class__ = _Inner
    if cache and hasattr(dispatcher, "_cache"):
        dispatcher._cache = _OpenedLater(dispatcher)
    return dispatcher


class _Inner(CPUDispatcher):
    """A function without an entry from Python: a call from there would crash the process."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is for compiled functions to call; from Python use its py_func.")


class _OpenedLater:
    """Stands for a function's disk cache until the function is first used: opening all at import takes 30 ms."""

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher, self.none = dispatcher, dispatcher._cache

    def open(self) -> Any:
        """Put the disk cache in its place; where there is none to trust, the one that keeps nothing."""
        try:
            self.dispatcher.enable_caching()
            trusted = _stamp(self.dispatcher)
        except RuntimeError:  # "no locator available": neither installation nor a user's cache folder can be written
            trusted = False
        if not trusted:
            self.dispatcher._cache = self.none
        return self.dispatcher._cache

    def load_overload(self, signature: Any, target: Any) -> Any:
        cache = self.open()
        try:
            return cache.load_overload(signature, target)
        except (ImportError, AttributeError):  # an index from before a class of a signature was moved or renamed
            cache.flush()
            return None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.open(), name)


def _stamp(dispatcher: Any) -> bool:
    """Add the package digest to the source stamp of a dispatcher's cache; False where Numba's internals differ."""
    cache_file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if cache_file is None or not hasattr(cache_file, "_source_stamp"):
        return False
    cache_file._source_stamp = (cache_file._source_stamp, package_digest())
    return True
