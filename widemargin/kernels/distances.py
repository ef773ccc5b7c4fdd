"""Kernels exp(-scale * distance) by direct differences, summed feature by feature with nothing to cancel.

    Squared    sum (x_k - z_k)^2
    Absolute   sum |x_k - z_k|
    Chi        sum (x_k - z_k)^2 / (x_k + z_k), where a term with both values zero counts 0

Four left samples meet two vectors of right samples at a time: the eight sums stay in registers over all features, and
the exponential is taken of them before they are stored. A compiler's own vectors run along the samples feature by
feature and store the sums in between, so the loop is written in LLVM's instructions: 1.2 to 1.4 times faster on whole
blocks, 1.6 times for a dozen rows at a time, and quicker to compile. Right samples come in strips that stay in the
first-level cache; in one large matrix they are often a power of two apart and fall into the same few sets of it.

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
from widemargin.kernels.exponential import emit_exp, exp_nonpositive
from widemargin.kernels.vectors import BYTES, Vectors, constant, fused, lanes_of, size

ROWS = 4  # left samples at a time: with six, sums and differences fill all sixteen registers, for no gain
VECTORS = 2  # of right samples at a time
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
    z : (n_features, STRIP), anything beyond n
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
    lanes = lanes_of(x.dtype)
    width = VECTORS * lanes
    term = _TERMS[distance.instance_class]

    def generate(context, builder, signature, arguments):
        v = Vectors(context, builder, x.dtype)
        scale, n, begin, i = builder.extract_value(arguments[0], 0), arguments[4], arguments[7], arguments[9]
        X, WHICH, Z, FLAT, PLACES, SPARE = (v.array(signature.args[k], arguments[k]) for k in (1, 2, 3, 5, 6, 8))
        n_features, z_step, spare_step = (v.length(array, 1) for array in (X, Z, SPARE))
        rows, targets, spares = [], [], []
        for r in range(ROWS):
            number, place = (builder.load(v.at(array.data, i, size(r))) for array in (WHICH, PLACES))
            rows.append(v.at(X.data, builder.mul(number, n_features)))
            targets.append(v.at(FLAT.data, place, begin))
            spares.append(v.at(SPARE.data, builder.mul(spare_step, size(r))))
        sums = [[v.variable() for _ in range(VECTORS)] for _ in range(ROWS)]
        minus = v.in_every_lane(builder.fneg(scale))
        groups = builder.udiv(builder.add(n, size(width - 1)), size(width))
        with cgutils.for_range(builder, groups) as group:
            at = builder.mul(group.index, size(width))
            for total in sum(sums, []):
                builder.store(constant(v.kind, 0.0), total)
            with cgutils.for_range(builder, n_features) as feature:
                start = v.at(Z.data, builder.mul(feature.index, z_step), at)
                right = [v.load(start, size(k * lanes)) for k in range(VECTORS)]
                for r in range(ROWS):
                    left = v.in_every_lane(builder.load(v.at(rows[r], feature.index)))
                    for total, z_vector in zip(sums[r], right):
                        builder.store(term(builder, builder.load(total), left, z_vector), total)
            is_whole = builder.icmp_signed("<=", builder.add(at, size(width)), n)
            for r in range(0, ROWS, 2):  # two rows are as many exponentials at a time as registers hold
                both = [builder.fmul(builder.load(total), minus) for total in sums[r] + sums[r + 1]]
                for k, value in enumerate(emit_exp(builder, both)):
                    row = r + k // VECTORS
                    target = builder.select(is_whole, v.at(targets[row], at), spares[row])
                    v.store(value, target, size(k % VECTORS * lanes))
        return builder.mul(builder.udiv(n, size(width)), size(width))

    whole = types.int64
    return whole(distance, x, which, z, whole, flat, places, whole, spare, whole), generate


def _add_square(builder, total, left, right):
    """total + (left - right)^2"""
    difference = builder.fsub(left, right)
    return fused(builder, difference, difference, total)


def _add_size(builder, total, left, right):
    """total + |left - right|, the size by clearing the sign bit"""
    difference = builder.fsub(left, right)
    lanes, bits = difference.type.count, 8 * BYTES // difference.type.count
    whole = ir.VectorType(ir.IntType(bits), lanes)
    positive = builder.and_(builder.bitcast(difference, whole), constant(whole, 2 ** (bits - 1) - 1))
    return builder.fadd(total, builder.bitcast(positive, difference.type))


def _add_chi(builder, total, left, right):
    """total + (left - right)^2 / (left + right); 0 is divided by 1 instead of by 0."""
    difference, mass = builder.fsub(left, right), builder.fadd(left, right)
    is_mass = builder.fcmp_ordered(">", mass, constant(mass.type, 0.0))
    divisor = builder.select(is_mass, mass, constant(mass.type, 1.0))
    return builder.fadd(total, builder.fmul(difference, builder.fdiv(difference, divisor)))  # no square to underflow


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
        return (difference * (difference / np.where(mass > 0.0, mass, a.dtype.type(1.0)))).sum(dtype=a.dtype)
