"""Threads in one compiled function share its work by taking turns: one call from Python per thread, not one per tile.

    while True:
        number = next_turn(turn)    # turn: np.zeros(1, np.int64), the same array in every thread
        if number >= count: break

A thread that is held up leaves its turns to the others. On two cores it is hardly quicker than tiles handed out by
Python; it needs no cutting into tiles, and no GIL for each of them.
"""

from __future__ import annotations

import threading

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from widemargin._jit import INTERPRETED

_lock = threading.Lock()


@intrinsic
def next_turn(typing_context, turn):
    """turn[0], which is then one more; no two threads get the same number."""

    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.atomic_rmw("add", array.data, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(turn), generate


def _one_after_another(turn):
    """`next_turn` in plain Python."""
    with _lock:
        turn[0] += 1
        return turn[0] - 1


if INTERPRETED:
    next_turn = _one_after_another
