"""The one door to Numba: every compiled function of the package is made by `jit` below.

Why a door. Numba's disk cache looks only at the file a function stands in. A function compiled into its caller from
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

#: Fast-math for reductions. Without "nnan" and "ninf": infinities are sentinels in the solvers.
REASSOCIATE = frozenset({"reassoc", "contract", "arcp", "nsz", "afn"})

#: Fast-math that keeps the order of sums: products and sums may fuse, nothing else changes.
CONTRACT = frozenset({"contract", "nsz"})

INTERPRETED = bool(config.DISABLE_JIT)  # NUMBA_DISABLE_JIT=1: functions run as plain Python, for coverage and debugging


_IMPORT = re.compile(rb"^ *(?:from (widemargin[\w.]*) import ([\w, ]*)|import (widemargin[\w.]*))", re.MULTILINE)


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
        for module, names, whole in _IMPORT.findall(texts[name]):
            source = (module or whole).decode()
            waiting += [source, *(f"{source}.{each.strip()}" for each in names.decode().split(","))]
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

    inner : only compiled functions call it, so it gets no entry from Python; that is half of what a short function
        with many arguments costs to compile. The entry from C, which nobody uses, is left out of every function.
    """
    if function is None:
        return functools.partial(jit, fastmath=fastmath, cache=cache, inner=inner)
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": set(fastmath) or False}
    options |= {"no_cfunc_wrapper": True, "no_cpython_wrapper": inner}
    if not cache or INTERPRETED:
        return numba.njit(**options)(function)
    try:
        dispatcher = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # "no locator available": neither the installation nor a user's cache folder can be written
        return numba.njit(**options)(function)
    if not _stamp(dispatcher):
        return numba.njit(**options)(function)
    return dispatcher


def _stamp(dispatcher: Any) -> bool:
    """Add the package digest to the source stamp of a dispatcher's cache; False where Numba's internals differ."""
    cache_file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if cache_file is None or not hasattr(cache_file, "_source_stamp"):
        return False
    cache_file._source_stamp = (cache_file._source_stamp, package_digest())
    return True
