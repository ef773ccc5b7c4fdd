"""An atomic counter shared by threads inside compiled functions, without the GIL.

This needs one call from Python per thread, not one per tile:

    while True:
        number = next_turn(turn)    # turn: np.zeros(1, np.int64), the same array in every thread
        if number >= count: break

A delayed thread processes fewer tiles. On two cores it is hardly faster than tiles dispatched by Python, but it does
not need the GIL for each tile.
"""

from __future__ import annotations

import threading

from numba import types
from numba.extending import intrinsic

from widemargin._jit import INTERPRETED


@intrinsic
def next_turn(typing_context, turn):
    """Return turn[0] and increment it atomically: no two threads get the same number."""

    def generate(context, builder, signature, arguments):
        first = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.atomic_rmw("add", first, context.get_constant(types.int64, 1), "acq_rel")

    return types.int64(turn), generate


if INTERPRETED:
    _lock = threading.Lock()

    def next_turn(turn):  # noqa: F811
        with _lock:
            turn[0] += 1
            return turn[0] - 1
