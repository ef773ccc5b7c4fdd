"""State that a forked child must not inherit: locks and counts that belong to threads which do not exist there.

A child has only the thread that forked. A lock that another thread of the parent held at that moment is never released
in it. Modules with such state register a function here that renews it; the state of the compiler is renewed below.

Left alone      locks inside BLAS, LLVM and the memory allocator. OpenBLAS stops its threads at a fork, also while
                another thread is inside one of its calls: parent and child may then wait for ever in a call of BLAS.
                Where threads fit models while processes are started, start these by "spawn" or "forkserver", or with
                joblib.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from widemargin._jit import renew_compiler_state

Function = TypeVar("Function", bound=Callable[[], None])


def in_child_after_fork(renew: Function) -> Function:
    """Decorator: call this function in every forked child."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=renew)
    return renew


in_child_after_fork(renew_compiler_state)
