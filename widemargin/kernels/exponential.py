"""exp(x) for x <= 0, in a form that the compiler turns into vector instructions.

Reduction   x = k ln 2 + r,  |r| <= ln 2 / 2,  exp(x) = 2^k (1 + r + r^2 q(r))
            with ln 2 in two parts, so that r keeps its last bits (Cody & Waite 1980, chapter 6).
q           polynomial of least largest relative error on |r| <= ln 2 / 2, fitted for this file by Lawson's iteration in
            extended precision: degree 4 in float32 (error 3.1e-9), degree 9 in float64 (error 3.7e-18).
2^k         adding 1.5 * 2^23 (float64: 1.5 * 2^52) to x / ln 2 leaves the integer k in the low bits of the sum; shifted
            into the exponent field they are 2^k, without the float-to-integer conversions that AVX2 lacks.

Measured error 0.72 units in the last place in both precisions; results never exceed 1; below the smallest normal number
the result is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from widemargin._jit import CONTRACT, jit

# Float32. The products k * LN2_HIGH are exact: LN2_HIGH has 15 bits and |k| < 2^8.
LOG2_E_32 = np.float32(1.4426950408889634)
LN2_HIGH_32 = np.float32(0.693145751953125)
LN2_LOW_32 = np.float32(1.428606765330187e-06)
SHIFTER_32 = np.float32(1.5 * 2.0**23)
SMALLEST_32 = np.float32(-87.0)  # exp(-87) = 1.6e-38 is the last multiple of a whole unit above the subnormal numbers
Q0_32 = np.float32(0.49999993432110573)
Q1_32 = np.float32(0.1666652039896246)
Q2_32 = np.float32(0.0416683907873749)
Q3_32 = np.float32(0.00836874511635125)
Q4_32 = np.float32(0.0013814539988276189)
ONE_32, ZERO_32 = np.float32(1.0), np.float32(0.0)

# Float64. LN2_HIGH has 32 bits and |k| < 2^11.
LOG2_E_64 = 1.4426950408889634
LN2_HIGH_64 = 0.6931471803691238
LN2_LOW_64 = 1.9082149292705877e-10
SHIFTER_64 = 1.5 * 2.0**52
SMALLEST_64 = -708.0
Q0_64, Q1_64, Q2_64 = 0.5000000000000011, 0.1666666666666641, 0.04166666666652973
Q3_64, Q4_64, Q5_64 = 0.008333333333495148, 0.0013888888943761743, 0.000198412695054954
Q6_64, Q7_64, Q8_64 = 2.4801492946300006e-05, 2.75575869953108e-06, 2.763030776437004e-07
Q9_64 = 2.4999970067776793e-08


@intrinsic
def _power_of_two_32(typing_context: Any, shifted: Any) -> Any:
    """2^k from k + SHIFTER_32, by moving bits: Numba would widen the 32-bit integers and lose half the vector width."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer = ir.IntType(32)
        bits = builder.add(builder.bitcast(arguments[0], integer), ir.Constant(integer, 127))
        return builder.bitcast(builder.shl(bits, ir.Constant(integer, 23)), ir.FloatType())

    return types.float32(types.float32), generate


@intrinsic
def _power_of_two_64(typing_context: Any, shifted: Any) -> Any:
    """2^k from k + SHIFTER_64, by moving bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer = ir.IntType(64)
        bits = builder.add(builder.bitcast(arguments[0], integer), ir.Constant(integer, 1023))
        return builder.bitcast(builder.shl(bits, ir.Constant(integer, 52)), ir.DoubleType())

    return types.float64(types.float64), generate


def exp_nonpositive(x: Any) -> Any:
    """exp(x) for x <= 0; this body runs where Numba is switched off, compiled code takes the overload below."""
    return np.exp(x) if x > (SMALLEST_32 if isinstance(x, np.float32) else SMALLEST_64) else type(x)(0.0)


@overload(exp_nonpositive)
def _choose_precision(x):
    """The polynomial of the argument's precision."""
    if x == types.float32:

        def exp_32(x):
            y = x if x > SMALLEST_32 else SMALLEST_32
            shifted = y * LOG2_E_32 + SHIFTER_32
            k = shifted - SHIFTER_32
            r = (y - k * LN2_HIGH_32) - k * LN2_LOW_32
            q = Q0_32 + r * (Q1_32 + r * (Q2_32 + r * (Q3_32 + r * Q4_32)))
            value = (ONE_32 + (r + r * r * q)) * _power_of_two_32(shifted)  # type: ignore[call-arg]
            return value if x > SMALLEST_32 else ZERO_32

        return exp_32

    def exp_64(x):
        y = x if x > SMALLEST_64 else SMALLEST_64
        shifted = y * LOG2_E_64 + SHIFTER_64
        k = shifted - SHIFTER_64
        r = (y - k * LN2_HIGH_64) - k * LN2_LOW_64
        # Pairs and pairs of pairs (Estrin's order): ten steps one after the other were measured 1.3 times slower.
        r2 = r * r
        r4 = r2 * r2
        low = (Q0_64 + r * Q1_64) + r2 * (Q2_64 + r * Q3_64)
        high = (Q4_64 + r * Q5_64) + r2 * (Q6_64 + r * Q7_64)
        q = low + r4 * (high + r4 * (Q8_64 + r * Q9_64))
        value = (1.0 + (r + r2 * q)) * _power_of_two_64(shifted)  # type: ignore[call-arg]
        return value if x > SMALLEST_64 else 0.0

    return exp_64


@jit(fastmath=CONTRACT)
def exp_scaled(values, scale, out):
    """out = exp(-scale * values) for values >= 0: the last step of every exponential kernel; `out` may be `values`."""
    for j in range(len(values)):
        out[j] = exp_nonpositive(-scale * values[j])


@jit(fastmath=CONTRACT)
def exp_of_products(flat, step, twice_gamma, left, right):
    """Gaussian values from inner products: exp(2 gamma x'z - gamma |x|^2 - gamma |z|^2), in place.

    left, right : gamma |x|^2 of the rows and columns. Rounding can make the exponent of near-equal points positive; it
    is held at 0 so that no entry exceeds 1. Where squares overflow the exponent is inf - inf; such points are taken for
    far apart, value 0.
    """
    zero = flat.dtype.type(0.0)
    for i in range(len(left)):
        row = flat[i * step : i * step + len(right)]
        own = left[i]
        for j in range(len(right)):
            exponent = twice_gamma * row[j] - (own + right[j])
            row[j] = exp_nonpositive(zero if exponent > zero else exponent)
