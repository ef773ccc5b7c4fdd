"""Numbers in bytes: every float64 exactly as Python's `float` reads it, or handed over to it."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from widemargin.io.decimal_number import parse_number, read_left_over


def parsed(text, at=0):
    """Value, nan where it is left to Python, place after the token, and whether it is a number."""
    return parse_number(np.frombuffer(f"{text}\n".encode(), np.uint8).copy(), at)


@pytest.mark.parametrize("text", ["0", "-0", "+1", "1.", ".5", "007", "1e5", "1E+05", "-2.50e-3", "0.1", "123456789"])
def test_plain_numbers(text):
    value, end, is_number = parsed(text)
    assert is_number
    assert (value, end) == (float(text), len(text))
    assert np.signbit(value) == text.startswith("-")


@pytest.mark.parametrize("text", ["", "+", "-", ".", "e5", "1e", "1e+", "abc", "-.", "+-1", "nan", "inf"])
def test_no_numbers(text):
    assert not parsed(text)[2]


@pytest.mark.parametrize("text", ["1e-5x", "1.5.2", "0x10", "1_0", "12 3"])
def test_the_place_after_the_token_shows_what_is_left(text):
    _, end, _ = parsed(text)
    assert end < len(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(5e-324)
@example(1.7976931348623157e308)
@example(2.2250738585072014e-308)
@settings(max_examples=300)
def test_every_float_as_repr_writes_it(number):
    for text in (repr(number), f"{number:.17g}", f"{number:.8g}", f"{number:.16e}"):
        value, end, is_number = parsed(text)
        assert is_number
        assert end == len(text)
        assert np.isnan(value) or value == float(text), text


@given(whole=st.integers(0, 10**18 - 1), exponent=st.integers(-120, 120))
@settings(max_examples=400)
def test_all_digits_and_exponents_of_the_table(whole, exponent):
    text = f"{whole}e{exponent}"
    value, _, is_number = parsed(text)
    assert is_number
    assert np.isnan(value) or value == float(text)


def test_numbers_of_data_are_never_left_to_python():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=20_000) * 10.0 ** rng.integers(-30, 30, 20_000)
    assert not any(np.isnan(parsed(repr(number))[0]) for number in numbers.tolist())


@pytest.mark.parametrize(
    "text",
    [
        "9007199254740993",  # 2^53 + 1: exactly between two float64, to even
        "9007199254740995",
        "0.500000000000000166533453693773481063544750213623046875",
        "7.2057594037927933e16",
        "1e23",
        "8.5e-110",
    ],
)
def test_halfway_cases_are_right_or_left_to_python(text):
    value, _, is_number = parsed(text)
    assert is_number
    assert np.isnan(value) or value == float(text)


def test_numbers_left_to_python_are_found_in_the_text():
    text = "1e400 -0.12345678901234567890123e-200 1e999"
    bytes_ = np.frombuffer(f"{text}\n".encode(), np.uint8).copy()
    places = [text.index("-0.12"), 0, text.index("1e999")]
    numbers = np.array([parse_number(bytes_, place)[0] for place in places] + [2.5])
    assert np.isnan(numbers[:3]).all()
    assert read_left_over(bytes_, numbers[:1]) is None
    assert read_left_over(bytes_, numbers) == 0
    assert numbers.tolist() == [-0.12345678901234567890123e-200, np.inf, np.inf, 2.5]
