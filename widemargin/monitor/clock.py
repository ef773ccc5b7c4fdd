"""The clock of fits: seconds of solving. It stands still while functions are compiled or loaded from disk.

A first fit can compile for seconds, which would use up any `time_limit` before the first step. Limits and the seconds
that certificates and progress show are therefore measured by this clock.
"""

from __future__ import annotations

import time

from widemargin import _jit


def now() -> float:
    """Return seconds since an arbitrary start, without those spent compiling or loading functions in any thread."""
    return time.perf_counter() - _jit.seconds_compiling()
