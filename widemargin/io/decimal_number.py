"""Decimal numbers in bytes to float64, correctly rounded, compiled.

Solves  [+-] digits [. digits] [e [+-] digits]  ->  the float64 nearest to w * 10^e, w the digits as a whole number.
How     w <= 2^53 and |e| <= 22: w and 10^|e| are exact, one product or quotient rounds once (Clinger 1990, section 4).
        Otherwise w * 10^e in pairs of float64 (Dekker 1971), good to 2^-100; if the nearest float64 is the same at both
        ends of that error it is the answer. What remains is left to Python's `float`: more than 18 digits, exponents
        beyond POWERS, and the one number in 2^40 or so that lies too close to the middle of two float64.
See     W. Clinger, How to read floating point numbers accurately, PLDI 1990; T. Dekker, Numer. Math. 18, 1971.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from widemargin._jit import jit

PLAIN, ODD, WRONG = 0, 1, 2  # kinds of token: value known; a number that `float` must read; not a number
MOST_DIGITS = 18  # whole numbers of 18 digits fit into int64
EXACT_POWER = 22  # 10^22 is the largest power of ten that float64 holds exactly
EXACT_WHOLE = 2**53  # whole numbers up to here are exact in float64
POWERS = 120  # decimal exponents in the table; numbers of data lie far within
ENDLESS_EXPONENT = 100_000  # exponents stop growing here: the answer is zero or infinite long before
SPLIT = 134217729.0  # 2^27 + 1 cuts a float64 into two halves of 26 bits (Dekker)
PAIR_ERROR = 2.0**-98  # relative, of the product of two pairs: three neglected terms of at most 2^-100 together

_EXACT = [Fraction(10) ** power for power in range(-POWERS, POWERS + 1)]
TEN = np.array([float(power) for power in _EXACT])  # 10^e rounded, at [e + POWERS]
TEN_REST = np.array([float(power - Fraction(float(power))) for power in _EXACT])  # what the rounding left out

_PLUS, _MINUS, _POINT, _ZERO, _LOWER_E, _UPPER_E = (ord(letter) for letter in "+-.0eE")


@jit
def parse_number(text, at):
    """Value, place after the token and kind of the number that begins at `text[at]`; text must end with a newline."""
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    whole = np.int64(0)
    digits = 0
    exponent = 0
    any_digit = False
    while True:
        digit = np.int64(text[at]) - _ZERO
        if digit < 0 or digit > 9:
            break
        any_digit = True
        if digits < MOST_DIGITS:
            whole = whole * 10 + digit
        digits += 1 if whole > 0 else 0
        at += 1
    if text[at] == _POINT:
        at += 1
        while True:
            digit = np.int64(text[at]) - _ZERO
            if digit < 0 or digit > 9:
                break
            any_digit = True
            if digits < MOST_DIGITS:
                whole = whole * 10 + digit
            digits += 1 if whole > 0 else 0
            exponent -= 1
            at += 1
    if not any_digit:
        return 0.0, at, WRONG
    if text[at] == _LOWER_E or text[at] == _UPPER_E:
        at += 1
        falling = text[at] == _MINUS
        if falling or text[at] == _PLUS:
            at += 1
        power = 0
        any_digit = False
        while True:
            digit = np.int64(text[at]) - _ZERO
            if digit < 0 or digit > 9:
                break
            any_digit = True
            if power < ENDLESS_EXPONENT:
                power = power * 10 + int(digit)
            at += 1
        if not any_digit:
            return 0.0, at, WRONG
        exponent += -power if falling else power
    if digits > MOST_DIGITS:
        return 0.0, at, ODD
    value, known = _scaled(whole, exponent)
    return -value if negative else value, at, PLAIN if known else ODD


@jit
def _scaled(whole, exponent):
    """The float64 nearest to whole * 10^exponent, and whether it is known to be that."""
    if whole == 0:
        return 0.0, True
    if exponent < -POWERS or exponent > POWERS:
        return 0.0, False
    if whole <= EXACT_WHOLE and -EXACT_POWER <= exponent <= EXACT_POWER:
        if exponent < 0:
            return np.float64(whole) / TEN[POWERS - exponent], True
        return np.float64(whole) * TEN[POWERS + exponent], True
    a = np.float64(whole)
    a_rest = np.float64(whole - np.int64(a))
    b, b_rest = TEN[POWERS + exponent], TEN_REST[POWERS + exponent]
    product = a * b
    scaled = a * SPLIT
    a_high = scaled - (scaled - a)
    a_low = a - a_high
    scaled = b * SPLIT
    b_high = scaled - (scaled - b)
    b_low = b - b_high
    rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low  # a*b - product, exactly
    rest += a * b_rest + a_rest * b
    nearest = product + rest
    rest = (product - nearest) + rest
    error = product * PAIR_ERROR
    return nearest, nearest + (rest + error) == nearest and nearest + (rest - error) == nearest
