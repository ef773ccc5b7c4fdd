"""Vectors in LLVM's instructions, for the few loops in which a compiler's own choice of vectors is slow.

A loop is an `intrinsic` of Numba whose body is built instruction by instruction; the compiler splits vectors that are
longer than those of the processor. With Numba disabled, an equivalent loop in plain Python replaces each of them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils


def widest_vector() -> int:
    """Bytes of the widest vectors that the processor computes with, 32 at least."""
    try:
        return 64 if llvm.get_host_cpu_features().get("avx512f") else 32
    except RuntimeError:  # a processor that LLVM cannot describe
        return 32


BYTES = widest_vector()
FUSED = ("contract",)  # a product and the sum it goes into may be one instruction


def constant(kind: ir.Type, value: float) -> ir.Constant:
    """A number of a type, or of a vector type in every lane."""
    return ir.Constant(kind, [value] * kind.count if isinstance(kind, ir.VectorType) else value)


def size(value: int) -> ir.Constant:
    """A length or a position."""
    return ir.Constant(ir.IntType(64), value)


def fused(builder: Any, a: Any, b: Any, added: Any) -> Any:
    """a * b + added"""
    return builder.fadd(builder.fmul(a, b, flags=FUSED), added, flags=FUSED)


def lanes_of(element: Any) -> int:
    """Numbers of Numba's type `element` in a vector."""
    return BYTES * 8 // element.bitwidth


class Vectors:
    """Access to arrays of one floating-point type inside an intrinsic."""

    def __init__(self, context: Any, builder: Any, element: Any) -> None:
        self.context, self.builder = context, builder
        self.lanes, self.align = lanes_of(element), element.bitwidth // 8
        self.kind = ir.VectorType(context.get_data_type(element), self.lanes)

    def array(self, kind: Any, value: Any) -> Any:
        """An array argument: its `data` and its `shape`."""
        return self.context.make_array(kind)(self.context, self.builder, value)

    def field(self, kind: Any, bundle: Any, number: int) -> Any:
        """A field of a named tuple, an array or a number."""
        value, own = self.builder.extract_value(bundle, number), kind.types[number]
        return self.array(own, value) if isinstance(own, types.Array) else value

    def length(self, array: Any, axis: int) -> Any:
        return self.builder.extract_value(array.shape, axis)

    def at(self, data: Any, *offsets: Any) -> Any:
        """Return the address offset by some numbers."""
        for offset in offsets:
            data = self.builder.gep(data, [offset])
        return data

    def load(self, data: Any, *offsets: Any) -> Any:
        """Load the vector that begins at an address."""
        value = self.builder.load(self._as_vector(self.at(data, *offsets)))
        value.align = self.align
        return value

    def store(self, value: Any, data: Any, *offsets: Any) -> None:
        self.builder.store(value, self._as_vector(self.at(data, *offsets))).align = self.align

    def in_every_lane(self, number: Any) -> Any:
        nothing = ir.Constant(self.kind, ir.Undefined)
        lane = self.builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(lane, nothing, constant(ir.VectorType(ir.IntType(32), self.lanes), 0))

    def variable(self) -> Any:
        """A mutable vector, which the compiler keeps in a register."""
        return cgutils.alloca_once(self.builder, self.kind)

    def _as_vector(self, data: Any) -> Any:
        return self.builder.bitcast(data, self.kind.as_pointer())
