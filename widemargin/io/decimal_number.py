"""Decimal numbers in bytes to float64, correctly rounded, compiled.

Solves  [+-] digits [. digits] [e [+-] digits]  ->  the float64 nearest to w * 10^e, w the digits as a whole number.
How     w and 10^|e| exact in float64, as for w <= 2^53, |e| <= 22: one operation rounds once (Clinger 1990, section 4).
        Otherwise w * 10^e in pairs of float64 (Dekker 1971), good to 2^-100; if the nearest float64 is the same at both
        ends of that error it is the answer. What remains is left to Python's `float`: more than 18 digits, exponents
        beyond POWERS, and the one number in 2^40 or so that lies too close to the middle of two float64. Such a number
        is returned as a nan that holds its place in the text, and read by `read_left_over`.
See     W. Clinger, How to read floating point numbers accurately, PLDI 1990; T. Dekker, Numer. Math. 18, 1971.
"""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from widemargin._jit import jit

TOO_LONG = 10**18  # in place of a whole number of more than 18 digits, as many as fit into int64
POWERS = 120  # decimal exponents in the table; usual data are far within
SPLIT = 134217729.0  # 2^27 + 1 cuts a float64 into two halves of 26 bits (Dekker)
PAIR_ERROR = 2.0**-98  # relative, of the product of two pairs: three neglected terms of at most 2^-100 together
NAN_BITS = 0x7FF8 << 48  # of a float64 whose other 48 bits may hold a place in a text

_EXACT = [Fraction(10) ** power for power in range(-POWERS, POWERS + 1)]
TEN = np.array([float(power) for power in _EXACT])  # 10^e rounded, at [e + POWERS]
TEN_REST = np.array([float(power - Fraction(float(power))) for power in _EXACT])  # what the rounding left out

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_PLUS, _MINUS, _POINT, _ZERO, _LOWER_E, _UPPER_E = (ord(letter) for letter in "+-.0eE")


@jit
def parse_digits(text, at, whole):
    """`whole` continued by the digits at `text[at]`, or TOO_LONG, and the place after them."""
    while True:  # a condition in the loop's head would compile to code of half the speed
        digit = np.int64(text[at]) - _ZERO
        if digit < 0 or digit > 9:
            return whole, at
        whole = whole * 10 + digit if whole < TOO_LONG // 10 else TOO_LONG
        at += 1


@jit
def parse_number(text, at):
    """Value, place after it, and whether a number begins at `text[at]`; text must end with a newline."""
    start = at
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    first = at
    whole, at = parse_digits(text, first, np.int64(0))
    n_digits, exponent = at - first, 0
    if text[at] == _POINT:
        first = at + 1
        whole, at = parse_digits(text, first, whole)
        exponent = first - at
        n_digits -= exponent
    if n_digits == 0:
        return 0.0, at, False
    if text[at] == _LOWER_E or text[at] == _UPPER_E:
        falling = text[at + 1] == _MINUS
        first = at + 2 if falling or text[at + 1] == _PLUS else at + 1
        power, at = parse_digits(text, first, np.int64(0))
        if at == first:
            return 0.0, at, False
        exponent += -power if falling else power
    value, known = _scaled(whole, exponent)
    if not known:
        return np.int64(NAN_BITS | start).view(np.float64), at, True
    return -value if negative else value, at, True


@jit
def _scaled(whole, exponent):
    """The float64 nearest to whole * 10^exponent, and whether it is known to be that."""
    if whole == 0:
        return 0.0, True
    if whole >= TOO_LONG or exponent < -POWERS or exponent > POWERS:
        return 0.0, False
    a = np.float64(whole)
    a_rest = np.float64(whole - np.int64(a))
    if a_rest == 0.0 and TEN_REST[POWERS + abs(exponent)] == 0.0:  # both exact: up to 2^53 and 10^22, and some beyond
        return a / TEN[POWERS - exponent] if exponent < 0 else a * TEN[POWERS + exponent], True
    b, b_rest = TEN[POWERS + exponent], TEN_REST[POWERS + exponent]
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low  # a*b - product, exactly
    rest += a * b_rest + a_rest * b
    nearest = product + rest
    rest = (product - nearest) + rest
    error = product * PAIR_ERROR
    return nearest, nearest + (rest + error) == nearest and nearest + (rest - error) == nearest


@jit
def _halves(number):
    """A float64 as the sum of two with 26 bits each."""
    scaled = number * SPLIT
    high = scaled - (scaled - number)
    return high, number - high


def read_left_over(text: NDArray[np.uint8], numbers: NDArray[np.float64]) -> int | None:
    """Replace the nans of `parse_number` by the numbers they stand for; returns the place of the first infinite one."""
    infinite = None
    for slot in np.flatnonzero(np.isnan(numbers))[::-1]:
        place = int(numbers[slot].view(np.int64)) & ~NAN_BITS
        match = NUMBER.match(text.data, place)
        assert match is not None  # `parse_number` has seen it
        numbers[slot] = float(match.group())
        infinite = place if np.isinf(numbers[slot]) else infinite
    return infinite
