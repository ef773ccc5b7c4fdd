"""The only place that compiles: every compiled function of the package is made by `jit` below.

Functions release the GIL, use C division, and are cached on disk (`disk_cache`) where a folder can be written;
otherwise (a read-only installation) they are compiled in memory. `compile_notice` tells people why they wait.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Hashable
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import config
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock
from numba.core.entrypoints import init_all
from numba.core.registry import CPUDispatcher

from widemargin._jit.compile_notice import CompileNotice
from widemargin._jit.disk_cache import DiskCache
from widemargin._jit.interpreting import Interpreting
from widemargin._lazy import no_garbage_collection

#: Fast-math for reductions. Without "nnan" and "ninf": infinities are sentinels in the solvers.
REASSOCIATE = frozenset({"reassoc", "contract", "arcp", "nsz", "afn"})

#: Fast-math that keeps the order of sums: products and sums may fuse, nothing else changes.
CONTRACT = frozenset({"contract", "nsz"})

#: Variables of all problems of a fit up to which interpreting some functions takes less time than compiling them.
FEW_VARIABLES = 20_000

INTERPRETED = bool(config.DISABLE_JIT)  # NUMBA_DISABLE_JIT=1: functions run as plain Python, for coverage and debugging


def jit(
    function: Callable | None = None,
    *,
    fastmath: frozenset[str] = frozenset(),
    cache: bool = True,
    inner: bool = False,
    interpret_first: bool = False,
) -> Any:
    """Compile `function` on its first call with each signature; usable bare or with options.

    The C entry point, which Numba adds to every function, is not used here and omitted: 20 ms for ten arguments.
    The Python entry point is omitted for an `inner` function, called by compiled functions only: five of them take 0.3
    of the 5.4 s of a first fit. With `interpret_first` the first calls are interpreted (`_InterpretedFirst`).
    """
    if function is None:
        return functools.partial(jit, fastmath=fastmath, cache=cache, inner=inner, interpret_first=interpret_first)
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": set(fastmath) or False}
    options["no_cfunc_wrapper"] = True
    options["no_cpython_wrapper"] = inner
    if inner and not fastmath:  # inlined into callers, whose fast-math flags would apply
        options["inline"] = "always"
    if interpret_first and function.__defaults__:
        raise TypeError(
            f"{function.__name__} is interpreted first and cannot have default arguments: disk is searched "
            "for a version by the types of the arguments that are given."
        )
    dispatcher = numba.njit(**options)(function)
    if INTERPRETED:
        return dispatcher
    dispatcher.__class__ = _Inner if inner else _InterpretedFirst if interpret_first else _Compiled
    if interpret_first:
        dispatcher.absent = set()
    if cache and hasattr(dispatcher, "_cache"):
        dispatcher._cache = DiskCache(dispatcher)
    return dispatcher


class _Compiling(event.Listener):
    """Passes on that a function is being compiled, not loaded from disk."""

    def on_start(self, event: Any) -> None:
        NOTICE.work()

    def on_end(self, event: Any) -> None:
        """Do nothing; the base class requires this method."""


NOTICE = CompileNotice()
INTERPRETING = Interpreting()
event.register("numba:compile", _Compiling())


class _Compiled(CPUDispatcher):
    """A function that one process at a time compiles, if it is cached on disk."""

    def compile(self, signature: Any) -> Any:
        cache = self._cache
        if not isinstance(cache, DiskCache) or signature in self.overloads:
            return super().compile(signature)
        with global_compiler_lock, no_garbage_collection(), NOTICE.around(cache), cache.locked(signature, NOTICE.work):
            return super().compile(signature)


class _Inner(_Compiled):
    """A function without a Python entry point, where a call from Python would crash the process."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is for compiled functions to call; from Python use its py_func.")


class _InterpretedFirst(_Compiled):
    """A function that runs as plain Python until that has taken as long as compiling would (`interpreting`).

    For functions that run a few times per fit, or call compiled loops, and take longer to compile than to interpret.
    Without fast-math both ways give the same bits. A version on disk is used immediately.
    """

    absent: set[tuple]  # signatures that disk had no version for

    def __call__(self, *args: Any) -> Any:
        began, compiling = time.thread_time(), seconds_compiling()
        is_cheap = INTERPRETING.is_affordable() and _longest_array(args) <= FEW_VARIABLES
        if not is_cheap or _InterpretedFirst._load(self, args):  # by name: another thread may have changed the class
            self.__class__ = _Compiled
            return self(*args)
        with np.errstate(all="ignore"):
            answer = interpreted(self)(*args)
        if seconds_compiling() == compiling:  # else a loop that it calls was compiled in between
            INTERPRETING.own += time.thread_time() - began
        return answer

    def _load(self, args: tuple) -> bool:
        """Load the compiled version for these arguments, as `Dispatcher.compile` does; False if disk has none."""
        signature = tuple(map(self.typeof_pyval, args))
        if signature in self.absent:
            return False
        with global_compiler_lock:
            if signature not in self.overloads:
                compiled = self._cache.load_overload(signature, self.targetctx)
                if compiled is None:
                    self.absent.add(signature)
                    return False
                self.targetctx.insert_user_function(compiled.entry_point, compiled.fndesc, [compiled.library])
                self.add_overload(compiled)
        return True


def prepare_fit(n_variables: int, timed: bool = False) -> None:
    """Decide whether a fit may interpret functions: if it has few variables and is not timed.

    A time limit is charged for interpreting, not for compiling. It is not charged either for loading the plug-ins of
    Numba, which takes 20 ms and happens at the first call.
    """
    if n_variables > FEW_VARIABLES or timed:
        compile_at_once()
    if timed:
        init_all()


def compile_at_once() -> None:
    """Interpret no function in this process from now on."""
    INTERPRETING.own = np.inf


def _longest_array(values: tuple) -> int:
    """Return the length of the longest array among values, including arrays inside tuples."""
    sizes = (_longest_array(v) if isinstance(v, tuple) else len(v) if isinstance(v, np.ndarray) else 0 for v in values)
    return max(sizes, default=0)


_STAND_INS: dict[Any, Any] = {}


def stand_in(function: Any, other: Any) -> None:
    """Register what interpreted code calls in place of an intrinsic or a compiled function."""
    _STAND_INS[function] = other


def plain(intrinsic: Any) -> Callable:
    """Decorate the function that interpreted code calls in place of an intrinsic; it replaces it without a compiler."""

    def register(function: FunctionType) -> Any:
        stand_in(intrinsic, function)
        return function if INTERPRETED else intrinsic

    return register


@functools.cache
def interpreted(function: Any) -> Any:
    """Return a function as plain Python, together with the functions it calls that may be interpreted.

    These are plain functions of the package, inner functions, functions interpreted first, and stand-ins of intrinsics.
    Loops worth compiling stay compiled, and so do functions with fast-math, which would give other bits if interpreted.
    Globals are copied: a function that is interpreted must not read one that changes.
    """
    replaced = _STAND_INS.get(function)
    if isinstance(replaced, _Compiled):
        return replaced
    source = replaced or getattr(function, "py_func", function)
    called = {}
    for name in source.__code__.co_names:
        value = source.__globals__.get(name)
        if isinstance(value, _Inner | _InterpretedFirst):
            is_meant = not value.targetoptions["fastmath"]
        elif isinstance(value, FunctionType):
            is_meant = value.__module__.startswith("widemargin.")
        else:
            is_meant = isinstance(value, Hashable) and value in _STAND_INS
        if is_meant:
            called[name] = interpreted(value)
    return FunctionType(source.__code__, {**source.__globals__, **called}, source.__name__, source.__defaults__)


class _CompilerClock(event.Listener):
    """Measures how long the compiler's lock is held or waited for by any thread: functions compiled or loaded."""

    def __init__(self) -> None:
        self.lock, self.depth, self.since, self.total = threading.Lock(), 0, 0.0, 0.0

    def on_start(self, happening: Any) -> None:
        with self.lock:
            if self.depth == 0:
                self.since = time.perf_counter()
            self.depth += 1

    def on_end(self, happening: Any) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                self.total += time.perf_counter() - self.since

    def seconds(self) -> float:
        with self.lock:
            return self.total + (time.perf_counter() - self.since if self.depth else 0.0)


_compiler_clock = _CompilerClock()
event.register("numba:compiler_lock", _compiler_clock)


def renew_compiler_state() -> None:
    """In a forked child, release what other threads of the parent held: the compiler's lock, the clock, the notice."""
    is_compiling = global_compiler_lock.is_locked()  # by the thread that forked, the only one there is
    _compiler_clock.lock = threading.Lock()
    if not is_compiling:
        _compiler_clock.depth = 0
    if not is_compiling and hasattr(global_compiler_lock, "_lock"):
        global_compiler_lock._lock = threading.RLock()
        NOTICE.end()


def seconds_compiling() -> float:
    """Return the seconds of this process in which a thread compiled functions or loaded them from disk."""
    return _compiler_clock.seconds()
