"""Numbers that threads share while each of them is inside a compiled function, without the GIL.

Turns: one call from Python per thread, not one per tile of the work.

    while True:
        number = next_turn(turn)    # turn: np.zeros(1, np.int64), the same array in every thread
        if number >= count: break

A thread that is held up leaves its turns to the others. On two cores it is hardly quicker than tiles handed out by
Python; it needs no cutting into tiles, and no GIL for each of them.

Words: what one thread wrote before `write_word` is there for a thread that has seen the word by `read_word`. A plain
load would be moved out of a loop that waits, a plain store behind what follows.
"""

from __future__ import annotations

import threading
from typing import Any

from numba import types
from numba.extending import intrinsic

from widemargin._jit import INTERPRETED, jit

_lock = threading.Lock()


def _data(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Address of the first number of the first argument."""
    return context.make_array(signature.args[0])(context, builder, arguments[0]).data


@intrinsic
def add_word(typing_context, words, amount):
    """words[0], which then is larger by `amount`; no two threads get the same number."""

    def generate(context, builder, signature, arguments):
        return builder.atomic_rmw("add", _data(context, builder, signature, arguments), arguments[1], "acq_rel")

    return types.int64(words, types.int64), generate


@intrinsic
def read_word(typing_context, words, at):
    """words[at] as another thread may have left it just now."""

    def generate(context, builder, signature, arguments):
        data = _data(context, builder, signature, arguments)
        return builder.load_atomic(builder.gep(data, [arguments[1]]), "acquire", 8)

    return types.int64(words, types.int64), generate


@intrinsic
def write_word(typing_context, words, at, value):
    """words[at] = value, after all that this thread wrote before."""

    def generate(context, builder, signature, arguments):
        data = _data(context, builder, signature, arguments)
        builder.store_atomic(arguments[2], builder.gep(data, [arguments[1]]), "release", 8)
        return context.get_dummy_value()

    return types.void(words, types.int64, types.int64), generate


if INTERPRETED:

    def add_word(words, amount):  # noqa: F811
        with _lock:
            words[0] += amount
            return words[0] - amount

    def read_word(words, at):  # noqa: F811
        return words[at]

    def write_word(words, at, value):  # noqa: F811
        words[at] = value


@jit(inner=True)
def next_turn(turn):
    """turn[0], which then is one more."""
    return add_word(turn, 1)
