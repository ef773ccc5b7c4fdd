"""Kernels exp(-scale * distance) by direct differences, summed feature by feature with nothing to cancel.

    Squared    sum (x_k - z_k)^2
    Absolute   sum |x_k - z_k|
    Chi        sum (x_k - z_k)^2 / (x_k + z_k), where a term with both values zero counts 0

Four left samples meet two vectors of right samples at a time: the eight sums stay in registers over all features, and
the exponential is taken of them before they are stored. A compiler's own vectors run along the samples feature by
feature and store the sums in between, so the loop is written in LLVM's instructions: 1.2 to 1.4 times faster on whole
blocks, 1.6 times for a dozen rows at a time, and faster to compile. Right samples come in strips that fit the
first-level cache; in one large matrix they are often a power of two apart and map to the same few cache sets.

Each distance is a value of its own class, so that only the loops in use are compiled.
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


class Rows(NamedTuple):
    """Left samples x[which[i]], and where their values begin: flat[places[i]]; i up to a multiple of ROWS."""

    x: Any
    which: Any
    flat: Any
    places: Any


class Strip(NamedTuple):
    """Right samples columns[:, j] for j < n <= STRIP, whose values begin `first` numbers behind those of a row.

    spare : (ROWS, STRIP), for values beyond n
    """

    columns: Any
    n: Any
    first: Any
    spare: Any


@jit(fastmath=CONTRACT)
def rows_of_distances(rule, x, index, z, span, flat, places):
    """flat[places[i] + j] = exp(-scale * distance(x[index[i]], z_(span[0] + j))), for all samples z of the span.

    x : samples by row
    z : samples by feature, (n_features, n); or in strips, (n_strips, n_features, STRIP), with span[0] = 0
    All arrays are C-contiguous. They are filled by loops here: slice assignment doubles the compile time.
    """
    n_rows, d = (len(index) + ROWS - 1) // ROWS * ROWS, x.shape[1]
    which, targets = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    for i in range(n_rows):  # padded with repeated rows
        k = min(i, len(index) - 1)
        which[i] = index[k]
        targets[i] = places[k]
    rows = Rows(x, which, flat, targets)
    columns = np.empty((d, STRIP), x.dtype)  # the last strip is not filled: its values beyond the span are not used
    spare = np.empty((ROWS, STRIP), flat.dtype)
    for first in range(span[0], span[1], STRIP):
        width = min(STRIP, span[1] - first)
        if z.ndim == 3:
            columns = z[first // STRIP]
        else:
            for k in range(d):
                for j in range(width):
                    columns[k, j] = z[k, first + j]
        rows_on_strip(rule, rows, Strip(columns, width, first - span[0], spare))


@jit(fastmath=CONTRACT, inner=True)
def rows_on_strip(rule, rows, strip):
    """`rows_of_distances` for one strip.

    One call for all rows, not one for four: passing seven arrays takes as long as thirty values.
    """
    flat, places, spare = rows.flat, rows.places, strip.spare
    for i in range(0, len(places), ROWS):
        whole = whole_vectors(rule, rows, strip, i)
        for r in range(ROWS):
            for j in range(whole, strip.n):
                flat[places[i + r] + strip.first + j] = spare[r, j - whole]


@intrinsic
def whole_vectors(typing_context, rule, rows, strip, i):
    """The part of `rows_on_strip` for the rows i ... i + ROWS - 1 that is a whole number of vectors.

    Returns its length; the values of one more group of vectors go to `spare`.
    """
    element = rows.types[0].dtype
    lanes = lanes_of(element)
    width = VECTORS * lanes
    term = _TERMS[rule.instance_class]

    def generate(context, builder, signature, arguments):
        v = Vectors(context, builder, element)
        scale, i = builder.extract_value(arguments[0], 0), arguments[3]
        X, WHICH, FLAT, PLACES = (v.field(rows, arguments[1], k) for k in range(4))
        Z, n, begin, SPARE = (v.field(strip, arguments[2], k) for k in range(4))
        n_features, z_step, spare_step = (v.length(array, 1) for array in (X, Z, SPARE))
        samples, targets, spares = [], [], []
        for r in range(ROWS):
            number, place = (builder.load(v.at(array.data, i, size(r))) for array in (WHICH, PLACES))
            samples.append(v.at(X.data, builder.mul(number, n_features)))
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
                    left = v.in_every_lane(builder.load(v.at(samples[r], feature.index)))
                    for total, z_vector in zip(sums[r], right):
                        builder.store(term(builder, builder.load(total), left, z_vector), total)
            is_whole = builder.icmp_signed("<=", builder.add(at, size(width)), n)
            for r in range(0, ROWS, 2):  # registers hold the exponentials of two rows
                both = [builder.fmul(builder.load(total), minus) for total in sums[r] + sums[r + 1]]
                for k, value in enumerate(emit_exp(builder, both)):
                    row = r + k // VECTORS
                    target = builder.select(is_whole, v.at(targets[row], at), spares[row])
                    v.store(value, target, size(k % VECTORS * lanes))
        return builder.mul(builder.udiv(n, size(width)), size(width))

    return types.int64(rule, rows, strip, types.int64), generate


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

    def whole_vectors(rule, rows, strip, i):  # noqa: F811
        for r in range(ROWS):
            left = rows.x[rows.which[i + r]]
            sums = [_distance(rule, left, strip.columns[:, j]) for j in range(strip.n)]
            strip.spare[r, : strip.n] = [exp_nonpositive(-rule.scale * total) for total in sums]
        return 0

    def _distance(rule, a, b):
        difference = a - b
        if isinstance(rule, Absolute):
            return np.abs(difference).sum(dtype=a.dtype)
        if isinstance(rule, Squared):
            return (difference**2).sum(dtype=a.dtype)
        mass = a + b
        return (difference * (difference / np.where(mass > 0.0, mass, a.dtype.type(1.0)))).sum(dtype=a.dtype)
