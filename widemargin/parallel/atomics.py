"""Atomic operations shared by threads inside compiled functions, without the GIL.

`publish` and `is_published` are flags on data that other threads read: whoever sees the flag sees the data written
before it, on every processor. The counter `next_turn` needs one call from Python per thread, not one per tile:

    while True:
        number = next_turn(turn)    # turn: np.zeros(1, np.int64), the same array in every thread
        if number >= count: break

A delayed thread processes fewer tiles. On two cores it is hardly faster than tiles dispatched by Python, but it does
not need the GIL for each tile.
"""

from __future__ import annotations

import threading

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from widemargin._jit import INTERPRETED, jit, stand_in
from widemargin.parallel.after_fork import in_child_after_fork


@intrinsic
def next_turn(typing_context, turn):
    """Return turn[0] and increment it atomically: no two threads get the same number."""

    def generate(context, builder, signature, arguments):
        first = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.atomic_rmw("add", first, context.get_constant(types.int64, 1), "acq_rel")

    return types.int64(turn), generate


@intrinsic
def publish(typing_context, flags, k):
    """flags[k] = True, after everything that this thread has written before."""

    def generate(context, builder, signature, arguments):
        flag = builder.gep(context.make_array(signature.args[0])(context, builder, arguments[0]).data, [arguments[1]])
        builder.store_atomic(ir.Constant(flag.type.pointee, 1), flag, "release", 1)
        return context.get_dummy_value()

    return types.void(flags, types.int64), generate


@intrinsic
def is_published(typing_context, flags, k):
    """flags[k], before anything that this thread reads afterwards."""

    def generate(context, builder, signature, arguments):
        flag = builder.gep(context.make_array(signature.args[0])(context, builder, arguments[0]).data, [arguments[1]])
        return builder.trunc(builder.load_atomic(flag, "acquire", 1), ir.IntType(1))

    return types.boolean(flags, types.int64), generate


if INTERPRETED:
    _lock = threading.Lock()

    @in_child_after_fork
    def _renew_lock():
        global _lock
        _lock = threading.Lock()

    def next_turn(turn):  # noqa: F811
        with _lock:
            turn[0] += 1
            return turn[0] - 1

    def publish(flags, k):  # noqa: F811
        flags[k] = True

    def is_published(flags, k):  # noqa: F811
        return flags[k]

else:  # interpreted functions may run beside compiled ones, on the same counters: they call the same instructions

    @jit
    def _next_turn(turn):
        return next_turn(turn)

    @jit
    def _publish(flags, k):
        publish(flags, k)

    @jit
    def _is_published(flags, k):
        return is_published(flags, k)

    stand_in(next_turn, _next_turn)
    stand_in(publish, _publish)
    stand_in(is_published, _is_published)
