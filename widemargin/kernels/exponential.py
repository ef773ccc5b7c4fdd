"""exp(x) for x <= 0, as instructions for a number or for a vector of them.

Reduction   x = k ln 2 + r,  |r| <= ln 2 / 2,  exp(x) = 2^k (1 + r + r^2 q(r))
            with ln 2 in two parts, so that r keeps its last bits (Cody & Waite 1980, chapter 6).
q           polynomial of least largest relative error on |r| <= ln 2 / 2, fitted for this file by Lawson's iteration in
            extended precision: degree 4 in float32 (error 3.1e-9), degree 9 in float64 (error 3.7e-18). Summed in pairs
            and pairs of pairs (Estrin's order): ten steps one after the other were measured 1.3 times slower.
2^k         adding 1.5 * 2^23 (float64: 1.5 * 2^52) to x / ln 2 leaves the integer k in the low bits of the sum; shifted
            into the exponent field they are 2^k, without the float-to-integer conversions that AVX2 lacks.

Measured error 0.72 units in the last place in both precisions; results never exceed 1; below the smallest normal number
the result is 0. Callers must not allow sums to be reordered (fastmath CONTRACT, not REASSOCIATE): k would become
x / ln 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from widemargin._jit import CONTRACT, INTERPRETED, jit
from widemargin.kernels.vectors import constant, fused


class Constants(NamedTuple):
    """Constants of one precision. Products k * ln2_high are exact: it has 15 (32) bits, k fewer than the rest."""

    smallest: float  # exp of it is the last power of two that is a normal number, or a little more
    ln2_high: float
    ln2_low: float
    shifter: float
    bias: int  # of the exponent field, ...
    fraction: int  # ... and the bits below it
    q: tuple[float, ...]


SINGLE = Constants(
    -87.0, 0.693145751953125, 1.428606765330187e-06, 1.5 * 2.0**23, 127, 23,
    (0.49999993432110573, 0.1666652039896246, 0.0416683907873749, 0.00836874511635125, 0.0013814539988276189),
)  # fmt: skip
DOUBLE = Constants(
    -708.0, 0.6931471803691238, 1.9082149292705877e-10, 1.5 * 2.0**52, 1023, 52,
    (
        0.5000000000000011, 0.1666666666666641, 0.04166666666652973, 0.008333333333495148, 0.0013888888943761743,
        0.000198412695054954, 2.4801492946300006e-05, 2.75575869953108e-06, 2.763030776437004e-07,
        2.4999970067776793e-08,
    ),
)  # fmt: skip
LOG2_E = 1.0 / math.log(2.0)


def emit_exp(builder: Any, values: Sequence[Any]) -> list[Any]:
    """Emit instructions for exp of several values <= 0, all numbers or all vectors of one type, interleaved.

    Steps of one value depend on each other; interleaving several values hides their latency.
    """
    kind = values[0].type
    is_vector = isinstance(kind, ir.VectorType)
    single = isinstance(kind.element if is_vector else kind, ir.FloatType)
    c = SINGLE if single else DOUBLE
    whole: ir.Type = ir.IntType(32 if single else 64)
    if is_vector:
        whole = ir.VectorType(whole, kind.count)

    def number(value: float) -> ir.Constant:
        return constant(kind, float(np.float32(value)) if single else value)

    def polynomial(powers: dict[int, Any], q: Sequence[float]) -> Any:
        """The sum of q_i r^i: both halves, the upper one times the power of two between them."""
        if len(q) == 1:
            return number(q[0])
        half = 1
        while 2 * half < len(q):
            half *= 2
        return fused(builder, powers[half], polynomial(powers, q[half:]), polynomial(powers, q[:half]))

    smallest, shifter, one = number(c.smallest), number(c.shifter), number(1.0)
    above = [builder.fcmp_ordered(">", x, smallest) for x in values]
    held = [builder.select(is_above, x, smallest) for is_above, x in zip(above, values)]
    shifted = [fused(builder, y, number(LOG2_E), shifter) for y in held]
    ks = [builder.fsub(s, shifter) for s in shifted]
    rs = [fused(builder, k, number(-c.ln2_high), y) for k, y in zip(ks, held)]
    rs = [fused(builder, k, number(-c.ln2_low), r) for k, r in zip(ks, rs)]
    powers: list[dict[int, Any]] = [{1: r} for r in rs]
    for exponent in (1, 2, 4) if len(c.q) > 8 else (1, 2):
        for p in powers:
            p[2 * exponent] = builder.fmul(p[exponent], p[exponent])
    qs = [polynomial(p, c.q) for p in powers]
    sums = [builder.fadd(fused(builder, p[2], q, r), one) for p, q, r in zip(powers, qs, rs)]
    fields = [builder.add(builder.bitcast(s, whole), constant(whole, c.bias)) for s in shifted]
    scales = [builder.bitcast(builder.shl(field, constant(whole, c.fraction)), kind) for field in fields]
    results = [builder.fmul(total, scale) for total, scale in zip(sums, scales)]
    return [builder.select(is_above, result, number(0.0)) for is_above, result in zip(above, results)]


@intrinsic
def exp_nonpositive(typing_context: Any, x: Any) -> Any:
    """exp(x) for x <= 0, in a form that the compiler turns into vector instructions."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return emit_exp(builder, arguments)[0]

    kind = x if x == types.float32 else types.float64
    return kind(kind), generate


def _plain_exp(x: Any) -> Any:
    """exp(x) in plain Python, for use with Numba disabled."""
    smallest = SINGLE.smallest if isinstance(x, np.float32) else DOUBLE.smallest
    return np.exp(x) if x > smallest else type(x)(0.0)


if INTERPRETED:
    exp_nonpositive = _plain_exp


@jit(fastmath=CONTRACT)
def exp_of_products(flat, step, twice_gamma, left, right):
    """Gaussian values from inner products: exp(2 gamma x'z - gamma |x|^2 - gamma |z|^2), in place.

    left, right : gamma |x|^2 of the rows and columns
    """
    for i in range(len(left)):
        exp_of_row(flat, i * step, twice_gamma, left[i], right)


@jit(fastmath=CONTRACT, inner=True)
def exp_of_row(flat, start, twice_gamma, own, right):
    """`exp_of_products` for the row that begins at `start`.

    Rounding can make the exponent of nearly equal points positive; it is limited to 0 so that no entry exceeds 1. Where
    squares overflow the exponent is inf - inf; such points count as distant, with value 0.
    """
    zero = flat.dtype.type(0.0)
    row = flat[start : start + len(right)]
    for j in range(len(right)):
        exponent = twice_gamma * row[j] - (own + right[j])
        row[j] = exp_nonpositive(zero if exponent > zero else exponent)
