"""Kernels exp(-scale * distance) by direct differences, summed feature by feature with nothing to cancel.

    Squared    sum (x_k - z_k)^2
    Absolute   sum |x_k - z_k|
    Chi        sum (x_k - z_k)^2 / (x_k + z_k), where a term with both values zero counts 0

Four left samples meet two vectors of right samples at a time: the eight sums stay in registers over all features, and
the exponential is taken of them before they are stored. A compiler's own vectors run along the samples feature by
feature and store the sums in between, so the loop is written in LLVM's instructions: 1.3 times faster on whole blocks,
1.7 times for a dozen rows at a time, and quicker to compile. Right samples come in strips that stay in the first-level
cache; in one large matrix they are often a power of two apart and fall into the same few sets of it.

The distance is given as a value of a class of its own, so that only the loops in use are compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from widemargin._jit import CONTRACT, INTERPRETED, jit
from widemargin.kernels.exponential import FUSED, constant, emit_exp, exp_nonpositive

ROWS = 4  # left samples at a time: with six, sums and differences fill all sixteen registers, for no gain
VECTORS = 2  # of right samples at a time
BYTES = 32  # of a vector
STRIP = 64  # right samples at a time: 90 features of float32 take 23 of the 32 KB of a first-level cache


class Squared(NamedTuple):
    """exp(-scale * sum (x_k - z_k)^2); the scale in the precision of the samples."""

    scale: np.floating


class Absolute(NamedTuple):
    """exp(-scale * sum |x_k - z_k|)."""

    scale: np.floating


class Chi(NamedTuple):
    """exp(-scale * sum (x_k - z_k)^2 / (x_k + z_k))."""

    scale: np.floating


@jit(fastmath=CONTRACT)
def exponential_block(x, left_start, n_left, z, right_start, n_right, distance, flat, step):
    """Fill rows with exp(-scale * distance(x_i, z_j)) for samples given by columns.

    Arrays are filled by loops here: assigning slices doubles the time of compilation.
    """
    d = len(x)
    left = np.empty((n_left, d), x.dtype)
    for k in range(d):
        for i in range(n_left):
            left[i, k] = x[k, left_start + i]
    which, places = np.empty(padded(n_left), np.int64), np.empty(padded(n_left), np.int64)
    for i in range(len(which)):
        which[i] = min(i, n_left - 1)
        places[i] = which[i] * step
    strip = np.zeros((d, STRIP), z.dtype)
    spare = np.empty((ROWS, STRIP), flat.dtype)
    for first in range(0, n_right, STRIP):
        width = min(STRIP, n_right - first)
        for k in range(d):
            for j in range(width):
                strip[k, j] = z[k, right_start + first + j]
        rows_on_strip(distance, left, which, strip, width, flat, places, first, spare)


@jit
def padded(n):
    """The next multiple of ROWS: lists of rows are filled up with rows that stand there already."""
    return (n + ROWS - 1) // ROWS * ROWS


@jit(fastmath=CONTRACT)
def rows_on_strip(distance, x, which, z, n, flat, places, first, spare):
    """flat[places[i] + first + j] = exp(-scale * distance(x[which[i]], z[:, j])) for all rows i and the samples j < n.

    which, places : of a length that is a multiple of ROWS
    z : (n_features, STRIP), zeros beyond n
    spare : (ROWS, STRIP), for what lies beyond n
    All arrays are C-contiguous. A call for all rows, not one for four: handing over seven arrays takes as long as
    thirty values.
    """
    for i in range(0, len(which), ROWS):
        whole = whole_vectors(distance, x, which, z, n, flat, places, first, spare, i)
        if whole < n:
            for r in range(ROWS):
                for j in range(whole, n):
                    flat[places[i + r] + first + j] = spare[r, j - whole]


@intrinsic
def whole_vectors(typing_context, distance, x, which, z, n, flat, places, first, spare, i):
    """The part of `rows_on_strip` for the rows i ... i + ROWS - 1 that is a whole number of vectors.

    Returns its length; the values of one more group of vectors go to `spare`.
    """
    element = x.dtype
    lanes = BYTES // (element.bitwidth // 8)
    width = VECTORS * lanes
    term = _TERMS[distance.instance_class]

    def generate(context, builder, signature, arguments):
        scale, n, begin, i = builder.extract_value(arguments[0], 0), arguments[4], arguments[7], arguments[9]
        X, WHICH, Z, FLAT, PLACES, SPARE = (
            context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (1, 2, 3, 5, 6, 8)
        )
        vector = ir.VectorType(context.get_data_type(element), lanes)
        n_features, z_step, spare_step = (builder.extract_value(a.shape, 1) for a in (X, Z, SPARE))

        def size(value):
            return ir.Constant(ir.IntType(64), value)

        def at(data, *offsets):
            for offset in offsets:
                data = builder.gep(data, [offset])
            return data

        def in_vector(data):
            return builder.bitcast(data, vector.as_pointer())

        def in_every_lane(number):
            nothing = ir.Constant(vector, ir.Undefined)
            lane = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(lane, nothing, constant(ir.VectorType(ir.IntType(32), lanes), 0))

        def aligned(access):
            access.align = element.bitwidth // 8
            return access

        rows = [at(X.data, builder.mul(builder.load(at(WHICH.data, i, size(r))), n_features)) for r in range(ROWS)]
        targets = [at(FLAT.data, builder.load(at(PLACES.data, i, size(r))), begin) for r in range(ROWS)]
        spares = [at(SPARE.data, builder.mul(spare_step, size(r))) for r in range(ROWS)]
        sums = [[cgutils.alloca_once(builder, vector) for _ in range(VECTORS)] for _ in range(ROWS)]
        minus = in_every_lane(builder.fneg(scale))
        groups = builder.udiv(builder.add(n, size(width - 1)), size(width))
        with cgutils.for_range(builder, groups) as group:
            first = builder.mul(group.index, size(width))
            for total in sum(sums, []):
                builder.store(constant(vector, 0.0), total)
            with cgutils.for_range(builder, n_features) as feature:
                start = at(Z.data, builder.mul(feature.index, z_step), first)
                right = [aligned(builder.load(in_vector(at(start, size(v * lanes))))) for v in range(VECTORS)]
                for r in range(ROWS):
                    left = in_every_lane(builder.load(at(rows[r], feature.index)))
                    for v in range(VECTORS):
                        builder.store(term(builder, builder.load(sums[r][v]), left, right[v]), sums[r][v])
            is_whole = builder.icmp_signed("<=", builder.add(first, size(width)), n)
            for r in range(0, ROWS, 2):  # two rows are as many exponentials at a time as registers hold
                both = [builder.fmul(builder.load(total), minus) for total in sums[r] + sums[r + 1]]
                values = emit_exp(builder, both)
                for place, value in enumerate(values):
                    row, v = r + place // VECTORS, place % VECTORS
                    target = builder.select(is_whole, at(targets[row], first), spares[row])
                    aligned(builder.store(value, in_vector(at(target, size(v * lanes)))))
        return builder.mul(builder.udiv(n, size(width)), size(width))

    whole = types.int64
    return whole(distance, x, which, z, whole, flat, places, whole, spare, whole), generate


def _add_square(builder, total, left, right):
    """total + (left - right)^2"""
    difference = builder.fsub(left, right)
    return builder.fadd(total, builder.fmul(difference, difference, flags=FUSED), flags=FUSED)


def _add_size(builder, total, left, right):
    """total + |left - right|, the size by clearing the sign bit"""
    difference = builder.fsub(left, right)
    lanes, bits = difference.type.count, 8 * BYTES // difference.type.count
    whole = ir.VectorType(ir.IntType(bits), lanes)
    size = builder.and_(builder.bitcast(difference, whole), constant(whole, 2 ** (bits - 1) - 1))
    return builder.fadd(total, builder.bitcast(size, difference.type))


def _add_chi(builder, total, left, right):
    """total + (left - right)^2 / (left + right); 0 is divided by 1 instead of by 0."""
    difference, mass = builder.fsub(left, right), builder.fadd(left, right)
    is_mass = builder.fcmp_ordered(">", mass, constant(mass.type, 0.0))
    divisor = builder.select(is_mass, mass, constant(mass.type, 1.0))
    return builder.fadd(total, builder.fdiv(builder.fmul(difference, difference), divisor))


_TERMS: dict[type, Any] = {Squared: _add_square, Absolute: _add_size, Chi: _add_chi}


if INTERPRETED:

    def whole_vectors(distance, x, which, z, n, flat, places, first, spare, i):  # noqa: F811
        width = VECTORS * BYTES // x.itemsize
        whole = n // width * width
        for r in range(ROWS):
            sums = [_distance(distance, x[which[i + r]], z[:, j]) for j in range(n)]
            values = np.array([exp_nonpositive(-distance.scale * total) for total in sums], flat.dtype)
            flat[places[i + r] + first : places[i + r] + first + whole] = values[:whole]
            spare[r, : n - whole] = values[whole:]
        return whole

    def _distance(distance, a, b):
        difference = a - b
        if isinstance(distance, Absolute):
            return np.abs(difference).sum(dtype=a.dtype)
        if isinstance(distance, Squared):
            return (difference**2).sum(dtype=a.dtype)
        mass = a + b
        return (difference**2 / np.where(mass > 0.0, mass, a.dtype.type(1.0))).sum(dtype=a.dtype)
