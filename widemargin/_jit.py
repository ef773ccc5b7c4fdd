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
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import config
from numba.core.compiler_lock import global_compiler_lock
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
    interpret_first: bool | Callable[..., bool] = False,
) -> Any:
    """Compile `function` on its first call with each signature; usable bare or with options.

    The entry from C, which Numba adds to every function, is not used here and left out: 20 ms for ten arguments.
    So is the one from Python where a function is `inner`, called by compiled ones only: five of them take 0.3 of the
    5.4 s of a first fit. With `interpret_first` the first calls are interpreted (`_InterpretedFirst`), or those of them
    whose arguments it accepts.
    """
    if function is None:
        return functools.partial(jit, fastmath=fastmath, cache=cache, inner=inner, interpret_first=interpret_first)
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": set(fastmath) or False}
    options["no_cfunc_wrapper"] = True
    options["no_cpython_wrapper"] = inner
    if inner and not fastmath:  # into the callers, whose flags of fast-math would apply as well
        options["inline"] = "always"
    dispatcher = numba.njit(**options)(function)
    if not INTERPRETED and (inner or interpret_first):
        dispatcher.__class__ = _Inner if inner else _InterpretedFirst
        dispatcher.accepts = interpret_first
    if cache and hasattr(dispatcher, "_cache"):
        dispatcher._cache = _OpenedLater(dispatcher)
    return dispatcher


class _Inner(CPUDispatcher):
    """A function without an entry from Python: a call from there would crash the process."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is for compiled functions to call; from Python use its py_func.")


class _InterpretedFirst(CPUDispatcher):
    """A function that runs as plain Python in the first fit of a process, if that takes less time than compiling it.

    For functions that run once or twice per fit and take longer to compile than to interpret, such as those of the
    certificate. Without fast-math both ways give the same bits. A version on disk is used at once.
    """

    accepts: bool | Callable[..., bool]
    #: Samples for which calls may still be interpreted, at 10 to 50 microseconds for each of a call.
    samples_left = 25_000

    def __call__(self, *args: Any) -> Any:
        n_samples = _longest_array(args)
        is_meant = self.accepts if isinstance(self.accepts, bool) else self.accepts(*args)
        if self.overloads or not is_meant or n_samples > self.samples_left or self._load(args):
            self.__class__ = CPUDispatcher
            return self(*args)
        _InterpretedFirst.samples_left -= n_samples
        with np.errstate(all="ignore"):
            return interpreted(self)(*args)

    def _load(self, args: tuple) -> bool:
        """Load the compiled version for these arguments, as `Dispatcher.compile` does; False where disk has none."""
        with global_compiler_lock:
            compiled = self._cache.load_overload(tuple(map(self.typeof_pyval, args)), self.targetctx)
            if compiled is None:
                return False
            self.targetctx.insert_user_function(compiled.entry_point, compiled.fndesc, [compiled.library])
            self.add_overload(compiled)
        return True


def compile_at_once() -> None:
    """Interpret no function from now on."""
    _InterpretedFirst.samples_left = 0


def _longest_array(values: tuple) -> int:
    """Length of the longest array among values, those inside tuples counted."""
    sizes = (_longest_array(v) if isinstance(v, tuple) else len(v) if isinstance(v, np.ndarray) else 0 for v in values)
    return max(sizes, default=0)


@functools.cache
def interpreted(function: Any) -> FunctionType:
    """The source of a function as plain Python, with that of the functions it calls which may be interpreted.

    Those are the plain ones of the package, the inner ones, and the ones interpreted first. Loops that are worth
    compiling stay compiled, and so does what has fast-math: interpreted, it would give other bits.
    """
    source = getattr(function, "py_func", function)
    called = {}
    for name in source.__code__.co_names:
        value = source.__globals__.get(name)
        if isinstance(value, _Inner | _InterpretedFirst):
            is_meant = not value.targetoptions["fastmath"]
        else:
            is_meant = isinstance(value, FunctionType) and value.__module__.startswith("widemargin.")
        if is_meant:
            called[name] = interpreted(value)
    return FunctionType(source.__code__, {**source.__globals__, **called}, source.__name__, source.__defaults__)


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
