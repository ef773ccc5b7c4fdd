"""Packed keys: argmin and argmax as one integer reduction that vectorises.

A float's bits, read as an integer, order as the float does (after one flip for negative values). With the lowest bits
of that integer replaced by the position of the value, a plain integer minimum finds value and position at once, eight
lanes at a time. The value loses its last log2(n) bits, so the *choice* of a pair is approximate to 2^-11 (float32) or
2^-40 (float64); the step that follows is computed exactly. An ordinary argmin takes 15 to 36 times as long.

Numba widens small integers to 64 bits, which halves the lanes; the intrinsics below keep the width of the float.
With NUMBA_DISABLE_JIT=1 intrinsics cannot run, so each has an equivalent in plain Python.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from widemargin._jit import INTERPRETED

FAST_COMPARE = ("nnan", "nsz")  # the arrays compared hold finite sentinels, never NaN

_INTEGER_OF = {types.float32: types.int32, types.float64: types.int64}


class Keys(NamedTuple):
    """Positions 0..n-1, and (largest key, mask of the value, mask of the position), in the integer of the float."""

    position: NDArray
    limits: NDArray


@lru_cache(maxsize=64)
def keys_of(n: int, dtype: np.dtype) -> Keys:
    """Return the keys for n values of a float type; they are shared and must not be written to."""
    integer = np.int32 if dtype == np.float32 else np.int64
    low = (1 << max(1, int(n - 1).bit_length())) - 1
    return Keys(np.arange(n, dtype=integer), np.array([np.iinfo(integer).max, ~low, low], integer))


def _pack(builder, arguments, signed):
    value, position, mask = arguments
    bits = ir.IntType(32 if isinstance(value.type, ir.FloatType) else 64)
    word = builder.bitcast(value, bits)
    if signed:  # flip all but the sign bit of negative values: then integer order is float order
        sign = builder.ashr(word, ir.Constant(bits, bits.width - 1))
        word = builder.xor(word, builder.and_(sign, ir.Constant(bits, (1 << (bits.width - 1)) - 1)))
    return builder.or_(builder.and_(word, mask), position)


@intrinsic
def ordered_key(typing_context, value, position, mask):
    """Key of any finite float."""

    def codegen(context, builder, signature, arguments):
        return _pack(builder, arguments, signed=True)

    integer = _INTEGER_OF[value]
    return integer(value, integer, integer), codegen


@intrinsic
def positive_key(typing_context, value, position, mask):
    """Key of a float >= 0, one operation cheaper."""

    def codegen(context, builder, signature, arguments):
        return _pack(builder, arguments, signed=False)

    integer = _INTEGER_OF[value]
    return integer(value, integer, integer), codegen


def _select(predicate):
    def codegen(context, builder, signature, arguments):
        return builder.select(builder.icmp_signed(predicate, *arguments), *arguments)

    return codegen


@intrinsic
def smaller_key(typing_context, a, b):
    return a(a, a), _select("<")


@intrinsic
def larger_key(typing_context, a, b):
    return a(a, a), _select(">")


@intrinsic
def larger(typing_context, a, b):
    """max of two floats that are not NaN, in a form that vectorises as a reduction."""

    def codegen(context, builder, signature, arguments):
        kind = arguments[0].type
        function = builder.module.declare_intrinsic("llvm.maxnum", [kind], ir.FunctionType(kind, [kind, kind]))
        return builder.call(function, arguments, fastmath=FAST_COMPARE)

    return a(a, a), codegen


if INTERPRETED:

    def _word(value):
        return np.asarray(value).view(np.int32 if value.dtype == np.float32 else np.int64)[()]

    def ordered_key(value, position, mask):  # noqa: F811
        word = _word(value)
        if word < 0:
            word = word ^ np.iinfo(word.dtype).max
        return (word & mask) | position

    def positive_key(value, position, mask):  # noqa: F811
        return (_word(value) & mask) | position

    def smaller_key(a, b):  # noqa: F811
        return min(a, b)

    def larger_key(a, b):  # noqa: F811
        return max(a, b)

    def larger(a, b):  # noqa: F811
        return max(a, b)
